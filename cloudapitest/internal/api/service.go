// Package api executes requests to a service with projects, locations and
// objects. It finds the operation, checks the token, the path, the query and
// the body, finds objects by their references, and pages lists. It knows no
// resources: [Config] contains the operations.
package api

import (
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// Config contains the data that operations depend on besides the state.
type Config struct {
	version.API
	Locations []string // the public locations
	Hidden    []string // locations that can be read, but in which nothing can be created
	PageCap   int      // the largest page size of a list
	Delays    Delays
	Quota     Quota
	Now       func() time.Time // nil means time.Now

	// PortlessBalancers says whether a cluster has its load balancer for Services
	// even before it has Services. That load balancer has no ports.
	PortlessBalancers bool

	Families   map[cloudapi.Kind]string // the first word of the kind's permissions, such as "Vm" in "Vm:view"
	Operations []Operation              // of the contract and of the service
	// Pattern returns the pattern that a path parameter of an operation must
	// match, or nil.
	Pattern func(o *Operation, param string) *regexp.Regexp
}

// Delays are the durations of asynchronous effects.
type Delays struct{ Create, Backup, Restart, Resize, Promote, Detach, Delete, Vacate, SerialLog time.Duration }

// Quota limits the vCPUs and the machine image versions of a project, and the
// projects of an account.
type Quota struct{ VM, Postgres, Kubernetes, MachineImageVersions, Projects int }

// Service executes requests on its state, one at a time.
type Service struct {
	Config     Config // mu guards the fields that change
	initial    Config
	Operations []Operation // the operations of Config.Operations that Config.API has

	router *router // of Operations
	every  *router // of Config.Operations

	mu    sync.Mutex // guards State, and the fields of Config that change
	State *State
}

// New returns a service without projects.
func New(cfg Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	operations := In(cfg.API, cfg.Operations)
	return &Service{
		Config:     cfg,
		initial:    cfg,
		Operations: operations,
		router:     newRouter(operations),
		every:      newRouter(cfg.Operations),
		State:      newState(cfg.Locations, cfg.Hidden),
	}
}

// Match returns the operation of a request and its path parameters, or nil.
func (s *Service) Match(method, path string) (*Operation, map[string]string) {
	return s.router.match(method, path)
}

// InSomeVersion reports whether the contract or the service has an operation
// for the request.
func (s *Service) InSomeVersion(method, path string) bool {
	op, _ := s.every.match(method, path)
	return op != nil
}

// Request is an HTTP request with its body and its operation.
type Request struct {
	*http.Request
	Operation *Operation // nil if the API has no operation for the request
	Params    map[string]string
	Body      []byte

	// BeforeCount, if not nil, is called after a list has read the items of its
	// page and before it counts all items. Other requests can be executed
	// during the call.
	BeforeCount func()
}

// Refusal returns the error for a request without a valid token, and nil for
// other requests. It doesn't read the body.
func (s *Service) Refusal(r *http.Request) (refused *reply.Error) {
	s.Do(func(m *Moment) {
		_, err := m.authenticate(r.Header.Get("Authorization"))
		refused = reply.In(m.Config.Version, err)
	})
	return refused
}

// Remarks are what a client's author should know about a request, besides the
// response: names of operations, fields and parameters.
type Remarks struct {
	Unknown      []string // names that the API doesn't have
	ContractOnly []string // names that only the contract has, except of a GET that finds nothing
}

// Execute executes a request. It renders the response while the state is
// locked, since records may share slices with the state.
func (s *Service) Execute(r Request) (out reply.Reply, remarks Remarks) {
	if between := r.BeforeCount; between != nil {
		r.BeforeCount = func() { s.whileUnlocked(between) }
	}
	s.Do(func(m *Moment) { out, remarks = m.Execute(r) })
	return out, remarks
}

// Execute executes a request at the moment.
func (m *Moment) Execute(r Request) (reply.Reply, Remarks) {
	result, remarks, err := m.execute(r)
	return reply.New(result, reply.In(m.Config.Version, err)), remarks
}

// Reset returns the service to the state of [New], and then calls seed.
func (s *Service) Reset(seed func(*Moment)) {
	s.Do(func(m *Moment) {
		s.Config, *s.State = s.initial, *newState(s.initial.Locations, s.initial.Hidden)
		seed(m)
	})
}

// Do calls f while no request is being executed.
func (s *Service) Do(f func(*Moment)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.moment()
	m.Sweep()
	f(m)
}

func (s *Service) moment() *Moment {
	return &Moment{Config: &s.Config, State: s.State, Now: s.initial.Now()}
}

func (s *Service) whileUnlocked(f func()) {
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.moment().Sweep()
	}()
	f()
}
