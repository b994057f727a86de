package teardown_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
// in the plan, and nothing else.
func TestDeletesWhatIsInThePlan(t *testing.T) {
	t.Parallel()
	none := func(cloudapi.Resource) bool { return true }
	for name, tt := range map[string]struct {
		options teardown.Options
		before  func(t *testing.T, p *scene)                            // the plan
		between func(t *testing.T, p *scene)                            // the plan and the run
		run     func(t *testing.T, p *scene, plan *teardown.Plan) error // default: Run
		after   func(t *testing.T, p *scene, err error)                 // the run
		left    func(cloudapi.Resource) bool                            // what stays, though it is in the plan
		others  func(p *scene) []string                                 // IDs of what goes, though it is not
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &scene{Everything: newFullProject(t), options: tt.options}
				before := sdktest.Contents(t, p.Client)
				if tt.before != nil {
					tt.before(t, p)
				}
				plan := stub.Must(teardown.NewPlan(t.Context(), p.Client, &p.options))(t)
				if tt.between != nil {
					tt.between(t, p)
				}
				var err error
				if tt.run != nil {
					err = tt.run(t, p, plan)
				} else {
					err = plan.Run(t.Context())
				}
				p.over.Store(true)
				p.Server.SetPermissions(p.Client.Project(), p.Server.Token(), "*")
				switch {
				case tt.after != nil:
					tt.after(t, p, err)
				case err != nil:
					t.Error(err)
				}

				var want, deleted []string
				for _, r := range slices.Concat(plan.Stages()...) {
					if tt.left == nil || !tt.left(r) {
						want = append(want, r.ID)
					}
				}
				if tt.others != nil {
					want = append(want, tt.others(p)...)
				}
				after := sdktest.Contents(t, p.Client)
				for id := range before {
					if after[id] == "" {
						deleted = append(deleted, id)
					}
				}
				slices.Sort(want)
				if slices.Sort(deleted); !slices.Equal(deleted, want) {
					t.Errorf("deleted was %v, want %v of %v", deleted, want, before)
				}
			})
		})
	}
}

// scene is the project of a test.
type scene struct {
	*sdktest.Everything
	options teardown.Options
	over    atomic.Bool // whether the run has ended
}

// allButLoadBalancers are all permissions but those for load balancers.
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

// TestLooksImmediatelyBefore: however many subnets there are, each is deleted
// when the list of load balancers is not older than its response.
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

// TestLooksBeforeEachAttempt: a load balancer is made after an attempt of the
// deletion of its subnet has failed.
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
		if !ok || !slices.Equal(outcomes(report), []string{"blocked private subnet eu-central-h1/net-0", "blocked firewall eu-central-h1/fw-1"}) {
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
	network.Answer = stub.Always(200, `{"items":[],"count":0}`)
	client := sdktest.Recorded(t, &network)
	for _, err := range client.Resources(t.Context(), nil) {
		t.Error(err)
	}
	lists := func() (targets []string) {
		for _, sent := range network.Take() {
			target, _, _ := strings.Cut(sent.Target, "?")
			targets = append(targets, target)
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
