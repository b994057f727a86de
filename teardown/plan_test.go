package teardown_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// TestDeletesWhatIsInThePlan: whatever happens around a run, it deletes what is
// in the plan and nothing else.
func TestDeletesWhatIsInThePlan(t *testing.T) {
	t.Parallel()
	none := func(cloudapi.Resource) bool { return true }
	clusterStays := func(t *testing.T, p *scene, err error) {
		there := sdktest.Contents(t, p.Client)
		for _, id := range append(p.network(), p.Cluster.ID) {
			if there[id] == "" {
				t.Errorf("%s is gone", p.before[id])
			}
		}
		if len(p.network()) != 4 || err != nil {
			t.Errorf("the network is %q; the run returns %v", p.network(), err)
		}
	}
	clusterIsBlocked := func(t *testing.T, _ *scene, err error) {
		report, ok := errors.AsType[*teardown.Error](err)
		if !ok || !slices.Equal(outcomes(report), []string{"blocked Kubernetes cluster eu-central-h1/apps", "blocked firewall eu-central-h1/fw-1"}) {
			t.Errorf("the report is %v", err)
		}
	}
	for name, tt := range map[string]struct {
		project func(t *testing.T) *sdktest.Everything // default: newFullProject
		options teardown.Options
		keep    func(p *scene, r cloudapi.Resource) bool                // for options.Keep
		before  func(t *testing.T, p *scene)                            // the plan
		between func(t *testing.T, p *scene)                            // the plan and the run
		run     func(t *testing.T, p *scene, plan *teardown.Plan) error // default: Run
		after   func(t *testing.T, p *scene, err error)                 // the run
		left    func(cloudapi.Resource) bool                            // what stays although it's in the plan
		others  func(p *scene) []string                                 // IDs of what is deleted although it isn't
	}{
		"nothing happens": {},
		"a Keep after the plan, which nobody calls": {
			between: func(t *testing.T, p *scene) {
				p.options.Keep = func(cloudapi.Resource) bool { t.Error("called"); return true }
			},
		},
		"a Keep of parts, for which nobody calls it": {
			options: teardown.Options{Keep: func(r cloudapi.Resource) bool {
				return cloudapi.IsID(r.ID, cloudapi.KindFirewallRule, cloudapi.KindNIC, cloudapi.KindKubernetesNodePool)
			}},
		},
		"a Keep of what the token may not see": {
			options: teardown.Options{Keep: func(r cloudapi.Resource) bool { return r.Kind == cloudapi.KindInferenceAPIKey }},
			before: func(_ *testing.T, p *scene) {
				p.Server.SetPermissions(p.Client.Project(), p.Server.Token(), append([]string{"LoadBalancer:*"},
					slices.DeleteFunc(slices.Clone(allButLoadBalancers), func(p string) bool { return p == "InferenceApiKey:*" })...)...)
			},
		},
		"a load balancer that the token may not see": { // the one exception
			options: teardown.Options{Keep: func(r cloudapi.Resource) bool { return r.Kind == cloudapi.KindLoadBalancer }},
			before: func(_ *testing.T, p *scene) {
				p.Server.SetPermissions(p.Client.Project(), p.Server.Token(), append(allButLoadBalancers, "LoadBalancer:delete")...)
			},
			others: func(p *scene) []string { return []string{p.Balancer.ID} },
		},
		"two runs": {
			run: func(t *testing.T, p *scene, plan *teardown.Plan) error {
				if err := plan.Run(t.Context()); err != nil {
					t.Error(err)
				}
				stub.Must(p.Client.SSHPublicKeys.Create(t.Context(), &cloudapi.SSHPublicKeyCreateRequest{Name: "laptop", PublicKey: stub.PublicKey}))(t)
				stub.Must(p.Client.VMs.Create(t.Context(), sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
				stub.Must(p.Client.Firewalls.Create(t.Context(), sdktest.Somewhere, "fw-1", nil))(t)
				return plan.Run(t.Context())
			},
			after: func(t *testing.T, p *scene, err error) {
				if n := len(sdktest.Contents(t, p.Client)); n != 5 || err != nil {
					t.Errorf("%d resources of the second environment are left, %v", n, err)
				}
			},
		},
		"two runs at once": {
			run: func(t *testing.T, _ *scene, plan *teardown.Plan) error {
				other := make(chan error)
				go func() { other <- plan.Run(t.Context()) }()
				return errors.Join(plan.Run(t.Context()), <-other)
			},
		},
		"renamed": {
			between: func(t *testing.T, p *scene) {
				stub.Must(p.Client.VMs.Rename(t.Context(), sdktest.Somewhere, p.VM.ID, "renamed"))(t)
				stub.Must(p.Client.PrivateSubnets.Rename(t.Context(), sdktest.Somewhere, p.Subnet.ID, "renamed"))(t)
				stub.Must(p.Client.LoadBalancers.Rename(t.Context(), sdktest.Somewhere, p.Balancer.ID, "renamed"))(t)
				stub.Must(p.Client.PrivateLocations.Rename(t.Context(), "own", "renamed"))(t)
			},
		},
		"replaced": {
			between: func(t *testing.T, p *scene) {
				ctx, c := t.Context(), p.Client
				if err := errors.Join(c.VMs.Delete(ctx, sdktest.Somewhere, p.Stray.ID), c.VMs.WaitDeleted(ctx, sdktest.Somewhere, p.Stray.ID),
					c.SSHPublicKeys.Delete(ctx, p.Key.ID)); err != nil {
					t.Fatal(err)
				}
				stub.Must(c.PrivateLocations.Rename(ctx, "own", "old"))(t)
				stub.Must(c.PrivateLocations.Create(ctx, &cloudapi.PrivateLocationCreateRequest{Name: "own", ProviderLocationName: cloudapi.ProviderLocationUSEast1,
					AccessKey: cloudapi.NewSecret("a"), SecretKey: cloudapi.NewSecret("s")}))(t)
				stub.Must(c.VMs.Create(ctx, "own", "far", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
				stub.Must(c.PrivateSubnets.Create(ctx, sdktest.Somewhere, "stray", nil))(t)
				stub.Must(c.SSHPublicKeys.Create(ctx, &cloudapi.SSHPublicKeyCreateRequest{Name: "laptop", PublicKey: stub.PublicKey}))(t)
			},
		},
		"cancelled, then run again": {
			run: func(t *testing.T, p *scene, plan *teardown.Plan) error {
				ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
				defer cancel()
				if err := plan.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the first run: %v", err)
				}
				return plan.Run(t.Context())
			},
		},
		"no permission any more": {
			between: func(_ *testing.T, p *scene) {
				p.Server.SetPermissions(p.Client.Project(), p.Server.Token())
			},
			after: func(t *testing.T, p *scene, err error) {
				report, ok := errors.AsType[*teardown.Error](err)
				if !ok || !errors.Is(err, cloudapi.ErrForbidden) || len(report.Deleted) != 1 || report.Deleted[0].Kind != cloudapi.KindInferenceAPIKey {
					t.Errorf("the report is %v, with %v as deleted", err, report.Deleted) // the service answers 204 for the key
				}
			},
			left: none,
		},
		"no project any more": {
			between: func(_ *testing.T, p *scene) {
				p.Server.Fail(cloudapitest.Match{Func: func(cloudapitest.Request) bool { return !p.over.Load() }}, sdktest.Refusal(404, "ResourceNotFound").Repeating())
			},
			after: func(t *testing.T, p *scene, err error) {
				if report, ok := errors.AsType[*teardown.Error](err); !ok || !errors.Is(err, cloudapi.ErrNotFound) || len(report.Deleted) > 0 {
					t.Errorf("the report is %v", err)
				}
			},
			left: none,
		},
		"a permission less": {
			between: func(_ *testing.T, p *scene) {
				p.Server.SetPermissions(p.Client.Project(), p.Server.Token(), allButLoadBalancers...)
			},
			after: func(t *testing.T, p *scene, err error) {
				report, ok := errors.AsType[*teardown.Error](err)
				if !ok || !slices.Equal(outcomes(report), []string{"failed load balancer eu-central-h1/lb-1",
					"blocked private subnet eu-central-h1/net-1", "blocked firewall eu-central-h1/fw-1"}) {
					t.Errorf("the report is %v", err)
				}
			},
			left: func(r cloudapi.Resource) bool {
				return r.Name == "lb-1" || r.Name == "net-1" && r.Location == sdktest.Somewhere || r.Name == "fw-1"
			},
		},
		"a cluster, with which its network goes": {
			project: newClusterProject,
			after: func(t *testing.T, p *scene, err error) {
				if there := sdktest.Contents(t, p.Client); len(there) != 0 || err != nil {
					t.Errorf("%v is left when the run returns %v", there, err)
				}
			},
			others: (*scene).network,
		},
		"a cluster that is kept": {
			project: newClusterProject,
			keep:    func(p *scene, r cloudapi.Resource) bool { return r.ID == p.Cluster.ID },
			after:   clusterStays,
		},
		"a cluster, part of whose network is kept": {
			project: newClusterProject,
			keep:    func(p *scene, r cloudapi.Resource) bool { return r.Name == p.Cluster.ID+"-firewall" },
			after:   clusterStays,
		},
		"a cluster in whose subnet a VM is kept": {
			project: newClusterProject,
			keep:    func(p *scene, r cloudapi.Resource) bool { return r.ID == p.VM.ID },
			after:   clusterStays,
		},
		"a cluster whose firewall a kept subnet uses": {
			project: newClusterProject,
			before: func(t *testing.T, p *scene) {
				subnet := stub.Must(p.Client.PrivateSubnets.Get(t.Context(), sdktest.Somewhere, "net-1"))(t)
				stub.Must(p.Client.Firewalls.AttachSubnet(t.Context(), sdktest.Somewhere, p.Cluster.ID+"-firewall", subnet.ID))(t)
			},
			keep:  func(p *scene, r cloudapi.Resource) bool { return r.Name == "net-1" },
			after: clusterStays,
		},
		"a cluster that the token may not see": {
			project: newClusterProject,
			before: func(_ *testing.T, p *scene) {
				p.Server.SetPermissions(p.Client.Project(), p.Server.Token(), append([]string{"LoadBalancer:*"},
					slices.DeleteFunc(slices.Clone(allButLoadBalancers), func(p string) bool { return p == "KubernetesCluster:*" })...)...)
			},
			after: clusterStays,
		},
		"a cluster in whose subnet there is a new load balancer": {
			project: newClusterProject,
			between: func(t *testing.T, p *scene) {
				subnet := stub.Must(p.Client.PrivateSubnets.Get(t.Context(), sdktest.Somewhere, p.Cluster.ID+"-subnet"))(t)
				stub.Must(p.Client.LoadBalancers.Create(t.Context(), sdktest.Somewhere, "new", sdktest.BalancerIn(subnet.ID)))(t)
			},
			after: clusterIsBlocked,
			left:  func(r cloudapi.Resource) bool { return r.Name == "apps" || r.Name == "fw-1" },
		},
		"a cluster whose firewall a new subnet uses": {
			project: newClusterProject,
			between: func(t *testing.T, p *scene) {
				subnet := stub.Must(p.Client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "new", nil))(t)
				stub.Must(p.Client.Firewalls.AttachSubnet(t.Context(), sdktest.Somewhere, p.Cluster.ID+"-firewall", subnet.ID))(t)
			},
			after: clusterIsBlocked,
			left:  func(r cloudapi.Resource) bool { return r.Name == "apps" || r.Name == "fw-1" },
		},
		"a cluster whose firewall a subnet uses": {
			project: newClusterProject,
			before: func(t *testing.T, p *scene) {
				subnet := stub.Must(p.Client.PrivateSubnets.Get(t.Context(), sdktest.Somewhere, "net-1"))(t)
				stub.Must(p.Client.Firewalls.AttachSubnet(t.Context(), sdktest.Somewhere, p.Cluster.ID+"-firewall", subnet.ID))(t)
			},
			others: (*scene).network,
		},
		"names like those of a cluster's network": {
			project: func(t *testing.T) *sdktest.Everything {
				p := newClusterProject(t)
				other := cloudapitest.NewID(cloudapi.KindKubernetesCluster).String()
				subnet := stub.Must(p.Client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, other+"-subnet", nil))(t)
				stub.Must(p.Client.LoadBalancers.Create(t.Context(), sdktest.Somewhere, other+"-services", sdktest.BalancerIn(subnet.ID)))(t)
				stub.Must(p.Client.Firewalls.Create(t.Context(), sdktest.Elsewhere, p.Cluster.ID+"-firewall", nil))(t)
				return p
			},
			keep: func(p *scene, r cloudapi.Resource) bool { return r.ID == p.Cluster.ID },
			after: func(t *testing.T, p *scene, err error) {
				if there := sdktest.Contents(t, p.Client); len(there) != 6 || err != nil { // the cluster, its network and fw-1
					t.Errorf("%v is left when the run returns %v", there, err)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &scene{options: tt.options}
				if tt.project != nil {
					p.Everything = tt.project(t)
				} else {
					p.Everything = newFullProject(t)
				}
				if tt.keep != nil {
					p.options.Keep = func(r cloudapi.Resource) bool { return tt.keep(p, r) }
				}
				p.before = sdktest.Contents(t, p.Client)
				if tt.before != nil {
					tt.before(t, p)
				}
				plan := stub.Must(teardown.NewPlan(t.Context(), p.Client, &p.options))(t)
				if tt.between != nil {
					tt.between(t, p)
				}
				sent := len(p.Server.Requests())
				var err error
				if tt.run != nil {
					err = tt.run(t, p, plan)
				} else {
					err = plan.Run(t.Context())
				}
				p.over.Store(true)
				requested := map[string]bool{}
				for _, r := range p.Server.Requests()[sent:] {
					if r.Method == http.MethodDelete {
						requested[r.Path[strings.LastIndex(r.Path, "/")+1:]] = true
					}
				}
				p.Server.SetPermissions(p.Client.Project(), p.Server.Token(), "*")
				switch {
				case tt.after != nil:
					tt.after(t, p, err)
				case err != nil:
					t.Error(err)
				}

				var want, deleted []string
				for _, r := range slices.Concat(plan.Stages()...) {
					delete(requested, r.ID)
					if r.Kind == cloudapi.KindPrivateLocation {
						delete(requested, r.Name)
						delete(requested, "renamed")
						delete(requested, "old")
					}
					if tt.left == nil || !tt.left(r) {
						want = append(want, r.ID)
					}
				}
				if len(requested) > 0 {
					t.Errorf("deletions of %v were sent, which are not in the plan", requested)
				}
				if tt.others != nil {
					want = append(want, tt.others(p)...)
				}
				after := sdktest.Contents(t, p.Client)
				for id := range p.before {
					if after[id] == "" {
						deleted = append(deleted, id)
					}
				}
				slices.Sort(want)
				if slices.Sort(deleted); !slices.Equal(deleted, want) {
					t.Errorf("deleted was %v, want %v of %v", deleted, want, p.before)
				}
			})
		})
	}
}

