package watch_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestPollNow: a watch polls when it's told to, but not before the time of a
// Retry-After.
func TestPollNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
		now := make(chan struct{}, 1)
		poll := func() {
			select {
			case now <- struct{}{}:
			default:
			}
		}
		start := time.Now()
		var seen []time.Duration
		polls := 0
		opts := &cloudapi.WatchOptions{Interval: time.Hour, MaxInterval: time.Hour, Poll: now, Progress: func(cloudapi.Progress) { polls++ }}
		create := func(name string) {
			stub.Must(client.Firewalls.Create(t.Context(), sdktest.Somewhere, name, nil))(t)
			poll()
			poll() // one is enough
		}
		time.AfterFunc(time.Minute, func() { create("a") })
		time.AfterFunc(2*time.Minute, func() {
			wait := http.Header{"Retry-After": {"30"}}
			srv.Fail(cloudapitest.Match{Method: http.MethodGet}, cloudapitest.Reply(503, wait, ""))
			create("b")
		})
		time.AfterFunc(2*time.Minute+time.Second, poll)
		for event, err := range client.Firewalls.Watch(t.Context(), opts) {
			if err != nil {
				t.Fatal(err)
			}
			if seen = append(seen, time.Since(start)); event.Record.Name == "b" {
				break
			}
		}
		if len(seen) != 2 || seen[0] != time.Minute || seen[1] != 2*time.Minute+30*time.Second {
			t.Errorf("the events come after %v, in %d polls", seen, polls)
		}
		closed := make(chan struct{}) // ends no pauses
		close(closed)
		opts.Poll = closed
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		polls = 0
		for range client.Firewalls.Watch(ctx, opts) {
		}
		if polls != 1 {
			t.Errorf("after the channel is closed, %d polls", polls)
		}
	})
}
