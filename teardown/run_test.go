package teardown_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
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

// newFullProject is [sdktest.NewEverything] with another VM, whose default
// subnet and firewall are in the private location.
func newFullProject(t *testing.T, opts ...cloudapitest.Option) *sdktest.Everything {
	t.Helper()
	p := sdktest.NewEverything(t, opts...)
	stub.Must(p.Client.VMs.Create(t.Context(), "own", "far", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
	return p
}

func planTeardown(t *testing.T, client *cloudapi.Client, options *teardown.Options) *teardown.Plan {
	t.Helper()
	return stub.Must(teardown.NewPlan(t.Context(), client, options))(t)
}

func equalTexts(t *testing.T, what string, got []cloudapi.Resource, want ...string) {
	t.Helper()
	if !slices.Equal(sdktest.Described(got), want) {
		t.Errorf("%s:\n%q, want\n%q", what, sdktest.Described(got), want)
	}
}

// checkReport checks that each resource of the plan is in the report once, that
// deleted resources are gone, and that untouched ones aren't.
func checkReport(t *testing.T, p *sdktest.Everything, plan *teardown.Plan, err error) *teardown.Error {
	t.Helper()
	planned := slices.Concat(plan.Stages()...)
	there := sdktest.Contents(t, p.Client)
	var report *teardown.Error
	if err == nil {
		report = &teardown.Error{Deleted: planned}
	} else if !errors.As(err, &report) || len(report.Failed) == 0 {
		t.Fatalf("the error is %v", err)
	}
	for _, r := range report.Deleted {
		if there[r.ID] != "" {
			t.Errorf("%v is reported as deleted and there", r)
		}
	}
	accounted := slices.Clone(report.Deleted)
	for _, f := range report.Failed {
		accounted = append(accounted, f.Resource)
		if f.Err == nil {
			t.Errorf("%v has no reason", f)
		}
		if untouched := f.Outcome == teardown.Blocked || f.Outcome == teardown.NotTried; untouched &&
			f.Resource.Kind != cloudapi.KindProject && there[f.Resource.ID] == "" {
			t.Errorf("%v is gone", f)
		}
		if (f.Outcome == teardown.Blocked) != (len(f.BlockedBy) > 0) {
			t.Errorf("%v is blocked by %v", f, f.BlockedBy)
		}
		delete(there, f.Resource.ID)
	}
	byID := func(a, b cloudapi.Resource) int { return cmp.Compare(a.ID, b.ID) }
	slices.SortFunc(accounted, byID)
	slices.SortFunc(planned, byID)
	if !reflect.DeepEqual(accounted, planned) {
		t.Errorf("the report accounts for %v, the plan has %v", accounted, planned)
	}
	for _, kept := range plan.Kept() {
		if there[kept.ID] == "" && kept.Kind != cloudapi.KindProject {
			t.Errorf("%v was to be kept", kept)
		}
	}
	return report
}

// outcomes returns the failures of a report as outcomes and resources.
func outcomes(report *teardown.Error) []string {
	var texts []string
	for _, f := range report.Failed {
		texts = append(texts, string(f.Outcome)+" "+sdktest.Described([]cloudapi.Resource{f.Resource})[0])
	}
	return texts
}

// deletes matches the requests that delete the resource.
func deletes(r string) cloudapitest.Match {
	return cloudapitest.Match{Method: http.MethodDelete, Func: func(q cloudapitest.Request) bool { return strings.HasSuffix(q.Path, "/"+r) }}
}

// TestTeardownEverything deletes a project with all kinds, and checks the order
// in the server's log.
func TestTeardownEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		plan := planTeardown(t, p.Client, &teardown.Options{DeleteProject: true})
		stages := plan.Stages()
		if len(stages) != 5 || len(plan.Kept()) != 0 {
			t.Fatal(plan)
		}
		equalTexts(t, "stage 1", stages[0], "load balancer eu-central-h1/lb-1",
			"VM eu-central-h1/stray", "VM eu-central-h1/web-1", "VM own/far", "Kubernetes cluster eu-central-h1/k8s-1", "Postgres database eu-central-h1/db-1",
			"Postgres database eu-central-h1/db-2", "private subnet eu-north-h1/net-1", "SSH public key laptop",
			"VM init script setup", "inference API key")
		equalTexts(t, "stage 2", stages[1], "private subnet eu-central-h1/default-eu-central-h1", "private subnet eu-central-h1/net-1",
			"private subnet own/default-own", "firewall eu-north-h1/net-1-default")
		equalTexts(t, "stage 3", stages[2], "firewall eu-central-h1/default-eu-central-h1-default", "firewall eu-central-h1/fw-1",
			"firewall own/default-own-default")
		equalTexts(t, "stage 4", stages[3], "private location own")
		equalTexts(t, "stage 5", stages[4], "project main")

		for _, r := range p.Server.Requests() { // only reads so far, besides the setup
			if r.Method == http.MethodDelete {
				t.Errorf("%s %s", r.Method, r.Path)
			}
		}
		planned, before, start := slices.Concat(stages...), len(p.Server.Requests()), time.Now()
		if err := plan.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		log := p.Server.Requests()[before:]
		t.Logf("%d resources, %d requests, %v", len(planned), len(log), time.Since(start))
		if len(sdktest.Contents(t, p.Client)) > 0 {
			t.Errorf("%v is left", sdktest.Contents(t, p.Client))
		}

		// Each is deleted once, after everything it waits for is gone.
		deleted, gone := map[string]int{}, map[string]int{}
		for i, r := range log {
			id := r.Path[strings.LastIndex(r.Path, "/")+1:]
			switch {
			case r.Method == http.MethodDelete && deleted[id] == 0:
				deleted[id] = i + 1
				gone[id] = i + 1
			case r.Method == http.MethodDelete:
				t.Errorf("%s was deleted twice", r.Path)
			case r.Status == http.StatusNotFound:
				gone[id] = i + 1
			}
		}
		address := func(r cloudapi.Resource) string {
			if r.Kind == cloudapi.KindPrivateLocation {
				return r.Name
			}
			return r.ID
		}
		if len(deleted) != len(planned) {
			t.Errorf("%d were deleted, %d planned", len(deleted), len(planned))
		}
		names := sdktest.Described(planned)
		servers := []string{"Kubernetes cluster eu-central-h1/k8s-1", "Postgres database eu-central-h1/db-1", "Postgres database eu-central-h1/db-2"}
		for late, early := range map[string][]string{
			"private subnet eu-central-h1/net-1":                   append(servers, "VM eu-central-h1/web-1", "load balancer eu-central-h1/lb-1"),
			"private subnet eu-central-h1/default-eu-central-h1":   append(servers, "VM eu-central-h1/stray"),
			"private subnet own/default-own":                       {"VM own/far"},
			"firewall eu-central-h1/fw-1":                          {"private subnet eu-central-h1/net-1"},
			"firewall eu-central-h1/default-eu-central-h1-default": {"private subnet eu-central-h1/default-eu-central-h1"},
			"firewall eu-north-h1/net-1-default":                   {"private subnet eu-north-h1/net-1"},
			"firewall own/default-own-default":                     {"private subnet own/default-own"},
			"private location own":                                 {"VM own/far", "private subnet own/default-own", "firewall own/default-own-default"},
			"project main":                                         names[:len(names)-1],
		} {
			for _, early := range early {
				l, e := slices.Index(names, late), slices.Index(names, early)
				if l < 0 || e < 0 || deleted[address(planned[l])] <= gone[address(planned[e])] {
					t.Errorf("%s was deleted before %s was gone", late, early)
				}
			}
		}

		if err := plan.Run(t.Context()); err != nil {
			t.Errorf("the second run ended with %v", err)
		}
	})
}