// scene is the project of a test.
type scene struct {
	*sdktest.Everything
	options teardown.Options
	before  map[string]string // what was there, by ID
	over    atomic.Bool       // whether the run has ended
}

// network returns the IDs of the four resources that the server created for the
// cluster.
func (p *scene) network() (ids []string) {
	for id, text := range p.before {
		if strings.Contains(text, " "+sdktest.Somewhere+" "+p.Cluster.ID+"-") {
			ids = append(ids, id)
		}
	}
	return ids
}

// newClusterProject returns a project with the service. It has a
// cluster with a Service, a VM in the cluster's subnet, to which the firewall
// fw-1 also applies, and the subnet net-1.
func newClusterProject(t *testing.T) *sdktest.Everything {
	t.Helper()
	p := &sdktest.Everything{Server: cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service))}
	p.Client = p.Server.Client()
	ctx, c := t.Context(), p.Client
	stub.Must(c.Kubernetes.Create(ctx, sdktest.Somewhere, "apps", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.35", WorkerSize: "standard-2"}))(t)
	p.Cluster = stub.Must(c.Kubernetes.WaitRunning(ctx, sdktest.Somewhere, "apps"))(t)
	p.Server.SetClusterService(p.Cluster.ID, 80, 30080)
	p.Subnet = stub.Must(c.PrivateSubnets.Get(ctx, sdktest.Somewhere, p.Cluster.ID+"-subnet"))(t)
	p.Firewall = stub.Must(c.Firewalls.Create(ctx, sdktest.Somewhere, "fw-1", nil))(t)
	stub.Must(c.Firewalls.AttachSubnet(ctx, sdktest.Somewhere, p.Firewall.ID, p.Subnet.ID))(t)
	p.VM = stub.Must(c.VMs.Create(ctx, sdktest.Somewhere, "inside", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: p.Subnet.ID}))(t)
	stub.Must(c.PrivateSubnets.Create(ctx, sdktest.Somewhere, "net-1", nil))(t)
	return p
}

