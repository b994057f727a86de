package watch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// listOf returns a complete list. Each item is written as "name" or
// "name=state".
func listOf(items ...string) string {
	var b strings.Builder
	for i, item := range slices.Sorted(slices.Values(items)) {
		if i > 0 {
			b.WriteString(",")
		}
		name, state, _ := strings.Cut(item, "=")
		fmt.Fprintf(&b, `{"id":"vm%024s","name":"%s","state":"%s"}`, name, name, state)
	}
	return fmt.Sprintf(`{"items":[%s],"count":%d}`, b.String(), len(items))
}

func text(e cloudapi.Event[cloudapi.VM]) string {
	show := func(vm *cloudapi.VM) string { return strings.TrimSuffix(vm.Name+"="+vm.State, "=") }
	s := string(e.Type) + " " + show(e.Record)
	if e.Old != nil {
		s += " from " + show(e.Old)
	}
	return s
}

// watched ranges over a watch for a number of rounds. It returns the events,
// the progress of each round and the last error.
func watched(t *testing.T, client *cloudapi.Client, rounds int, opts cloudapi.WatchOptions) (events []string, reports []cloudapi.Progress, last error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opts.Progress = func(p cloudapi.Progress) {
		if reports = append(reports, p); p.Polls == rounds {
			cancel()
		}
	}
	for e, err := range client.VMs.Watch(ctx, &opts) {
		if last != nil {
			t.Errorf("the watch goes on after its error, with %v, %v", e, err)
		}
		if last = err; err == nil {
			events = append(events, text(e))
		} else if e != (cloudapi.Event[cloudapi.VM]{}) {
			t.Errorf("with the error comes %v", e)
		}
	}
	return events, reports, last
}

func TestWatchYieldsWhatChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		rounds []any // as in stub.Polled
		want   []string
	}{
		{"nothing", []any{listOf()}, nil},
		{"no change", []any{listOf("a"), listOf("a"), listOf("a")}, []string{"added a"}},
		{"the first round", []any{listOf("b", "a")}, []string{"added a", "added b"}},
		{"added", []any{listOf("b"), listOf("a", "b", "c")}, []string{"added b", "added a", "added c"}},
		{"modified", []any{listOf("a=creating"), listOf("a=running"), listOf("a=running")}, []string{"added a=creating", "modified a=running from a=creating"}},
		{"modified again", []any{listOf("a=1"), listOf("a=2"), listOf("a=1")}, []string{"added a=1", "modified a=2 from a=1", "modified a=1 from a=2"}},
		{"deleted", []any{listOf("c", "a=1", "b"), listOf("c", "a=2", "b"), listOf("c"), listOf("c")},
			[]string{"added a=1", "added b", "added c", "modified a=2 from a=1", "deleted a=2", "deleted b"}},
		{"all at once", []any{listOf("a", "b", "c"), listOf("b=x", "c", "d")},
			[]string{"added a", "added b", "added c", "modified b=x from b", "added d", "deleted a"}},
		{"everything deleted", []any{listOf("a"), listOf(), listOf("a")}, []string{"added a", "deleted a", "added a"}},
		{"behind failures", []any{503, listOf("a"), 500, io.ErrClosedPipe, `{"items":[{"id":"`, 429, listOf("a=1")}, []string{"added a", "modified a=1 from a"}},
		{"behind a gateway's page", []any{listOf("a"), "<html>Back soon</html>", listOf("a=1")}, []string{"added a", "modified a=1 from a"}},
		{"behind a gateway's 404", []any{listOf("a"), stray, stray, listOf("a=1"), stray, stray, listOf("a=1")}, []string{"added a", "modified a=1 from a"}},
		{"behind JSON of another shape", slices.Concat([]any{listOf("a")}, other[:5], []any{listOf("a=1")}, other[:5], []any{503, listOf("a=2")}),
			[]string{"added a", "modified a=1 from a", "modified a=2 from a=1"}},
		{"a failure deletes nothing", []any{listOf("a"), 503, listOf("a")}, []string{"added a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := stub.Polled(tt.rounds...)
				got, reports, err := watched(t, sdktest.Recorded(t, network), len(tt.rounds), cloudapi.WatchOptions{})
				if !slices.Equal(got, tt.want) || err != context.Canceled {
					t.Errorf("got %q, then %v\nwant %q", got, err, tt.want)
				}
				if n := len(network.Take()); n != len(tt.rounds) || len(reports) != n {
					t.Errorf("%d requests and %d reports for %d rounds", n, len(reports), len(tt.rounds))
				}
			})
		})
	}
}

