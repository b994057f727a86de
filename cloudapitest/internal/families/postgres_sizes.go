package families

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

// postgresServers are the servers of a database: a primary and its standbys, all
// alike.
type postgresServers struct {
	vm       string
	storage  int // GiB
	standbys int
}

// alone returns the servers without standbys.
func (s postgresServers) alone() postgresServers {
	s.standbys = 0
	return s
}

func (s postgresServers) vcpus() int {
	i := slices.IndexFunc(postgresSizes, func(size postgresSize) bool { return size.name == s.vm })
	return postgresSizes[i].vcpus * (s.standbys + 1)
}

// postgresSize is a size of a server with the storage it may have.
type postgresSize struct {
	name    string
	vcpus   int
	storage []int // GiB
	aws     bool  // offered in private locations, and only there
}

var postgresSizes = []postgresSize{
	{"standard-2", 2, []int{64, 128, 256}, false},
	{"standard-4", 4, []int{128, 256, 512}, false},
	{"standard-8", 8, []int{256, 512, 1024}, false},
	{"standard-16", 16, []int{512, 1024, 2048}, false},
	{"standard-30", 30, []int{1024, 2048, 4096}, false},
	{"standard-60", 60, []int{1024, 2048, 4096}, false},
	{"burstable-1", 1, []int{16, 32, 64}, false},
	{"burstable-2", 2, []int{32, 64, 128}, false},
	{"m6id.large", 2, []int{118}, true},
	{"m6id.xlarge", 4, []int{237}, true},
	{"m6id.2xlarge", 8, []int{474}, true},
	{"m6id.4xlarge", 16, []int{950}, true},
	{"m6id.8xlarge", 32, []int{1900}, true},
	{"m6id.16xlarge", 64, []int{3800}, true},
}

var (
	postgresFlavors  = []string{"standard", "paradedb"}
	postgresVersions = []string{"17", "16"}              // the default comes first
	postgresHATypes  = []string{"none", "async", "sync"} // the index is the number of standbys
)

// postgresChoice is what a request wants a database to be like.
type postgresChoice struct {
	flavor, version string
	size            string
	storage         int
	haType          string
}

// checkPostgres returns the servers for a choice in the call's location, if all of
// it can be had together.
func checkPostgres(c *api.Call, choice postgresChoice) (postgresServers, error) {
	var none postgresServers
	locations := postgresLocations(c, choice.flavor)
	switch {
	case !slices.Contains(postgresFlavors, choice.flavor):
		return none, invalidOption("flavor", postgresFlavors)
	case !slices.Contains(postgresVersions, choice.version):
		return none, invalidOption("version", postgresVersions)
	case !slices.Contains(locations, c.Location.Name):
		return none, invalidOption("location", locations)
	}
	i := slices.IndexFunc(postgresSizes, func(size postgresSize) bool {
		return size.name == choice.size && size.aws == (c.Location.Owner != nil)
	})
	if i < 0 {
		return none, reply.InvalidField("size", "Invalid size.")
	}
	if storage := postgresSizes[i].storage; !slices.Contains(storage, choice.storage) {
		return none, invalidOption("storage_size", storage)
	}
	standbys := slices.Index(postgresHATypes, choice.haType)
	if standbys < 0 {
		return none, invalidOption("ha_type", postgresHATypes)
	}
	return postgresServers{choice.size, choice.storage, standbys}, nil
}

// postgresLocations names the locations that offer databases of the flavor: all
// but one of the public ones, and the project's own for the standard flavor.
func postgresLocations(c *api.Call, flavor string) []string {
	var names []string
	for _, l := range c.State.Locations {
		offered := l.Name != "eu-north-h1" && !l.Hidden
		if l.Owner != nil {
			offered = l.Owner == c.Project && flavor == "standard"
		}
		if offered {
			names = append(names, l.Name)
		}
	}
	return names
}

func invalidOption[T any](field string, options []T) error {
	names := api.Records(options, func(option T) string { return fmt.Sprint(option) })
	return reply.InvalidField(field, "Invalid %s. Available options: %s",
		strings.ReplaceAll(field, "_", " "), strings.Join(names, ", "))
}

// checkPostgresQuota checks that the project may use so many more vCPUs. Those of
// existing servers count, whatever is to become of them.
func checkPostgresQuota(c *api.Call, vcpus int) error {
	used := 0
	for _, p := range api.InProject[*postgres](c.State, cloudapi.KindPostgres, c.Project) {
		used += p.current(c.Now).vcpus()
	}
	return checkVCPUs("size", vcpus, used, c.Config.Quota.Postgres)
}
