package watch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestWatchOfManyHiddenResources: after the token has lost a permission, a
// watch sends few requests, and still yields deletions.
func TestWatchOfManyHiddenResources(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var known []*cloudapi.Firewall
		for i := range 1000 {
			known = append(known, &cloudapi.Firewall{ID: fmt.Sprintf("fw%024d", i), Name: fmt.Sprint(i), Location: "here"})
		}
		network := &stub.Recorder{Answer: func(r *http.Request) (*http.Response, error) {
			switch id := path.Base(r.URL.Path); {
			case id == "firewall":
				return stub.Respond(200, `{"items":[],"count":0}`), nil
			case id == known[1].ID || id == known[3].ID:
				return stub.Respond(404, stub.Envelope(404)), nil
			}
			return stub.Respond(403, stub.Envelope(403)), nil
		}}
		var events []string
		for e, err := range sdktest.Recorded(t, network).Firewalls.Watch(t.Context(), nil, known...) {
			if err == nil {
				events = append(events, string(e.Type)+" "+e.Record.Name)
			} else if !errors.Is(err, cloudapi.ErrForbidden) {
				t.Errorf("it ends with %v", err)
			}
		}
		if sent := len(network.Take()); sent > 50 || !slices.Equal(events, []string{"deleted 1", "deleted 3"}) {
			t.Errorf("it sends %d requests; the events are %q", sent, events)
		}
	})
}

// TestWatchAsksForNothingThatWasBeingDeleted: a VM that was being deleted when
// it was last listed is gone. The watch sends no request to find out.
func TestWatchAsksForNothingThatWasBeingDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		stub.Must(client.VMs.Create(t.Context(), "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var events []string
		for e, err := range client.VMs.Watch(ctx, &cloudapi.WatchOptions{Interval: time.Second, MaxInterval: time.Second, Progress: func(p cloudapi.Progress) {
			if p.Polls == 1 {
				stub.Must(0, client.VMs.Delete(ctx, "eu-central-h1", "web-1"))(t)
			}
		}}) {
			if err != nil {
				t.Fatal(err)
			}
			e.Record.State = "changed by the program"
			if events = append(events, string(e.Type)); e.Type == cloudapi.EventDeleted {
				break
			}
		}
		if !slices.Equal(events, []string{"added", "modified", "deleted"}) {
			t.Errorf("the events are %q", events)
		}
		for _, r := range srv.Requests() {
			if r.Name == "VMs.Get" {
				t.Error("it asked for the VM")
			}
		}
	})
}

// TestWatchOfHiddenKeys: an inference API key that the token may not see is
// yielded as deleted, since the API sends the same 404 for both.
func TestWatchOfHiddenKeys(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	client := srv.Client()
	key := stub.Must(client.InferenceAPIKeys.Create(t.Context()))(t)
	srv.SetPermissions(client.Project(), srv.Token(), "Project:view")
	for e, err := range client.InferenceAPIKeys.Watch(t.Context(), nil, key) {
		if err != nil || e.Type != cloudapi.EventDeleted || e.Record != key {
			t.Errorf("got %+v, %v", e, err)
		}
		break
	}
}
