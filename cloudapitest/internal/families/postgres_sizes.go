package families

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// postgresServers describes the servers of a database: a primary and its
// standbys, all of the same size.
type postgresServers struct {
	version  string // of PostgreSQL
	vm       string
	storage  int // GiB
	standbys int
}

func (s postgresServers) withoutStandbys() postgresServers {
	s.standbys = 0
	return s
}

func (s postgresServers) vcpus() int { return s.size().vcpus * (s.standbys + 1) }

// size returns a size without vCPUs and memory if the server doesn't know it, as
// in the copy of a project.
func (s postgresServers) size() postgresSize {
	i := slices.IndexFunc(postgresSizes, func(size postgresSize) bool { return size.name == s.vm })
	if i < 0 {
		return postgresSize{name: s.vm}
	}
	return postgresSizes[i]
}

type postgresSize struct {
	name    string
	vcpus   int
	memory  int             // GiB
	storage []int           // GiB
	aws     bool            // only for private locations
	only    version.Version // the only version of the API that offers the size; "" if both do
}

var postgresSizes = []postgresSize{
	{"standard-2", 2, 8, []int{64, 128, 256}, false, ""},
	{"standard-4", 4, 16, []int{128, 256, 512}, false, ""},
	{"standard-8", 8, 32, []int{256, 512, 1024}, false, ""},
	{"standard-16", 16, 64, []int{512, 1024, 2048}, false, ""},
	{"standard-30", 30, 120, []int{1024, 2048, 4096}, false, ""},
	{"standard-60", 60, 240, []int{1024, 2048, 4096}, false, ""},
	{"burstable-1", 1, 2, []int{16, 32, 64}, false, version.Contract},
	{"burstable-2", 2, 4, []int{32, 64, 128}, false, version.Contract},
	{"hobby-1", 1, 2, []int{16, 32, 64}, false, version.Service},
	{"hobby-2", 2, 4, []int{32, 64, 128}, false, version.Service},
	{"m6id.large", 2, 8, []int{118}, true, version.Contract},
	{"m6id.xlarge", 4, 16, []int{237}, true, version.Contract},
	{"m6id.2xlarge", 8, 32, []int{474}, true, version.Contract},
	{"m6id.4xlarge", 16, 64, []int{950}, true, version.Contract},
	{"m6id.8xlarge", 32, 128, []int{1900}, true, version.Contract},
	{"m6id.16xlarge", 64, 256, []int{3800}, true, version.Contract},
	{"m8gd.large", 2, 8, []int{118}, true, version.Service},
	{"m8gd.xlarge", 4, 16, []int{237}, true, version.Service},
	{"m8gd.2xlarge", 8, 32, []int{474}, true, version.Service},
	{"m8gd.4xlarge", 16, 64, []int{950}, true, version.Service},
	{"m8gd.8xlarge", 32, 128, []int{1900}, true, version.Service},
	{"m8gd.12xlarge", 48, 192, []int{2850}, true, version.Service},
	{"m8gd.16xlarge", 64, 256, []int{3800}, true, version.Service},
	{"i8g.large", 2, 16, []int{468}, true, version.Service},
	{"i8g.xlarge", 4, 32, []int{937}, true, version.Service},
	{"i8g.2xlarge", 8, 64, []int{1875}, true, version.Service},
	{"i8g.4xlarge", 16, 128, []int{3750}, true, version.Service},
	{"i8g.8xlarge", 32, 256, []int{7500}, true, version.Service},
	{"i8g.12xlarge", 48, 384, []int{11250}, true, version.Service},
	{"i8g.16xlarge", 64, 512, []int{15000}, true, version.Service},
	{"i8g.24xlarge", 96, 768, []int{22500}, true, version.Service},
}

func (s postgresSize) offered(at *api.Moment) bool {
	return s.only == "" || s.only == at.Config.Version
}

var postgresHATypes = []string{"none", "async", "sync"} // the index is the number of standbys

type postgresChoice struct {
	flavor, version string
	size            string
	storage         int
	haType          string
}

func postgresServersFor(c *api.Call, choice postgresChoice) (postgresServers, error) {
	var none postgresServers
	terms, flavors := postgresTermsOf(c.Moment), postgresFlavors(c)
	locations := api.Records(postgresLocations(c, choice.flavor), func(l *api.Location) string { return l.Name })
	switch {
	case !slices.Contains(flavors, choice.flavor):
		return none, invalidOption("flavor", flavors)
	case !slices.Contains(terms.versionsOf(choice.flavor), choice.version):
		return none, invalidOption("version", terms.versionsOf(choice.flavor))
	case !slices.Contains(locations, c.Location.Name):
		return none, invalidOption("location", locations)
	}
	name := terms.sizeName(choice.size)
	i := slices.IndexFunc(postgresSizes, func(size postgresSize) bool {
		return size.name == name && size.aws == (c.Location.Owner != nil) && size.offered(c.Moment)
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
	return postgresServers{choice.version, name, choice.storage, standbys}, nil
}

func postgresLocations(c *api.Call, flavor string) []*api.Location {
	var locations []*api.Location
	for _, l := range c.State.Locations {
		offered := l.Name != "eu-north-h1" && !l.Hidden
		if l.Owner != nil {
			offered = l.Owner == c.Project && flavor == "standard"
		}
		if offered {
			locations = append(locations, l)
		}
	}
	return locations
}

func invalidOption[T any](field string, options []T) error {
	names := api.Records(options, func(option T) string { return fmt.Sprint(option) })
	return reply.InvalidField(field, "Invalid %s. Available options: %s",
		strings.ReplaceAll(field, "_", " "), strings.Join(names, ", "))
}

// checkPostgresQuota uses the present size of existing servers, even if that is
// about to change.
func checkPostgresQuota(c *api.Call, vcpus int) error {
	used := 0
	for _, p := range api.InProject[*postgres](c.State, cloudapi.KindPostgres, c.Project) {
		used += p.current(c.Now).vcpus()
	}
	return checkVCPUs("size", vcpus, used, c.Config.Quota.Postgres)
}
