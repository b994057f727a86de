package cloudapitest

import (
	"crypto/rand"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/families"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// Option is an option of [New] and [NewServer].
type Option func(*config) error

type config struct {
	token          string
	projectID      string
	projectName    string
	otherProjectID string
	tokens         []tokenConfig
	pageCap        int
	logBound       int
	logBounded     bool
	delays         Delays
	quota          Quota
	locations      []string
	lenient        bool
	api            API
	log            io.Writer
	portless       bool
	snapshot       *families.Snapshot // nil for an empty project
	now            func() time.Time
}

type tokenConfig struct {
	value  string
	access Access
}

func newConfig(opts []Option) (config, error) {
	cfg := config{
		token:          newToken(),
		projectID:      NewID(cloudapi.KindProject).String(),
		projectName:    "main",
		otherProjectID: NewID(cloudapi.KindProject).String(),
		pageCap:        1000,
		delays:         DefaultDelays(),
		quota:          DefaultQuota(),
		locations:      []string{"eu-central-h1", "eu-north-h1", "us-east-a2"},
		now:            time.Now,
	}
	for _, opt := range opts {
		if opt == nil {
			continue
		}
		if err := opt(&cfg); err != nil {
			return config{}, fmt.Errorf("cloudapitest: %w", err)
		}
	}
	return cfg, nil
}

// Lenient makes the server accept requests that a correct client wouldn't send,
// without failing the test.
func Lenient() Option {
	return func(c *config) error {
		c.lenient = true
		return nil
	}
}

// API is a version of the API that a server implements.
type API string

const (
	// Service is the service of today. It has nothing that only Contract has.
	Service API = API(version.Service)
	// Contract is version 0.1.0 of the API's contract. What the contract leaves
	// open is as measured in October 2025, when the service differed from the
	// contract in this: it had no registered init scripts, no CreateInProject and
	// no UpdateRule, a page had 1000 items by default, the stack of a load
	// balancer was required, and a setting of a database could be a number.
	//
	// Where neither says anything, CreateInProject creates the firewall in the
	// first location, and UpdateRule keeps a port range that the request lacks. As
	// in October 2025, but not in the contract, UpdateConfig accepts null, which
	// removes a setting. As with today's service, an unknown version of Kubernetes
	// gets a 400 instead of a 500, the firewall rules of a database are sorted,
	// memory_usage has three series instead of two, and Bearer may be in lower
	// case.
	Contract API = API(version.Contract)
)

func (cfg config) implemented() version.API {
	if cfg.api == "" {
		return version.API{Version: version.Service, Both: true}
	}
	return version.API{Version: version.Version(cfg.api)}
}

func (cfg config) thereIs() string {
	if cfg.api == "" {
		return "there is"
	}
	return "the " + string(cfg.api) + " has"
}

// WithAPI makes the server implement exactly [Service] or [Contract]. The
// server refuses operations and fields that only the other version has.
//
// Without WithAPI, the server implements [Service], and also the operations and
// fields that only [Contract] has, such as the list of projects and registered
// init scripts. In a request with init_script_args, the init_script is then the
// name or ID of a registered script. The server logs the first use of each such
// operation or field, since the real service refuses it; see [WithLog]. It
// doesn't log a GET that finds nothing, such as those of
// [cloudapi.Client.Resources], which skips what the service doesn't have.
func WithAPI(v API) Option {
	return func(c *config) error {
		if v != Service && v != Contract {
			return fmt.Errorf("WithAPI: %q is neither %q nor %q", v, Service, Contract)
		}
		c.api = v
		return nil
	}
}

// WithLog sets where the server logs surprises, one line each, such as the
// first use of something that no real server has. By default, a server from
// [New] logs to the test's log, and a server from [NewServer] logs nothing.
func WithLog(w io.Writer) Option {
	return func(c *config) error {
		c.log = w
		return nil
	}
}

// WithClock sets the server's clock, which must be safe for concurrent use and
// must not go back. It determines states, logs, the Date of responses and
// [Fault.For]. The default is package time's clock, which [Delay] and
// [Fault.After] always use. In a test, testing/synctest is simpler.
func WithClock(now func() time.Time) Option {
	return func(c *config) error {
		if now == nil {
			return fmt.Errorf("WithClock: the function is nil")
		}
		c.now = now
		return nil
	}
}

// WithPortlessBalancers gives each running cluster a load balancer for its
// Services from the start, as the real service does. The load balancer has no
// ports until somebody creates a Service in the cluster. Until then the server
// responds with a 500 to every request for a page of load balancers that would
// contain it. Ubicloud may fix this at any time. Without this option, the load
// balancer is created with the first Service; see [Server.SetClusterService].
func WithPortlessBalancers() Option {
	return func(c *config) error {
		c.portless = true
		return nil
	}
}

// WithToken sets the token that has every permission in the project. It must
// start with "pat-". The default is random.
func WithToken(token string) Option {
	return func(c *config) error {
		c.token = token
		return checkToken(token)
	}
}

// Access is the set of permissions of a token.
type Access int

const (
	// AccessFull grants every permission in the project, like the token of
	// [WithToken].
	AccessFull Access = iota
	// AccessNone grants no permission in any project, unless
	// [Server.SetPermissions] adds some: lists are empty, and requests for
	// existing objects are forbidden.
	AccessNone
	// AccessForeign grants every permission in [Server.OtherProjectID], which
	// belongs to another account.
	AccessForeign
	// AccessRevoked means that the token was deleted, and doesn't authenticate.
	AccessRevoked
)

// WithTokenAccess adds a token with the given access, besides the token of
// [WithToken].
func WithTokenAccess(token string, access Access) Option {
	return func(c *config) error {
		if access < AccessFull || access > AccessRevoked {
			return fmt.Errorf("WithTokenAccess: %d isn't one of the Access constants", access)
		}
		c.tokens = append(c.tokens, tokenConfig{token, access})
		return checkToken(token)
	}
}

// WithProjectID sets the ID of the project. The default is random.
func WithProjectID(id string) Option {
	return func(c *config) error {
		parsed, err := cloudapi.ParseID(id)
		if err != nil || parsed.Kind() != cloudapi.KindProject {
			return fmt.Errorf("WithProjectID: %q isn't the ID of a project", id)
		}
		c.projectID = parsed.String()
		return nil
	}
}

// WithProjectName sets the name of the project. The default is "main".
func WithProjectName(name string) Option {
	return func(c *config) error {
		if !families.IsProjectName(name) {
			return fmt.Errorf("WithProjectName: %q can't be the name of a project", name)
		}
		c.projectName = name
		return nil
	}
}

// WithPageCap sets the maximum size of a page, which is also its size if a
// request has none. The default is 1000, as on the real server. With [Contract],
// a request without a size gets at most 10 items, except of firewalls and
// private locations, whose lists have no pages there.
func WithPageCap(n int) Option {
	return func(c *config) error {
		if n < 1 {
			return fmt.Errorf("WithPageCap: %d isn't a page size", n)
		}
		c.pageCap = n
		return nil
	}
}

// WithRequestLog limits [Server.Requests] to the last n requests, and to the
// first 64 KiB of each body. The default is no limit. Set one for a
// long-running server.
func WithRequestLog(n int) Option {
	return func(c *config) error {
		if n < 0 {
			return fmt.Errorf("WithRequestLog: %d isn't a number of requests", n)
		}
		c.logBound, c.logBounded = n, true
		return nil
	}
}

// Delays are the durations of the asynchronous effects of requests. With a
// delay of 0 the next request sees the result.
type Delays struct {
	// Create is how long a VM, database, cluster, image version or node of a
	// new node pool has the state "creating".
	Create time.Duration
	// Backup is the time from the start of a database to its first backup. Until
	// then the database can't be restored or replicated. The earliest time to
	// restore to is 5 minutes after the backup. Only Backup may be negative. The
	// server then behaves as if the database had been running for longer: with
	// -time.Hour, the database can be restored immediately, and has an hour of
	// logs.
	Backup time.Duration
	// Restart is how long a VM has the state "restarting", "starting" or
	// "stopping", and how long a database has the state "restarting".
	Restart time.Duration
	// Resize is how long a database or node pool keeps its old size, how long a
	// retired node stays, and how long an upgrade of a cluster or node pool
	// takes for each node. A database with a maintenance window keeps its size
	// until the window opens.
	Resize time.Duration
	// Promote is how long a promoted database remains a read replica.
	Promote time.Duration
	// Detach is how long a detached VM stays in the list of the load balancer's
	// VMs.
	Detach time.Duration
	// Delete is how long a VM, database, cluster, node pool, subnet, load
	// balancer or, except with [Contract], private location can still be read
	// after its deletion.
	Delete time.Duration
	// Vacate is how long the servers of a deleted database stay in its subnet
	// after the database can no longer be read. Until they're gone, the server
	// refuses to delete the subnet, even if the subnet's own state is "deleting".
	// It has no effect with [Contract].
	Vacate time.Duration
	// SerialLog is how long fetching a VM's serial log takes. A fetch that fails
	// takes ten times as long, for its three attempts.
	SerialLog time.Duration
}

// DefaultDelays returns the delays of a server without [WithDelays]: 3 seconds
// each.
func DefaultDelays() Delays {
	const d = 3 * time.Second
	return Delays{Create: d, Backup: d, Restart: d, Resize: d, Promote: d, Detach: d, Delete: d, Vacate: d, SerialLog: d}
}

// WithDelays replaces all delays. [Server.SetDelays] replaces the delays of a
// kind or an object.
func WithDelays(d Delays) Option {
	return func(c *config) error {
		c.delays = d
		return d.check()
	}
}

func (d Delays) check() error {
	if min(d.Create, d.Restart, d.Resize, d.Promote, d.Detach, d.Delete, d.Vacate, d.SerialLog) < 0 {
		return fmt.Errorf("%+v has a negative delay", d)
	}
	return nil
}

// Quota is the number of vCPUs that a project may use, the number of machine
// image versions that it may have, and the number of projects that an account
// may have.
type Quota struct {
	VM, Postgres, Kubernetes int
	MachineImageVersions     int // not with [Contract]
	Projects                 int
}

// DefaultQuota returns the quota of a new project on the real server.
func DefaultQuota() Quota {
	return Quota{VM: 32, Postgres: 128, Kubernetes: 32, MachineImageVersions: 16, Projects: 10}
}

// WithQuota replaces all quotas. A quota of 0 allows nothing. A subnet never
// has room for more than 59 VMs.
func WithQuota(q Quota) Option {
	return func(c *config) error {
		c.quota = q
		return q.check()
	}
}

func (q Quota) check() error {
	if min(q.VM, q.Postgres, q.Kubernetes, q.MachineImageVersions, q.Projects) < 0 {
		return fmt.Errorf("%+v has a negative quota", q)
	}
	return nil
}

// WithLocations replaces the public locations. The default is eu-central-h1,
// eu-north-h1 and us-east-a2.
func WithLocations(names ...string) Option {
	return func(c *config) error {
		if len(names) == 0 {
			return fmt.Errorf("WithLocations: no name")
		}
		for i, name := range names {
			if !locationForm.MatchString(name) || slices.Contains(names[:i], name) {
				return fmt.Errorf("WithLocations: %q can't be the name of a location, or is given twice", name)
			}
		}
		c.locations = slices.Clone(names)
		return nil
	}
}

var locationForm = regexp.MustCompile(`^[A-Za-z0-9_~][A-Za-z0-9._~-]*$`)

var tokenForm = regexp.MustCompile(`^pat-[!-~]+$`)

func checkToken(token string) error {
	if !tokenForm.MatchString(token) {
		return fmt.Errorf("a token is \"pat-\" and visible ASCII characters")
	}
	return nil
}

// newToken returns a token in the real server's form: an ID and a secret.
func newToken() string {
	return fmt.Sprintf("pat-%s-%.16s%.16s", NewID(cloudapi.KindInferenceAPIKey), rand.Text(), rand.Text())
}
