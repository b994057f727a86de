package lists_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// withPortlessBalancers runs a test in a project with load balancers "a", "b"
// and "web" in one subnet, and "b", "web" and "z" in another. There are also two
// clusters without a Service, whose load balancers the server can't show; test
// gets their names.
func withPortlessBalancers(t *testing.T, test func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, portless []string)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithPortlessBalancers())
		client, ctx := srv.Client(), t.Context()
		var subnets []string
		for _, name := range []string{"net-1", "net-2"} {
			subnets = append(subnets, stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, name, nil))(t).ID)
		}
		for i, name := range []string{"a", "b", "web", "b", "web", "z"} {
			stub.Must(client.LoadBalancers.Create(ctx, sdktest.Somewhere, name, sdktest.BalancerIn(subnets[i/3])))(t)
		}
		var portless []string
		for _, name := range []string{"one", "two"} {
			cluster := stub.Must(client.Kubernetes.Create(ctx, sdktest.Somewhere, name,
				&cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2"}))(t)
			portless = append(portless, cluster.ID+"-services")
			stub.Must(client.Kubernetes.WaitRunning(ctx, sdktest.Somewhere, name, nil))(t)
		}
		slices.Sort(portless)
		test(t, srv, client, portless)
	})
}

func unlisted(err error) (names []string) {
	if e, ok := errors.AsType[*cloudapi.UnlistedError](err); ok {
		for _, r := range e.Resources {
			names = append(names, r.Name)
		}
	}
	return names
}

// TestAllYieldsTheListed: if the server can't show some load balancers of a
// list, All yields every other one once, in order, and ends with an error that
// names the missing ones. There is no pause for a retry.
func TestAllYieldsTheListed(t *testing.T) {
	withPortlessBalancers(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, portless []string) {
		start := time.Now()
		all := func(client *cloudapi.Client, opts cloudapi.ListOptions) (balancers []cloudapi.LoadBalancer, last error) {
			for l, err := range client.LoadBalancers.All(t.Context(), &opts) {
				if last = err; err == nil {
					balancers = append(balancers, cloudapi.LoadBalancer{ID: l.ID, Name: l.Name})
				}
			}
			return balancers, last
		}
		byName, err := all(client, cloudapi.ListOptions{OrderColumn: cloudapi.OrderByName})
		var names []string
		for _, l := range byName {
			names = append(names, l.Name)
		}
		want := []string{"a", "b", "b", strings.Replace(portless[0], "services", "apiserver", 1), strings.Replace(portless[1], "services", "apiserver", 1), "web", "web", "z"}
		text := fmt.Sprintf("cloudapi: LoadBalancers.List: the server cannot show load balancer %s/%s, load balancer %s/%s "+
			"while its Kubernetes cluster has no Service; all others were listed", sdktest.Somewhere, portless[0], sdktest.Somewhere, portless[1])
		if !slices.Equal(names, want) || err.Error() != text {
			t.Fatalf("by name there are %q, and %v", names, err)
		}
		inOrder := slices.SortedFunc(slices.Values(byName), func(a, b cloudapi.LoadBalancer) int { return strings.Compare(a.ID, b.ID) })
		for _, client := range []*cloudapi.Client{client, stub.Must(client.With(cloudapi.WithPrefetch(2)))(t)} {
			for _, tt := range []struct {
				opts cloudapi.ListOptions
				want []cloudapi.LoadBalancer
			}{
				{cloudapi.ListOptions{PageSize: 2}, inOrder},
				{cloudapi.ListOptions{Location: sdktest.Somewhere}, inOrder},
				{cloudapi.ListOptions{PageSize: 3, OrderColumn: cloudapi.OrderByName}, byName},
				{cloudapi.ListOptions{StartAfter: byName[0].Name, OrderColumn: cloudapi.OrderByName}, byName[1:]},
			} {
				if got, err := all(client, tt.opts); !reflect.DeepEqual(got, tt.want) || !slices.Equal(unlisted(err), portless) {
					t.Errorf("%+v: got %v, %v, want %v", tt.opts, got, err, tt.want)
				}
			}
		}
		if got, err := all(client, cloudapi.ListOptions{Location: sdktest.Elsewhere}); len(got) > 0 || err != nil {
			t.Errorf("elsewhere there are %v, %v", got, err)
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("it took %v", took)
		}
		if _, err := client.LoadBalancers.List(t.Context(), nil); !errors.Is(err, cloudapi.ErrServer) ||
			!strings.Contains(err.Error(), "; the server can't show the load balancer of a Kubernetes cluster that has no Service: list with All") {
			t.Errorf("a page: %v", err)
		}
		for i, name := range portless {
			srv.SetClusterService(strings.TrimSuffix(name, "-services"), 80, 30080)
			if got, err := all(client, cloudapi.ListOptions{}); len(got) != 9+i || !slices.Equal(unlisted(err), portless[i+1:]) || (err == nil) != (i == 1) {
				t.Errorf("with %d Services: %v, %v", i+1, got, err)
			}
		}
	})
}

