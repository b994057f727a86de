package reliability

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

const sshKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPlaceholderKeyForTestsOnlyxxxxxxxxxxxxxxxxxxx a@example.com"

// workload consists of many workers that share a client and do random things to
// their own objects. Each worker knows which objects must exist in the end.
type workload struct {
	client   *cloudapi.Client
	other    string // a project of another account
	firewall string // the ID of the firewall of all subnets, each of which would otherwise leave one behind

	unknown atomic.Int32 // outcomes
}

// newWorkload creates what all workers share.
func newWorkload(ctx context.Context, t *testing.T, client *cloudapi.Client, other string) *workload {
	t.Helper()
	firewall := stub.Must(client.Firewalls.Create(ctx, location, "shared", nil))(t)
	return &workload{client: client, other: other, firewall: firewall.ID}
}

// worker is one goroutine of a workload.
type worker struct {
	*workload
	number int
	name   string
	random *rand.Rand
	serial int

	keys    map[string]string // SSH keys by name: what they hold
	subnets map[string]bool   // by name
	vms     map[string]string // IDs by name
}

func (w *workload) worker(n int) *worker {
	return &worker{
		workload: w, number: n, name: fmt.Sprintf("w%d", n), random: rand.New(rand.NewPCG(uint64(n), 7)),
		keys: map[string]string{}, subnets: map[string]bool{}, vms: map[string]string{},
	}
}

func (w *worker) newName() string {
	w.serial++
	return fmt.Sprintf("%s-%d", w.name, w.serial)
}

// pick returns a random key of a map, and false if there is none.
func pick[V any](w *worker, m map[string]V) (string, bool) {
	if len(m) == 0 {
		return "", false
	}
	return slices.Sorted(maps.Keys(m))[w.random.IntN(len(m))], true
}

// made repeats a create until exactly one object certainly exists: if the
// outcome is unknown it looks, and if there's no object it tries again.
func made[T any](ctx context.Context, w *worker, create, find func(context.Context) (*T, error)) (*T, error) {
	for range mostTries {
		value, err := create(ctx)
		if !errors.Is(err, cloudapi.ErrOutcomeUnknown) {
			if !transient(err) {
				return value, err
			}
			continue
		}
		w.unknown.Add(1)
		value, err = persist(ctx, func(ctx context.Context) (*T, error) {
			return cloudapi.Confirm(ctx, err, find, func(*T) bool { return true })
		})
		if !errors.Is(err, cloudapi.ErrNotFound) {
			return value, err
		}
	}
	return nil, errors.New("a create failed too often")
}

// mostTries is more attempts than the failing requests can make necessary.
const mostTries = 30

// persist retries idempotent calls, in addition to the client's retries.
func persist[T any](ctx context.Context, f func(context.Context) (*T, error)) (*T, error) {
	for range mostTries {
		value, err := f(ctx)
		if err == nil || errors.Is(err, cloudapi.ErrNotFound) || !transient(err) {
			return value, err
		}
	}
	return nil, errors.New("a call failed too often")
}

// transient reports whether a failure was caused by the faults.
func transient(err error) bool {
	if errors.Is(err, cloudapi.ErrServer) || errors.Is(err, cloudapi.ErrRateLimited) {
		return true
	}
	if e, ok := errors.AsType[*cloudapi.Error](err); ok && e.StatusCode == http.StatusNotFound {
		return !errors.Is(err, cloudapi.ErrNotFound) // it is truncated, and might not be the API's
	}
	if _, ok := errors.AsType[*cloudapi.TransportError](err); ok {
		return !errors.Is(err, context.Canceled)
	}
	_, ok := errors.AsType[*cloudapi.DecodeError](err)
	return ok
}

