package watch_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
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

// TestWatchOfKnownRecords: a watch begins with the records that the program has
// stored, and yields the changes since then. A resource that is missing in a
// list is reported as deleted only if it doesn't exist any more.
func TestWatchOfKnownRecords(t *testing.T) {
	t.Parallel()
	const location = "eu-central-h1"
	type world struct {
		*testing.T
		srv    *cloudapitest.Server
		client *cloudapi.Client
	}
	remove := func(w world) { stub.Must(0, w.client.Firewalls.Delete(w.Context(), location, "a"))(w) }
	permit := func(permissions ...string) func(world) {
		return func(w world) { w.srv.SetPermissions(w.client.Project(), w.srv.Token(), permissions...) }
	}
	fails := func(operation string, faults ...cloudapitest.Fault) func(world) {
		return func(w world) { w.srv.Fail(cloudapitest.Match{Operation: operation}, faults...) }
	}
	outage := slices.Repeat([]cloudapitest.Fault{cloudapitest.Reply(503, nil, "")}, 4)
	forbidden := cloudapitest.Reply(403, nil, stub.Envelope(403))
	for _, tt := range []struct {
		name     string
		between  []func(world) // what happens while the program doesn't run, and after each of six rounds
		events   string
		requests string
		end      error
	}{
		{"nothing happens", nil, "", "List List List List List List", context.Canceled},
		{"one is deleted, one renamed, one added", []func(world){func(w world) {
			remove(w)
			stub.Must(w.client.Firewalls.Rename(w.Context(), location, "b", "b2"))(w)
			stub.Must(w.client.Firewalls.Create(w.Context(), location, "d", nil))(w)
		}}, "added d, deleted a, modified b2 from b", "List Get List List List List List", context.Canceled},
		{"one is deleted later", []func(world){nil, remove}, "deleted a", "List List Get List List List List", context.Canceled},
		{"one is deleted, and forbidden for a moment", []func(world){func(w world) { remove(w); fails("Firewalls.Get", forbidden, forbidden)(w) }}, "deleted a",
			"List Get List Get List Get List List List", context.Canceled},
		{"one is deleted while the server fails", []func(world){func(w world) { remove(w); fails("Firewalls.Get", outage...)(w) }}, "deleted a",
			"List Get Get Get Get List Get List List List List", context.Canceled},
		{"the server fails", []func(world){fails("", outage...)}, "", "List List List List List List List List List", context.Canceled},
		{"the list is empty by mistake", []func(world){nil, fails("Firewalls.ListInLocation", cloudapitest.Reply(200, nil, `{"items":[],"count":0}`))}, "",
			"List List Get Get Get List List List List", context.Canceled},
		{"the permission is lost", []func(world){permit()}, "", "List Get Get Get List Get Get Get List Get", cloudapi.ErrForbidden},
		{"the permission is lost for a moment", []func(world){nil, permit(), nil, permit("*")}, "", "List List Get Get Get List Get Get Get List List List", context.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t)
				w := world{t, srv, srv.Client()}
				for _, name := range []string{"a", "b", "c"} {
					stub.Must(w.client.Firewalls.Create(t.Context(), location, name, nil))(t)
				}
				stored := stub.Must(json.Marshal(stub.Must(cloudapi.Collect(w.client.Firewalls.All(t.Context(), nil)))(t)))(t)
				var known []*cloudapi.Firewall
				stub.Must(0, json.Unmarshal(stored, &known))(t)
				between := func(round int) {
					if round < len(tt.between) && tt.between[round] != nil {
						tt.between[round](w)
					}
				}
				between(0)
				srv.ClearRequests()

				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				opts := &cloudapi.WatchOptions{Location: location, Progress: func(p cloudapi.Progress) {
					for _, record := range known {
						record.Location = "changed by the program"
					}
					if between(p.Polls); p.Polls == 6 {
						cancel()
					}
				}}
				var events, requests []string
				var end error
				for e, err := range w.client.Firewalls.Watch(ctx, opts, known...) {
					if end = err; err != nil {
						break
					}
					event := string(e.Type) + " " + e.Record.Name
					before := e.Old
					if e.Type == cloudapi.EventDeleted {
						before = e.Record
					}
					if isOurs := slices.Contains(known, before); isOurs != (e.Type != cloudapi.EventAdded) {
						t.Errorf("%s: the record before is %v, which is known: %v", event, before, isOurs)
					}
					if e.Old != nil {
						event += " from " + e.Old.Name
					}
					events = append(events, event)
				}
				for _, r := range srv.Requests() {
					if r.Method == http.MethodGet {
						requests = append(requests, strings.TrimSuffix(strings.TrimPrefix(r.Name, "Firewalls."), "InLocation"))
					}
				}
				slices.Sort(events) // the list is in the order of IDs, which are random
				if got := strings.Join(events, ", "); got != tt.events || !errors.Is(end, tt.end) {
					t.Errorf("got the events %q, then %v\nwant %q, then %v", got, end, tt.events, tt.end)
				}
				if got := strings.Join(requests, " "); got != tt.requests {
					t.Errorf("sent %s\nwant %s", got, tt.requests)
				}
				if tt.end == cloudapi.ErrForbidden && !strings.Contains(end.Error(), "is no longer in the list, and may exist: Firewalls.Get: GET ") {
					t.Errorf("it ends with %v", end)
				}
			})
		})
	}
}