// TestListRetriesServerErrors: a 500 that no load balancer explains may be
// transient, so the list is read again first.
func TestListRetriesServerErrors(t *testing.T) {
	withPortlessBalancers(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, portless []string) {
		for _, name := range portless {
			srv.SetClusterService(strings.TrimSuffix(name, "-services"), 80, 30080)
		}
		fault := cloudapitest.Reply(500, nil, stub.Envelope(500))
		for _, tt := range []struct {
			faults   []cloudapitest.Fault
			requests int
			want     error
		}{
			{[]cloudapitest.Fault{fault}, 2, nil},
			{slices.Repeat([]cloudapitest.Fault{fault}, 4), 5, nil},                  // a page of 1000, one of 1, and retries
			{[]cloudapitest.Fault{fault.Repeating()}, 3 + 4 + 1, cloudapi.ErrServer}, // the last is for an empty page
		} {
			before := len(srv.Requests())
			srv.Fail(cloudapitest.Match{Operation: "LoadBalancers.List"}, tt.faults...)
			got, err := cloudapi.Collect(client.LoadBalancers.All(t.Context(), nil))
			if n := len(srv.Requests()) - before; n != tt.requests || !errors.Is(err, tt.want) || (len(got) == 10) != (err == nil) {
				t.Errorf("%d faults: got %d, %v after %d requests", len(tt.faults), len(got), err, n)
			}
			if err != nil && !strings.HasSuffix(err.Error(), "(after 4 attempts)") {
				t.Errorf("a list that stays unreadable: %v", err)
			}
		}
	})
}

// TestOnlyServicesIsPortless: the server can show any load balancer but that of a
// cluster's Services. A lasting 500 for another one stays transient, and costs no
// further request.
func TestOnlyServicesIsPortless(t *testing.T) {
	withPortlessBalancers(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, portless []string) {
		srv.Fail(cloudapitest.Match{Operation: "LoadBalancers.Get"}, cloudapitest.Reply(500, nil, stub.Envelope(500)).Repeating())
		for name, requests := range map[string]int{
			"web":          4,
			"web-services": 4,
			strings.Replace(portless[0], "services", "apiserver", 1): 4,
			portless[0]: 5,
		} {
			before := len(srv.Requests())
			_, err := client.LoadBalancers.Get(t.Context(), sdktest.Somewhere, name)
			isLasting := name == portless[0]
			if n := len(srv.Requests()) - before; !errors.Is(err, cloudapi.ErrServer) || n != requests || cloudapi.IsTransient(err) == isLasting || strings.Contains(err.Error(), "Service") != isLasting {
				t.Errorf("%s: transient: %v: %v after %d requests", name, cloudapi.IsTransient(err), err, n)
			}
		}
	})
}

