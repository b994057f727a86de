package failures_test

import (
	"context"
	"errors"
	"net/http"
	"path"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// counted counts the requests that a function answers.
type counted struct {
	answer func(*http.Request) (*http.Response, error)
	mu     sync.Mutex
	n      int
}

func (c *counted) RoundTrip(req *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	return c.answer(req)
}

func (c *counted) requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func retryAfter(status int, body, after string) *http.Response {
	resp := stub.Respond(status, body)
	resp.Header.Set("Retry-After", after)
	return resp
}

// forEachPoller calls test for each poller in a bubble of its own.
func forEachPoller(t *testing.T, test func(t *testing.T, name string, poll func(context.Context, *cloudapi.Client, polling) error)) {
	t.Helper()
	t.Parallel()
	for name, poll := range pollers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, name, poll) })
		})
	}
}

// TestRetryAfterBetweenPolls: no poll comes earlier than the Retry-After of the
// previous one asks for, up to MaxRetryAfter.
func TestRetryAfterBetweenPolls(t *testing.T) {
	forEachPoller(t, func(t *testing.T, name string, poll func(context.Context, *cloudapi.Client, polling) error) {
		for after, policy := range map[string]cloudapi.RetryPolicy{
			"10":   {MaxAttempts: 1},
			"9000": {MaxAttempts: 1, MaxRetryAfter: 10 * time.Second},
		} {
			network := &counted{answer: func(req *http.Request) (*http.Response, error) {
				switch {
				case !ensures(name):
					return retryAfter(429, stub.Envelope(429), after), nil
				case req.Method == http.MethodPost:
					return retryAfter(400, taken, after), nil
				}
				return notYet(req)
			}}
			ctx, cancel := context.WithTimeout(t.Context(), 101*time.Second)
			defer cancel()
			err := poll(ctx, sdktest.Client(t, network, cloudapi.WithRetry(policy)), polling{interval: 25 * time.Millisecond})
			want := map[string]int{"VMs.Ensure": 22, "Ensure": 22, "WaitAll": 23}[name] // a lookup and a create; two waits, and a list at first
			if want == 0 {
				want = 11
			}
			if n := network.requests(); !errors.Is(err, context.DeadlineExceeded) || n > want || n < 10 {
				t.Errorf("Retry-After: %s: %d requests, want up to %d: %v", after, n, want, err)
			}
		}
	})
}

// TestRetryAfterOfSharedLists: waits that share a list don't read it earlier
// than its Retry-After asks for, and get their resources themselves.
func TestRetryAfterOfSharedLists(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lists, start := 0, time.Now()
		network := &counted{answer: func(req *http.Request) (*http.Response, error) {
			switch {
			case path.Base(req.URL.Path) == "vm":
				lists++
				return retryAfter(503, stub.Envelope(503), "10"), nil
			case time.Since(start) > 100*time.Second:
				return stub.Respond(200, `{"id":"vm000000000000000000000000","state":"running"}`), nil
			}
			return notYet(req)
		}}
		client := sdktest.Client(t, network, cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
		stub.Must(cloudapi.WaitAll(t.Context(), []string{"web-1", "web-2"}, func(ctx context.Context, name string) (*cloudapi.VM, error) {
			return client.VMs.WaitRunning(ctx, sdktest.Somewhere, name, &cloudapi.WaitOptions{Interval: time.Second, MaxInterval: time.Second})
		}, nil))(t)
		if took := time.Since(start); lists < 9 || lists > 11 || took > 102*time.Second {
			t.Errorf("%d lists in %v", lists, took)
		}
	})
}