// TestTeardownTwice runs a plan again, and creates another.
func TestTeardownTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		plan := planTeardown(t, p.Client, nil)
		for range 2 {
			if err := plan.Run(t.Context()); err != nil {
				t.Error(err)
			}
		}
		stub.Must(p.Client.Projects.Get(t.Context(), p.Client.Project()))(t)
		plan = planTeardown(t, p.Client, nil)
		if want := "teardown of project " + p.Client.Project() + ": 0 to delete, 0 to keep\n"; plan.String() != want || len(plan.Stages()) != 0 {
			t.Errorf("the next plan is %q", plan)
		}
		if err := plan.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTeardownKeep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		net, firewall, private := "private subnet eu-central-h1/net-1", "firewall eu-central-h1/fw-1", "private location own"
		for name, want := range map[string][]string{
			"web-1": {"VM eu-central-h1/web-1", net, firewall},
			"lb-1":  {"load balancer eu-central-h1/lb-1", net, firewall},
			"stray": {"VM eu-central-h1/stray", "private subnet eu-central-h1/default-eu-central-h1",
				"firewall eu-central-h1/default-eu-central-h1-default"},
			"far":    {"VM own/far", "private subnet own/default-own", "firewall own/default-own-default", private},
			"fw-1":   {firewall},
			"db-2":   {"Postgres database eu-central-h1/db-2"},
			"laptop": {"SSH public key laptop"},
			"own":    {private},
			"main":   {},
		} {
			plan := planTeardown(t, p.Client, &teardown.Options{
				DeleteProject: true,
				Keep:          func(r cloudapi.Resource) bool { return r.Name == name },
			})
			equalTexts(t, name, plan.Kept(), append(want, "project main")...)
			if n := len(slices.Concat(plan.Stages()...)) + len(plan.Kept()); n != 20 {
				t.Errorf("%s: %d resources are planned or kept", name, n)
			}
		}
		plan := planTeardown(t, p.Client, &teardown.Options{
			DeleteProject: true,
			Keep:          func(r cloudapi.Resource) bool { return r.Name == "web-1" || r.Name == "far" },
		})
		checkReport(t, p, plan, plan.Run(t.Context()))
		if there := sdktest.Contents(t, p.Client); len(there) != len(plan.Kept())-1 { // no list contains the project itself
			t.Errorf("%v is there, %v was to be kept", there, plan.Kept())
		}
		vm := stub.Must(p.Client.VMs.Get(t.Context(), sdktest.Somewhere, "web-1"))(t)
		if vm.Subnet != "net-1" || len(vm.Firewalls) != 1 || vm.State != cloudapi.VMStateRunning {
			t.Errorf("the VM that was kept is %+v", vm)
		}
	})
}

// TestTeardownKeepsTheNetworkOfADatabase: without its firewall a database would
// lose its rules.
func TestTeardownKeepsTheNetworkOfADatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service)).Client()
		ctx := t.Context()
		for _, name := range []string{"kept", "other"} {
			stub.Must(c.Postgres.Create(ctx, sdktest.Somewhere, name, &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
		}
		db := stub.Must(c.Postgres.WaitRunning(ctx, sdktest.Somewhere, "kept"))(t)
		plan := planTeardown(t, c, &teardown.Options{Keep: func(r cloudapi.Resource) bool { return r.ID == db.ID }})
		equalTexts(t, "kept", plan.Kept(), "Postgres database eu-central-h1/kept",
			"private subnet eu-central-h1/"+db.ID+"-subnet", "firewall eu-central-h1/"+db.ID+"-firewall")
		if err := plan.Run(ctx); err != nil {
			t.Error(err)
		}
		if db := stub.Must(c.Postgres.Get(ctx, sdktest.Somewhere, "kept"))(t); len(db.FirewallRules) != 4 {
			t.Errorf("the database has %d rules, want 4", len(db.FirewallRules))
		}
		if page := stub.Must(c.Firewalls.List(ctx, nil))(t); len(page.Items) != 1 {
			t.Errorf("%d firewalls are left, want 1", len(page.Items))
		}
	})
}

func TestTeardownPlanText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		c := srv.Client()
		vm := stub.Must(c.VMs.Create(t.Context(), sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
		other := stub.Must(c.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "net-1", nil))(t)
		net := stub.Must(c.PrivateSubnets.Get(t.Context(), sdktest.Somewhere, "default-eu-central-h1"))(t)
		plan := planTeardown(t, c, &teardown.Options{Keep: func(r cloudapi.Resource) bool { return r.ID == vm.ID }})
		want := fmt.Sprintf(`teardown of project %s: 2 to delete, 3 to keep
stage 1
  private subnet eu-central-h1/net-1 (%s)
  and the load balancers of these subnets that the token may not see
stage 2
  firewall eu-central-h1/net-1-default (%s)
kept
  VM eu-central-h1/web-1 (%s)
  private subnet eu-central-h1/default-eu-central-h1 (%s), needed by VM eu-central-h1/web-1 (%[4]s)
  firewall eu-central-h1/default-eu-central-h1-default (%[6]s), needed by private subnet eu-central-h1/default-eu-central-h1 (%[5]s)
`, c.Project(), other.ID, other.Firewalls[0].ID, vm.ID, net.ID, net.Firewalls[0].ID)
		if got := plan.String(); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		type resource = map[string]string
		location := func(kind, id, name string) resource {
			return resource{"kind": kind, "id": id, "location": sdktest.Somewhere, "name": name}
		}
		var got any
		if err := json.Unmarshal(stub.Must(json.Marshal(plan))(t), &got); err != nil {
			t.Fatal(err)
		}
		wantJSON := map[string]any{
			"project": c.Project(),
			"stages":  []any{[]any{location("ps", other.ID, "net-1")}, []any{location("fw", other.Firewalls[0].ID, "net-1-default")}},
			"kept": []any{location("vm", vm.ID, "web-1"), location("ps", net.ID, net.Name),
				location("fw", net.Firewalls[0].ID, net.Firewalls[0].Name)},
		}
		if text, wantText := string(stub.Must(json.Marshal(got))(t)), string(stub.Must(json.Marshal(wantJSON))(t)); text != wantText {
			t.Errorf("%s, want\n%s", text, wantText)
		}
		plan.Stages()[0][0].ID = vm.ID // Stages returns a copy
		if err := plan.Run(t.Context()); err != nil || sdktest.Contents(t, c)[vm.ID] == "" {
			t.Errorf("the run ended with %v, and there is %v", err, sdktest.Contents(t, c))
		}
	})
}