// TestPlanTextOfACluster: the plan shows the network of a cluster below the
// cluster, or keeps it because of the cluster, even if the token may not see
// the cluster.
func TestPlanTextOfACluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newClusterProject(t)
		id := p.Cluster.ID
		own := regexp.MustCompile(` \([0-9a-z]{26}\)`)
		check := func(plan *teardown.Plan, want string) {
			t.Helper()
			if got := own.ReplaceAllString(plan.String(), ""); got != "teardown of project "+p.Client.Project()+": "+want {
				t.Errorf("the plan is\n%s\nwant\n%s", got, want)
			}
		}
		plan := planTeardown(t, p.Client, nil)
		check(plan, `5 to delete, 0 to keep
stage 1
  VM eu-central-h1/inside
stage 2
  Kubernetes cluster eu-central-h1/apps
    and load balancer eu-central-h1/`+id+`-apiserver, which goes with it
    and load balancer eu-central-h1/`+id+`-services, which goes with it
    and private subnet eu-central-h1/`+id+`-subnet, which goes with it
    and firewall eu-central-h1/`+id+`-firewall, which goes with it
  and the load balancers of these subnets that the token may not see
stage 3
  private subnet eu-central-h1/net-1
  firewall eu-central-h1/fw-1
  and the load balancers of these subnets that the token may not see
stage 4
  firewall eu-central-h1/net-1-default
`)
		var text struct {
			GoesWith map[string][]cloudapi.Resource `json:"goes_with"`
		}
		if err := json.Unmarshal(stub.Must(json.Marshal(plan))(t), &text); err != nil || len(text.GoesWith[id]) != 4 ||
			!slices.Equal(text.GoesWith[id], plan.GoesWith(cloudapi.Resource{ID: id})) {
			t.Errorf("%v goes with the cluster, %v", text.GoesWith, err)
		}

		p.Server.SetPermissions(p.Client.Project(), p.Server.Token(), "PrivateSubnet:*", "Location:*", "Project:*")
		check(planTeardown(t, p.Client, nil), `1 to delete, 2 to keep
stage 1
  private subnet eu-central-h1/net-1
  and the load balancers of these subnets that the token may not see
kept
  Kubernetes cluster `+id+`
  private subnet eu-central-h1/`+id+`-subnet, needed by Kubernetes cluster `+id+`
`)
	})
}

