package teardown_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// scenario is what exists, what happens around a run of a plan, and how the run
// ends. Whatever happens, the run deletes what is in the plan and nothing else,
// and reports all of it.
type scenario struct {
	project func(t *testing.T) *scene // what exists; nil for what the group has
	before  act                       // happens before the plan
	keep    func(p *scene, r cloudapi.Resource) bool
	kept    string                                 // what the plan keeps, if keep isn't nil, as [short] describes it
	between act                                    // happens between the plan and the run
	at      func(p *scene, req *http.Request) bool // matches a request of the plan's client
	then    act                                    // happens immediately before the first such request
	limit   time.Duration                          // when the context of the run ends, or 0
	runs    int                                    // number of concurrent runs; 0 means 1
	again   act                                    // happens after the run; then the plan runs again, completely

	want        string                       // the failures in the report, as [short] describes them
	among       string                       // or one of them
	deleted     []cloudapi.Kind              // or the only kinds that the report lists as deleted
	blocker     string                       // what blocks the first of these failures
	errs        []error                      // what the error of that failure wraps
	not         error                        // what it doesn't wrap
	text        string                       // in the failure's text
	attempts    int                          // number of requests to delete that resource, if not 0
	least, most time.Duration                // how long the run takes; 0 for most means the limit, or 5 minutes
	safe        []string                     // parts of paths; nothing there is requested to be deleted
	others      func(cloudapi.Resource) bool // what is deleted although it isn't in the plan
}

// TestScenarios: whatever happens around a run, it deletes what is in the plan
// and nothing else.
func TestScenarios(t *testing.T) {
	t.Parallel()
	all := scenarios()
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if testing.Short() && i%4 != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, all[name].check)
		})
	}
}

func (tt scenario) check(t *testing.T) {
	p := tt.project(t)
	do := func(happens act) (visible []cloudapi.Resource) {
		if happens != nil {
			happens(t, p)
		}
		return p.look(t)
	}
	do(nil)
	visible := do(tt.before)
	if tt.keep != nil {
		p.options.Keep = func(r cloudapi.Resource) bool { return tt.keep(p, r) }
	}
	last := map[string]cloudapi.Progress{} // the last event of each resource
	if tt.runs == 0 {
		p.options.Progress = func(e cloudapi.Progress) { last[e.Resource] = e }
	}
	var once sync.Once
	client := stub.Must(p.Client.With(cloudapi.WithTimeout(3*time.Hour), cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			if tt.at != nil && tt.at(p, req) {
				once.Do(func() { do(tt.then) })
			}
			return next.RoundTrip(req)
		})
	})))(t)
	plan := planTeardown(t, client, &p.options)
	if tt.keep != nil {
		if got := p.short(sdktest.Described(plan.Kept())); got != tt.kept {
			t.Errorf("kept is %q, want %q", got, tt.kept)
		}
	}
	covered := append(slices.Concat(plan.Stages()...), plan.Kept()...)
	for _, r := range visible {
		if !slices.Contains(covered, r) {
			t.Errorf("%v is neither planned nor kept", r)
		}
	}
	do(tt.between)
	sent := len(p.Server.Requests())
	report := p.run(t, plan, tt)
	if tt.at != nil {
		once.Do(func() { t.Error("the request wasn't sent") })
	}
	for _, f := range report.Failed {
		if e := last[f.Resource.String()]; tt.runs == 0 && (e.State != string(f.State) || e.Err != f.Err) {
			t.Errorf("the last event of %v is %+v", f, e)
		}
		if ended := errors.Is(f.Err, context.DeadlineExceeded); strings.ContainsAny(f.String(), "\n") || strings.Contains(f.String(), "cloudapi:") ||
			ended && (cloudapi.IsTransient(f.Err) || !strings.Contains(f.String(), "context deadline exceeded")) || !ended && f.State == teardown.NotTried {
			t.Errorf("%v; transient: %v", f, cloudapi.IsTransient(f.Err))
		}
	}
	tt.checkFailures(t, p, report, p.Server.Requests()[sent:])
	if tt.again != nil {
		do(tt.again)
		if report := p.run(t, plan, scenario{}); len(report.Failed) > 0 {
			t.Errorf("the second run: %v", report)
		}
	}
}