func TestWatchEndsWith(t *testing.T) {
	t.Parallel()
	mute := new(stub.Recorder)
	stalled := slices.Repeat([]any{`{"items":[],"count":50}`}, walks) // one round
	for _, tt := range []struct {
		name   string
		rounds []any
		change func(*cloudapi.Client) *cloudapi.Client
		opts   cloudapi.WatchOptions
		polls  int
		want   error
	}{
		{"403", []any{listOf("a"), 403}, nil, cloudapi.WatchOptions{}, 2, cloudapi.ErrForbidden},
		{"404 of a gateway", []any{listOf("a"), stray, 503, stray, stray}, nil, cloudapi.WatchOptions{}, 5, new(cloudapi.Error)},
		{"JSON of another shape", slices.Concat([]any{listOf("a")}, other[:4], []any{503, stray}, other), nil, cloudapi.WatchOptions{}, 9, cloudapi.ErrInvalidResponse},
		{"501", []any{listOf("a"), 501}, nil, cloudapi.WatchOptions{}, 7, cloudapi.ErrServer},
		{"a stall at last", slices.Concat([]any{listOf("a")}, stalled, []any{503}, stalled, stalled), nil, cloudapi.WatchOptions{}, 5, cloudapi.ErrPaginationStalled},
		{"no project", nil, func(c *cloudapi.Client) *cloudapi.Client { return c.InProject("") }, cloudapi.WatchOptions{}, 1, cloudapi.ErrNoProject},
		{"a page size", nil, nil, cloudapi.WatchOptions{PageSize: -1}, 1, cloudapi.ErrInvalidArgument},
		{"a location", nil, nil, cloudapi.WatchOptions{Location: "../x"}, 1, cloudapi.ErrInvalidArgument},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := mute
				if tt.rounds != nil {
					network = stub.Polled(tt.rounds...)
				}
				client := sdktest.Recorded(t, network)
				if tt.change != nil {
					client = tt.change(client)
				}
				got, reports, err := watched(t, client, 20, tt.opts)
				if e, ok := errors.AsType[*cloudapi.Error](err); !errors.Is(err, tt.want) && !(ok && e.StatusCode == 404 && e.Type == "") {
					t.Errorf("got %q, then %v, want %v", got, err, tt.want)
				}
				if len(reports) != tt.polls || reports[tt.polls-1].Err != err {
					t.Errorf("%d rounds were reported, the last with %v", len(reports), reports[len(reports)-1].Err)
				}
			})
		})
	}
	for _, err := range sdktest.Recorded(t, mute).SSHPublicKeys.Watch(t.Context(), &cloudapi.WatchOptions{Location: "eu-central-h1"}) {
		if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != "Location" {
			t.Errorf("for a location of keys: %v", err)
		}
	}
	var none context.Context
	for _, err := range sdktest.Recorded(t, mute).VMs.Watch(none, nil) {
		if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != "ctx" {
			t.Errorf("without a context: %v", err)
		}
	}
	if sent := mute.Take(); len(sent) != 0 {
		t.Errorf("%d requests were sent", len(sent))
	}
}

