// Package changes_test loses the responses to operations that change an
// existing resource, and finds out from the resource whether the server
// executed them.
package changes_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const location = "eu-central-h1"

// world has a resource of each kind that can be changed. None of them is
// changing at first.
type world struct {
	client                     *cloudapi.Client
	vm                         *cloudapi.VM
	db                         *cloudapi.Postgres
	servers                    []*cloudapi.PostgresServer
	cluster                    *cloudapi.KubernetesCluster
	pool                       cloudapi.KubernetesNodePool
	firewall, balancer, subnet string
}

func newWorld(t *testing.T, srv *cloudapitest.Server) *world {
	ctx := t.Context()
	w := &world{client: srv.Client()}
	c := w.client
	subnet := stub.Must(c.PrivateSubnets.Create(ctx, location, "net", nil))(t)
	w.subnet = subnet.ID
	w.firewall = stub.Must(c.Firewalls.Create(ctx, location, "edge", nil))(t).ID
	w.balancer = stub.Must(c.LoadBalancers.Create(ctx, location, "lb", &cloudapi.LoadBalancerCreateRequest{
		PrivateSubnetID: subnet.ID, Algorithm: "round_robin", Stack: "dual", SrcPort: 80, DstPort: 8080, HealthCheckEndpoint: "/", HealthCheckProtocol: "http"}))(t).ID
	stub.Must(c.VMs.Create(ctx, location, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: subnet.ID, EnableIPv4: new(true)}))(t)
	w.vm = stub.Must(c.VMs.WaitRunning(ctx, location, "web-1", nil))(t)
	stub.Must(c.Postgres.Create(ctx, location, "db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, Version: "17"}))(t)
	w.db = stub.Must(c.Postgres.WaitRunning(ctx, location, "db", nil))(t)
	stub.Elapse(time.Hour) // until there is a backup; the bubble's time is virtual
	stub.Must(c.Postgres.CreateReadReplica(ctx, location, "db", "copy", nil))(t)
	stub.Must(c.Postgres.WaitRunning(ctx, location, "copy", nil))(t)
	w.servers = stub.Must(cloudapi.Collect(c.Postgres.AllServers(ctx, location, "db")))(t)
	stub.Must(c.Kubernetes.Create(ctx, location, "apps", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2", WorkerNodeCount: 2}))(t)
	w.cluster = stub.Must(c.Kubernetes.WaitRunning(ctx, location, "apps", nil))(t)
	w.pool = w.cluster.NodePools[0]
	stub.Elapse(time.Hour) // until the cluster has stopped changing
	return w
}

func (w *world) stopped(t *testing.T) {
	stub.Must(w.client.VMs.Stop(t.Context(), location, "web-1"))(t)
	stub.Must(w.client.VMs.WaitStopped(t.Context(), location, "web-1", nil))(t)
}

// upgraded upgrades the control plane, so that node pools can be upgraded as
// well.
func (w *world) upgraded(t *testing.T) {
	stub.Must(w.client.Kubernetes.Upgrade(t.Context(), location, "apps"))(t)
	stub.Elapse(time.Hour)
}

// change is an operation that changes a resource, and a check for its effect.
type change struct {
	operation string
	before    func(*world, *testing.T) // or nil
	args      func(*world) []any
	effect    effect
}

// effect is where the effect of a change shows.
type effect struct {
	confirm func(*world, context.Context, error) error                                                              // with ConfirmChange
	ensure  func(*world, context.Context, func(context.Context) (*struct{}, error)) (cloudapi.EnsureOutcome, error) // with EnsureChange
}

// shownBy returns an effect that is in the record that the method get returns:
// changed reports whether it is.
func shownBy[T any](get string, args func(*world) []any, changed func(*world, *T) bool) effect {
	find := func(w *world) func(context.Context) (*T, error) {
		return func(ctx context.Context) (*T, error) {
			record, err := sdktest.Do(get, args(w)...).On(ctx, w.client)
			if err != nil {
				return nil, err
			}
			return record.(*T), nil
		}
	}
	either := func(found *T, err error) error {
		if (found == nil) == (err == nil) {
			return errors.New("it returned both a record and an error, or neither")
		}
		return err
	}
	return effect{
		func(w *world, ctx context.Context, failure error) error {
			return either(cloudapi.ConfirmChange(ctx, failure, find(w), func(found *T) bool { return changed(w, found) }))
		},
		func(w *world, ctx context.Context, change func(context.Context) (*struct{}, error)) (cloudapi.EnsureOutcome, error) {
			found, outcome, err := cloudapi.EnsureChange(ctx, find(w), func(found *T) bool { return changed(w, found) }, change, nil)
			return outcome, either(found, err)
		},
	}
}

// changes returns the operations in the table in docs/retries.md, except
// PrivateSubnets.Connect, each with a check for its effect. Nothing compares
// them with the table.
func changes() []change {
	of := func(args ...any) func(*world) []any {
		return func(*world) []any { return append([]any{location}, args...) }
	}
	ofVM := func(w *world) []any { return []any{location, w.vm.ID} }
	vm := func(changed func(*cloudapi.VM) bool) effect {
		return shownBy("VMs.Get", ofVM, func(_ *world, vm *cloudapi.VM) bool { return changed(vm) })
	}
	db := func(changed func(*world, *cloudapi.Postgres) bool) effect {
		return shownBy("Postgres.Get", func(w *world) []any { return []any{location, w.db.ID} }, changed)
	}
	cluster := func(changed func(*world, *cloudapi.KubernetesCluster) bool) effect {
		return shownBy("Kubernetes.Get", func(w *world) []any { return []any{location, w.cluster.ID} }, changed)
	}
	pool := func(args ...any) func(*world) []any {
		return func(w *world) []any { return append([]any{location, "apps", w.pool.ID}, args...) }
	}
	return []change{
		{"VMs.Stop", nil, of("web-1"), vm(func(vm *cloudapi.VM) bool {
			return vm.State == cloudapi.VMStateStopping || vm.State == cloudapi.VMStateStopped
		})},
		{"VMs.Start", (*world).stopped, of("web-1"), vm(func(vm *cloudapi.VM) bool {
			return vm.State == cloudapi.VMStateStarting || vm.State == cloudapi.VMStateRunning
		})},
		{"VMs.Restart", nil, of("web-1"), vm(func(vm *cloudapi.VM) bool { return vm.State == cloudapi.VMStateRestarting })},
		{"VMs.Rename", nil, of("web-1", "web-2"), vm(func(vm *cloudapi.VM) bool { return vm.Name == "web-2" })},
		{"Firewalls.AttachSubnet", nil, func(w *world) []any { return []any{location, "edge", w.subnet} },
			shownBy("Firewalls.Get", of("edge"), func(w *world, f *cloudapi.Firewall) bool {
				return slices.ContainsFunc(f.PrivateSubnets, func(s cloudapi.PrivateSubnet) bool { return s.ID == w.subnet })
			})},
		{"LoadBalancers.AttachVM", nil, func(w *world) []any { return []any{location, "lb", w.vm.ID} },
			shownBy("LoadBalancers.Get", of("lb"), func(w *world, lb *cloudapi.LoadBalancer) bool { return slices.Contains(lb.VMs, w.vm.ID) })},
		{"Postgres.Update", nil, of("db", &cloudapi.PostgresUpdateRequest{Size: "standard-4", StorageSize: 128}), db(func(_ *world, db *cloudapi.Postgres) bool {
			return db.TargetVMSize == "standard-4" && db.TargetStorageSizeGiB == 128
		})},
		{"Postgres.Restart", nil, of("db"), db(func(_ *world, db *cloudapi.Postgres) bool { return db.State == cloudapi.PostgresStateRestarting })},
		{"Postgres.Upgrade", nil, of("db"), db(func(w *world, db *cloudapi.Postgres) bool { return db.TargetVersion != w.db.TargetVersion })},
		{"Postgres.PromoteReadReplica", nil, of("copy"),
			shownBy("Postgres.Get", of("copy"), func(_ *world, db *cloudapi.Postgres) bool { return !db.ReadReplica })},
		{"Postgres.Recycle", nil, of("db"), shownBy("Postgres.ListServers", of("db"), func(w *world, page *cloudapi.Page[cloudapi.PostgresServer]) bool {
			return slices.ContainsFunc(page.Items, func(server *cloudapi.PostgresServer) bool {
				return !slices.ContainsFunc(w.servers, func(before *cloudapi.PostgresServer) bool { return before.ID == server.ID })
			})
		})},
		{"Kubernetes.Upgrade", nil, of("apps"), cluster(func(w *world, k *cloudapi.KubernetesCluster) bool { return k.Version != w.cluster.Version })},
		{"Kubernetes.ResizeNodePool", nil, pool(3), cluster(func(_ *world, k *cloudapi.KubernetesCluster) bool { return k.NodePools[0].NodeCount == 3 })},
		{"Kubernetes.UpgradeNodePool", (*world).upgraded, pool(),
			cluster(func(w *world, k *cloudapi.KubernetesCluster) bool { return k.NodePools[0].Version != w.pool.Version })},
		{"Kubernetes.RetireNode", nil, func(w *world) []any { return []any{location, "apps", w.pool.VMs[0].Name} },
			cluster(func(w *world, k *cloudapi.KubernetesCluster) bool {
				return k.NodePools[0].NodeCount == w.pool.NodeCount-1
			})},
	}
}

func (c change) call(ctx context.Context, w *world) error {
	_, err := sdktest.Do(c.operation, c.args(w)...).On(ctx, w.client)
	return err
}

// TestLostChanges loses every response to an operation, or every request. The
// resource shows which. A change that wasn't executed succeeds when retried.
func TestLostChanges(t *testing.T) {
	t.Parallel()
	for _, c := range changes() {
		for name, fault := range map[string]cloudapitest.Fault{"responses": cloudapitest.DropAfter(), "requests": cloudapitest.DropBefore()} {
			t.Run(c.operation+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					srv := cloudapitest.New(t, cloudapitest.WithQuota(cloudapitest.Quota{VM: 100, Postgres: 100, Kubernetes: 100}))
					w := newWorld(t, srv)
					if c.before != nil {
						c.before(w, t)
					}
					attempts := 0
					srv.Fail(cloudapitest.Match{Operation: c.operation, Func: func(cloudapitest.Request) bool { attempts++; return attempts <= 4 }}, fault.Repeating())
					failure := c.call(t.Context(), w)
					if failure == nil {
						t.Fatal("it succeeded")
					}
					err := c.effect.confirm(w, t.Context(), failure)
					if name == "responses" {
						if err != nil {
							t.Errorf("it was executed, and ConfirmChange returns %v", err)
						}
						return
					}
					if !errors.Is(err, cloudapi.ErrUnchanged) || !errors.Is(err, failure) || !strings.HasPrefix(err.Error(), failure.Error()) {
						t.Errorf("it wasn't executed, and ConfirmChange returns %v", err)
					}
					attempts = 4
					if err := c.call(t.Context(), w); err != nil {
						t.Errorf("tried again, it fails: %v", err)
					}
				})
			})
		}
	}
}

