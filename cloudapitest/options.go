package cloudapitest

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/families"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// Option changes how a server is set up.
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
}

type tokenConfig struct {
	value  string
	access Access
}

func newConfig(opts []Option) (config, error) {
	cfg := config{
		token:          newToken(),
		projectID:      cloudapi.NewID(cloudapi.KindProject).String(),
		api:            October2025,
		projectName:    "main",
		otherProjectID: cloudapi.NewID(cloudapi.KindProject).String(),
		pageCap:        1000,
		delays:         DefaultDelays(),
		quota:          DefaultQuota(),
		locations:      []string{"eu-central-h1", "eu-north-h1", "us-east-a2"},
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

// Lenient makes the server accept without a failure of the test what a correct
// client would not send.
func Lenient() Option {
	return func(c *config) error {
		c.lenient = true
		return nil
	}
}

// API is a version of the service, by the month that it is of.
type API string

const (
	// October2025 is the version of the contract. It is the default.
	October2025 API = "2025-10"
	// August2026 is the version of the operations and fields that the
	// documentation of package cloudapi says came in August 2026.
	August2026 API = "2026-08"
)

// WithAPI sets the version of the service that the server speaks. What only
// another version has is refused as the service of that version refuses it.
func WithAPI(v API) Option {
	return func(c *config) error {
		if !version.Known(version.Version(v)) {
			return fmt.Errorf("WithAPI: %q is not a version of the service", v)
		}
		c.api = v
		return nil
	}
}

// WithToken sets the token that has every permission in the project. The default
// is a random one. Tokens start with "pat-".
func WithToken(token string) Option {
	return func(c *config) error {
		c.token = token
		return checkToken(token)
	}
}

// Access is what a token may do.
type Access int

const (
	// AccessFull is every permission in the project, as the token of
	// [WithToken] has it.
	AccessFull Access = iota
	// AccessNone is no permission in any project, unless [Server.SetPermissions]
	// gives it some: lists are empty, and what exists is forbidden.
	AccessNone
	// AccessForeign is every permission in [Server.OtherProjectID], which
	// belongs to another account.
	AccessForeign
	// AccessRevoked is that of a deleted token: it does not authenticate.
	AccessRevoked
)

// WithTokenAccess adds a token beside the one of [WithToken].
func WithTokenAccess(token string, access Access) Option {
	return func(c *config) error {
		if access < AccessFull || access > AccessRevoked {
			return fmt.Errorf("WithTokenAccess: %d is not one of the Access constants", access)
		}
		c.tokens = append(c.tokens, tokenConfig{token, access})
		return checkToken(token)
	}
}

// WithProjectID sets the ID of the project. The default is a random one.
func WithProjectID(id string) Option {
	return func(c *config) error {
		parsed, err := cloudapi.ParseID(id)
		if err != nil || parsed.Kind() != cloudapi.KindProject {
			return fmt.Errorf("WithProjectID: %q is not the ID of a project", id)
		}
		c.projectID = parsed.String()
		return nil
	}
}

// WithProjectName sets the name of the project. The default is "main".
func WithProjectName(name string) Option {
	return func(c *config) error {
		if !families.IsProjectName(name) {
			return fmt.Errorf("WithProjectName: %q cannot be the name of a project", name)
		}
		c.projectName = name
		return nil
	}
}

// WithPageCap sets the largest page of a list, which is also the page that a
// request without page_size gets. The default, as with the real server, is 1000.
func WithPageCap(n int) Option {
	return func(c *config) error {
		if n < 1 {
			return fmt.Errorf("WithPageCap: %d is not a page size", n)
		}
		c.pageCap = n
		return nil
	}
}

// WithRequestLog makes [Server.Requests] return the last n requests only. The
// default is all requests. A server that runs for long needs a bound.
func WithRequestLog(n int) Option {
	return func(c *config) error {
		if n < 0 {
			return fmt.Errorf("WithRequestLog: %d is not a number of requests", n)
		}
		c.logBound, c.logBounded = n, true
		return nil
	}
}

// Delays are the durations of what the service does after its reply. With zero the
// next request sees the result.
type Delays struct {
	// Create is how long a VM, database, cluster or image version shows "creating",
	// and how long the nodes of a new node pool do.
	Create time.Duration
	// Backup is the time from a database's start to its first backup, before
	// which it can be neither restored nor replicated. It can be restored to 5
	// minutes after that at the earliest. It alone may be negative, as if the
	// database had run for longer: with -time.Hour it can be restored at once.
	Backup time.Duration
	// Restart is how long a VM shows "restarting", "starting" or "stopping".
	Restart time.Duration
	// Resize is how long a database or node pool keeps its former size, how long a
	// node that is retired stays, and what an upgrade of a cluster or node pool
	// takes for each node. A database with a maintenance window keeps its size
	// until that opens.
	Resize time.Duration
	// Promote is how long a promoted database remains a read replica.
	Promote time.Duration
	// Detach is how long a detached VM is still among those of the load balancer.
	Detach time.Duration
	// Delete is how long a VM, database, cluster, node pool, subnet or load
	// balancer can still be read after its deletion was accepted.
	Delete time.Duration
}

// DefaultDelays returns the delays of a server without [WithDelays]: 3 seconds
// each.
func DefaultDelays() Delays {
	const d = 3 * time.Second
	return Delays{Create: d, Backup: d, Restart: d, Resize: d, Promote: d, Detach: d, Delete: d}
}

// WithDelays replaces all delays. [Server.SetDelays] replaces those of a kind or
// an object.
func WithDelays(d Delays) Option {
	return func(c *config) error {
		c.delays = d
		return d.check()
	}
}

func (d Delays) check() error {
	if min(d.Create, d.Restart, d.Resize, d.Promote, d.Detach, d.Delete) < 0 {
		return fmt.Errorf("%+v has a negative delay", d)
	}
	return nil
}

// Quota is the number of vCPUs that a project may use, and of projects that an
// account may have.
type Quota struct {
	VM, Postgres, Kubernetes int
	Projects                 int
}

// DefaultQuota returns the quota of a new project on the real server.
func DefaultQuota() Quota {
	return Quota{VM: 32, Postgres: 128, Kubernetes: 32, Projects: 10}
}

// WithQuota replaces all quotas. A quota of 0 allows nothing. A subnet has room
// for 59 VMs, whatever the quota is.
func WithQuota(q Quota) Option {
	return func(c *config) error {
		if min(q.VM, q.Postgres, q.Kubernetes, q.Projects) < 0 {
			return fmt.Errorf("WithQuota: %+v has a negative quota", q)
		}
		c.quota = q
		return nil
	}
}

// WithLocations replaces the public locations, which are eu-central-h1,
// eu-north-h1 and us-east-a2.
func WithLocations(names ...string) Option {
	return func(c *config) error {
		if len(names) == 0 {
			return fmt.Errorf("WithLocations: no name")
		}
		for i, name := range names {
			if !locationForm.MatchString(name) || slices.Contains(names[:i], name) {
				return fmt.Errorf("WithLocations: %q cannot be the name of a location, or is there twice", name)
			}
		}
		c.locations = slices.Clone(names)
		return nil
	}
}

// locationForm is what can stand in a path.
var locationForm = regexp.MustCompile(`^[A-Za-z0-9_~][A-Za-z0-9._~-]*$`)

var tokenForm = regexp.MustCompile(`^pat-[!-~]+$`)

func checkToken(token string) error {
	if !tokenForm.MatchString(token) {
		return fmt.Errorf("a token is \"pat-\" and visible ASCII characters")
	}
	return nil
}

// newToken returns a token of the real form: an ID and a secret.
func newToken() string {
	return fmt.Sprintf("pat-%s-%.16s%.16s", cloudapi.NewID(cloudapi.KindInferenceAPIKey), rand.Text(), rand.Text())
}
