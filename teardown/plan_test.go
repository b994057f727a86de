package teardown_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"unicode"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// TestPlanTexts: the plan names the network that is deleted with a cluster or
// database, even if the token may not see the network or the server can't list
// it. It keeps the network if the token may not see the cluster or database. A
// kept resource is said to be needed by another.
func TestPlanTexts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		project func(t *testing.T) *scene
		hidden  []string // families that the token may not see
		keep    cloudapi.Kind
		want    string
	}{
		"a VM that is kept": {newStray, nil, cloudapi.KindVM, `2 to delete, 3 to keep
stage 1
  private subnet eu-central-h1/net-1
  and any load balancers of these subnets that the token may not see
stage 2
  firewall eu-central-h1/net-1-default
kept
  VM eu-central-h1/web-1
  private subnet eu-central-h1/default-eu-central-h1, needed by VM eu-central-h1/web-1
  firewall eu-central-h1/default-eu-central-h1-default, needed by private subnet eu-central-h1/default-eu-central-h1
`},
		"a cluster with an unlisted load balancer": {newUnlisted, nil, "", `7 to delete, 0 to keep
stage 1
  load balancer eu-central-h1/lb-1
  Kubernetes cluster eu-central-h1/apps
    and load balancer eu-central-h1/ID-services, which goes with it
  and any networks of these clusters and databases that the token may not see
stage 2
  load balancer eu-central-h1/ID-apiserver
  private subnet eu-central-h1/net-1
  and any load balancers of these subnets that the token may not see
stage 3
  private subnet eu-central-h1/ID-subnet
  firewall eu-central-h1/net-1-default
  and any load balancers of these subnets that the token may not see
stage 4
  firewall eu-central-h1/ID-firewall
`},
		"a kept cluster with an unlisted load balancer": {newUnlisted, nil, cloudapi.KindKubernetesCluster, `3 to delete, 5 to keep
stage 1
  load balancer eu-central-h1/lb-1
stage 2
  private subnet eu-central-h1/net-1
  and any load balancers of these subnets that the token may not see
stage 3
  firewall eu-central-h1/net-1-default
kept
  Kubernetes cluster eu-central-h1/apps
  load balancer eu-central-h1/ID-apiserver, needed by Kubernetes cluster eu-central-h1/apps
  load balancer eu-central-h1/ID-services, needed by Kubernetes cluster eu-central-h1/apps
  private subnet eu-central-h1/ID-subnet, needed by Kubernetes cluster eu-central-h1/apps
  firewall eu-central-h1/ID-firewall, needed by Kubernetes cluster eu-central-h1/apps
`},
		"a cluster": {newCluster, nil, "", `9 to delete, 0 to keep
stage 1
  VM eu-central-h1/inside
  Kubernetes cluster eu-central-h1/apps
  and any networks of these clusters and databases that the token may not see
stage 2
  load balancer eu-central-h1/ID-apiserver
  load balancer eu-central-h1/ID-services
  private subnet eu-central-h1/net-1
  and any load balancers of these subnets that the token may not see
stage 3
  private subnet eu-central-h1/ID-subnet
  firewall eu-central-h1/net-1-default
  and any load balancers of these subnets that the token may not see
stage 4
  firewall eu-central-h1/fw-1
  firewall eu-central-h1/ID-firewall
`},
		"a cluster without its subnet": {newCluster, []string{"PrivateSubnet", "LoadBalancer", "Vm"}, "", `4 to delete, 0 to keep
stage 1
  Kubernetes cluster eu-central-h1/apps
  firewall eu-central-h1/fw-1
  firewall eu-central-h1/net-1-default
  and any networks of these clusters and databases that the token may not see
stage 2
  firewall eu-central-h1/ID-firewall
`},
		"a subnet without its cluster": {newCluster, []string{"KubernetesCluster", "LoadBalancer", "Firewall", "Vm"}, "", `1 to delete, 2 to keep
stage 1
  private subnet eu-central-h1/net-1
  and any load balancers of these subnets that the token may not see
kept
  Kubernetes cluster ID
  private subnet eu-central-h1/ID-subnet, needed by Kubernetes cluster ID
`},
		"a database with a private link service": {newLinks, nil, cloudapi.KindPrivateLocation, `7 to delete, 1 to keep
stage 1
  private link service own/link-of-db
  private link service own/link-of-vms
stage 2
  Postgres database own/db
  and any networks of these clusters and databases that the token may not see
stage 3
  private subnet own/net
  private subnet own/vms
  and any load balancers of these subnets that the token may not see
stage 4
  firewall own/ID-firewall
  firewall own/vms-default
kept
  private location own
`},
		"a database without its network": {newDatabase, []string{"PrivateSubnet", "Firewall"}, "", `1 to delete, 0 to keep
stage 1
  Postgres database eu-central-h1/orders
  and any networks of these clusters and databases that the token may not see
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := tt.project(t)
				permit(t, p, tt.hidden...)
				plan := planTeardown(t, p.Client, &teardown.Options{Keep: func(r cloudapi.Resource) bool { return r.Kind == tt.keep }})
				got := regexp.MustCompile(` \([0-9a-z]{26}\)`).ReplaceAllString(plan.String(), "")
				if p.owner != "" {
					got = strings.ReplaceAll(got, p.owner, "ID")
				}
				if got != "teardown of project "+p.Client.Project()+": "+tt.want {
					t.Errorf("the plan is\n%s\nwant\n%s", got, tt.want)
				}
				if with := plan.GoesWith(cloudapi.Resource{ID: p.owner}); len(with) != strings.Count(got, ", which goes with it") {
					t.Errorf("%v goes with the cluster", with)
				}
				if text := string(stub.JSON(plan)); p.owner != "" && strings.Count(text, p.owner+"-services") != strings.Count(got, "ID-services") {
					t.Errorf("encoded is %s", text)
				}
			})
		})
	}
}

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

// TestNamesForgeNothing: whatever a name contains, it adds no line to the plan
// or to the report of a run, and no character that a terminal would execute.
func TestNamesForgeNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const name = "a (" + stub.VMID + ")\nkept\n  VM eu-central-h1/b\x1b[2A\u202e"
		network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
			vm := stub.JSON(map[string]any{"id": stub.VMID, "name": name, "location": "eu-central-h1", "state": "running"})
			switch {
			case req.Method == http.MethodDelete:
				return stub.Respond(403, stub.Envelope(403)), nil
			case strings.HasSuffix(req.URL.Path, stub.VMID):
				return stub.Respond(200, string(vm)), nil
			case strings.HasSuffix(req.URL.Path, "/vm"):
				return stub.Respond(200, `{"items":[`+string(vm)+`],"count":1}`), nil
			}
			return stub.Respond(200, `{"items":[],"count":0}`), nil
		}}
		var events []string
		plan := planTeardown(t, sdktest.Recorded(t, &network), &teardown.Options{Progress: func(p cloudapi.Progress) { events = append(events, p.Resource) }})
		shown := "VM eu-central-h1/" + strconv.Quote(name) + " (" + stub.VMID + ")"
		if want := "teardown of project " + stub.Project + ": 1 to delete, 0 to keep\nstage 1\n  " + shown + "\n"; plan.String() != want {
			t.Errorf("the plan is\n%q, want\n%q", plan, want)
		}
		err := plan.Run(t.Context())
		report, ok := errors.AsType[*teardown.Error](err)
		if !ok || !strings.Contains(err.Error(), shown) || !strings.HasPrefix(report.Failed[0].String(), shown+": failed: ") || events[0] != shown {
			t.Errorf("the report is %v; the events are about %q", err, events)
		}
		if strings.ContainsFunc(err.Error()+report.Failed[0].String(), unicode.IsControl) {
			t.Errorf("%q", err)
		}
	})
}

// TestPlanAsJSON: the encoded plan has the stages and what stays, and nobody can
// change the plan.
func TestPlanAsJSON(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newStray(t)
		plan := planTeardown(t, p.Client, &teardown.Options{Keep: func(r cloudapi.Resource) bool { return r.ID == p.VM.ID }})
		stages, kept := plan.Stages(), plan.Kept()
		want := `{"project":"` + p.Client.Project() + `","stages":` + string(stub.JSON(stages)) + `,"kept":` + string(stub.JSON(kept)) + `}`
		if got := string(stub.JSON(plan)); got != want || !strings.Contains(got, `{"kind":"vm","id":"`+p.VM.ID+`","location":"eu-central-h1","name":"web-1"}`) {
			t.Errorf("%s, want\n%s", got, want)
		}
		stages[0][0].ID, kept[0].ID = p.VM.ID, ""
		if err := plan.Run(t.Context()); err != nil || sdktest.Contents(t, p.Client)[p.VM.ID] == "" || plan.Kept()[0].ID != p.VM.ID {
			t.Errorf("the run ended with %v, and there is %v", err, sdktest.Contents(t, p.Client))
		}
	})
}

// TestKeepsWhatIsUnlisted: the load balancer that the server can't list stays
// with its cluster.
func TestKeepsWhatIsUnlisted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newUnlisted(t)
		if err := planTeardown(t, p.Client, &teardown.Options{Keep: func(r cloudapi.Resource) bool { return r.ID == p.owner }, DeleteProject: true}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		var left []string
		for r, err := range p.Client.Resources(t.Context(), nil) {
			if err == nil {
				left = append(left, fmt.Sprint(r.Kind, " ", strings.TrimPrefix(r.Name, p.owner)))
			}
		}
		if want := []string{"Kubernetes cluster apps", "load balancer -apiserver", "private subnet -subnet", "firewall -firewall"}; !slices.Equal(left, want) {
			t.Errorf("left are %q, want %q", left, want)
		}
	})
}

// TestTeardownPlanFailures: NewPlan fails if the project or the context is
// wrong, or if a list can't be read. A list that the server lacks is no
// failure.
func TestTeardownPlanFailures(t *testing.T) {
	t.Parallel()
	const balancers = "LoadBalancers.Get"
	for name, tt := range map[string]struct {
		change    func(*sdktest.Everything)
		want      error
		resources int // number of resources in the plan, if want is nil
	}{
		"no project": {change: func(p *sdktest.Everything) { p.Client = p.Client.InProject("") }, want: cloudapi.ErrNoProject},
		"nobody's project": {change: func(p *sdktest.Everything) {
			p.Client = p.Client.InProject(cloudapitest.NewID(cloudapi.KindProject).String())
		}, want: cloudapi.ErrNotFound},
		"a list":                        {change: failingOnce("SSHPublicKeys.List", sdktest.Refusal(403, "Forbidden")), want: cloudapi.ErrForbidden},
		"the project":                   {change: failingOnce("Projects.Get", sdktest.Refusal(403, "Forbidden")), want: cloudapi.ErrForbidden},
		"a load balancer":               {change: failingOnce(balancers, sdktest.Refusal(403, "Forbidden")), want: cloudapi.ErrForbidden},
		"a list that the service lacks": {change: failingOnce("VMInitScripts.List", sdktest.Refusal(404, "ResourceNotFound")), resources: 19},
		"a load balancer that only the list has, is enough": {change: failingOnce(balancers, sdktest.Refusal(404, "ResourceNotFound")), resources: 20},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newFullProject(t)
			tt.change(p)
			plan, err := teardown.NewPlan(t.Context(), p.Client, &teardown.Options{DeleteProject: true})
			if !errors.Is(err, tt.want) || (plan == nil) != (tt.want != nil) || plan != nil && len(slices.Concat(plan.Stages()...)) != tt.resources {
				t.Errorf("%s: %v, %v, want %v", name, plan, err, tt.want)
			}
		})
	}
	srv := cloudapitest.New(t)
	srv.Fail(cloudapitest.Match{Operation: "VMs.List"}, cloudapitest.Reply(404, nil, "<html>"))
	if plan, err := teardown.NewPlan(t.Context(), srv.Client(), nil); plan != nil || err == nil || errors.Is(err, cloudapi.ErrNotFound) {
		t.Errorf("a gateway's 404: %v, %v", plan, err)
	}
	var none context.Context
	if plan, err := teardown.NewPlan(none, srv.Client(), nil); plan != nil || !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("a nil context: %v, %v", plan, err)
	}
	if err := planTeardown(t, srv.Client(), nil).Run(none); !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("a nil context: %v", err)
	}
	for want, permissions := range map[error][]string{ // what the token may not see looks like an empty project
		cloudapi.ErrForbidden: {"Project:edit", "Location:view"}, nil: {"Project:view", "Project:edit", "Location:view"},
	} {
		srv.SetPermissions(srv.ProjectID(), srv.Token(), permissions...)
		if plan, err := teardown.NewPlan(t.Context(), srv.Client(), nil); !errors.Is(err, want) || (plan == nil) != (want != nil) {
			t.Errorf("%q: %v, %v, want %v", permissions, plan, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if plan, err := teardown.NewPlan(ctx, srv.Client(), nil); plan != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("no context: %v, %v", plan, err)
	}
	var nothing teardown.Plan
	if err := nothing.Run(t.Context()); !errors.Is(err, cloudapi.ErrInvalidArgument) || nothing.String() != "teardown of project : 0 to delete, 0 to keep\n" {
		t.Errorf("a plan of nothing: %v, %q", err, nothing.String())
	}
}

// failingOnce lets an operation fail once.
func failingOnce(operation string, fault cloudapitest.Fault) func(*sdktest.Everything) {
	return func(p *sdktest.Everything) { p.Server.Fail(cloudapitest.Match{Operation: operation}, fault) }
}