// allButLoadBalancers lists all permissions except for load balancers.
var allButLoadBalancers = []string{"Firewall:*", "InferenceApiKey:*", "KubernetesCluster:*", "Location:*", "MachineImage:*", "Postgres:*",
	"PrivateSubnet:*", "Project:*", "Vm:*"}

// newSubnets returns a project with n private subnets.
func newSubnets(t *testing.T, n int) (srv *cloudapitest.Server, ids []string) {
	t.Helper()
	srv = cloudapitest.New(t)
	client := srv.Client()
	firewall := stub.Must(client.Firewalls.Create(t.Context(), sdktest.Somewhere, "fw-1", nil))(t)
	for i := range n {
		subnet := stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, fmt.Sprintf("net-%d", i),
			&cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID}))(t)
		ids = append(ids, subnet.ID)
	}
	return srv, ids
}

// TestLooksImmediatelyBefore: however many subnets there are, the list of load
// balancers is current when each is deleted.
func TestLooksImmediatelyBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const perRequest = 50 * time.Millisecond
		srv, ids := newSubnets(t, 100)
		srv.Fail(cloudapitest.Match{}, cloudapitest.Delay(perRequest).Repeating())
		plan := stub.Must(teardown.NewPlan(t.Context(), srv.Client(), nil))(t)
		before := len(srv.Requests())
		if err := plan.Run(t.Context()); err != nil {
			t.Error(err)
		}
		var looked time.Time
		var oldest time.Duration
		deleted := 0
		for _, r := range srv.Requests()[before:] {
			switch {
			case r.Name == "LoadBalancers.ListInLocation":
				looked = r.Time
			case r.Name == "PrivateSubnets.Delete":
				deleted++
				oldest = max(oldest, r.Time.Sub(looked))
			}
		}
		if deleted != len(ids) || oldest > perRequest {
			t.Errorf("%d subnets were deleted, after a look of up to %v before", deleted, oldest)
		}
	})
}