// TestTeardownWithFaults: each deletion, and some other requests, fail with a
// transient error.
func TestTeardownWithFaults(t *testing.T) {
	t.Parallel()
	conflict, failure := sdktest.Refusal(409, "DependencyError"), sdktest.Refusal(500, "UnexceptedError")
	for name, arrange := range map[string]func(t *testing.T, p *sdktest.Everything){
		"lost replies": func(t *testing.T, p *sdktest.Everything) {
			seen := map[string]bool{}
			p.Server.Fail(cloudapitest.Match{Method: http.MethodDelete, Func: func(r cloudapitest.Request) bool {
				first := !seen[r.Path]
				seen[r.Path] = true
				return first
			}}, cloudapitest.DropAfter().Repeating())
		},
		"lost requests": func(t *testing.T, p *sdktest.Everything) {
			seen := map[string]bool{}
			p.Server.Fail(cloudapitest.Match{Func: func(r cloudapitest.Request) bool {
				first := !seen[r.Operation]
				seen[r.Operation] = true
				return first
			}}, cloudapitest.DropBefore().Repeating())
		},
		"server errors": func(t *testing.T, p *sdktest.Everything) {
			seen := map[string]int{}
			p.Server.Fail(cloudapitest.Match{Method: http.MethodDelete, Func: func(r cloudapitest.Request) bool {
				seen[r.Path]++
				return seen[r.Path] <= 9 // more than the client's retries
			}}, failure.Repeating())
		},
		"conflicts": func(t *testing.T, p *sdktest.Everything) {
			seen := map[string]int{}
			p.Server.Fail(cloudapitest.Match{Method: http.MethodDelete, Func: func(r cloudapitest.Request) bool {
				seen[r.Path]++
				return seen[r.Path] <= 4
			}}, conflict.Repeating())
		},
		"polls": func(t *testing.T, p *sdktest.Everything) {
			p.Server.Fail(cloudapitest.Match{Operation: "GET /project/{project_id}/location/{location}/kubernetes-cluster/{kubernetes_cluster_reference}"},
				cloudapitest.Truncate(9), sdktest.Refusal(403, "Forbidden"), cloudapitest.Reply(502, nil, "<html>"))
		},
		"a deletion that takes hours": func(t *testing.T, p *sdktest.Everything) {
			polls, stop := 0, 1000
			p.Server.Fail(cloudapitest.Match{Method: http.MethodGet, Func: func(r cloudapitest.Request) bool {
				if strings.HasSuffix(r.Path, p.VM.ID) {
					polls++
				}
				return strings.HasSuffix(r.Path, p.VM.ID) && polls < stop
			}}, cloudapitest.Handle(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"id":%q,"name":"web-1","state":"deleting","location":%q}`, p.VM.ID, sdktest.Somewhere)
			}).Repeating())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newFullProject(t)
				plan := planTeardown(t, p.Client, &teardown.Options{DeleteProject: true})
				arrange(t, p)
				if err := plan.Run(t.Context()); err != nil {
					t.Error(err)
				}
				if there := sdktest.Contents(t, p.Client); len(there) > 0 {
					t.Errorf("%v is left", there)
				}
			})
		})
	}
}

// TestTeardownTellsTheTruth: some of all requests fail in ways that may be
// permanent, and some runs end early.
func TestTeardownTellsTheTruth(t *testing.T) {
	t.Parallel()
	var complete, incomplete atomic.Int32
	t.Run("runs", func(t *testing.T) {
		for seed := range uint64(12) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newFullProject(t)
					random := rand.New(rand.NewPCG(seed, 0))
					plan := planTeardown(t, p.Client, &teardown.Options{Concurrency: 1 + int(seed%5)})
					limit, rate := time.Duration(5+random.IntN(120))*time.Second, random.Float64()/2
					var over atomic.Bool
					for _, fault := range []cloudapitest.Fault{
						cloudapitest.DropAfter(), cloudapitest.DropBefore(), sdktest.Refusal(500, "UnexceptedError"),
						sdktest.Refusal(409, "DependencyError"), cloudapitest.Delay(2 * time.Second), sdktest.Refusal(403, "Forbidden"),
					} {
						p.Server.Fail(cloudapitest.Match{Func: func(r cloudapitest.Request) bool {
							return !over.Load() && random.Float64() < rate/6
						}}, fault.Repeating())
					}
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					defer cancel()
					start := time.Now()
					err := plan.Run(ctx)
					if took := time.Since(start); took > limit+time.Second {
						t.Errorf("took %v of %v", took, limit)
					}
					over.Store(true)
					checkReport(t, p, plan, err)
					if err == nil {
						complete.Add(1)
					} else {
						incomplete.Add(1)
					}
				})
			})
		}
	})
	if complete.Load() == 0 || incomplete.Load() == 0 {
		t.Errorf("%d runs were complete, %d were not", complete.Load(), incomplete.Load())
	}
}

// TestTeardownFailure: one VM must not be deleted.
func TestTeardownFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		var last cloudapi.Progress
		plan := planTeardown(t, p.Client, &teardown.Options{DeleteProject: true, Progress: func(e cloudapi.Progress) { last = e }})
		p.Server.Fail(deletes(p.VM.ID), sdktest.Refusal(403, "Forbidden").Repeating())
		start, before := time.Now(), len(p.Server.Requests())
		err := plan.Run(t.Context())
		report := checkReport(t, p, plan, err)
		want := []string{
			"failed VM eu-central-h1/web-1",
			"blocked private subnet eu-central-h1/net-1",
			"blocked firewall eu-central-h1/fw-1",
			"blocked project main",
		}
		if got := outcomes(report); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		equalTexts(t, "the subnet is blocked by", report.Failed[1].BlockedBy, "VM eu-central-h1/web-1")
		equalTexts(t, "the firewall is blocked by", report.Failed[2].BlockedBy, "private subnet eu-central-h1/net-1")
		equalTexts(t, "the project is blocked by", report.Failed[3].BlockedBy, "VM eu-central-h1/web-1",
			"private subnet eu-central-h1/net-1", "firewall eu-central-h1/fw-1")
		for _, f := range report.Failed {
			if !errors.Is(f.Err, cloudapi.ErrForbidden) || strings.Contains(f.String(), "cloudapi:") {
				t.Errorf("%v", f)
			}
		}
		if len(report.Deleted) != 16 || report.Project != p.Client.Project() || !errors.Is(err, cloudapi.ErrForbidden) {
			t.Errorf("%d deleted: %v", len(report.Deleted), err)
		}
		if text := err.Error(); !strings.HasPrefix(text, "teardown: project "+p.Client.Project()+
			": 4 of 20 resources left: 1 failed, 3 blocked; first VM eu-central-h1/web-1 ("+p.VM.ID+"): failed: VMs.Delete: ") ||
			strings.Contains(text, "\n") {
			t.Errorf("the error is %q", text)
		}
		if last.Done != 16 || last.Total != 20 {
			t.Errorf("the last event is %+v", last)
		}
		asked := 0
		for _, r := range p.Server.Requests()[before:] {
			if r.Method == http.MethodDelete && r.Status == http.StatusForbidden {
				asked++
			}
		}
		if asked != 2 || time.Since(start) > 20*time.Second { // there is nothing to wait for
			t.Errorf("asked %d times, in %v", asked, time.Since(start))
		}
	})
}

// TestTeardownGivesUp: one subnet can never be deleted, for a reason that no
// record shows.
func TestTeardownGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		plan := planTeardown(t, p.Client, nil)
		p.Server.Fail(deletes(p.OtherPlace.ID), sdktest.Refusal(409, "DependencyError").Repeating())
		before := len(p.Server.Requests())
		report := checkReport(t, p, plan, plan.Run(t.Context()))
		want := []string{"failed private subnet eu-north-h1/net-1", "blocked firewall eu-north-h1/net-1-default"}
		if got := outcomes(report); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		var times []time.Time
		for _, r := range p.Server.Requests()[before:] {
			if r.Method == http.MethodDelete && r.Status == http.StatusConflict {
				times = append(times, r.Time)
			}
		}
		if len(times) != 6 {
			t.Fatalf("tried at %v", times)
		}
		for i, pause := 1, time.Second; i < len(times); i, pause = i+1, min(pause*3/2, 5*time.Second) {
			if d := times[i].Sub(times[i-1]); d < pause*4/5 || d > pause*6/5 {
				t.Errorf("pause %d is %v", i, d)
			}
		}
		if !errors.Is(report, cloudapi.ErrConflict) {
			t.Error(report)
		}
	})
}

// TestTeardownEndsWithItsContext: the context ends during a deletion that never
// ends.
func TestTeardownEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t, cloudapitest.WithDelays(cloudapitest.Delays{Create: time.Second, Backup: time.Second}))
		plan := planTeardown(t, p.Client, nil)
		p.Server.Fail(cloudapitest.Match{Method: http.MethodGet, Func: func(r cloudapitest.Request) bool { return strings.HasSuffix(r.Path, p.VM.ID) }},
			cloudapitest.Handle(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"id":%q,"name":"web-1","state":"deleting","location":%q}`, p.VM.ID, sdktest.Somewhere)
			}).Repeating())
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		err := plan.Run(ctx)
		if took := time.Since(start); took != time.Hour {
			t.Errorf("took %v", took)
		}
		var report *teardown.Error
		if !errors.As(err, &report) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		want := []string{
			"under way VM eu-central-h1/web-1",
			"not tried private subnet eu-central-h1/net-1",
			"not tried firewall eu-central-h1/fw-1",
		}
		if got := outcomes(report); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		var wait *cloudapi.WaitError
		if !errors.As(report.Failed[0].Err, &wait) || wait.State != "deleting" {
			t.Errorf("the VM: %v", report.Failed[0])
		}
	})
}

