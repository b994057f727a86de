package ensure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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

// step is a call of Ensure with an argument, what the call returns, and which
// requests other than GET it sends.
type step[A any] struct {
	arg    A
	update bool
	want   string // the outcome, or the differences
	sends  string
}

func runSteps[A any](t *testing.T, srv *cloudapitest.Server, ensure func(arg A, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error), steps ...step[A]) {
	t.Helper()
	for _, s := range steps {
		srv.ClearRequests()
		outcome, err := ensure(s.arg, &cloudapi.EnsureOptions{Update: s.update})
		got := string(outcome)
		if err != nil {
			_, got, _ = strings.Cut(err.Error(), " differs from the request: ")
		}
		var sent []string
		for _, r := range srv.Requests() {
			if r.Method != http.MethodGet {
				sent = append(sent, r.Name)
			}
		}
		if sends := strings.Join(sent, " "); got != s.want || sends != s.sends {
			t.Fatalf("%v, update %v: %q, %v, and sent %q\nwant %q, and sent %q", s.arg, s.update, outcome, err, sends, s.want, s.sends)
		}
	}
}

func outcomeOf[T any](_ *T, outcome cloudapi.EnsureOutcome, err error) (cloudapi.EnsureOutcome, error) {
	return outcome, err
}

// TestEnsureOfTheContract: with the contract, no update changes a description, and
// records don't show boot images.
func TestEnsureOfTheContract(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract), cloudapitest.Lenient())
	client, ctx := srv.Client(), t.Context()
	stub.Must(client.Firewalls.Create(ctx, sdktest.Somewhere, "fw", &cloudapi.FirewallCreateRequest{Description: "old"}))(t)
	stub.Must(client.VMs.Create(ctx, sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, BootImage: "ubuntu-noble"}))(t)
	const text = `description is "old", wanted "new"`
	runSteps(t, srv, func(description string, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
		return outcomeOf(client.Firewalls.Ensure(ctx, sdktest.Somewhere, "fw", &cloudapi.FirewallCreateRequest{Description: description}, opts))
	}, step[string]{"new", false, text, ""}, step[string]{"new", true, text + " (which no update can change)", ""})
	runSteps(t, srv, func(image string, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
		return outcomeOf(client.VMs.Ensure(ctx, sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, BootImage: image}, opts))
	}, step[string]{"debian-12", true, "unchanged", ""})
}

// TestEnsureUpdatesNothingElse: an update keeps what the request doesn't set, and
// the record is complete.
func TestEnsureUpdatesNothingElse(t *testing.T) {
	t.Parallel()
	client, ctx, update := cloudapitest.New(t).Client(), t.Context(), &cloudapi.EnsureOptions{Update: true}
	fw := stub.Must(client.Firewalls.Create(ctx, sdktest.Somewhere, "fw", nil))(t)
	subnet := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "net", nil))(t)
	stub.Must(client.Firewalls.AttachSubnet(ctx, sdktest.Somewhere, fw.ID, subnet.ID))(t)
	fw, outcome, err := client.Firewalls.Ensure(ctx, sdktest.Somewhere, "fw", &cloudapi.FirewallCreateRequest{Description: "new"}, update)
	if err != nil || outcome != cloudapi.EnsureUpdated || fw.Description != "new" || len(fw.PrivateSubnets) != 1 {
		t.Errorf("the firewall is %+v, %q, %v", fw, outcome, err)
	}
	vm := stub.Must(client.VMs.Create(ctx, sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: subnet.ID, EnableIPv4: new(true)}))(t)
	stub.Must(client.LoadBalancers.Create(ctx, sdktest.Somewhere, "lb", sdktest.BalancerIn(subnet.ID)))(t)
	stub.Must(client.LoadBalancers.AttachVM(ctx, sdktest.Somewhere, "lb", vm.ID))(t)
	lb, outcome, err := client.LoadBalancers.Ensure(ctx, sdktest.Somewhere, "lb", &cloudapi.LoadBalancerCreateRequest{PrivateSubnetID: subnet.ID, CertEnabled: new(true)}, update)
	if err != nil || outcome != cloudapi.EnsureUpdated || !lb.CertEnabled || len(lb.VMs) != 1 || lb.Algorithm != cloudapi.LoadBalancerAlgorithmRoundRobin || lb.SrcPort != 80 {
		t.Errorf("the load balancer is %+v, %q, %v", lb, outcome, err)
	}
}