// TestLooksBeforeEachAttempt: a load balancer is created after an attempt to
// delete its subnet has failed without saying whether the server executed it.
func TestLooksBeforeEachAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, ids := newSubnets(t, 1)
		client := srv.Client()
		plan := stub.Must(teardown.NewPlan(t.Context(), srv.Client(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			attempts := 0
			return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				if req.Method != http.MethodDelete || !strings.HasSuffix(req.URL.Path, ids[0]) {
					return next.RoundTrip(req)
				}
				if attempts++; attempts == 1 {
					stub.Must(client.LoadBalancers.Create(t.Context(), sdktest.Somewhere, "new", sdktest.BalancerIn(ids[0])))(t)
					return stub.Respond(503, ""), nil
				}
				return next.RoundTrip(req)
			})
		})), nil))(t)
		report, ok := errors.AsType[*teardown.Error](plan.Run(t.Context()))
		if !ok || !slices.Equal(outcomes(report), []string{"failed private subnet eu-central-h1/net-0", "blocked firewall eu-central-h1/fw-1"}) {
			t.Errorf("the report is %v", report)
		}
		if _, err := client.LoadBalancers.Get(t.Context(), sdktest.Somewhere, "new"); err != nil {
			t.Errorf("the load balancer: %v", err)
		}
	})
}