// TestTeardownCanceled cancels a run at one of its events.
func TestTeardownCanceled(t *testing.T) {
	t.Parallel()
	for at := 0; at < 32; at += 4 {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newFullProject(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var cancelled time.Time
				events := 0
				plan := planTeardown(t, p.Client, &teardown.Options{Progress: func(cloudapi.Progress) {
					if events == at {
						cancelled = time.Now()
						cancel()
					}
					events++
				}})
				err := plan.Run(ctx)
				if took := time.Since(cancelled); took != 0 {
					t.Errorf("ended %v later", took)
				}
				report := checkReport(t, p, plan, err)
				if !errors.Is(err, context.Canceled) || !strings.Contains(strings.Join(outcomes(report), "\n"), "not tried") {
					t.Errorf("%q", outcomes(report))
				}
				if err := plan.Run(t.Context()); err != nil {
					t.Errorf("the next run ended with %v", err)
				}
			})
		})
	}
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newFullProject(t)
			plan := planTeardown(t, p.Client, nil)
			before := len(p.Server.Requests())
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			report := checkReport(t, p, plan, plan.Run(ctx))
			if len(report.Deleted) > 0 || len(report.Failed) != 19 || !errors.Is(report, context.Canceled) {
				t.Error(report)
			}
			for _, r := range p.Server.Requests()[before:] {
				if r.Method != http.MethodGet {
					t.Errorf("%s %s", r.Method, r.Path)
				}
			}
		})
	})
}

// TestTeardownSparesNewResources: a new resource that isn't in the plan would be
// deleted or damaged by the run, or blocks it.
func TestTeardownSparesNewResources(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		add  func(ctx context.Context, p *sdktest.Everything) (id string, err error)
		want []string
	}{
		"load balancer": {
			func(ctx context.Context, p *sdktest.Everything) (string, error) {
				l, err := p.Client.LoadBalancers.Create(ctx, sdktest.Somewhere, "new", sdktest.BalancerIn(p.Subnet.ID))
				if err != nil {
					return "", err
				}
				return l.ID, nil
			},
			[]string{"private subnet eu-central-h1/net-1", "firewall eu-central-h1/fw-1", "project main"},
		},
		"VM": {
			func(ctx context.Context, p *sdktest.Everything) (string, error) {
				vm, err := p.Client.VMs.Create(ctx, sdktest.Somewhere, "new", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: p.Subnet.ID})
				if err != nil {
					return "", err
				}
				return vm.ID, nil
			},
			[]string{"private subnet eu-central-h1/net-1", "firewall eu-central-h1/fw-1", "project main"},
		},
		"subnet": {
			func(ctx context.Context, p *sdktest.Everything) (string, error) {
				s, err := p.Client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "new", &cloudapi.PrivateSubnetCreateRequest{FirewallID: p.Firewall.ID})
				if err != nil {
					return "", err
				}
				return s.ID, nil
			},
			[]string{"firewall eu-central-h1/fw-1", "project main"},
		},
		"firewall in the private location": {
			func(ctx context.Context, p *sdktest.Everything) (string, error) {
				f, err := p.Client.Firewalls.Create(ctx, "own", "new", nil)
				if err != nil {
					return "", err
				}
				return f.ID, nil
			},
			[]string{"private location own", "project main"},
		},
		"key": {
			func(ctx context.Context, p *sdktest.Everything) (string, error) {
				k, err := p.Client.InferenceAPIKeys.Create(ctx)
				if err != nil {
					return "", err
				}
				return k.ID, nil
			},
			[]string{"project main"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newFullProject(t)
				plan := planTeardown(t, p.Client, &teardown.Options{DeleteProject: true})
				id := stub.Must(c.add(t.Context(), p))(t)
				err := plan.Run(t.Context())
				report := checkReport(t, p, plan, err)
				if sdktest.Contents(t, p.Client)[id] == "" {
					t.Error("what is new is gone")
				}
				var stay []cloudapi.Resource
				for _, f := range report.Failed {
					stay = append(stay, f.Resource)
					if f.Outcome != teardown.Blocked || !strings.Contains(f.Err.Error(), id+") needs it and is not in the plan") &&
						!strings.Contains(f.Err.Error(), id+" needs it and is not in the plan") && f.Resource.Kind != cloudapi.KindProject {
						t.Error(f)
					}
				}
				equalTexts(t, "what stays", stay, c.want...)
				if t.Failed() {
					return
				}
				if first := report.Failed[0]; len(first.BlockedBy) != 1 || first.BlockedBy[0].ID != id {
					t.Errorf("%v is blocked by %v", first, first.BlockedBy)
				}
			})
		})
	}
}

