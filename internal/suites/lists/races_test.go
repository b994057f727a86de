package lists_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// project is a project in which firewalls come and go before each page of their
// list, and between the page and its count.
type project struct {
	t       *testing.T
	srv     *cloudapitest.Server
	rng     *rand.Rand
	percent int
	now     map[string]bool // the IDs of the firewalls
	past    map[string]bool
	made    int
}

func newProject(t *testing.T, seed uint64) *project {
	p := &project{t: t, srv: cloudapitest.New(t), rng: rand.New(rand.NewPCG(seed, 1)), now: map[string]bool{}, past: map[string]bool{}}
	p.srv.Fail(cloudapitest.Match{Operation: "Firewalls.List"}, cloudapitest.BeforeCount(p.change).Repeating())
	return p
}

// client returns a client whose requests are preceded by changes.
func (p *project) client(opts ...cloudapi.Option) *cloudapi.Client {
	return p.srv.Client(append(opts, cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			p.change()
			return next.RoundTrip(req)
		})
	}))...)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (p *project) change() {
	for p.rng.IntN(100) < p.percent {
		if p.rng.IntN(2) == 0 {
			p.add()
			continue
		}
		for id := range p.now { // a random firewall
			if err := p.srv.Client().Firewalls.Delete(context.Background(), "eu-central-h1", id); err != nil {
				p.t.Error(err)
			}
			delete(p.now, id)
			p.past[id] = true
			break
		}
	}
}

func (p *project) add() {
	p.made++
	firewall, err := p.srv.Client().Firewalls.Create(context.Background(), "eu-central-h1", fmt.Sprintf("edge-%d", p.made), nil)
	if err != nil {
		p.t.Error(err)
		return
	}
	p.now[firewall.ID] = true
}

// TestWalksUnderChurn: no walk loses an item that stays, yields it twice, or
// fails.
func TestWalksUnderChurn(t *testing.T) {
	t.Parallel()
	walks := uint64(200)
	if testing.Short() {
		walks = 50
	}
	for seed := range walks {
		synctest.Test(t, func(t *testing.T) {
			p := newProject(t, seed)
			for range p.rng.IntN(12) {
				p.add()
			}
			began := map[string]bool{}
			for id := range p.now {
				began[id] = true
			}
			p.percent = p.rng.IntN(70)
			seen := map[string]bool{}
			for firewall, err := range p.client(cloudapi.WithPrefetch(int(seed)%3)).Firewalls.All(t.Context(), &cloudapi.ListOptions{PageSize: 2 + int(seed)%3}) {
				if err != nil {
					t.Errorf("seed %d: it ends with %v", seed, err)
					break
				}
				if seen[firewall.ID] {
					t.Errorf("seed %d: %s was yielded again", seed, firewall.ID)
				}
				seen[firewall.ID] = true
			}
			for id := range began {
				if !p.past[id] && !seen[id] {
					t.Errorf("seed %d: %s was there all the time, and is not among the %d", seed, id, len(seen))
				}
			}
		})
	}
}

// TestFirstItemComesBetweenThePageAndItsCount: the page is empty, and its count
// is 1.
func TestFirstItemComesBetweenThePageAndItsCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		p := &project{t: t, srv: srv, now: map[string]bool{}}
		srv.Fail(cloudapitest.Match{Operation: "Firewalls.List"}, cloudapitest.BeforeCount(p.add))
		firewalls, err := cloudapi.Collect(srv.Client().Firewalls.All(t.Context(), nil))
		if err != nil || len(firewalls) != 1 {
			t.Errorf("got %d firewalls: %v", len(firewalls), err)
		}
	})
}

// TestNoParametersForWholeLists: a server that strictly follows its description
// refuses parameters.
func TestNoParametersForWholeLists(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	client := srv.Client()
	stub.Must(teardown.NewPlan(t.Context(), client, nil))(t)
	for _, name := range []string{"SSHPublicKeys.List", "InferenceAPIKeys.List", "VMInitScripts.List"} {
		requests := srv.Requests()
		i := slices.IndexFunc(requests, func(r cloudapitest.Request) bool { return r.Name == name })
		if i < 0 || requests[i].RawQuery != "" {
			t.Errorf("%s is in request %d of the plan, with a query", name, i)
		}
	}
}

// TestWatchUnderChurn: no existing item is reported as deleted, none is added
// twice, and all items at the end are known.
func TestWatchUnderChurn(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			p := newProject(t, seed)
			for range 6 {
				p.add()
			}
			p.percent = 40
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			known := map[string]bool{}
			for e, err := range p.client().Firewalls.Watch(ctx, &cloudapi.WatchOptions{PageSize: 2, Progress: func(progress cloudapi.Progress) {
				switch progress.Polls {
				case 20:
					p.percent = 0
				case 21:
					cancel()
				}
			}}) {
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("seed %d: it ends with %v", seed, err)
					}
					break
				}
				id := e.Record.ID
				switch e.Type {
				case cloudapi.EventAdded:
					if known[id] {
						t.Errorf("seed %d: %s was added again", seed, id)
					}
					known[id] = true
				case cloudapi.EventDeleted:
					if p.now[id] {
						t.Errorf("seed %d: %s is there, and was reported as deleted", seed, id)
					}
					delete(known, id)
				}
			}
			if len(known) != len(p.now) {
				t.Errorf("seed %d: %d firewalls are known, and %d are there", seed, len(known), len(p.now))
			}
		})
	}
}