// TestWatchRefusesKnownRecords: Watch refuses records that lack a field without
// which it couldn't find out whether the resource exists.
func TestWatchRefusesKnownRecords(t *testing.T) {
	t.Parallel()
	good := cloudapi.VM{ID: cloudapitest.NewID(cloudapi.KindVM).String(), Location: "here"}
	subnet, vm := cloudapitest.NewID(cloudapi.KindPrivateSubnet).String(), good.ID
	network := &stub.Recorder{}
	client := sdktest.Recorded(t, network)
	check := func(err error, want string) {
		t.Helper()
		if !errors.Is(err, cloudapi.ErrInvalidArgument) || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
		if sent := network.Take(); len(sent) != 0 {
			t.Errorf("sent %v", sent)
		}
	}
	const notID = "must be an ID: vm and 24 characters of 0123456789abcdefghjkmnpqrstvwxyz"
	for want, bad := range map[string]*cloudapi.VM{
		`cloudapi: VMs.Watch: known[1] must not be nil`:                                    nil,
		`cloudapi: VMs.Watch: known[1].ID ` + notID:                                        {Location: "here"},
		`cloudapi: VMs.Watch: known[1].ID "web-1" ` + notID:                                {ID: "web-1", Location: "here"},
		`cloudapi: VMs.Watch: known[1].ID "` + subnet + `" ` + notID:                       {ID: subnet, Location: "here"},
		`cloudapi: VMs.Watch: known[1].Location must not be empty`:                         {ID: vm},
		`cloudapi: VMs.Watch: known[1].Location ".." must not be a relative path`:          {ID: vm, Location: ".."},
		`cloudapi: VMs.Watch: known[1].Location "there" is not the watch's location, here`: {ID: vm, Location: "there"},
	} {
		check(firstError(client.VMs.Watch(t.Context(), &cloudapi.WatchOptions{Location: "here"}, &good, bad)), want)
	}
	location := cloudapitest.NewID(cloudapi.KindPrivateLocation).String()
	check(firstError(client.PrivateLocations.Watch(t.Context(), nil, &cloudapi.PrivateLocation{ID: location})), `cloudapi: PrivateLocations.Watch: known[0].Name must not be empty`)
}

func firstError[T any](seq iter.Seq2[T, error]) (first error) {
	for _, first = range seq {
		break
	}
	return first
}

