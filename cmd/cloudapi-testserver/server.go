package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

// A server is a test server of the API, with the data for applying changes.
type server struct {
	*cloudapitest.Server
	options options
	clock   *clock
	start   []step // the changes that the flags and the scenario ask for

	mu      sync.Mutex // held during a change
	scripts []script   // oldest first
	quota   cloudapitest.Quota
}

type script struct {
	addedBy *failure
	*cloudapitest.Script
}

func newServer(ctx context.Context, o options, start []step, config ...cloudapitest.Option) (*server, error) {
	s := &server{options: o, start: start, clock: newClock()}
	err := try(func() { s.Server = cloudapitest.NewServer(append(config, cloudapitest.WithClock(s.clock.Now))...) })
	if err != nil {
		return nil, usageError{err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fill(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

const most = math.MaxInt

// unlimited are the quotas of a copy.
var unlimited = cloudapitest.Quota{VM: most, Postgres: most, Kubernetes: most, MachineImageVersions: most, Projects: most}

func (s *server) fill(ctx context.Context) error {
	s.quota = cloudapitest.DefaultQuota()
	if s.options.isCopy() {
		s.quota = unlimited
	}
	if s.options.demo {
		if err := addDemo(ctx, s.Server, s.options); err != nil {
			return err
		}
		s.ClearRequests()
	}
	return s.make(s.start)
}

func (s *server) reset(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Reset()
	s.scripts = nil
	s.clock.restart()
	return s.fill(context.WithoutCancel(ctx))
}

// apply applies changes, up to the first that fails.
func (s *server) apply(steps []step) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.make(steps)
}

func (s *server) make(steps []step) error {
	for i, step := range steps {
		if err := step.apply(s); err != nil {
			err = fmt.Errorf("%s: %w", step.name, err)
			if len(steps) > 1 {
				err = fmt.Errorf("change %d: %w", i+1, err)
			}
			return usageError{err}
		}
	}
	return nil
}

func (s *server) clearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ClearFaults()
	s.scripts = nil
}

func (s *server) project(id string) string {
	if id == "" {
		return s.ProjectID()
	}
	return id
}

// find returns ref if it's an ID, and otherwise the ID of the only resource of
// the kind with that name.
func (s *server) find(kind cloudapi.Kind, ref string) (string, error) {
	if _, err := cloudapi.ParseID(ref); err == nil {
		return ref, nil
	}
	switch {
	case ref == "":
		return "", errors.New("it names no resource")
	case !kind.Known():
		return "", noKind(kind)
	}
	ids := s.IDs(kind, ref)
	if len(ids) != 1 {
		return "", fmt.Errorf("there are %d resources of kind %s named %q, in all locations", len(ids), string(kind), ref)
	}
	return ids[0], nil
}

func noKind(kind cloudapi.Kind) error {
	return fmt.Errorf("there is no kind %q; it is the first two characters of an ID, such as vm", string(kind))
}

// try calls f. A method of cloudapitest panics if it refuses its arguments; try
// returns that as an error.
func try(f func()) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case runtime.Error:
			panic(v)
		default:
			text := strings.TrimPrefix(fmt.Sprint(v), "cloudapitest: ")
			if method, rest, ok := strings.Cut(text, ": "); ok && !strings.Contains(method, " ") {
				text = rest
			}
			err = errors.New(text)
		}
	}()
	f()
	return nil
}
