package teardown_test

import (
	"context"
	"errors"
	"net/http"
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

// TestSubnetUnderWay: after the deletion of a database, the server refuses to
// delete its subnet until the database's servers are gone. Run waits for that.
// If they don't go, the subnet is under way: until the context ends if it shows
// "deleting", and otherwise for two minutes.
func TestSubnetUnderWay(t *testing.T) {
	t.Parallel()
	const never = 1000 * time.Hour
	const own, renamed = "private subnet eu-central-h1/ID-subnet", "private subnet eu-central-h1/renamed"
	for name, tt := range map[string]struct {
		before      func(*testing.T, *scene)
		vacate      time.Duration // how long the servers stay
		limit       time.Duration // of the run
		left        string        // the resource that is under way, or ""
		errs        []error       // what its error matches
		not         error         // what it doesn't match
		least, most time.Duration // how long the run takes, besides 3 s for the database
	}{
		"servers that take 20 s": {vacate: 20 * time.Second, limit: time.Hour, least: 20 * time.Second, most: 35 * time.Second},
		"servers that take 20 s, in a renamed subnet": {before: renameSubnet, vacate: 20 * time.Second, limit: time.Hour,
			least: 20 * time.Second, most: 45 * time.Second}, // its own deletion takes 3 s more
		"servers that take 110 s, in a renamed subnet, and an outage": {before: func(t *testing.T, p *scene) {
			renameSubnet(t, p)
			match := deletes(p.Subnet.ID)
			match.Nth = 10
			p.Server.Fail(match, cloudapitest.Reply(502, nil, "<html>"))
		}, vacate: 110 * time.Second, limit: time.Hour, least: 110 * time.Second, most: 135 * time.Second},
		"servers that never go, in a renamed subnet, and no response at the deadline": {before: func(t *testing.T, p *scene) {
			renameSubnet(t, p)
			match := deletes(p.Subnet.ID)
			match.Nth = 10
			p.Server.Fail(match, cloudapitest.Delay(time.Hour))
		}, vacate: never, limit: 63 * time.Second, left: renamed, errs: []error{cloudapi.ErrConflict, context.DeadlineExceeded},
			least: time.Minute, most: time.Minute},
		"servers that take 20 s, in a renamed subnet whose own deletion never ends": {before: func(t *testing.T, p *scene) {
			renameSubnet(t, p)
			p.Server.SetDelays(cloudapi.KindPrivateSubnet, p.Subnet.ID, cloudapitest.Delays{Delete: never})
		}, vacate: 20 * time.Second, limit: 63 * time.Second, left: renamed, errs: []error{context.DeadlineExceeded}, not: cloudapi.ErrConflict,
			least: time.Minute, most: time.Minute},
		"servers that never go": {vacate: never, limit: time.Hour, left: own, errs: []error{context.DeadlineExceeded},
			least: time.Hour - 3*time.Second, most: time.Hour - 3*time.Second},
		"servers that never go, in a renamed subnet": {before: renameSubnet, vacate: never, limit: time.Hour, left: renamed,
			errs: []error{cloudapi.ErrConflict}, least: 2 * time.Minute, most: 170 * time.Second},
		"servers that never go, in a renamed subnet, until a deadline": {before: renameSubnet, vacate: never, limit: 63 * time.Second, left: renamed,
			errs: []error{cloudapi.ErrConflict, context.DeadlineExceeded}, least: time.Minute, most: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newDatabase(t)
				if tt.before != nil {
					tt.before(t, p)
				}
				delays := cloudapitest.DefaultDelays()
				delays.Vacate = tt.vacate
				p.Server.SetDelays(cloudapi.KindPostgres, "", delays)
				plan := planTeardown(t, p.Client, nil)
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				start := time.Now()
				err := plan.Run(ctx)
				if took := time.Since(start) - 3*time.Second; took < tt.least || took > tt.most {
					t.Errorf("the run took %v more than the database, want %v to %v", took, tt.least, tt.most)
				}
				if tt.left == "" {
					if err != nil || len(sdktest.Contents(t, p.Client)) > 0 {
						t.Errorf("%v; left is %v", err, sdktest.Contents(t, p.Client))
					}
					return
				}
				report, ok := errors.AsType[*teardown.Error](err)
				want := "under way " + p.named([]string{tt.left})[0]
				if !ok || failures(report)[0] != want {
					t.Fatalf("%v, want %q", err, want)
				}
				for _, want := range tt.errs {
					if f := report.Failed[0]; !errors.Is(f.Err, want) || cloudapi.IsTransient(f.Err) {
						t.Errorf("%v isn't %v, or is transient", f, want)
					}
				}
				if tt.not != nil && errors.Is(report.Failed[0].Err, tt.not) {
					t.Errorf("%v is %v", report.Failed[0], tt.not)
				}
				for _, f := range report.Failed[1:] { // the database's firewall, which Run had no time to look for
					if f.State != teardown.NotTried || f.Resource.Kind != cloudapi.KindFirewall || ctx.Err() == nil {
						t.Error(f)
					}
				}
			})
		})
	}
}