// TestEnsureChange loses the responses to the first call, or its requests, or
// the server is busy at first. In the end the change is made, once if it's lost
// as a response, and isn't made again.
func TestEnsureChange(t *testing.T) {
	t.Parallel()
	busy := cloudapitest.Reply(422, nil, `{"error":{"code":422,"type":"UnprocessableContent","message":"not now","details":null}}`)
	for _, c := range changes() {
		for name, fault := range map[string]cloudapitest.Fault{"responses": cloudapitest.DropAfter(), "requests": cloudapitest.DropBefore(), "busy": busy} {
			if name == "busy" && !strings.HasPrefix(c.operation, "Kubernetes.") {
				continue
			}
			t.Run(c.operation+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					srv := cloudapitest.New(t, cloudapitest.WithQuota(cloudapitest.Quota{VM: 100, Postgres: 100, Kubernetes: 100}))
					w := newWorld(t, srv)
					if c.before != nil {
						c.before(w, t)
					}
					attempts, calls := 0, 0
					srv.Fail(cloudapitest.Match{Operation: c.operation, Func: func(cloudapitest.Request) bool { attempts++; return attempts <= 3 }}, fault.Repeating())
					change := func(ctx context.Context) (*struct{}, error) {
						calls++
						return &struct{}{}, c.call(ctx, w)
					}
					if outcome, err := c.effect.ensure(w, t.Context(), change); err != nil || outcome != cloudapi.EnsureUpdated {
						t.Fatalf("it ends with %q, %v", outcome, err)
					}
					if name == "responses" && calls != 1 || calls > 5 {
						t.Errorf("the change was called %d times", calls)
					}
					calls = 0
					if outcome, err := c.effect.ensure(w, t.Context(), change); err != nil || outcome != cloudapi.EnsureUnchanged || calls != 0 {
						t.Errorf("the second ends with %q, %v after %d calls", outcome, err, calls)
					}
				})
			})
		}
	}
}