// TestTeardownWaitsForNewResources: a new resource disappears on its own.
func TestTeardownWaitsForNewResources(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		plan := planTeardown(t, p.Client, nil)
		stub.Must(p.Client.PrivateSubnets.Create(t.Context(), sdktest.Elsewhere, "new", &cloudapi.PrivateSubnetCreateRequest{FirewallID: p.OtherPlace.Firewalls[0].ID}))(t)
		time.AfterFunc(8*time.Second, func() {
			if err := p.Client.PrivateSubnets.Delete(t.Context(), sdktest.Elsewhere, "new"); err != nil {
				t.Error(err)
			}
		})
		if err := plan.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestTeardownDeletesByID: when the plan runs, other resources have taken its
// names.
func TestTeardownDeletesByID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		c, ctx := p.Client, t.Context()
		plan := planTeardown(t, c, nil)
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		check(c.VMs.Delete(ctx, sdktest.Somewhere, p.Stray.ID))
		check(c.VMs.WaitDeleted(ctx, sdktest.Somewhere, p.Stray.ID))
		check(c.SSHPublicKeys.Delete(ctx, p.Key.ID))
		stub.Must(c.Firewalls.Rename(ctx, sdktest.Somewhere, p.Firewall.ID, "renamed"))(t)
		stub.Must(c.PrivateLocations.Rename(ctx, "own", "renamed"))(t)
		stub.Must(c.PrivateSubnets.Rename(ctx, sdktest.Elsewhere, p.OtherPlace.ID, "renamed"))(t)

		net := stub.Must(c.PrivateSubnets.Create(ctx, sdktest.Elsewhere, "net-1", nil))(t)
		vm := stub.Must(c.VMs.Create(ctx, sdktest.Elsewhere, "stray", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: net.ID}))(t)
		key := stub.Must(c.SSHPublicKeys.Create(ctx, &cloudapi.SSHPublicKeyCreateRequest{Name: "laptop", PublicKey: stub.PublicKey}))(t)
		firewall := stub.Must(c.Firewalls.Create(ctx, sdktest.Somewhere, "fw-1", nil))(t)
		location := stub.Must(c.PrivateLocations.Create(ctx, &cloudapi.PrivateLocationCreateRequest{Name: "own",
			ProviderLocationName: cloudapi.ProviderLocationUSEast1, AccessKey: cloudapi.NewSecret("a"), SecretKey: cloudapi.NewSecret("s")}))(t)
		far := stub.Must(c.VMs.Create(ctx, "own", "far", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
		farNet := stub.Must(c.PrivateSubnets.Get(ctx, "own", "default-own"))(t)

		check(plan.Run(ctx))
		there := sdktest.Contents(t, c)
		for _, id := range []string{net.ID, net.Firewalls[0].ID, vm.ID, key.ID, firewall.ID, location.ID, far.ID, farNet.ID, farNet.Firewalls[0].ID} {
			if there[id] == "" {
				t.Errorf("%s is gone", id)
			}
			delete(there, id)
		}
		if len(there) > 0 {
			t.Errorf("%v is left", there)
		}

		// Nothing can be left in a private location that is gone.
		plan = planTeardown(t, c, &teardown.Options{Keep: func(r cloudapi.Resource) bool { return r.Location == sdktest.Elsewhere }})
		check(stub.Must(teardown.NewPlan(ctx, c, nil))(t).Run(ctx))
		check(plan.Run(ctx))
	})
}

// TestTeardownDuringTheDeletionOfItsLocation: the private location is renamed, or deleted
// by other runs of the plan, while the resources in it are being deleted.
func TestTeardownDuringTheDeletionOfItsLocation(t *testing.T) {
	t.Parallel()
	t.Run("renamed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newFullProject(t)
			renames := 0
			plan := planTeardown(t, p.Client, &teardown.Options{Progress: func(e cloudapi.Progress) {
				if strings.HasPrefix(e.Resource, "VM own/far") && e.Polls == 1 && renames == 0 {
					renames++
					stub.Must(p.Client.PrivateLocations.Rename(t.Context(), "own", "renamed"))(t)
				}
			}})
			report := checkReport(t, p, plan, plan.Run(t.Context()))
			if len(report.Failed) > 0 || renames != 1 {
				t.Errorf("%v after %d renames", report, renames)
			}
		})
	})
	for _, last := range []string{"/location/own/vm/", "/location/own/private-subnet/", "/location/own/firewall/", "/private-location/own"} {
		t.Run("renamed before the request "+last, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newFullProject(t)
				var renamed atomic.Bool
				client := stub.Must(p.Client.With(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
					return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
						if req.Method == http.MethodDelete && strings.Contains(req.URL.Path, last) && renamed.CompareAndSwap(false, true) {
							stub.Must(p.Client.PrivateLocations.Rename(t.Context(), "own", "renamed"))(t)
						}
						return next.RoundTrip(req)
					})
				})))(t)
				plan := planTeardown(t, client, nil)
				if err := plan.Run(t.Context()); err != nil {
					t.Error(err)
				}
				if there := sdktest.Contents(t, p.Client); len(there) > 0 || !renamed.Load() {
					t.Errorf("renamed: %v; %v is left", renamed.Load(), there)
				}
			})
		})
	}
	t.Run("deleted", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newFullProject(t)
			plan := planTeardown(t, p.Client, nil)
			var runs sync.WaitGroup
			for range 4 {
				runs.Go(func() {
					if err := plan.Run(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			runs.Wait()
		})
	})
}