// TestContexts: a function that polls sends nothing with a context that is nil
// or has ended. It ends with the context, in a poll, after a poll, or in the
// report of a poll.
func TestContexts(t *testing.T) {
	forEachPoller(t, func(t *testing.T, name string, poll func(context.Context, *cloudapi.Client, polling) error) {
		const latency = 200 * time.Millisecond
		network := &counted{answer: func(req *http.Request) (*http.Response, error) {
			select {
			case <-time.After(latency):
				return notYet(req)
			case <-req.Context().Done():
				return nil, req.Context().Err()
			}
		}}
		client := sdktest.Client(t, network)
		unused := polling{report: func(cloudapi.Progress) { t.Error("there was a report") }}
		var none context.Context
		if e, ok := errors.AsType[*cloudapi.ArgumentError](poll(none, client, unused)); !ok || e.Name != "ctx" {
			t.Errorf("without a context: %v", e)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := poll(ended, client, unused); !errors.Is(err, context.Canceled) || cloudapi.IsTransient(err) || network.requests() != 0 {
			t.Errorf("with a context that had ended: %v after %d requests", err, network.requests())
		}

		reason := errors.New("the operator lost patience")
		for _, after := range []time.Duration{1, latency / 2, latency, latency + 1, 3 * latency, time.Minute, time.Minute + latency/2} {
			ctx, cancel := context.WithTimeoutCause(t.Context(), after, reason)
			start := time.Now()
			err := poll(ctx, client, polling{})
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, reason) || time.Since(start) != after || cloudapi.IsTransient(err) {
				t.Errorf("after %v, not %v: %v", time.Since(start), after, err)
			}
			cancel()
		}

		ctx, giveUp := context.WithCancelCause(t.Context())
		var canceled time.Time
		var sent int
		var once sync.Once // several waits report
		err := poll(ctx, client, polling{report: func(p cloudapi.Progress) {
			if p.Polls == 2 {
				once.Do(func() { canceled, sent = time.Now(), network.requests() })
				giveUp(reason)
			}
		}})
		if !errors.Is(err, context.Canceled) || !errors.Is(err, reason) || time.Since(canceled) != 0 || network.requests() > sent+1 { // another wait may be sending
			t.Errorf("canceled in a report: %v after %v and %d requests", err, time.Since(canceled), network.requests()-sent)
		}
	})
}

// TestResultsOfPollsThatTheContextEnds: a poll that settles the result does so
// even if the context ends during the poll or in its report.
func TestResultsOfPollsThatTheContextEnds(t *testing.T) {
	forEachPoller(t, func(t *testing.T, name string, poll func(context.Context, *cloudapi.Client, polling) error) {
		network := &counted{answer: func(req *http.Request) (*http.Response, error) {
			if ensures(name) && req.Method == http.MethodGet {
				return notYet(req)
			}
			return stub.Respond(403, stub.Envelope(403)), nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		isDeletion := name == "VMs.WaitDeleted" || name == "Client.WaitDeleted" // tolerates a 403
		err := poll(ctx, sdktest.Client(t, network), polling{report: func(cloudapi.Progress) {
			if !ensures(name) { // it reports before it creates
				cancel()
			}
		}})
		if !errors.Is(err, cloudapi.ErrForbidden) || errors.Is(err, context.Canceled) != isDeletion && name != "WaitAll" { // of two waits, one ends the other's context
			t.Errorf("a failure: %v", err)
		}
	})
	stop := errors.New("that will never do")
	for _, tt := range []struct {
		isDone bool
		want   error
	}{{true, nil}, {false, stop}} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last cloudapi.Progress
		vm, err := cloudapi.Wait(ctx, func(context.Context) (*cloudapi.VM, error) { cancel(); return new(cloudapi.VM), nil },
			func(*cloudapi.VM) (bool, error) { return tt.isDone, tt.want }, &cloudapi.WaitOptions{Progress: func(p cloudapi.Progress) { last = p }})
		if (vm != nil) != tt.isDone || !errors.Is(err, tt.want) || errors.Is(err, context.Canceled) || last.Err != tt.want || (last.Done == 1) != tt.isDone || last.Record == nil {
			t.Errorf("a condition: %v, %v; the report is %+v", vm, err, last)
		}
	}
}

// TestReports: a panic of Progress reaches the caller and ends the requests. A
// slow Progress takes nothing from the pause that follows.
func TestReports(t *testing.T) {
	forEachPoller(t, func(t *testing.T, name string, poll func(context.Context, *cloudapi.Client, polling) error) {
		network := &counted{answer: notYet}
		client := sdktest.Client(t, network)
		func() {
			defer func() {
				if r := recover(); r != "enough" {
					t.Errorf("recovered %v", r)
				}
			}()
			poll(t.Context(), client, polling{report: func(cloudapi.Progress) { panic("enough") }})
		}()
		sent := network.requests()
		if stub.Elapse(time.Hour); network.requests() != sent {
			t.Error("requests were sent after a panic")
		}

		const slow = 7 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var last sync.Map // by resource, when a report returned
		poll(ctx, client, polling{interval: 10 * time.Second, report: func(p cloudapi.Progress) {
			pause := 8 * time.Second
			switch {
			case ensures(name):
				pause = 800 * time.Millisecond
			case name == "Postgres.FollowLogs" && p.Polls < 5:
				pause = 0 // it's catching up
			}
			if end, ok := last.Load(p.Resource); ok && time.Since(end.(time.Time)) < pause && (p.Polls > 2 || name != "WaitAll" && !ensures(name)) {
				t.Errorf("report %d came after %v", p.Polls, time.Since(end.(time.Time)))
			}
			stub.Elapse(slow)
			last.Store(p.Resource, time.Now())
		}})
	})
}