// TestKnowsAllKinds: a plan reads every list of resources that a project has.
func TestKnowsAllKinds(t *testing.T) {
	t.Parallel()
	var network stub.Recorder
	const project = "/project/" + stub.Project
	network.Answer = func(req *http.Request) (*http.Response, error) {
		if req.URL.Path == project {
			return stub.Respond(200, `{"id":"`+stub.Project+`","name":"p"}`), nil
		}
		return stub.Respond(200, `{"items":[],"count":0}`), nil
	}
	client := sdktest.Recorded(t, &network)
	for _, err := range client.Resources(t.Context(), nil) {
		t.Error(err)
	}
	lists := func() (targets []string) {
		for _, sent := range network.Take() {
			if target, _, _ := strings.Cut(sent.Target, "?"); target != project {
				targets = append(targets, target)
			}
		}
		slices.Sort(targets)
		return targets
	}
	want := lists()
	if _, err := teardown.NewPlan(t.Context(), client, nil); err != nil {
		t.Error(err)
	}
	if got := lists(); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("the lists are %q, want %q", got, want)
	}
}

// TestPlanWithHiddenResources: what the token may not see looks like an empty
// project in the lists that don't fail.
func TestPlanWithHiddenResources(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		permissions []string
		want        error
	}{
		{[]string{"Project:edit", "Location:view"}, cloudapi.ErrForbidden},
		{[]string{"Project:view", "Project:edit", "Location:view"}, nil},
	} {
		srv := cloudapitest.New(t)
		client := srv.Client()
		srv.SetPermissions(client.Project(), srv.Token(), tt.permissions...)
		plan, err := teardown.NewPlan(t.Context(), client, nil)
		if !errors.Is(err, tt.want) || (plan == nil) != (tt.want != nil) {
			t.Errorf("%q: %v, %v, want %v", tt.permissions, plan, err, tt.want)
		}
	}
}