// TestEnsureClosesASubnet: a subnet also has firewalls that the request doesn't
// name, one of which allows everything. An update attaches the wanted one first.
func TestEnsureClosesASubnet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		attached bool // whether the subnet already has the wanted firewall as well
		deleted  bool // whether somebody deletes the unwanted firewall before Ensure detaches it
		sends    string
	}{
		{"open", false, false, "Firewalls.AttachSubnet Firewalls.DetachSubnet"},
		{"open and closed", true, false, "Firewalls.DetachSubnet"},
		{"open, but not for long", false, true, "Firewalls.AttachSubnet Firewalls.Delete Firewalls.DetachSubnet"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := cloudapitest.New(t)
			client, ctx := srv.Client(), t.Context()
			closed := stub.Must(client.Firewalls.Create(ctx, sdktest.Somewhere, "closed", nil))(t)
			subnet := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "net-1", nil))(t)
			open := subnet.Firewalls[0]
			if tt.attached {
				stub.Must(client.Firewalls.AttachSubnet(ctx, sdktest.Somewhere, closed.ID, subnet.ID))(t)
			}
			var found []string
			for _, firewall := range stub.Must(client.PrivateSubnets.Get(ctx, sdktest.Somewhere, "net-1"))(t).Firewalls {
				found = append(found, firewall.ID)
			}
			if tt.deleted {
				client = stub.Must(client.With(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
					return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
						if strings.HasSuffix(req.URL.Path, "/detach-subnet") {
							stub.Must(0, srv.Client().Firewalls.Delete(ctx, sdktest.Somewhere, open.ID))(t)
						}
						return next.RoundTrip(req)
					})
				})))(t)
			}
			runSteps(t, srv, func(firewall string, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
				subnet, outcome, err := client.PrivateSubnets.Ensure(ctx, sdktest.Somewhere, "net-1", &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall}, opts)
				if err == nil && (len(subnet.Firewalls) != 1 || subnet.Firewalls[0].ID != closed.ID) {
					t.Errorf("the firewalls are %v", subnet.Firewalls)
				}
				return outcome, err
			},
				step[string]{closed.ID, false, fmt.Sprintf("firewall_id is %v, wanted %q", found, closed.ID), ""},
				step[string]{closed.ID, true, "updated", tt.sends},
				step[string]{"", true, "unchanged", ""})
		})
	}
}

// TestEnsureWithoutTheFirewall: if the location doesn't have the firewall, the
// error doesn't say that the subnet is gone.
func TestEnsureWithoutTheFirewall(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	client, ctx := srv.Client(), t.Context()
	stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "net-1", nil))(t)
	request := &cloudapi.PrivateSubnetCreateRequest{FirewallID: stub.Must(client.Firewalls.Create(ctx, "us-east-a2", "far", nil))(t).ID}
	_, _, err := client.PrivateSubnets.Ensure(ctx, sdktest.Somewhere, "net-1", request, &cloudapi.EnsureOptions{Update: true})
	if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != "firewall_id" || cloudapi.IsGone(err) {
		t.Error(err)
	}
}

// TestEnsureInAnotherSubnet: Ensure reports a difference if the request names a
// subnet that doesn't exist, or a subnet of the same name in another location.
func TestEnsureInAnotherSubnet(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	client := srv.Client()
	here := stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "net-1", nil))(t).ID
	there := stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Elsewhere, "net-1", nil))(t).ID
	nowhere := cloudapitest.NewID(cloudapi.KindPrivateSubnet).String()
	runSteps(t, srv, func(subnet string, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
		return outcomeOf(client.VMs.Ensure(t.Context(), sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: subnet}, opts))
	},
		step[string]{here, true, "created", "VMs.Create"},
		step[string]{there, true, `private_subnet_id is "net-1", wanted "` + there + `" (which no update can change)`, ""},
		step[string]{nowhere, true, `private_subnet_id is "net-1", wanted "` + nowhere + `" (which no update can change)`, ""})
}