// TestEnsureChangeEnds: what ends EnsureChange without the change.
func TestEnsureChangeEnds(t *testing.T) {
	t.Parallel()
	const unknown, busy, refused, accepted = "unknown", "busy", "refused", "accepted"
	failures := map[string]error{
		unknown: cloudapi.ErrOutcomeUnknown,
		busy:    &cloudapi.Error{StatusCode: 422, Type: "UnprocessableContent", Message: "not now", Operation: "Kubernetes.ResizeNodePool", Method: "POST"},
		refused: cloudapi.ErrInvalidRequest,
	}
	for name, test := range map[string]struct {
		changes []string // how each call of change ends; the last one also for the others
		shows   int      // how many calls of change the record needs; 0 for never
		calls   int
		want    []error
	}{
		"accepted":                        {[]string{accepted}, 0, 1, nil},
		"refused":                         {[]string{refused}, 0, 1, []error{cloudapi.ErrInvalidRequest}},
		"refused after busy":              {[]string{busy, busy, refused}, 0, 3, []error{cloudapi.ErrInvalidRequest}},
		"lost, then refused, then shown":  {[]string{unknown, refused}, 2, 2, nil},
		"lost, and always refused":        {[]string{unknown, refused}, 0, 4, []error{cloudapi.ErrInvalidRequest, cloudapi.ErrOutcomeUnknown, cloudapi.ErrUnchanged}},
		"always lost":                     {[]string{unknown}, 0, 4, []error{cloudapi.ErrOutcomeUnknown, cloudapi.ErrUnchanged}},
		"lost, and then always busy":      {[]string{unknown, busy}, 0, -1, []error{context.DeadlineExceeded, cloudapi.ErrOutcomeUnknown}},
		"always busy, until the deadline": {[]string{busy}, 0, -1, []error{context.DeadlineExceeded, cloudapi.ErrInvalidRequest}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				calls := 0
				found, outcome, err := cloudapi.EnsureChange(ctx, func(context.Context) (*cloudapi.VM, error) {
					return &cloudapi.VM{Name: "web-1"}, nil
				}, func(*cloudapi.VM) bool { return test.shows > 0 && calls >= test.shows }, func(context.Context) (*cloudapi.VM, error) {
					calls++
					if err := failures[test.changes[min(calls, len(test.changes))-1]]; err != nil {
						return nil, err
					}
					return &cloudapi.VM{}, nil
				}, nil)
				if test.calls >= 0 && calls != test.calls {
					t.Errorf("%d calls of change", calls)
				}
				if test.want == nil {
					if err != nil || outcome != cloudapi.EnsureUpdated || found.Name != "web-1" {
						t.Errorf("it returns %v, %q, %v", found, outcome, err)
					}
					return
				}
				for _, want := range test.want {
					if found != nil || outcome != "" || !errors.Is(err, want) {
						t.Errorf("it returns %v, %q, and %v doesn't match %v", found, outcome, err, want)
					}
				}
			})
		})
	}
	find := func(context.Context) (*cloudapi.VM, error) { return nil, errors.ErrUnsupported }
	changed := func(*cloudapi.VM) bool { return true }
	for name, call := range map[string]func() (*cloudapi.VM, cloudapi.EnsureOutcome, error){
		"find must not be nil": func() (*cloudapi.VM, cloudapi.EnsureOutcome, error) {
			return cloudapi.EnsureChange(t.Context(), nil, changed, find, nil)
		},
		"changed must not be nil": func() (*cloudapi.VM, cloudapi.EnsureOutcome, error) {
			return cloudapi.EnsureChange(t.Context(), find, nil, find, nil)
		},
		"change must not be nil": func() (*cloudapi.VM, cloudapi.EnsureOutcome, error) {
			return cloudapi.EnsureChange[cloudapi.VM, cloudapi.VM](t.Context(), find, changed, nil, nil)
		},
	} {
		if _, _, err := call(); !errors.Is(err, cloudapi.ErrInvalidArgument) || !strings.HasSuffix(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := cloudapi.EnsureChange(t.Context(), find, changed, find, nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("if find fails: %v", err)
	}
}

// TestRefusedRetries: the response to an idempotent change is lost, and the
// server refuses the retry because it has executed the change. The error says
// so.
func TestRefusedRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		w := newWorld(t, srv)
		ctx := t.Context()
		resize := cloudapitest.Match{Operation: "Kubernetes.ResizeNodePool"}
		srv.Fail(resize, cloudapitest.DropAfter())
		_, err := w.client.Kubernetes.ResizeNodePool(ctx, location, "apps", w.pool.ID, 3)
		e, ok := errors.AsType[*cloudapi.Error](err)
		if !ok || e.StatusCode != 422 || e.Attempts != 2 || !errors.Is(err, cloudapi.ErrOutcomeUnknown) || !errors.Is(err, cloudapi.ErrInvalidRequest) ||
			!strings.HasSuffix(err.Error(), " (after 2 attempts); an earlier attempt may have taken effect: ConfirmChange finds out") {
			t.Fatalf("a resize that took place ends with %v", err)
		}
		found, err := cloudapi.ConfirmChange(ctx, err, func(ctx context.Context) (*cloudapi.KubernetesCluster, error) {
			return w.client.Kubernetes.Get(ctx, location, "apps")
		}, func(k *cloudapi.KubernetesCluster) bool { return k.NodePools[0].NodeCount == 3 })
		if err != nil || found.NodePools[0].NodeCount != 3 {
			t.Errorf("it is confirmed as %v, %v", found, err)
		}

		// If no response was lost, a refusal leaves no doubt, even after
		// attempts that the server didn't execute. Reads change nothing.
		_, err = w.client.Kubernetes.ResizeNodePool(ctx, location, "apps", w.pool.ID, 4)
		if errors.Is(err, cloudapi.ErrOutcomeUnknown) || !errors.Is(err, cloudapi.ErrInvalidRequest) {
			t.Errorf("a resize that is refused ends with %v", err)
		}
		if found, same := cloudapi.ConfirmChange(ctx, err, func(context.Context) (*cloudapi.VM, error) {
			t.Error("it looks")
			return nil, nil
		}, func(*cloudapi.VM) bool { return true }); found != nil || same != err {
			t.Errorf("ConfirmChange returns %v, %v", found, same)
		}
		srv.Fail(resize, cloudapitest.Reply(503, nil, stub.Envelope(503)))
		if _, err = w.client.Kubernetes.ResizeNodePool(ctx, location, "apps", w.pool.ID, 4); errors.Is(err, cloudapi.ErrOutcomeUnknown) {
			t.Errorf("behind an attempt that was declined it ends with %v", err)
		}
		srv.Fail(resize, cloudapitest.DropAfter(), cloudapitest.Reply(503, nil, stub.Envelope(503)))
		if _, err = w.client.Kubernetes.ResizeNodePool(ctx, location, "apps", w.pool.ID, 4); !errors.Is(err, cloudapi.ErrOutcomeUnknown) {
			t.Errorf("behind a lost attempt and one that was declined it ends with %v", err)
		}
		for _, status := range []int{302, 505} {
			srv.Fail(resize, cloudapitest.Reply(status, nil, stub.Envelope(status)))
			if _, err = w.client.Kubernetes.ResizeNodePool(ctx, location, "apps", w.pool.ID, 4); errors.Is(err, cloudapi.ErrOutcomeUnknown) {
				t.Errorf("the first attempt ends with %v", err)
			}
		}
		srv.Fail(cloudapitest.Match{Operation: "VMs.Get"}, cloudapitest.DropAfter())
		if _, err = w.client.VMs.Get(ctx, location, "none"); errors.Is(err, cloudapi.ErrOutcomeUnknown) || !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("a read ends with %v", err)
		}
	})
}