// TestWatchOutlastsStalls: a watch continues if the list stalls now and then.
func TestWatchOutlastsStalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stalled := slices.Repeat([]any{`{"items":[],"count":1}`}, 2*walks) // two rounds
		network := stub.Polled(slices.Concat([]any{listOf("a")}, stalled, []any{listOf("a")}, stalled, []any{listOf("a=1")})...)
		got, reports, err := watched(t, sdktest.Recorded(t, network), 7, cloudapi.WatchOptions{})
		if want := []string{"added a", "modified a=1 from a"}; !slices.Equal(got, want) || err != context.Canceled {
			t.Errorf("got %q, then %v", got, err)
		}
		if !errors.Is(reports[1].Err, cloudapi.ErrPaginationStalled) || reports[1].Done != 1 {
			t.Errorf("a stall is reported as %+v", reports[1])
		}
	})
}

// checkPauses checks that each pause between rounds differs by at most a fifth
// from the one in want.
func checkPauses(t *testing.T, reports []cloudapi.Progress, want ...time.Duration) {
	t.Helper()
	for i, nominal := range want {
		if pause := reports[i+1].Elapsed - reports[i].Elapsed; pause < nominal*4/5 || pause > nominal*6/5+1 {
			t.Errorf("pause %d is %v, want %v within a fifth", i, pause, nominal)
		}
	}
}

func TestWatchPauses(t *testing.T) {
	t.Parallel()
	const s = time.Second
	a, b := listOf("a=1"), listOf("a=2")
	for _, tt := range []struct {
		name   string
		opts   cloudapi.WatchOptions
		rounds []any
		want   []time.Duration // without the random part
	}{
		{"nothing changes", cloudapi.WatchOptions{}, []any{a, a, a, a, a, a, a, a}, []time.Duration{5 * s, 15 * s / 2, 45 * s / 4, 135 * s / 8, 405 * s / 16, 30 * s, 30 * s}},
		{"something changes", cloudapi.WatchOptions{}, []any{a, a, a, b, b, b}, []time.Duration{5 * s, 15 * s / 2, 45 * s / 4, 5 * s, 15 * s / 2}},
		{"something comes and goes", cloudapi.WatchOptions{}, []any{listOf(), listOf(), a, listOf(), listOf()}, []time.Duration{5 * s, 15 * s / 2, 5 * s, 5 * s}},
		{"failures", cloudapi.WatchOptions{}, []any{a, 503, 503, b, b}, []time.Duration{5 * s, 15 * s / 2, 45 * s / 4, 5 * s}},
		{"of the program's own", cloudapi.WatchOptions{Interval: 40 * s, MaxInterval: 70 * s}, []any{a, a, a, a}, []time.Duration{40 * s, 60 * s, 70 * s}},
		{"the longest is shorter", cloudapi.WatchOptions{Interval: 40 * s, MaxInterval: s}, []any{a, a, a}, []time.Duration{40 * s, 40 * s}},
		{"negative", cloudapi.WatchOptions{Interval: -s, MaxInterval: -1}, []any{a, a, a}, []time.Duration{5 * s, 15 * s / 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, reports, _ := watched(t, sdktest.Recorded(t, stub.Polled(tt.rounds...)), len(tt.rounds), tt.opts)
				checkPauses(t, reports, tt.want...)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		client := sdktest.Recorded(t, &stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
			slow := stub.Respond(429, stub.Envelope(429))
			slow.Header.Set("Retry-After", "600")
			return slow, nil
		}}, cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1, MaxRetryAfter: 5 * time.Minute}))
		if _, reports, _ := watched(t, client, 2, cloudapi.WatchOptions{}); reports[1].Elapsed != 5*time.Minute {
			t.Errorf("asked to wait longer than it may, it waits %v", reports[1].Elapsed)
		}
	})
}

// TestWatchPausesLongerAfterAFailure: the pause is longer even if the round had
// an event before it failed.
func TestWatchPausesLongerAfterAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := stub.List{Items: stub.Numbered(15)}
		round, fails := 0, false
		network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
			first := req.URL.Query().Get("start_after") == ""
			if first {
				round++
			}
			switch {
			case round == 3 && first:
				server.Items[0].Name, fails = "renamed", true
			case fails:
				fails = false
				return stub.Respond(503, stub.Envelope(503)), nil
			}
			return server.Answer(req)
		}}
		events, reports, _ := watched(t, sdktest.Recorded(t, &network), 5, cloudapi.WatchOptions{PageSize: 10})
		if len(events) != 16 || !errors.Is(reports[2].Err, cloudapi.ErrServer) {
			t.Fatalf("%d events, and the third round ends with %v", len(events), reports[2].Err)
		}
		checkPauses(t, reports, 5*time.Second, 7500*time.Millisecond, 11250*time.Millisecond, 16875*time.Millisecond)
	})
}