func changed(change func(record map[string]any)) cloudapi.Option {
	return cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			if err != nil || resp.StatusCode != http.StatusOK {
				return resp, err
			}
			defer resp.Body.Close()
			var record map[string]any
			if err := json.NewDecoder(resp.Body).Decode(&record); err != nil {
				return nil, err
			}
			change(record)
			body, err := json.Marshal(record)
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			return resp, err
		})
	})
}

func ensureNodes(t *testing.T, client *cloudapi.Client, name, version string) func(int, *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
	return func(nodes int, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
		k, outcome, err := client.Kubernetes.Ensure(t.Context(), sdktest.Somewhere, name, &cloudapi.KubernetesClusterCreateRequest{
			Version: version, WorkerSize: "standard-2", WorkerNodeCount: nodes}, opts)
		if err == nil && !slices.ContainsFunc(k.NodePools, func(p cloudapi.KubernetesNodePool) bool { return p.NodeCount == nodes }) {
			t.Errorf("the node pools are %+v, want %d nodes", k.NodePools, nodes)
		}
		return outcome, err
	}
}

// TestEnsureAmongNodePools: Ensure finds the right node pool although the
// cluster has a second one, which is listed first or last.
func TestEnsureAmongNodePools(t *testing.T) {
	t.Parallel()
	for i := range 2 {
		synctest.Test(t, func(t *testing.T) {
			srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract))
			client := srv.Client(changed(func(record map[string]any) {
				if pools, found := record["nodepools"].([]any); found {
					other := map[string]any{"id": cloudapitest.NewID(cloudapi.KindKubernetesNodePool), "name": "other", "node_count": 7, "node_size": "standard-8"}
					record["nodepools"] = slices.Insert(pools, i, any(other))
				}
			}))
			runSteps(t, srv, ensureNodes(t, client, "k8s-1", "v1.34"),
				step[int]{1, true, "created", "Kubernetes.Create"},
				step[int]{1, true, "unchanged", ""},
				step[int]{2, true, "updated", "Kubernetes.ResizeNodePool"},
				step[int]{2, true, "unchanged", ""})
			stub.Must(client.Kubernetes.Rename(t.Context(), sdktest.Somewhere, "k8s-1", "renamed"))(t) // so that the request can mean either node pool
			runSteps(t, srv, ensureNodes(t, client, "renamed", "v1.34"), step[int]{3, true, `worker_size is "", wanted "standard-2" (which Kubernetes.CreateNodePool changes), worker_nodes is 0, wanted 3 (which Kubernetes.CreateNodePool changes)`, ""})
		})
	}
}

// TestEnsureOfABusyCluster: for a while after a resize the server refuses
// another one, although records no longer show the first. Ensure waits until
// the server accepts it.
func TestEnsureOfABusyCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service))
		client := srv.Client()
		ensure := ensureNodes(t, client, "apps", "v1.36")
		resizes := func() (statuses []int) {
			for _, r := range srv.Requests() {
				if r.Name == "Kubernetes.ResizeNodePool" {
					statuses = append(statuses, r.Status)
				}
			}
			return statuses
		}
		srv.SetDelays(cloudapi.KindKubernetesCluster, "", cloudapitest.Delays{Create: time.Minute, Resize: time.Minute})
		runSteps(t, srv, ensure, step[int]{1, false, "created", "Kubernetes.Create"})
		stub.Must(client.Kubernetes.WaitRunning(t.Context(), sdktest.Somewhere, "apps", nil))(t)
		runSteps(t, srv, ensure, step[int]{2, true, "updated", "Kubernetes.ResizeNodePool"})
		stub.Must(client.Kubernetes.WaitNodePool(t.Context(), sdktest.Somewhere, "apps", "apps-np", nil))(t)

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := client.Kubernetes.Ensure(short, sdktest.Somewhere, "apps", &cloudapi.KubernetesClusterCreateRequest{
			Version: "v1.36", WorkerSize: "standard-2", WorkerNodeCount: 3}, &cloudapi.EnsureOptions{Update: true})
		wait, ok := errors.AsType[*cloudapi.WaitError](err)
		if !ok || !errors.Is(err, context.DeadlineExceeded) || wait.Operation != "Kubernetes.Ensure" || wait.Polls != 1 || wait.State != "running" ||
			!strings.Contains(err.Error(), "422 UnprocessableContent") {
			t.Errorf("within a second: %v", err)
		}
		srv.ClearRequests()
		var refusals, last int
		outcome, err := ensure(3, &cloudapi.EnsureOptions{Update: true, Progress: func(p cloudapi.Progress) {
			if p.State == "updating" && p.Err != nil && errors.Is(p.Err, cloudapi.ErrInvalidRequest) {
				refusals++
			}
			last = p.Done
		}})
		if outcome != cloudapi.EnsureUpdated || err != nil || last != 1 {
			t.Errorf("the next resize: %q, %v, done %d", outcome, err, last)
		}
		want := append(slices.Repeat([]int{422}, refusals), 200)
		if got := resizes(); refusals == 0 || refusals > 6 || !slices.Equal(got, want) {
			t.Errorf("%d refusals were reported, and the resizes were answered with %v", refusals, got)
		}
		for name, body := range map[string]string{
			"a gateway's 422":    `<html>unprocessable</html>`,
			"a field that fails": `{"error":{"code":422,"type":"UnprocessableContent","message":"x","details":{"node_count":"x"}}}`,
		} {
			before := len(resizes())
			srv.Fail(cloudapitest.Match{Operation: "Kubernetes.ResizeNodePool"}, cloudapitest.Reply(422, http.Header{"Content-Type": {"application/json"}}, body))
			if _, err := ensure(4, &cloudapi.EnsureOptions{Update: true}); !errors.Is(err, cloudapi.ErrInvalidRequest) || len(resizes()) != before+1 {
				t.Errorf("%s: %v after %d resizes", name, err, len(resizes())-before)
			}
		}
	})
}