// TestConfirmChangeRefuses: the error of ConfirmChange names the argument that
// it can't use, and wraps the failure.
func TestConfirmChangeRefuses(t *testing.T) {
	t.Parallel()
	changed := func(*cloudapi.VM) bool { return true }
	find := func(context.Context) (*cloudapi.VM, error) { return nil, errors.ErrUnsupported }
	if _, err := cloudapi.ConfirmChange(t.Context(), nil, find, changed); err == nil || err.Error() != "cloudapi: ConfirmChange: failure must be the error of a change" {
		t.Errorf("without a failure: %v", err)
	}
	for name, err := range map[string]error{
		"find must not be nil":    second(cloudapi.ConfirmChange(t.Context(), cloudapi.ErrOutcomeUnknown, nil, changed)),
		"changed must not be nil": second(cloudapi.ConfirmChange(t.Context(), cloudapi.ErrOutcomeUnknown, find, nil)),
	} {
		if !errors.Is(err, cloudapi.ErrInvalidArgument) || !errors.Is(err, cloudapi.ErrOutcomeUnknown) || !strings.HasSuffix(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := cloudapi.ConfirmChange(t.Context(), cloudapi.ErrOutcomeUnknown, find, changed); !errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, cloudapi.ErrOutcomeUnknown) {
		t.Errorf("if the lookup fails: %v", err)
	}
}

func second[T any](_ *T, err error) error { return err }