// TestSubnetNotUnderWay: Run gives up after 6 attempts on a subnet that the
// server refuses to delete for another reason: although the record can't be
// read, or although there's a database that wasn't deleted.
func TestSubnetNotUnderWay(t *testing.T) {
	t.Parallel()
	for name, match := range map[string]cloudapitest.Match{
		"the database is in another location": {},
		"the record can't be read":            {Operation: "PrivateSubnets.Get"},
		"the database can't be deleted":       {Operation: "Postgres.Delete"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newDatabase(t)
				far := p.subnet(t, sdktest.Elsewhere, "far", "")
				p.vm(t, sdktest.Elsewhere, "inside", far.ID)
				net := p.net(t)
				refused := far.ID
				if match.Operation == "Postgres.Delete" {
					refused = net
				}
				plan := planTeardown(t, p.Client, nil)
				if match.Operation != "" {
					p.Server.Fail(match, sdktest.Refusal(403, "Forbidden").Repeating())
				}
				p.Server.Fail(deletes(refused), sdktest.Refusal(409, "DependencyError").Repeating())
				before := len(p.Server.Requests())
				report, ok := errors.AsType[*teardown.Error](plan.Run(t.Context()))
				if !ok {
					t.Fatal(report)
				}
				i := slices.IndexFunc(report.Failed, func(f teardown.Failure) bool { return f.Resource.ID == refused })
				if i < 0 || report.Failed[i].State != teardown.Failed || !errors.Is(report.Failed[i].Err, cloudapi.ErrConflict) {
					t.Errorf("%q: %v", failures(report), report)
				}
				attempts := 0
				for _, r := range p.Server.Requests()[before:] {
					if r.Method == http.MethodDelete && strings.HasSuffix(r.Path, refused) {
						attempts++
					}
				}
				if attempts != 6 {
					t.Errorf("%d attempts", attempts)
				}
			})
		})
	}
}

// TestSubnetWithTheNameOfADeletedOne: a subnet that gets the name of one that Run
// or somebody else has just deleted keeps the load balancer that isn't in the
// plan, whenever it gets the name.
func TestSubnetWithTheNameOfADeletedOne(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(*cloudapitest.Server, *cloudapi.Client, *cloudapi.PrivateSubnet) error{
		"deleted": func(*cloudapitest.Server, *cloudapi.Client, *cloudapi.PrivateSubnet) error { return nil },
		"deleted, and the response is lost": func(srv *cloudapitest.Server, _ *cloudapi.Client, b *cloudapi.PrivateSubnet) error {
			isOfB := func(r cloudapitest.Request) bool { return strings.HasSuffix(r.Path, "/"+b.ID) }
			srv.Fail(cloudapitest.Match{Operation: "PrivateSubnets.Delete", Func: isOfB}, cloudapitest.DropAfter())
			return nil
		},
		"gone": func(_ *cloudapitest.Server, client *cloudapi.Client, b *cloudapi.PrivateSubnet) error {
			return errors.Join(client.PrivateSubnets.Delete(context.Background(), sdktest.Somewhere, b.ID),
				client.PrivateSubnets.WaitDeleted(context.Background(), sdktest.Somewhere, b.ID, nil))
		},
	} {
		for after := range 3 { // lists of load balancers
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t)
				client, ctx := srv.Client(), t.Context()
				a := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "a", nil))(t)
				b := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "b", nil))(t)
				var lists atomic.Int64
				hooked := stub.Must(client.With(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
					return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
						if strings.HasSuffix(req.URL.Path, "/location/"+sdktest.Somewhere+"/load-balancer") {
							if _, err := client.PrivateSubnets.Get(ctx, sdktest.Somewhere, b.ID); cloudapi.IsGone(err) && int(lists.Add(1)) == after+1 {
								stub.Must(client.PrivateSubnets.Rename(ctx, sdktest.Somewhere, a.ID, "b"))(t)
							}
						}
						return next.RoundTrip(req)
					})
				})))(t)
				plan := stub.Must(teardown.NewPlan(ctx, hooked, nil))(t)
				foreign := stub.Must(client.LoadBalancers.Create(ctx, sdktest.Somewhere, "foreign", sdktest.BalancerIn(a.ID)))(t)
				if err := between(srv, client, b); err != nil {
					t.Fatal(err)
				}
				report, _ := errors.AsType[*teardown.Error](plan.Run(ctx))
				if report == nil || !slices.ContainsFunc(report.Failed, func(f teardown.Failure) bool { return f.Resource.ID == a.ID && f.State == teardown.Blocked }) || int(lists.Load()) <= after {
					t.Errorf("%s, after %d lists: %v", name, after, report)
				}
				if _, err := client.LoadBalancers.Get(ctx, sdktest.Somewhere, foreign.ID); err != nil {
					t.Errorf("%s, after %d lists: the load balancer that isn't in the plan: %v", name, after, err)
				}
			})
		}
	}
}