// TestEnsureAfterARefusedResend: Ensure succeeds if the response to its resize
// is lost and the server refuses the retry, because the resize has begun.
func TestEnsureAfterARefusedResend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service))
		client := srv.Client()
		request := &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2", WorkerNodeCount: 1}
		stub.Must(client.Kubernetes.Create(t.Context(), sdktest.Somewhere, "apps", request))(t)
		stub.Must(client.Kubernetes.WaitRunning(t.Context(), sdktest.Somewhere, "apps", nil))(t)
		srv.SetDelays(cloudapi.KindKubernetesCluster, "", cloudapitest.Delays{Resize: time.Hour})
		srv.Fail(cloudapitest.Match{Operation: "Kubernetes.ResizeNodePool"}, cloudapitest.DropAfter())
		request.WorkerNodeCount = 2
		k, outcome, err := client.Kubernetes.Ensure(t.Context(), sdktest.Somewhere, "apps", request, &cloudapi.EnsureOptions{Update: true})
		if err != nil || outcome != cloudapi.EnsureUpdated || k.NodePools[0].NodeCount != 2 {
			t.Errorf("%q, %v", outcome, err)
		}
	})
}

// TestEnsureLoadBalancerInItsSubnet: Ensure finds the load balancer in the
// requested subnet, not its namesake.
func TestEnsureLoadBalancerInItsSubnet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client, ctx := srv.Client(), t.Context()
		one := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "one", nil))(t)
		two := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "two", nil))(t)
		ids := map[string]bool{}
		for _, subnet := range []string{one.ID, two.ID} {
			for i := range 2 {
				lb, created, err := client.LoadBalancers.Ensure(ctx, sdktest.Somewhere, "lb", sdktest.BalancerIn(subnet), nil)
				if err != nil || (created == cloudapi.EnsureCreated) != (i == 0) {
					t.Fatalf("%v, %v", created, err)
				}
				ids[lb.ID] = true
			}
		}
		if len(ids) != 2 {
			t.Errorf("there are %v", ids)
		}
		// One of them is found by name, and the other one in a list.
		srv.Fail(cloudapitest.Match{Operation: "LoadBalancers.ListInLocation"}, cloudapitest.Reply(403, nil, stub.Envelope(403)))
		_, _, first := client.LoadBalancers.Ensure(ctx, sdktest.Somewhere, "lb", sdktest.BalancerIn(one.ID), nil)
		_, _, second := client.LoadBalancers.Ensure(ctx, sdktest.Somewhere, "lb", sdktest.BalancerIn(two.ID), nil)
		if (first == nil) == (second == nil) || !errors.Is(errors.Join(first, second), cloudapi.ErrForbidden) {
			t.Errorf("if the list is forbidden: %v, %v", first, second)
		}
		if lb, _, err := client.LoadBalancers.Ensure(ctx, sdktest.Somewhere, "lb", sdktest.BalancerIn("net-1"), nil); lb != nil || !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("with a name for an ID: %v, %v", lb, err)
		}
		nobodys := cloudapitest.NewID(cloudapi.KindPrivateSubnet).String()
		if lb, _, err := client.LoadBalancers.Ensure(ctx, sdktest.Somewhere, "lb", sdktest.BalancerIn(nobodys), nil); lb != nil || !errors.Is(err, cloudapi.ErrInvalidRequest) {
			t.Errorf("with nobody's subnet: %v, %v", lb, err)
		}
		planning := cloudapi.NewPlan(client).Client()
		if lb, outcome, err := planning.LoadBalancers.Ensure(ctx, sdktest.Somewhere, "lb", sdktest.BalancerIn(nobodys), nil); lb != nil || !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("a plan with nobody's subnet: %v, %v, %v", lb, outcome, err)
		}
	})
}

