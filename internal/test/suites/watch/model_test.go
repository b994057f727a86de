// Package watch_test checks the events of a watch, also with servers that
// change at random.
package watch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestWatchModel watches servers whose resources are created, renamed, changed
// and deleted between the rounds and while a list is read, and whose responses
// fail. If nothing has changed during a round, a program that applies the
// events has the records of the server. No event may be wrong or repeated. Now
// and then the program restarts, with the records that it has stored as JSON.
func TestWatchModel(t *testing.T) {
	t.Parallel()
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	var total totals
	t.Cleanup(func() {
		t.Logf("%d rounds, of which %d failed and nothing happened during %d; %d changes, %d faults; %d events",
			total.rounds.Load(), total.broken.Load(), total.quiet.Load(), total.changes.Load(), total.faults.Load(), total.events.Load())
		if rounds := total.rounds.Load(); !t.Failed() && (total.broken.Load() < rounds/20 || total.quiet.Load() < rounds/10 || total.events.Load() < rounds) {
			t.Error("that is too little to tell")
		}
	})
	for seed := range seeds {
		runWatchModel(t, &total, "VMs", seed, (*world).changeVM, func(r *cloudapi.VM) string { return r.ID },
			func(c *cloudapi.Client) lister[cloudapi.VM] { return c.VMs })
		runWatchModel(t, &total, "SSHPublicKeys", seed, (*world).changeKey, func(r *cloudapi.SSHPublicKey) string { return r.ID },
			func(c *cloudapi.Client) lister[cloudapi.SSHPublicKey] { return c.SSHPublicKeys })
	}
}

// totals are the totals of all watches.
type totals struct{ rounds, broken, quiet, changes, faults, events atomic.Int64 }

// lister is a service whose list can be watched.
type lister[T any] interface {
	All(context.Context, *cloudapi.ListOptions) iter.Seq2[*T, error]
	Watch(context.Context, *cloudapi.WatchOptions, ...*T) iter.Seq2[cloudapi.Event[T], error]
}

// world is a server and a client that changes its resources.
type world struct {
	t      *testing.T
	srv    *cloudapitest.Server
	client *cloudapi.Client // used for the changes, not for the watch
	rng    *rand.Rand

	change  func(*world, context.Context) error
	noisy   bool // whether resources change while the list is read
	changes int
	faults  int

	// When the round began, and after how many changes.
	began  time.Time
	before int
}

func newWorld(t *testing.T, seed uint64, change func(*world, context.Context) error) *world {
	rng := rand.New(rand.NewPCG(seed, 1))
	after := func() time.Duration { return time.Duration(rng.IntN(40)) * time.Second }
	opts := []cloudapitest.Option{
		cloudapitest.WithDelays(cloudapitest.Delays{Create: after(), Backup: after(), Restart: after(), Resize: after(), Delete: after()}),
		cloudapitest.WithQuota(cloudapitest.Quota{VM: 1 << 20, Postgres: 1 << 20}),
	}
	if seed%4 < 2 {
		opts = append(opts, cloudapitest.WithPageCap(3+rng.IntN(5)))
	}
	w := &world{t: t, srv: cloudapitest.New(t, opts...), rng: rng, change: change}
	w.client = w.srv.Client()
	return w
}

func (w *world) act(ctx context.Context) {
	w.changes++
	err := w.change(w, ctx)
	if err != nil && !errors.Is(err, cloudapi.ErrInvalidRequest) && !errors.Is(err, cloudapi.ErrConflict) && !errors.Is(err, cloudapi.ErrNotFound) {
		w.t.Errorf("a change failed: %v", err)
	}
}

// disturb returns the transport of the watch. Before a request, resources may
// change, and the request may fail.
func (w *world) disturb(next http.RoundTripper) http.RoundTripper {
	return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
		if w.began.IsZero() { // the list may be read again in the same round
			w.began, w.before = time.Now(), w.changes
		}
		for w.noisy && w.rng.IntN(3) == 0 {
			w.act(context.WithoutCancel(req.Context()))
		}
		if w.rng.IntN(10) == 0 {
			w.faults++
			w.srv.Fail(cloudapitest.Match{Method: http.MethodGet, Path: req.URL.EscapedPath()}, w.fault())
		}
		return next.RoundTrip(req)
	})
}

func (w *world) fault() cloudapitest.Fault {
	return []cloudapitest.Fault{
		cloudapitest.Reply(http.StatusServiceUnavailable, nil, ""),
		cloudapitest.Reply(http.StatusInternalServerError, nil, `{"error":{"code":500,"type":"UnexceptedError","message":"Sorry"}}`),
		cloudapitest.Reply(http.StatusTooManyRequests, http.Header{"Retry-After": {"7"}}, ""),
		cloudapitest.DropBefore(),
		cloudapitest.DropAfter(),
		cloudapitest.Truncate(w.rng.IntN(20)),
		cloudapitest.Delay(time.Duration(1+w.rng.IntN(20)) * time.Second),
		cloudapitest.Delay(5 * time.Minute), // longer than the timeout of an attempt
	}[w.rng.IntN(8)]
}

// model contains the records of a program that applies the events of a watch.
type model[T any] struct {
	*world
	total   *totals
	id      func(*T) string
	service lister[T]

	records map[string]*T
	gone    map[string]bool
}