// checkFailures compares the failures in a report with those of the scenario, and
// the first of them with the requests that were sent.
func (tt scenario) checkFailures(t *testing.T, p *scene, report *teardown.Error, log []cloudapitest.Request) {
	t.Helper()
	got, first := failures(report), 0
	switch {
	case tt.among != "":
		if first = slices.IndexFunc(got, func(f string) bool { return p.short([]string{f}) == tt.among }); first < 0 {
			t.Fatalf("%q, without %q: %v", got, tt.among, report)
		}
	case tt.deleted == nil && p.short(got) != tt.want:
		t.Fatalf("%q, want %q: %v", p.short(got), tt.want, report)
	}
	if len(got) == 0 {
		return
	}
	f := report.Failed[first]
	if got := p.short(sdktest.Described(f.BlockedBy)); tt.blocker != "" && got != tt.blocker {
		t.Errorf("the first is blocked by %q, want %q", got, tt.blocker)
	}
	for _, want := range tt.errs {
		if !errors.Is(f.Err, want) {
			t.Errorf("%v isn't %v", f, want)
		}
	}
	if tt.not != nil && errors.Is(f.Err, tt.not) || !strings.Contains(f.String(), tt.text) {
		t.Errorf("%v", f)
	}
	var times []time.Time
	for _, r := range log {
		if r.Method == http.MethodDelete && strings.HasSuffix(r.Path, "/"+f.Resource.ID) {
			times = append(times, r.Time)
		}
		if r.Method == http.MethodDelete && slices.ContainsFunc(tt.safe, func(part string) bool { return strings.Contains(r.Path, part) }) {
			t.Errorf("%s %s was sent", r.Method, r.Path)
		}
	}
	if tt.attempts == 0 {
		return
	}
	if len(times) != tt.attempts {
		t.Errorf("%d attempts", len(times))
	}
	for i, pause := 1, time.Second; i < len(times); i, pause = i+1, min(pause*3/2, 5*time.Second) {
		if d := times[i].Sub(times[i-1]); d < pause*4/5 || d > pause*6/5 {
			t.Errorf("pause %d is %v", i, d)
		}
	}
}

// short joins descriptions of resources. It leaves out the usual location, and has
// "ID" for the ID of the owner.
func (p *scene) short(descriptions []string) string {
	text := strings.ReplaceAll(strings.Join(descriptions, "; "), sdktest.Somewhere+"/", "")
	if p.owner != "" {
		text = strings.ReplaceAll(text, p.owner+"-", "ID-")
	}
	return text
}

// look returns the resources that the token can see, and adds them to p.there.
func (p *scene) look(t *testing.T) (visible []cloudapi.Resource) {
	if p.there == nil {
		p.there = map[string]cloudapi.Resource{}
	}
	for _, kind := range []cloudapi.Kind{cloudapi.KindVM, cloudapi.KindPrivateSubnet, cloudapi.KindFirewall, cloudapi.KindLoadBalancer, cloudapi.KindPostgres, cloudapi.KindMachineImage,
		cloudapi.KindKubernetesCluster, cloudapi.KindPrivateLinkService, cloudapi.KindPrivateLocation, cloudapi.KindSSHPublicKey, cloudapi.KindVMInitScript, cloudapi.KindInferenceAPIKey} {
		for r, err := range p.Client.Resources(t.Context(), nil, kind) {
			if err == nil { // an error means that the token may not see the kind
				p.there[r.ID] = r
				visible = append(visible, r)
			}
		}
	}
	return visible
}

// run runs a plan, perhaps several times concurrently. It checks the report,
// that all deletions sent are in the plan, and that what isn't in it is still
// there.
func (p *scene) run(t *testing.T, plan *teardown.Plan, tt scenario) *teardown.Error {
	t.Helper()
	sent := len(p.Server.Requests())
	errs, start := make([]error, max(tt.runs, 1)), time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(tt.limit, 24*time.Hour))
	defer cancel()
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = plan.Run(ctx) })
	}
	all.Wait()
	if took := time.Since(start); took < tt.least || took > cmp.Or(tt.most, tt.limit, 5*time.Minute) {
		t.Errorf("the run took %v", took)
	}
	p.Server.ClearFaults()
	if _, err := p.Client.Projects.Get(t.Context(), p.Client.Project()); !cloudapi.IsGone(err) {
		p.Server.SetPermissions(p.Client.Project(), p.Server.Token(), "*")
	}
	planned := map[string]bool{}
	for _, r := range slices.Concat(plan.Stages()...) {
		planned[r.ID] = true
	}
	for _, r := range p.Server.Requests()[sent:] {
		id := r.Path[strings.LastIndex(r.Path, "/")+1:]
		if _, ok := p.there[id]; ok && r.Method == http.MethodDelete && !planned[id] {
			t.Errorf("DELETE %s was sent, which isn't in the plan", r.Path)
		}
	}
	left := sdktest.Contents(t, p.Client)
	for id, r := range p.there {
		if isGone := left[id] == ""; !planned[id] && isGone != (tt.others != nil && tt.others(r)) {
			t.Errorf("%v isn't in the plan, and is gone: %v", r, isGone)
		}
	}
	report := checkReport(t, p.Everything, plan, errors.Join(errs...), tt.deleted...)
	if tt.deleted != nil && !slices.EqualFunc(report.Deleted, tt.deleted, func(r cloudapi.Resource, kind cloudapi.Kind) bool { return r.Kind == kind }) {
		t.Errorf("%v is reported as deleted, want %v", report.Deleted, tt.deleted)
	}
	return report
}