// step does one random thing.
func (w *worker) step(ctx context.Context) (err error) {
	client := w.client
	switch w.random.IntN(4) {
	case 0: // a copy, in use while others are created
		if client, err = client.With(cloudapi.WithUserAgent(w.name), cloudapi.WithPrefetch(w.random.IntN(3))); err != nil {
			return err
		}
	case 1:
		client = client.InProject(client.Project())
	}
	switch w.random.IntN(10) {
	case 0, 1:
		name, text := w.newName(), fmt.Sprintf("%s %s", sshKey, w.newName())
		_, err := made(ctx, w, func(ctx context.Context) (*cloudapi.SSHPublicKey, error) {
			return client.SSHPublicKeys.Create(ctx, &cloudapi.SSHPublicKeyCreateRequest{Name: name, PublicKey: text})
		}, func(ctx context.Context) (*cloudapi.SSHPublicKey, error) { return client.SSHPublicKeys.Get(ctx, name) })
		w.keys[name] = text
		return err
	case 2:
		name := w.newName()
		_, err := made(ctx, w, func(ctx context.Context) (*cloudapi.PrivateSubnet, error) {
			return client.PrivateSubnets.Create(ctx, location, name, &cloudapi.PrivateSubnetCreateRequest{FirewallID: w.firewall})
		}, func(ctx context.Context) (*cloudapi.PrivateSubnet, error) {
			return client.PrivateSubnets.Get(ctx, location, name)
		})
		w.subnets[name] = true
		return err
	case 3:
		if len(w.vms) > 0 || w.number%2 > 0 {
			return nil // the default subnet has room for about 50
		}
		name := w.newName()
		vm, err := made(ctx, w, func(ctx context.Context) (*cloudapi.VM, error) {
			return client.VMs.Create(ctx, location, name, &cloudapi.VMCreateRequest{PublicKey: sshKey})
		}, func(ctx context.Context) (*cloudapi.VM, error) { return client.VMs.Get(ctx, location, name) })
		if err == nil {
			w.vms[name] = vm.ID
		}
		return err
	case 4:
		if name, ok := pick(w, w.keys); ok {
			delete(w.keys, name)
			return remove(ctx, func() error { return client.SSHPublicKeys.Delete(ctx, name) })
		}
	case 5:
		if name, ok := pick(w, w.subnets); ok {
			delete(w.subnets, name)
			return remove(ctx, func() error { return client.PrivateSubnets.Delete(ctx, location, name) })
		}
	case 6:
		if name, ok := pick(w, w.vms); ok && w.random.IntN(2) == 0 {
			id, newName := w.vms[name], w.newName()
			delete(w.vms, name)
			w.vms[newName] = id
			_, err := persist(ctx, func(ctx context.Context) (*cloudapi.VM, error) {
				return client.VMs.Rename(ctx, location, id, newName)
			})
			return err
		} else if ok {
			id := w.vms[name]
			delete(w.vms, name)
			return remove(ctx, func() error { return client.VMs.Delete(ctx, location, id) })
		}
	case 7:
		if name, ok := pick(w, w.keys); ok {
			key, err := persist(ctx, func(ctx context.Context) (*cloudapi.SSHPublicKey, error) {
				return client.SSHPublicKeys.Get(ctx, name)
			})
			if err == nil && key.PublicKey != w.keys[name] {
				err = fmt.Errorf("the key %s is %q, want %q", name, key.PublicKey, w.keys[name])
			}
			return err
		}
	case 8: // an iterator that is left at a random point
		items := w.random.IntN(30)
		for vm, err := range client.VMs.All(ctx, &cloudapi.ListOptions{PageSize: 1 + w.random.IntN(20)}) {
			if err != nil && !transient(err) {
				return err
			}
			if items--; items < 0 || err != nil {
				break
			}
			if vm.ID == "" {
				return errors.New("a VM without an ID")
			}
		}
	case 9: // a project of another account isn't there, in any copy
		_, err := persist(ctx, func(ctx context.Context) (*cloudapi.Page[cloudapi.VM], error) {
			return client.InProject(w.other).VMs.List(ctx, nil)
		})
		if !errors.Is(err, cloudapi.ErrNotFound) {
			return fmt.Errorf("the list of another project ended with %v", err)
		}
	}
	return nil
}

func remove(ctx context.Context, f func() error) error {
	_, err := persist(ctx, func(context.Context) (*struct{}, error) { return nil, f() })
	return err
}

// check compares what the server has with what the workers expect.
func (w *workload) check(ctx context.Context, t *testing.T, workers []*worker) (objects int) {
	t.Helper()
	keys, subnets, vms := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, worker := range workers {
		for name := range worker.keys {
			keys[name] = true
		}
		for name := range worker.subnets {
			subnets[name] = true
		}
		for name, id := range worker.vms {
			vms[name+" "+id] = true
		}
	}
	compare(t, "SSH keys", keys, w.client.SSHPublicKeys.All(ctx, nil), func(k *cloudapi.SSHPublicKey) string { return k.Name })
	compare(t, "subnets", subnets, w.client.PrivateSubnets.All(ctx, nil), func(s *cloudapi.PrivateSubnet) string {
		if s.Name == "default-"+location {
			return "" // came with the first VM
		}
		return s.Name
	})
	compare(t, "VMs", vms, w.client.VMs.All(ctx, nil), func(vm *cloudapi.VM) string { return vm.Name + " " + vm.ID })
	return len(keys) + len(subnets) + len(vms)
}

func compare[T any](t *testing.T, what string, want map[string]bool, all iter.Seq2[*T, error], name func(*T) string) {
	t.Helper()
	items, err := cloudapi.Collect(all)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	got := map[string]int{}
	for _, item := range items {
		if n := name(item); n != "" {
			got[n]++
		}
	}
	for n, times := range got {
		if times != 1 || !want[n] {
			t.Errorf("%s: the server has %s %d times, and %v is expected", what, n, times, want[n])
		}
	}
	for n := range want {
		if got[n] == 0 {
			t.Errorf("%s: the server does not have %s", what, n)
		}
	}
}

// disturb fails a share of the requests, in different ways, until the returned
// function is called.
func disturb(srv *cloudapitest.Server, share float64) (calm func()) {
	var over atomic.Bool
	ways := []cloudapitest.Fault{
		cloudapitest.DropBefore(),
		cloudapitest.DropAfter(),
		cloudapitest.Truncate(0),
		cloudapitest.Truncate(25),
		cloudapitest.Reply(503, http.Header{"Content-Type": {asJSON}}, envelope(503)),
		cloudapitest.Reply(429, http.Header{"Content-Type": {asJSON}}, envelope(429)),
		cloudapitest.Reply(500, http.Header{"Content-Type": {asJSON}}, envelope(500)),
		cloudapitest.Reply(502, http.Header{"Content-Type": {"text/html"}}, "<html>"),
	}
	for _, fault := range ways {
		srv.Fail(cloudapitest.Match{Func: func(cloudapitest.Request) bool {
			return !over.Load() && rand.Float64() < share/float64(len(ways))
		}}, fault.Repeating())
	}
	return func() { over.Store(true) }
}