func runWatchModel[T any](t *testing.T, total *totals, name string, seed uint64, change func(*world, context.Context) error,
	id func(*T) string, service func(*cloudapi.Client) lister[T]) {
	t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, seed, change)
			watcher := w.srv.Client(cloudapi.WithMiddleware(w.disturb), cloudapi.WithPrefetch(int(seed)%3),
				cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1 + int(seed)%2}))
			m := model[T]{world: w, total: total, id: id, service: service(w.client), records: map[string]*T{}, gone: map[string]bool{}}
			for range 12 {
				m.act(t.Context())
			}
			m.run(t.Context(), service(watcher))
			total.changes.Add(int64(w.changes))
			total.faults.Add(int64(w.faults))
		})
	})
}

// run applies the events of three watches of 20 rounds each. Between two
// watches the program restarts, and resources change.
func (m *model[T]) run(ctx context.Context, watched lister[T]) {
	for range 3 {
		m.watch(ctx, watched)
		m.restart()
		for range m.rng.IntN(5) {
			m.act(ctx)
		}
	}
}

func (m *model[T]) watch(ctx context.Context, watched lister[T]) {
	watchCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	opts := &cloudapi.WatchOptions{PageSize: 2 + m.rng.IntN(6), Progress: func(p cloudapi.Progress) {
		m.total.rounds.Add(1)
		switch {
		case p.Err != nil:
			m.total.broken.Add(1)
		case m.changes == m.before && time.Now().Equal(m.began):
			m.total.quiet.Add(1)
			if truth := m.truth(ctx); !same(m.records, truth) || p.Done != len(truth) {
				m.t.Errorf("after round %d the events give %d records, the server has %d, and %d are reported", p.Polls, len(m.records), len(truth), p.Done)
			}
		}
		m.began = time.Time{}
		for m.rng.IntN(2) == 0 {
			m.act(ctx)
		}
		if m.noisy = m.rng.IntN(2) == 0; p.Polls == 20 {
			cancel()
		}
	}}
	for e, err := range watched.Watch(watchCtx, opts, slices.Collect(maps.Values(m.records))...) {
		if err == nil {
			m.apply(ctx, e)
		} else if !errors.Is(err, context.Canceled) {
			m.t.Errorf("it ends with %v", err)
		}
	}
}

func (m *model[T]) restart() {
	stored, err := json.Marshal(m.records)
	if err == nil {
		m.records = nil
		err = json.Unmarshal(stored, &m.records)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func same(a, b any) bool {
	first, err1 := json.Marshal(a)
	second, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(first) == string(second)
}

func (m *model[T]) truth(ctx context.Context) map[string]*T {
	records := map[string]*T{}
	for record, err := range m.service.All(ctx, nil) {
		if err != nil {
			m.t.Fatal(err)
		}
		records[m.id(record)] = record
	}
	return records
}

// apply applies an event to the model, and fails the test if the event can't be
// true. The ID of a deleted resource never comes back.
func (m *model[T]) apply(ctx context.Context, e cloudapi.Event[T]) {
	m.total.events.Add(1)
	id := m.id(e.Record)
	known := m.records[id]
	switch e.Type {
	case cloudapi.EventAdded:
		if known != nil || m.gone[id] || e.Old != nil {
			m.t.Errorf("%s was added again", id)
		}
		m.records[id] = e.Record
	case cloudapi.EventModified:
		if known == nil || e.Old != known || same(e.Old, e.Record) {
			m.t.Errorf("%s was modified from %v to %v, and it was %v", id, e.Old, e.Record, known)
		}
		m.records[id] = e.Record
	case cloudapi.EventDeleted:
		if known == nil || e.Record != known || e.Old != nil || m.truth(ctx)[id] != nil {
			m.t.Errorf("%s was deleted, and it was %v", id, known)
		}
		delete(m.records, id)
		m.gone[id] = true
	}
}

func (w *world) somewhere() string {
	return []string{"eu-central-h1", "eu-north-h1", "us-east-a2"}[w.rng.IntN(3)]
}

// name returns a name that another resource may already have.
func (w *world) name() string { return fmt.Sprintf("name-%d", w.rng.IntN(30)) }

func pick[T any](w *world, items iter.Seq2[*T, error]) *T {
	all, err := cloudapi.Collect(items)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(all) == 0 {
		return nil
	}
	return all[w.rng.IntN(len(all))]
}

func (w *world) changeVM(ctx context.Context) error {
	vms := w.client.VMs
	vm := pick(w, vms.All(ctx, nil))
	what := w.rng.IntN(8)
	if vm == nil {
		what = 0
	}
	var err error
	switch what {
	case 0, 1, 2:
		_, err = vms.Create(ctx, w.somewhere(), w.name(), &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, EnableIPv4: new(true)})
	case 3, 4:
		err = vms.Delete(ctx, vm.Location, vm.ID)
	case 5:
		_, err = vms.Rename(ctx, vm.Location, vm.ID, w.name())
	case 6:
		_, err = vms.Restart(ctx, vm.Location, vm.ID)
	case 7:
		w.srv.SetState(vm.ID, []string{"", cloudapi.VMStateStopped, cloudapi.VMStateNoCapacityAvailable}[w.rng.IntN(3)])
	}
	return err
}

func (w *world) changeKey(ctx context.Context) error {
	keys := w.client.SSHPublicKeys
	key := pick(w, keys.All(ctx, nil))
	what := w.rng.IntN(6)
	if key == nil {
		what = 0
	}
	var err error
	switch what {
	case 0, 1, 2:
		_, err = keys.Create(ctx, w.name(), &cloudapi.SSHPublicKeyCreateRequest{PublicKey: stub.PublicKey})
	case 3, 4:
		err = keys.Delete(ctx, key.ID)
	case 5:
		_, err = keys.Update(ctx, key.ID, &cloudapi.SSHPublicKeyUpdateRequest{Name: w.name()})
	}
	return err
}