// TestOneListedLoadBalancer: methods that need a single load balancer work even
// if the list isn't complete, and Resources yields everything that is listed.
func TestOneListedLoadBalancer(t *testing.T) {
	withPortlessBalancers(t, func(t *testing.T, _ *cloudapitest.Server, client *cloudapi.Client, portless []string) {
		ctx, start := t.Context(), time.Now()
		subnet := stub.Must(client.PrivateSubnets.Get(ctx, sdktest.Somewhere, "net-2"))(t)
		for _, tt := range []struct {
			name string
			plan bool
			want cloudapi.EnsureOutcome
		}{
			{"web", false, cloudapi.EnsureUnchanged}, // the other subnet has one with this name
			{"z", true, cloudapi.EnsureUnchanged},
			{"a", true, cloudapi.EnsureCreated}, // the existing one is in the other subnet
			{"new", false, cloudapi.EnsureCreated},
		} {
			l, outcome, err := sdktest.Planning(client, tt.plan).LoadBalancers.Ensure(ctx, sdktest.Somewhere, tt.name, sdktest.BalancerIn(subnet.ID), nil)
			if err != nil || outcome != tt.want || l.Name != tt.name || outcome == cloudapi.EnsureUnchanged && l.Subnet != "net-2" {
				t.Errorf("Ensure %s: %q, %v, %v", tt.name, outcome, l, err)
			}
		}
		planning := cloudapi.NewPlan(client).Client()
		stub.Must(planning.LoadBalancers.Create(ctx, sdktest.Somewhere, "planned", sdktest.BalancerIn(subnet.ID)))(t)
		listed, err := cloudapi.Collect(planning.LoadBalancers.All(ctx, nil))
		if _, ok := errors.AsType[*cloudapi.UnlistedError](err); !ok || !slices.ContainsFunc(listed, func(l *cloudapi.LoadBalancer) bool { return l.Name == "planned" }) {
			t.Errorf("in a plan, the list has %v, %v", listed, err)
		}
		if r, err := client.Resolve(ctx, sdktest.Somewhere+"/new"); err != nil || r.Name != "new" {
			t.Errorf("Resolve: %v, %v", r, err)
		}
		if _, err := client.Resolve(ctx, sdktest.Somewhere+"/web"); !errors.Is(err, cloudapi.ErrAmbiguous) {
			t.Errorf("Resolve of a name that two have: %v", err)
		}
		if l, err := cloudapi.Lookup[cloudapi.LoadBalancer](ctx, client, sdktest.Somewhere+"/a"); err != nil || l.Subnet != "net-1" {
			t.Errorf("Lookup: %v, %v", l, err)
		}
		count, last := map[cloudapi.Kind]int{}, error(nil)
		for r, err := range client.Resources(ctx, nil) {
			if last = err; err == nil {
				count[r.Kind]++
			}
		}
		if !slices.Equal(unlisted(last), portless) || count[cloudapi.KindLoadBalancer] != 9 || count[cloudapi.KindPrivateSubnet] != 4 || count[cloudapi.KindKubernetesCluster] != 2 {
			t.Errorf("Resources: %v, %v", count, last)
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// TestWatchWithUnlisted: a watch yields the events of all listed load
// balancers. A 500 doesn't prove that a load balancer was deleted.
func TestWatchWithUnlisted(t *testing.T) {
	withPortlessBalancers(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, portless []string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		known := &cloudapi.LoadBalancer{ID: "1b00000000000000000000000z", Name: "known", Location: sdktest.Somewhere}
		srv.Fail(cloudapitest.Match{Operation: "LoadBalancers.Get", Func: func(r cloudapitest.Request) bool { return strings.HasSuffix(r.Path, known.ID) }},
			cloudapitest.Reply(500, nil, stub.Envelope(500)).Repeating())
		var events []string
		round := func(p cloudapi.Progress) {
			if !slices.Equal(unlisted(p.Err), portless) {
				t.Errorf("round %d: %v", p.Polls, p.Err)
			}
			switch {
			case p.Polls == 1:
				stub.Must(0, client.LoadBalancers.Delete(ctx, sdktest.Somewhere, "z"))(t)
				stub.Must(client.LoadBalancers.Rename(ctx, sdktest.Somewhere, "a", "c"))(t)
			case p.Polls == 10:
				cancel()
			}
		}
		for e, err := range client.LoadBalancers.Watch(ctx, &cloudapi.WatchOptions{Progress: round}, known) {
			if err == nil && e.Type != cloudapi.EventAdded {
				events = append(events, string(e.Type)+" "+e.Record.Name)
			} else if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("the watch ended with %v", err)
			}
		}
		if slices.Sort(events); !slices.Equal(events, []string{"deleted z", "modified c"}) {
			t.Errorf("the events are %q", events)
		}
	})
}

// portlessList is a list of load balancers. Before each request, any of them
// may come or go, or get or lose its ports.
type portlessList struct {
	rng       *rand.Rand
	churn     int         // probability in percent of a change before a request
	forgets   bool        // whether every page is the first one
	longest   int         // maximum number of items in a page
	balancers []*balancer // in the order of their names and IDs
}

type balancer struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Location string `json:"location"`

	exists, portless    bool
	stays, everPortless bool // since the beginning of the range
}

func newPortlessList(seed uint64) *portlessList {
	l := &portlessList{rng: rand.New(rand.NewPCG(seed, 2)), longest: 1000}
	l.churn, l.forgets = l.rng.IntN(30), l.rng.IntN(20) == 0
	clusters := 6
	switch {
	case seed == 0: // more load balancers than a page has
		clusters, l.churn, l.forgets = 700, 0, false
	case l.rng.IntN(20) == 0:
		l.longest = 5
	}
	for i := range clusters {
		exists := l.rng.IntN(5) > 0
		for j, name := range []string{"kc%024d-apiserver", "kc%024d-services", "kc%024d5web"} {
			b := &balancer{ID: fmt.Sprintf("1b%024d", 10*i+j), Name: fmt.Sprintf(name, i), Location: sdktest.Somewhere, exists: exists}
			b.portless = j == 1 && i < 200 && l.rng.IntN(4) == 0
			b.stays, b.everPortless = b.exists && !b.portless, b.exists && b.portless
			l.balancers = append(l.balancers, b)
		}
	}
	return l
}

func (l *portlessList) RoundTrip(req *http.Request) (*http.Response, error) {
	for l.rng.IntN(100) < l.churn {
		i := l.rng.IntN(len(l.balancers))
		changed := l.balancers[i : i+1]
		if i%3 == 0 && l.rng.IntN(10) > 0 {
			changed = l.balancers[i : i+2] // a cluster comes or goes, with both of its load balancers
		}
		for _, b := range changed {
			if i%3 == 1 && l.rng.IntN(10) > 0 {
				b.portless = !b.portless
			} else {
				b.exists = !b.exists
			}
			b.stays, b.everPortless = false, b.everPortless || b.exists && b.portless
		}
	}
	_, name, isGet := strings.Cut(req.URL.Path, "/location/"+sdktest.Somewhere+"/load-balancer/")
	after, page, count := req.URL.Query().Get("start_after"), []*balancer{}, 0
	if l.forgets {
		after = ""
	}
	size, _ := strconv.Atoi(req.URL.Query().Get("page_size"))
	size = min(size, l.longest)
	for _, b := range l.balancers {
		isAfter := b.ID > after && !strings.HasPrefix(after, "kc") || b.Name > after && strings.HasPrefix(after, "kc")
		switch {
		case !b.exists || isGet && b.Name != name:
		case (isGet || isAfter && len(page) < size) && b.portless:
			return stub.Respond(500, stub.Envelope(500)), nil
		case isGet:
			return stub.Respond(200, string(stub.JSON(b))), nil
		default:
			if count++; isAfter && len(page) < size {
				page = append(page, b)
			}
		}
	}
	if isGet {
		return stub.Respond(404, stub.Envelope(404)), nil
	}
	return stub.Respond(200, string(stub.JSON(map[string]any{"items": page, "count": count}))), nil
}

// TestPortlessModel: every load balancer that exists and has ports all the time
// is yielded once, unless the range ends with an error other than an
// UnlistedError. An UnlistedError names only load balancers that had no ports
// at some time.
func TestPortlessModel(t *testing.T) {
	t.Parallel()
	const walks = 1000
	ended := map[string]int{}
	for seed := range uint64(walks) {
		synctest.Test(t, func(t *testing.T) {
			l := newPortlessList(seed)
			yielded, end := map[string]int{}, error(nil)
			for b, err := range sdktest.Client(t, l).LoadBalancers.All(t.Context(), &cloudapi.ListOptions{PageSize: 1 + l.rng.IntN(30)}) {
				if end = err; err == nil {
					yielded[b.Name]++
				}
			}
			names := unlisted(end)
			if seed == 0 && len(names) < 20 {
				t.Errorf("%d balancers were yielded; the end is %v", len(yielded), end)
			}
			isWhole := end == nil || names != nil
			for _, b := range l.balancers {
				if n := yielded[b.Name]; n > 1 || isWhole && b.stays && n == 0 || slices.Contains(names, b.Name) && !b.everPortless {
					t.Errorf("seed %d: %s was yielded %d times; the end is %v", seed, b.Name, n, end)
				}
			}
			switch {
			case names != nil:
				ended["unlisted"]++
			case errors.Is(end, cloudapi.ErrPaginationStalled), errors.Is(end, cloudapi.ErrServer):
				ended["failed"]++
			case end == nil:
				ended["complete"]++
			default:
				t.Errorf("seed %d: %v", seed, end)
			}
		})
	}
	t.Logf("of %d walks %v", walks, ended)
	if min(ended["unlisted"], ended["complete"])*10 < walks {
		t.Errorf("of %d walks %v: too few to tell", walks, ended)
	}
}