// TestTeardownConcurrency: each request takes a second, so that the log shows
// how many were concurrent.
func TestTeardownConcurrency(t *testing.T) {
	t.Parallel()
	for set, want := range map[int]int{0: 8, -1: 8, 1: 1, 3: 3} {
		t.Run(fmt.Sprint(set), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newFullProject(t)
				p.Server.Fail(cloudapitest.Match{}, cloudapitest.Delay(time.Second).Repeating())
				before := len(p.Server.Requests())
				plan := planTeardown(t, p.Client, &teardown.Options{Concurrency: set})
				planned := len(p.Server.Requests())
				if err := plan.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				requests := p.Server.Requests()
				for what, log := range map[string][]cloudapitest.Request{"plan": requests[before:planned], "run": requests[planned:]} {
					most := 0
					for i, r := range log {
						last := i
						for last < len(log) && log[last].Time.Sub(r.Time) < time.Second {
							last++
						}
						most = max(most, last-i)
					}
					least := want
					if what == "run" && want == 8 {
						least = 7 // the project has no more to do at a time
					}
					if most > want || most < least {
						t.Errorf("the %s made %d requests at a time, want %d to %d", what, most, least, want)
					}
				}
			})
		})
	}
}

func TestTeardownProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		var inside atomic.Int32
		events := map[string][]cloudapi.Progress{}
		done, start := 0, time.Now()
		plan := planTeardown(t, p.Client, &teardown.Options{Progress: func(e cloudapi.Progress) {
			if inside.Add(1) != 1 {
				t.Error("two calls at a time")
			}
			defer inside.Add(-1)
			stub.Elapse(time.Millisecond)
			if e.State == "deleted" {
				done++
			}
			if e.Operation != "Teardown" || e.Total != 19 || e.Done != done || e.Err != nil || e.Elapsed < 0 || e.Elapsed > time.Since(start) {
				t.Errorf("%+v", e)
			}
			events[e.Resource] = append(events[e.Resource], e)
		}})
		if err := plan.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if done != 19 || len(events) != 19 {
			t.Errorf("%d events of %d resources", done, len(events))
		}
		for resource, all := range events {
			first, last := all[0], all[len(all)-1]
			if first.State != "deleting" || last.State != "deleted" || first.Polls != 0 || first.Record != nil {
				t.Errorf("%s: %+v", resource, all)
			}
		}
		web := events[cloudapi.Resource{Kind: cloudapi.KindVM, ID: p.VM.ID, Location: sdktest.Somewhere, Name: "web-1"}.String()]
		if len(web) < 3 || web[1].State != "deleting" || web[1].Polls != 1 || web[1].Record.(*cloudapi.VM).ID != p.VM.ID {
			t.Errorf("%+v", web)
		}
	})
}

// TestTeardownProgressPanics: a program can recover, and the run stops.
func TestTeardownProgressPanics(t *testing.T) {
	t.Parallel()
	for at := 0; at < 40; at += 6 {
		synctest.Test(t, func(t *testing.T) {
			p := newFullProject(t)
			events := 0
			var panicked time.Time
			plan := planTeardown(t, p.Client, &teardown.Options{Progress: func(cloudapi.Progress) {
				if events++; events > at {
					panicked = time.Now()
					panic("enough")
				}
			}})
			func() {
				defer func() {
					if v := recover(); v != "enough" || !time.Now().Equal(panicked) {
						t.Errorf("recovered %v after %v", v, time.Since(panicked))
					}
				}()
				t.Error(plan.Run(t.Context()))
			}()
			synctest.Wait() // for requests in progress
			requests := len(p.Server.Requests())
			stub.Elapse(time.Hour)
			if n := len(p.Server.Requests()) - requests; n != 0 || events != at+1 {
				t.Errorf("%d requests later, %d events", n, events)
			}
		})
	}
}

// TestTeardownEndsWithAPanic: a middleware panics during one deletion. The run
// ends immediately, and the caller can recover.
func TestTeardownEndsWithAPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		var panicked time.Time
		client := stub.Must(p.Client.With(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				if req.Method == http.MethodDelete && strings.HasSuffix(req.URL.Path, p.Key.ID) {
					panicked = time.Now()
					panic("enough")
				}
				return next.RoundTrip(req)
			})
		})))(t)
		plan := planTeardown(t, client, nil)
		defer func() {
			if v := recover(); v != "enough" || !time.Now().Equal(panicked) {
				t.Errorf("recovered %v after %v", v, time.Since(panicked))
			}
			if there := sdktest.Contents(t, p.Client); there[p.VM.ID] == "" || there[p.Subnet.ID] == "" {
				t.Errorf("the run went on, only %v is left", there)
			}
		}()
		t.Error(plan.Run(t.Context()))
	})
}

// TestPanicsReachTheCaller: NewPlan and Run panic with the value of a middleware.
func TestPanicsReachTheCaller(t *testing.T) {
	t.Parallel()
	for _, at := range []int32{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			sdktest.CheckPanic(t, newFullProject(t).Client, at, func(c *cloudapi.Client) func(context.Context) error {
				return func(ctx context.Context) error { _, err := teardown.NewPlan(ctx, c, nil); return err }
			})
		})
	}
	for _, at := range []int32{1, 5, 20, 40} {
		synctest.Test(t, func(t *testing.T) {
			sdktest.CheckPanic(t, newFullProject(t).Client, at, func(c *cloudapi.Client) func(context.Context) error {
				return planTeardown(t, c, nil).Run
			})
		})
	}
}