// TestWatchEndsWithTheContext: a watch ends with its context, during a request
// or a pause. It yields one error, which wraps the context's cause.
func TestWatchEndsWithTheContext(t *testing.T) {
	t.Parallel()
	reason := errors.New("the operator lost patience")
	for _, prefetch := range []int{0, 2} {
		for after, events := range map[time.Duration]int{0: 0, time.Millisecond: 0, 3 * time.Second: 1, time.Hour: 1} {
			synctest.Test(t, func(t *testing.T) {
				client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
					select { // a request takes two seconds
					case <-time.After(2 * time.Second):
						return stub.Respond(200, listOf("a")), nil
					case <-req.Context().Done():
						return nil, req.Context().Err()
					}
				}), cloudapi.WithPrefetch(prefetch))
				ctx, cancel := context.WithTimeoutCause(t.Context(), after, reason)
				defer cancel()
				start, got, errs := time.Now(), 0, []error{}
				for _, err := range client.VMs.Watch(ctx, nil) {
					if got++; err != nil {
						errs = append(errs, err)
					}
				}
				if len(errs) != 1 || !errors.Is(errs[0], context.DeadlineExceeded) || !errors.Is(errs[0], reason) || time.Since(start) != after || got != events+1 {
					t.Errorf("prefetch %d, ended after %v: %d events and %v after %v", prefetch, after, got-1, errs, time.Since(start))
				}
			})
		}
	}
}

func TestWatchProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := stub.Polled(listOf("a", "b"), 503, listOf("a"), listOf("a"))
		_, reports, _ := watched(t, sdktest.Recorded(t, network), 4, cloudapi.WatchOptions{Location: "eu-central-h1"})
		for i, p := range reports {
			done, failed := []int{2, 2, 1, 1}[i], []error{nil, cloudapi.ErrServer, nil, nil}[i]
			if !errors.Is(p.Err, failed) || (i == 0) != (p.Elapsed == 0) {
				t.Errorf("report %d: %v after %v", i, p.Err, p.Elapsed)
			}
			p.Err, p.Elapsed = nil, 0
			if want := (cloudapi.Progress{Operation: "VMs.Watch", Resource: "eu-central-h1", Done: done, Polls: i + 1}); p != want {
				t.Errorf("report %d is %+v, want %+v", i, p, want)
			}
		}
	})
}

// TestWatchCanBeRangedAgain: each range is a watch of its own. It uses the
// options and the known records as they were in the call of Watch.
func TestWatchCanBeRangedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := stub.Recorder{Answer: stub.Always(200, `{"items":[{"id":"vm000000000000000000000000","name":"a","location":"here"},{"id":"vm1","name":"b"}],"count":2}`)}
		opts := &cloudapi.WatchOptions{PageSize: 10}
		known := []*cloudapi.VM{{ID: "vm000000000000000000000000", Name: "old", Location: "here"}}
		seq := sdktest.Recorded(t, &network).VMs.Watch(t.Context(), opts, known...)
		if n := len(network.Take()); n != 0 {
			t.Errorf("%d requests were sent before the first range", n)
		}
		*opts, known[0] = cloudapi.WatchOptions{Location: "elsewhere", PageSize: 1}, nil
		for range 2 {
			next, stop := iter.Pull2(seq) // a range within the range
			var got []string
			for e := range seq {
				other, _, _ := next()
				if text(e) != text(other) || e.Record == other.Record {
					t.Errorf("got %v and %v", text(e), text(other))
				}
				if got = append(got, text(e)); len(got) == 2 {
					break
				}
			}
			if stop(); !slices.Equal(got, []string{"modified a from old", "added b"}) {
				t.Errorf("got %q", got)
			}
		}
		for _, s := range network.Take() {
			if s.Target != "/project/"+stub.Project+"/vm?page_size=10" {
				t.Errorf("asked for %s", s.Target)
			}
		}
	})
}