// TestEnsureAfterAnUpgrade: as soon as an upgrade begins, a request with the
// new version matches. A request with the old version differs, and no update
// changes that, so Ensure never undoes an upgrade.
func TestEnsureAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client, ctx := srv.Client(), t.Context()
		cluster := func(version string, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
			return outcomeOf(client.Kubernetes.Ensure(ctx, sdktest.Somewhere, "apps", &cloudapi.KubernetesClusterCreateRequest{Version: version, WorkerSize: "standard-2"}, opts))
		}
		database := func(version string, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
			return outcomeOf(client.Postgres.Ensure(ctx, sdktest.Somewhere, "orders", &cloudapi.PostgresCreateRequest{Version: version, Size: "standard-2", StorageSize: 64}, opts))
		}
		runSteps(t, srv, cluster, step[string]{"v1.36", true, "created", "Kubernetes.Create"})
		runSteps(t, srv, database, step[string]{"17", true, "created", "Postgres.Create"})
		stub.Must(client.Kubernetes.WaitRunning(ctx, sdktest.Somewhere, "apps", nil))(t)
		stub.Must(client.Kubernetes.Upgrade(ctx, sdktest.Somewhere, "apps"))(t)
		stub.Must(client.Postgres.WaitRunning(ctx, sdktest.Somewhere, "orders", nil))(t)
		stub.Must(client.Postgres.Upgrade(ctx, sdktest.Somewhere, "orders"))(t)
		for _, pause := range []time.Duration{0, 24 * time.Hour} { // during and after the upgrade
			stub.Elapse(pause)
			runSteps(t, srv, cluster, step[string]{"v1.37", true, "unchanged", ""}, step[string]{"v1.36", true, `version is "v1.37", wanted "v1.36" (which no update can change)`, ""})
			runSteps(t, srv, database, step[string]{"18", true, "unchanged", ""}, step[string]{"17", true, `version is "18", wanted "17" (which no update can change)`, ""})
		}
	})
}

// TestEnsureLoadBalancerInItsLocation: no load balancer is created in a location
// other than that of its subnet.
func TestEnsureLoadBalancerInItsLocation(t *testing.T) {
	t.Parallel()
	client, ctx := cloudapitest.New(t).Client(), t.Context()
	subnet := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "net", nil))(t).ID
	for _, location := range []string{sdktest.Elsewhere, "nowhere"} {
		_, outcome, err := client.LoadBalancers.Ensure(ctx, location, "lb", sdktest.BalancerIn(subnet), nil)
		e, ok := errors.AsType[*cloudapi.ArgumentError](err)
		if !ok || e.Operation != "LoadBalancers.Ensure" || e.Name != "location" || e.Value != location || !strings.Contains(e.Reason, sdktest.Somewhere) || outcome != "" {
			t.Errorf("in %s: %q, %v", location, outcome, err)
		}
		if _, err := client.LoadBalancers.Get(ctx, sdktest.Somewhere, "lb"); !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("in %s it is created elsewhere: %v", location, err)
		}
	}
}
