package teardown_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
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
// the deleted ones are gone, unless their kind is in except, and that those
// that Run didn't try to delete still exist.
func checkReport(t *testing.T, p *sdktest.Everything, plan *teardown.Plan, err error, except ...cloudapi.Kind) *teardown.Error {
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
		if there[r.ID] != "" && !slices.Contains(except, r.Kind) {
			t.Errorf("%v is reported as deleted and there", r)
		}
	}
	accounted := slices.Clone(report.Deleted)
	for _, f := range report.Failed {
		accounted = append(accounted, f.Resource)
		if f.Err == nil {
			t.Errorf("%v has no reason", f)
		}
		withOwner := f.State == teardown.NotTried && f.Resource.MadeFor() != "" // which the server deletes with its cluster or database
		if untouched := f.State == teardown.Blocked || f.State == teardown.NotTried; untouched && !withOwner &&
			f.Resource.Kind != cloudapi.KindProject && there[f.Resource.ID] == "" {
			t.Errorf("%v is gone", f)
		}
		if (f.State == teardown.Blocked) != (len(f.BlockedBy) > 0) {
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

// failures describes those of a report, such as "failed VM
// eu-central-h1/web-1".
func failures(report *teardown.Error) []string {
	var texts []string
	for _, f := range report.Failed {
		texts = append(texts, string(f.State)+" "+sdktest.Described([]cloudapi.Resource{f.Resource})[0])
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

// TestReport: the error of a run counts what is left, and says what blocks it and
// why.
func TestReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newFullProject(t)
		var last cloudapi.Progress
		plan := planTeardown(t, p.Client, &teardown.Options{DeleteProject: true, Progress: func(e cloudapi.Progress) { last = e }})
		p.Server.Fail(deletes(p.VM.ID), forbidden.Repeating())
		err := plan.Run(t.Context())
		report := checkReport(t, p, plan, err)
		vm, net, firewall := "VM eu-central-h1/web-1", "private subnet eu-central-h1/net-1", "firewall eu-central-h1/fw-1"
		for i, blockers := range [][]string{nil, {vm}, {net}, {vm, net, firewall}} {
			equalTexts(t, report.Failed[i].Resource.Name+" is blocked by", report.Failed[i].BlockedBy, blockers...)
			if !errors.Is(report.Failed[i].Err, cloudapi.ErrForbidden) {
				t.Errorf("%v", report.Failed[i])
			}
		}
		want := "teardown: project " + p.Client.Project() + ": 4 of 20 resources left: 1 failed, 3 blocked; first " + vm + " (" + p.VM.ID + "): failed: VMs.Delete: "
		if text := err.Error(); !strings.HasPrefix(text, want) || len(report.Deleted) != 16 || report.Project != p.Client.Project() || last.Done != 16 || last.Total != 20 {
			t.Errorf("%d deleted, the last event is %+v, and the error is %q", len(report.Deleted), last, text)
		}
	})
}

// TestTeardownCanceled: a run that is canceled, before it begins or at one of
// its events, ends immediately with a true report. The next run deletes the
// rest.
func TestTeardownCanceled(t *testing.T) {
	t.Parallel()
	for at := -4; at < 32; at += 4 {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newFullProject(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				cancelled, events := time.Now(), 0
				if at < 0 {
					cancel()
				}
				plan := planTeardown(t, p.Client, &teardown.Options{Progress: func(cloudapi.Progress) {
					if events == at {
						cancelled = time.Now()
						cancel()
					}
					events++
				}})
				before := len(p.Server.Requests())
				err := plan.Run(ctx)
				sent := len(p.Server.Requests()) - before
				if took := time.Since(cancelled); took != 0 {
					t.Errorf("ended %v later", took)
				}
				report := checkReport(t, p, plan, err)
				if !errors.Is(err, context.Canceled) || !strings.Contains(strings.Join(failures(report), "\n"), "not tried") {
					t.Errorf("%q", failures(report))
				}
				if at < 0 && (sent > 0 || len(report.Failed) != 19) {
					t.Errorf("%d requests were sent: %v", sent, report)
				}
				if err := plan.Run(t.Context()); err != nil {
					t.Errorf("the next run ended with %v", err)
				}
			})
		})
	}
}

// TestTeardownConcurrency: a plan and its run make as many concurrent requests
// as Concurrency allows. Each request takes a second, so that the log shows how
// many were concurrent.
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

// TestTeardownProgressPanics: a program can recover from a panic in its
// Progress, and the run stops.
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

// TestPanicsReachTheCaller: if a middleware panics, NewPlan and Run panic with
// the same value.
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
