package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strconv"

	"github.com/cloudapi-sdk/cloudapi"
)

// adapter is the common part of the adapters for the other clients, which send
// one request at a time. It has numbers for what the server identifies by IDs.
type adapter struct {
	client  *cloudapi.Client
	ids     []string // by number, from 1
	numbers map[string]int
	lists   map[string][]int // each list as it was when its first page was read
}

func newAdapter(w *world) *adapter {
	return &adapter{client: w.uncounted, numbers: map[string]int{}, lists: map[string][]int{}}
}

func (a *adapter) number(id string) int {
	if a.numbers[id] == 0 {
		a.ids = append(a.ids, id)
		a.numbers[id] = len(a.ids)
	}
	return a.numbers[id]
}

// page returns the number of the page that a request asks for, the numbers of
// its items, and the number of items on all pages.
func (a *adapter) page(r *http.Request, size int) (page int, numbers []int, total int) {
	page = 1
	if text := r.URL.Query().Get("page"); text != "" {
		page = must(strconv.Atoi(text))
	}
	kind := r.PathValue("kind")
	if page == 1 {
		a.lists[kind] = a.list(r.Context(), kind)
	}
	all := a.lists[kind]
	first := min((page-1)*size, len(all))
	return page, all[first:min(first+size, len(all))], len(all)
}

func (a *adapter) list(ctx context.Context, kind string) []int {
	switch kind {
	case "servers", "droplets":
		return numbered(a, a.client.VMs.All(ctx, nil), func(vm *cloudapi.VM) string { return vm.ID })
	case "networks", "vpcs":
		return numbered(a, a.client.PrivateSubnets.All(ctx, nil), func(subnet *cloudapi.PrivateSubnet) string { return subnet.ID })
	case "firewalls":
		return numbered(a, a.client.Firewalls.All(ctx, nil), func(firewall *cloudapi.Firewall) string { return firewall.ID })
	}
	panic("there is no list of " + kind)
}

func numbered[T any](a *adapter, items iter.Seq2[*T, error], id func(*T) string) (numbers []int) {
	for item, err := range items {
		numbers = append(numbers, a.number(id(must(item, err))))
	}
	return numbers
}

// createVM returns the number of a new VM.
func (a *adapter) createVM(ctx context.Context, name string) int {
	return a.number(must(a.client.VMs.Create(ctx, location, name, vmRequest)).ID)
}

// deleteNumber deletes the resource whose number is in a request.
func (a *adapter) deleteNumber(r *http.Request) int {
	number := must(strconv.Atoi(r.PathValue("number")))
	id := a.ids[number-1]
	remove := map[cloudapi.Kind]func(context.Context, string, string) error{
		cloudapi.KindVM:            a.client.VMs.Delete,
		cloudapi.KindPrivateSubnet: a.client.PrivateSubnets.Delete,
		cloudapi.KindFirewall:      a.client.Firewalls.Delete,
	}[must(cloudapi.ParseID(id)).Kind()]
	must(0, remove(r.Context(), location, id))
	return number
}

// A VM's number determines the numbers of its actions.
func creation(number int) int { return 2 * number }
func deletion(number int) int { return 2*number + 1 }

// isDone reports whether an action is complete: whether its VM is running, or
// is gone.
func (a *adapter) isDone(ctx context.Context, action int) bool {
	number := action / 2
	vm, err := a.client.VMs.Get(ctx, location, a.ids[number-1])
	if errors.Is(err, cloudapi.ErrNotFound) {
		return action == deletion(number)
	}
	return must(vm, err).State == cloudapi.VMStateRunning && action == creation(number)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	must(0, json.NewEncoder(w).Encode(body))
}

// must returns the value, and panics if there is an error. An adapter that is
// used correctly gets none.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