// TestLeavingAWatch: no goroutine is left, or the synctest bubble would fail.
func TestLeavingAWatch(t *testing.T) {
	t.Parallel()
	for _, prefetch := range []int{0, 1, 4} {
		for _, taken := range []int{1, 10, 15, 100, 101, 105} { // 100 are added, then 10 deleted
			synctest.Test(t, func(t *testing.T) {
				server := stub.List{Items: stub.Numbered(100)}
				network := stub.Recorder{Answer: server.Answer}
				got, reports := 0, 0
				for _, err := range sdktest.Recorded(t, &network, cloudapi.WithPrefetch(prefetch)).VMs.Watch(t.Context(), &cloudapi.WatchOptions{PageSize: 10, Progress: func(cloudapi.Progress) {
					reports++
					server.Items = server.Items[:90]
				}}) {
					if err != nil {
						t.Fatal(err)
					}
					if got++; got == taken {
						break
					}
				}
				if want := (taken - 1) / 100; reports != want {
					t.Errorf("prefetch %d: %d rounds were reported after %d events, want %d", prefetch, reports, taken, want)
				}
				network.Take()
				stub.Elapse(time.Hour)
				if n := len(network.Take()); n != 0 {
					t.Errorf("prefetch %d: %d requests were sent after %d events", prefetch, n, taken)
				}
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if r := recover(); r != "enough" {
				t.Errorf("recovered %v", r)
			}
		}()
		server := stub.List{Items: stub.Numbered(100)}
		network := stub.Recorder{Answer: server.Answer}
		for range sdktest.Recorded(t, &network, cloudapi.WithPrefetch(3)).VMs.Watch(t.Context(), &cloudapi.WatchOptions{PageSize: 10}) {
			panic("enough")
		}
	})
}

// TestWatchedRecordsBelongToTheProgram: if the program changes a record of a
// watch, that causes no event, and later events contain its change.
func TestWatchedRecordsBelongToTheProgram(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := stub.Polled(listOf("a=1", "b=1"), listOf("a=1", "b=1"), listOf("a=2", "b=1"), listOf("a=2"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		mine := map[string]*cloudapi.VM{}
		var types []cloudapi.EventType
		for e, err := range sdktest.Recorded(t, network).VMs.Watch(ctx, &cloudapi.WatchOptions{Progress: func(p cloudapi.Progress) {
			if p.Polls == 4 {
				cancel()
			}
		}}) {
			if err != nil {
				break
			}
			types = append(types, e.Type)
			switch e.Type {
			case cloudapi.EventAdded:
				mine[e.Record.Name] = e.Record
			case cloudapi.EventModified:
				if e.Old != mine["a"] || e.Record.State != "2" {
					t.Errorf("%v was modified from %v", e.Record, e.Old)
				}
			case cloudapi.EventDeleted:
				if e.Record != mine["b"] || e.Old != nil {
					t.Errorf("%v was deleted, with %v before", e.Record, e.Old)
				}
			}
			*e.Record = cloudapi.VM{State: "mine"}
		}
		if want := []cloudapi.EventType{cloudapi.EventAdded, cloudapi.EventAdded, cloudapi.EventModified, cloudapi.EventDeleted}; !slices.Equal(types, want) {
			t.Errorf("got %v", types)
		}
	})
}

// other are responses whose JSON has another shape than a list.
var other = []any{`{"data":[]}`, `{"items":{}}`, `{"items":[{"id":7}]}`, `{"items":[null]}`, `{"items":[{"name":"a"}]}`, `"soon"`}

// stray is a gateway's 404.
const stray = stub.BadNotFound("no such backend")

// walks is how many times a list is read before it counts as stalled.
const walks = 4