// TestTeardownIsNotBlind: Run doesn't delete a resource if it can't find out
// what needs it, or which private location has its name.
func TestTeardownIsNotBlind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		match cloudapitest.Match // a request that finds it out
		fault cloudapitest.Fault
		safe  []string // parts of the paths of what must stay
		want  string   // an outcome in the report
		err   error
	}{
		{"users, forbidden", cloudapitest.Match{Operation: "LoadBalancers.ListInLocation"}, sdktest.Refusal(403, "Forbidden"),
			[]string{"/private-subnet/"}, "failed private subnet eu-central-h1/net-1", cloudapi.ErrForbidden},
		{"users, without a list that every server has", cloudapitest.Match{Operation: "LoadBalancers.ListInLocation"}, sdktest.Refusal(404, "ResourceNotFound"),
			[]string{"/private-subnet/"}, "failed private subnet eu-central-h1/net-1", cloudapi.ErrInvalidResponse},
		{"users, without their only list", cloudapitest.Match{Operation: "PrivateSubnets.ListInLocation"}, sdktest.Refusal(404, "ResourceNotFound"),
			[]string{"/private-subnet/", "/firewall/"}, "failed firewall eu-central-h1/fw-1", cloudapi.ErrInvalidResponse},
		{"users, broken", cloudapitest.Match{Operation: "PrivateSubnets.ListInLocation"}, sdktest.Refusal(500, "UnexceptedError"),
			[]string{"/private-subnet/", "/firewall/"}, "failed firewall eu-central-h1/fw-1", cloudapi.ErrServer},
		{"users, in time", cloudapitest.Match{Operation: "LoadBalancers.ListInLocation"}, cloudapitest.Delay(2 * time.Hour),
			[]string{"/private-subnet/"}, "not tried private subnet eu-central-h1/net-1", context.DeadlineExceeded},
		{"private location, forbidden", cloudapitest.Match{Operation: "PrivateLocations.List"}, sdktest.Refusal(403, "Forbidden"),
			[]string{"/location/own/", "/private-location/"}, "failed VM own/far", cloudapi.ErrForbidden},
		{"private location, broken", cloudapitest.Match{Operation: "PrivateLocations.List"}, sdktest.Refusal(500, "UnexceptedError"),
			[]string{"/location/own/", "/private-location/"}, "failed VM own/far", cloudapi.ErrServer},
		{"private location, in time", cloudapitest.Match{Operation: "PrivateLocations.List"}, cloudapitest.Delay(2 * time.Hour),
			[]string{"/location/own/", "/private-location/"}, "not tried VM own/far", context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newFullProject(t)
				last := map[string]cloudapi.Progress{} // the last event of each resource
				plan := planTeardown(t, stub.Must(p.Client.With(cloudapi.WithTimeout(3*time.Hour)))(t),
					&teardown.Options{Progress: func(e cloudapi.Progress) { last[e.Resource] = e }})
				var over atomic.Bool
				tt.match.Func = func(cloudapitest.Request) bool { return !over.Load() }
				p.Server.Fail(tt.match, tt.fault.Repeating())
				before := len(p.Server.Requests())
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				err := plan.Run(ctx)
				over.Store(true)
				report := checkReport(t, p, plan, err)
				if got := outcomes(report); !slices.Contains(got, tt.want) || !errors.Is(report, tt.err) {
					t.Errorf("%q, want %q: %v", got, tt.want, report)
				}
				for _, r := range p.Server.Requests()[before:] {
					for _, part := range tt.safe {
						if r.Method == http.MethodDelete && strings.Contains(r.Path, part) {
							t.Errorf("%s %s was sent", r.Method, r.Path)
						}
					}
				}
				for _, f := range report.Failed {
					if e := last[f.Resource.String()]; e.State != string(f.Outcome) || e.Err != f.Err {
						t.Errorf("the last event of %v is %+v", f, e)
					}
				}
			})
		})
	}
}

// TestTeardownKeepsTheLoadBalancer: a load balancer can't be deleted, so its
// subnet stays, since the server would delete both.
func TestTeardownKeepsTheLoadBalancer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		plan := planTeardown(t, p.Client, nil)
		p.Server.Fail(deletes(p.Balancer.ID), sdktest.Refusal(403, "Forbidden").Repeating())
		report := checkReport(t, p, plan, plan.Run(t.Context()))
		want := []string{"failed load balancer eu-central-h1/lb-1", "blocked private subnet eu-central-h1/net-1", "blocked firewall eu-central-h1/fw-1"}
		if got := outcomes(report); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestTeardownDuringTheDeletionOfALoadBalancer: two load balancers were created after the
// plan. One disappears while Run looks for them, and the other keeps the
// subnet.
func TestTeardownDuringTheDeletionOfALoadBalancer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		plan := planTeardown(t, p.Client, nil)
		var ids []string
		for _, name := range []string{"new-1", "new-2"} {
			balancer := stub.Must(p.Client.LoadBalancers.Create(t.Context(), sdktest.Somewhere, name, sdktest.BalancerIn(p.Subnet.ID)))(t)
			ids = append(ids, balancer.ID)
		}
		p.Server.Fail(cloudapitest.Match{Operation: "LoadBalancers.Get", Func: func(r cloudapitest.Request) bool { return strings.HasSuffix(r.Path, ids[0]) }},
			cloudapitest.Handle(func(w http.ResponseWriter, _ *http.Request) {
				if err := p.Client.LoadBalancers.Delete(t.Context(), sdktest.Somewhere, ids[0]); err != nil {
					t.Error(err)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(404)
				io.WriteString(w, stub.Envelope(404))
			}))
		report := checkReport(t, p, plan, plan.Run(t.Context()))
		want := []string{"blocked private subnet eu-central-h1/net-1", "blocked firewall eu-central-h1/fw-1"}
		if got := outcomes(report); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		equalTexts(t, "the subnet is blocked by", report.Failed[0].BlockedBy, "load balancer eu-central-h1/new-2")
	})
}

// TestTeardownBelievesLists: a list has a load balancer that Get doesn't find,
// which may be in any subnet; or its subnet is in no list; or the list has
// something else.
func TestTeardownBelievesLists(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		operation string
		fault     cloudapitest.Fault
		want      []string
	}{
		"a Get of another opinion": {"LoadBalancers.Get", sdktest.Refusal(404, "ResourceNotFound"),
			[]string{"blocked private subnet eu-central-h1/default-eu-central-h1", "blocked private subnet eu-central-h1/net-1",
				"blocked firewall eu-central-h1/default-eu-central-h1-default", "blocked firewall eu-central-h1/fw-1"}},
		"a list without subnets": {"PrivateSubnets.ListInLocation", cloudapitest.Reply(200, http.Header{"Content-Type": {"application/json"}}, `{"items":[],"count":0}`),
			[]string{"blocked private subnet eu-central-h1/net-1", "blocked firewall eu-central-h1/fw-1"}},
		"a list of VMs": {"LoadBalancers.ListInLocation", cloudapitest.Reply(200, http.Header{"Content-Type": {"application/json"}}, `{"items":[`+stub.VM+`],"count":1}`),
			[]string{"failed Kubernetes cluster eu-central-h1/k8s-1", "failed Postgres database eu-central-h1/db-1", "failed Postgres database eu-central-h1/db-2",
				"failed private subnet eu-central-h1/default-eu-central-h1", "failed private subnet eu-central-h1/net-1",
				"blocked firewall eu-central-h1/default-eu-central-h1-default", "blocked firewall eu-central-h1/fw-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newFullProject(t)
				plan := planTeardown(t, p.Client, nil)
				stub.Must(p.Client.LoadBalancers.Create(t.Context(), sdktest.Somewhere, "new", sdktest.BalancerIn(p.Subnet.ID)))(t)
				p.Server.Fail(cloudapitest.Match{Operation: tt.operation, Func: func(r cloudapitest.Request) bool { return strings.Contains(r.Path, sdktest.Somewhere) }},
					tt.fault.Repeating())
				if got := outcomes(checkReport(t, p, plan, plan.Run(t.Context()))); !slices.Equal(got, tt.want) {
					t.Errorf("%q, want %q", got, tt.want)
				}
				p.Server.ClearFaults()
				if _, err := p.Client.LoadBalancers.Get(t.Context(), sdktest.Somewhere, "new"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestTeardownReportsTheLastTry: the server refuses a deletion, and the context
// ends before the next attempt. The refusal is then the reason. Another
// deletion gets no response, so nobody knows that the server accepted it.
func TestTeardownReportsTheLastTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		plan := planTeardown(t, stub.Must(p.Client.With(cloudapi.WithTimeout(3*time.Hour)))(t), nil)
		p.Server.Fail(deletes(p.Key.ID), cloudapitest.Delay(2*time.Hour))
		var refused atomic.Bool
		refusal := deletes(p.OtherPlace.ID)
		p.Server.Fail(cloudapitest.Match{Method: http.MethodDelete, Func: func(r cloudapitest.Request) bool {
			return refusal.Func(r) && !refused.Swap(true)
		}}, sdktest.Refusal(409, "DependencyError"))
		p.Server.Fail(cloudapitest.Match{Operation: "LoadBalancers.ListInLocation", Func: func(r cloudapitest.Request) bool {
			return refused.Load() && strings.Contains(r.Path, sdktest.Elsewhere)
		}}, cloudapitest.Delay(2*time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		report := checkReport(t, p, plan, plan.Run(ctx))
		want := []string{"failed private subnet eu-north-h1/net-1", "not tried firewall eu-north-h1/net-1-default", "failed SSH public key laptop"}
		if got := outcomes(report); !slices.Equal(got, want) || !errors.Is(report.Failed[0].Err, cloudapi.ErrConflict) || !errors.Is(report.Failed[2].Err, context.DeadlineExceeded) {
			t.Errorf("%q, want %q: %v", got, want, report)
		}
	})
}

// TestTeardownOfTwoPrivateLocations: both got another firewall after the plan,
// so both stay.
func TestTeardownOfTwoPrivateLocations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		ctx := t.Context()
		stub.Must(p.Client.PrivateLocations.Create(ctx, &cloudapi.PrivateLocationCreateRequest{Name: "own-2",
			ProviderLocationName: cloudapi.ProviderLocationUSEast1, AccessKey: cloudapi.NewSecret("a"), SecretKey: cloudapi.NewSecret("s")}))(t)
		plan := planTeardown(t, p.Client, nil)
		stub.Must(p.Client.Firewalls.Create(ctx, "own", "new", nil))(t)
		stub.Must(p.Client.Firewalls.Create(ctx, "own-2", "new", nil))(t)
		before := len(p.Server.Requests())
		report := checkReport(t, p, plan, plan.Run(ctx))
		if got := outcomes(report); !slices.Equal(got, []string{"blocked private location own", "blocked private location own-2"}) {
			t.Fatalf("%q", got)
		}
		equalTexts(t, "the first is blocked by", report.Failed[0].BlockedBy, "firewall own/new")
		equalTexts(t, "the second is blocked by", report.Failed[1].BlockedBy, "firewall own-2/new")
		for _, r := range p.Server.Requests()[before:] {
			if r.Method == http.MethodDelete && strings.Contains(r.Path, "/private-location/") {
				t.Errorf("%s %s was sent", r.Method, r.Path)
			}
		}
	})
}