// TestWatchWithoutTheLocation: if the location of a resource no longer exists,
// the resource was deleted, unless the location was renamed and still contains
// it. A new location with the name of a deleted one is a different location.
func TestWatchWithoutTheLocation(t *testing.T) {
	t.Parallel()
	place := func(t *testing.T, client *cloudapi.Client, name string) *cloudapi.PrivateLocation {
		return stub.Must(client.PrivateLocations.Create(t.Context(), name, &cloudapi.PrivateLocationCreateRequest{
			ProviderLocationName: cloudapi.PrivateLocationProviderLocationNameUSWest2, AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret")}))(t)
	}
	remove := func(t *testing.T, client *cloudapi.Client) {
		stub.Must(0, client.Firewalls.Delete(t.Context(), "mine", "edge"))(t)
		stub.Must(0, client.PrivateLocations.Delete(t.Context(), "mine"))(t)
	}
	rename := func(t *testing.T, client *cloudapi.Client) {
		stub.Must(client.PrivateLocations.Rename(t.Context(), "mine", "ours"))(t)
	}
	empty := cloudapitest.Reply(200, nil, `{"items":[],"count":0}`)
	for _, tt := range []struct {
		name              string
		meantime          func(*testing.T, *cloudapi.Client)
		faults            map[string]cloudapitest.Fault // by operation
		firewalls, places string                        // the events of each watch
	}{
		{"deleted", remove, nil, "deleted mine/edge", "deleted mine"},
		{"deleted, and the lookup fails", remove, map[string]cloudapitest.Fault{"Projects.ObjectInfo": cloudapitest.Reply(503, nil, "").For(time.Minute)},
			"deleted mine/edge", "deleted mine"},
		{"renamed", rename, nil, "modified ours/edge", "modified ours"},
		{"renamed, and the list is empty by mistake", rename, map[string]cloudapitest.Fault{"Firewalls.List": empty}, "modified ours/edge", "modified ours"},
		{"deleted and created again", func(t *testing.T, client *cloudapi.Client) { remove(t, client); place(t, client, "mine") }, nil,
			"deleted mine/edge", "added mine, deleted mine"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{}))
				client := srv.Client()
				mine := place(t, client, "mine")
				edge := stub.Must(client.Firewalls.Create(t.Context(), "mine", "edge", nil))(t)
				tt.meantime(t, client)
				for operation, fault := range tt.faults {
					srv.Fail(cloudapitest.Match{Operation: operation}, fault)
				}
				if got := eventsOf(t, func(ctx context.Context) iter.Seq2[cloudapi.Event[cloudapi.Firewall], error] {
					return client.Firewalls.Watch(ctx, nil, edge)
				}); got != tt.firewalls {
					t.Errorf("the events of the firewalls are %q, want %q", got, tt.firewalls)
				}
				if got := eventsOf(t, func(ctx context.Context) iter.Seq2[cloudapi.Event[cloudapi.PrivateLocation], error] {
					return client.PrivateLocations.Watch(ctx, nil, mine)
				}); got != tt.places {
					t.Errorf("the events of the locations are %q, want %q", got, tt.places)
				}
			})
		})
	}
}

// TestWatchOfAHiddenRecord: a known record that the token may no longer see wasn't
// deleted, even if its location has another name.
func TestWatchOfAHiddenRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client, ctx := srv.Client(), t.Context()
		stub.Must(client.PrivateLocations.Create(ctx, "mine", &cloudapi.PrivateLocationCreateRequest{
			ProviderLocationName: cloudapi.PrivateLocationProviderLocationNameUSWest2, AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret")}))(t)
		edge := stub.Must(client.Firewalls.Create(ctx, "mine", "edge", nil))(t)
		stub.Must(client.PrivateLocations.Rename(ctx, "mine", "ours"))(t)
		srv.SetPermissions(srv.ProjectID(), srv.Token(), "Project:view")
		var last error
		for event, err := range client.Firewalls.Watch(ctx, nil, edge) {
			if last = err; err == nil {
				t.Errorf("%s %v", event.Type, event.Record)
			}
		}
		if !errors.Is(last, cloudapi.ErrForbidden) {
			t.Errorf("the watch ends with %v", last)
		}
	})
}

// eventsOf returns the events of a watch that takes three minutes.
func eventsOf[T any](t *testing.T, watch func(context.Context) iter.Seq2[cloudapi.Event[T], error]) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var events []string
	for e, err := range watch(ctx) {
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			break
		}
		r := any(e.Record).(interface{ Resource() cloudapi.Resource }).Resource()
		events = append(events, string(e.Type)+" "+strings.TrimPrefix(r.Location+"/"+r.Name, "/"))
	}
	return strings.Join(events, ", ")
}