// TestTeardownOutlastsDestruction: a load balancer is forbidden for a moment,
// while Run looks for the users of another subnet.
func TestTeardownOutlastsDestruction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		subnet := stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "busy", nil))(t)
		stub.Must(client.PrivateSubnets.Create(t.Context(), sdktest.Somewhere, "idle", nil))(t)
		stub.Must(client.LoadBalancers.Create(t.Context(), sdktest.Somewhere, "lb-1", sdktest.BalancerIn(subnet.ID)))(t)
		plan := planTeardown(t, client, nil)
		moment := sdktest.Refusal(403, "Forbidden") // for the subnet, and for the wait for the load balancer's own end
		srv.Fail(cloudapitest.Match{Operation: "LoadBalancers.Get"}, moment, moment)
		if err := plan.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestTeardownFallsIntoADeletion: somebody else deletes the VM at the same
// time.
func TestTeardownFallsIntoADeletion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		plan := planTeardown(t, p.Client, nil)
		p.Server.Fail(deletes(p.VM.ID), sdktest.Refusal(403, "Forbidden"))
		if err := plan.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestTeardownPlanFailures: there's no plan if a list can't be read.
func TestTeardownPlanFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		fail := func(operation string, fault cloudapitest.Fault) {
			p.Server.Fail(cloudapitest.Match{Operation: operation}, fault)
		}
		if plan, err := teardown.NewPlan(t.Context(), p.Client.InProject(""), nil); plan != nil || !errors.Is(err, cloudapi.ErrNoProject) {
			t.Errorf("no project: %v, %v", plan, err)
		}
		nobody := cloudapitest.NewID(cloudapi.KindProject).String()
		if plan, err := teardown.NewPlan(t.Context(), p.Client.InProject(nobody), nil); plan != nil || !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("nobody's project: %v, %v", plan, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if plan, err := teardown.NewPlan(ctx, p.Client, nil); plan != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("no context: %v, %v", plan, err)
		}
		for _, operation := range []string{
			"GET /project/{project_id}/ssh-public-key",
			"GET /project/{project_id}",
			"GET /project/{project_id}/location/{location}/load-balancer/{load_balancer_reference}",
		} {
			fail(operation, sdktest.Refusal(403, "Forbidden"))
			plan, err := teardown.NewPlan(t.Context(), p.Client, &teardown.Options{DeleteProject: true})
			if plan != nil || !errors.Is(err, cloudapi.ErrForbidden) {
				t.Errorf("%s: %v, %v", operation, plan, err)
			}
		}
		fail("GET /project/{project_id}/vm", cloudapitest.Reply(404, nil, "<html>"))
		if plan, err := teardown.NewPlan(t.Context(), p.Client, nil); plan != nil || err == nil || errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("a 404 of something else: %v, %v", plan, err)
		}

		// The real server has no init scripts.
		fail("GET /project/{project_id}/vm-init-script", cloudapitest.Reply(404, http.Header{"Content-Type": {"application/json"}},
			`{"error":{"code":404,"type":"ResourceNotFound","message":"Sorry, we couldn’t find the resource you’re looking for."}}`))
		plan := planTeardown(t, p.Client, nil)
		if n := len(slices.Concat(plan.Stages()...)); n != 18 {
			t.Errorf("without init scripts there are %d resources", n)
		}

		// A load balancer is in the list, which is enough, but Get doesn't find it.
		fail("GET /project/{project_id}/location/{location}/load-balancer/{load_balancer_reference}", sdktest.Refusal(404, "ResourceNotFound"))
		plan = planTeardown(t, p.Client, nil)
		if n := len(slices.Concat(plan.Stages()...)); n != 19 {
			t.Errorf("with the load balancer there are %d resources", n)
		}

		var none context.Context
		if plan, err := teardown.NewPlan(none, p.Client, nil); plan != nil || !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("a nil context: %v, %v", plan, err)
		}
		if err := plan.Run(none); !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("a nil context: %v", err)
		}

		var nothing teardown.Plan
		if err := nothing.Run(t.Context()); !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("a plan of nothing: %v", err)
		}
		if text := nothing.String(); text != "teardown of project : 0 to delete, 0 to keep\n" {
			t.Errorf("%q", text)
		}
	})
}
