package watch_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/diff"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// listOf is a whole list of items, given as "name" or "name=state".
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

// text returns an event as text.
func text(e cloudapi.Event[cloudapi.VM]) string {
	show := func(vm *cloudapi.VM) string { return strings.TrimSuffix(vm.Name+"="+vm.State, "=") }
	s := string(e.Type) + " " + show(e.Record)
	if e.Old != nil {
		s += " from " + show(e.Old)
	}
	return s
}

// watched ranges over a watch for a limited number of rounds, and returns its
// events, its rounds and its last error.
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
		rounds []any // as in polled
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
		{"400", []any{listOf("a"), 400}, nil, cloudapi.WatchOptions{}, 2, cloudapi.ErrInvalidRequest},
		{"401", []any{listOf("a"), 401}, nil, cloudapi.WatchOptions{}, 2, cloudapi.ErrUnauthorized},
		{"403", []any{listOf("a"), 403}, nil, cloudapi.WatchOptions{}, 2, cloudapi.ErrForbidden},
		{"404", []any{listOf("a"), 404}, nil, cloudapi.WatchOptions{}, 2, cloudapi.ErrNotFound},
		{"404 of a gateway", []any{listOf("a"), stray, 503, stray, stray}, nil, cloudapi.WatchOptions{}, 5, new(cloudapi.Error)},
		{"302", []any{302}, nil, cloudapi.WatchOptions{}, 1, new(cloudapi.Error)},
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
				if e, ok := errors.AsType[*cloudapi.Error](err); !errors.Is(err, tt.want) && !(ok && (e.StatusCode == 302 || e.StatusCode == 404 && e.Type == "")) {
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

// TestWatchOutlastsStalls: a watch doesn't end if a list stalls now and then.
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

func TestWatchPauses(t *testing.T) {
	t.Parallel()
	const s = time.Second
	a, b := listOf("a=1"), listOf("a=2")
	slow := stub.Respond(429, stub.Envelope(429))
	slow.Header.Set("Retry-After", "600")
	for _, tt := range []struct {
		name   string
		opts   cloudapi.WatchOptions
		rounds []any
		want   []time.Duration // without the random part
	}{
		{"nothing changes", cloudapi.WatchOptions{}, []any{a, a, a, a, a, a, a, a}, []time.Duration{5 * s, 15 * s / 2, 45 * s / 4, 135 * s / 8, 405 * s / 16, 30 * s, 30 * s}},
		{"something changes", cloudapi.WatchOptions{}, []any{a, a, a, b, b, b}, []time.Duration{5 * s, 15 * s / 2, 45 * s / 4, 5 * s, 15 * s / 2}},
		{"something comes and goes", cloudapi.WatchOptions{}, []any{listOf(), listOf(), a, listOf(), listOf()},
			[]time.Duration{5 * s, 15 * s / 2, 5 * s, 5 * s}},
		{"failures", cloudapi.WatchOptions{}, []any{a, 503, 503, b, b}, []time.Duration{5 * s, 15 * s / 2, 45 * s / 4, 5 * s}},
		{"of the program's own", cloudapi.WatchOptions{Interval: 40 * s, MaxInterval: 70 * s}, []any{a, a, a, a}, []time.Duration{40 * s, 60 * s, 70 * s}},
		{"the longest is shorter", cloudapi.WatchOptions{Interval: 40 * s, MaxInterval: s}, []any{a, a, a}, []time.Duration{40 * s, 40 * s}},
		{"negative", cloudapi.WatchOptions{Interval: -s, MaxInterval: -1}, []any{a, a, a}, []time.Duration{5 * s, 15 * s / 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			least, most := 2.0, 0.0
			for range 40 {
				synctest.Test(t, func(t *testing.T) {
					network := stub.Polled(tt.rounds...)
					_, reports, _ := watched(t, sdktest.Recorded(t, network), len(tt.rounds), tt.opts)
					for i, nominal := range tt.want {
						pause := reports[i+1].Elapsed - reports[i].Elapsed
						if pause < nominal*4/5 || pause > nominal*6/5+1 {
							t.Fatalf("pause %d is %v, want %v within a fifth", i, pause, nominal)
						}
						least, most = min(least, float64(pause)/float64(nominal)), max(most, float64(pause)/float64(nominal))
					}
				})
			}
			if least > 0.85 || most < 1.15 {
				t.Errorf("the pauses are %v to %v of what they would be without chance", least, most)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) { return slow, nil }}
		client := sdktest.Recorded(t, &network, cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1, MaxRetryAfter: 5 * time.Minute}))
		_, reports, _ := watched(t, client, 2, cloudapi.WatchOptions{})
		if reports[1].Elapsed != 5*time.Minute {
			t.Errorf("asked to wait longer than it may, it waits %v", reports[1].Elapsed)
		}
	})
}

// TestWatchPausesLongerAfterAFailure: the pause is longer even if the round
// saw a change before it failed.
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
		for i, nominal := range []time.Duration{5000, 7500, 11250, 16875} {
			pause := reports[i+1].Elapsed - reports[i].Elapsed
			if nominal *= time.Millisecond; pause < nominal*4/5 || pause > nominal*6/5+1 {
				t.Errorf("pause %d is %v, want %v within a fifth", i, pause, nominal)
			}
		}
	})
}

// TestWatchEndsOnACertificate: another round would also fail on the untrusted
// certificate.
func TestWatchEndsOnACertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	client := stub.Must(cloudapi.NewClient(cloudapi.WithBaseURL(server.URL), cloudapi.WithToken(stub.Token), cloudapi.WithProject(stub.Project)))(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rounds, last := 0, error(nil)
	for _, last = range client.VMs.Watch(ctx, &cloudapi.WatchOptions{Interval: 1, MaxInterval: 1, Progress: func(cloudapi.Progress) {
		if rounds++; rounds == 100 {
			cancel()
		}
	}}) {
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](last); !ok || rounds != 1 {
		t.Errorf("after %d rounds it ends with %v", rounds, last)
	}
}

func TestWatchEndsWithTheContext(t *testing.T) {
	t.Parallel()
	reason := errors.New("the operator lost patience")
	for _, prefetch := range []int{0, 2} {
		for _, after := range []time.Duration{0, time.Millisecond, 3 * time.Second, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
					select { // a request takes two seconds
					case <-time.After(2 * time.Second):
						return stub.Respond(200, listOf("a")), nil
					case <-req.Context().Done():
						return nil, req.Context().Err()
					}
				}}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if after == 0 {
					cancel(reason)
				}
				time.AfterFunc(after, func() { cancel(reason) })
				start, errs, events := time.Now(), []error{}, 0
				for _, err := range sdktest.Recorded(t, &network, cloudapi.WithPrefetch(prefetch)).VMs.Watch(ctx, nil) {
					if err != nil {
						errs = append(errs, err)
					} else {
						events++
					}
				}
				if len(errs) != 1 || !errors.Is(errs[0], context.Canceled) || !errors.Is(errs[0], reason) || time.Since(start) != after {
					t.Errorf("prefetch %d, cancelled after %v: %v after %v", prefetch, after, errs, time.Since(start))
				}
				if want := map[bool]int{true: 1}[after > 2*time.Second]; events != want {
					t.Errorf("cancelled after %v: %d events", after, events)
				}
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		var last error
		for _, last = range sdktest.Recorded(t, stub.Polled(503), cloudapi.WithRetry(cloudapi.RetryPolicy{})).VMs.Watch(ctx, nil) {
		}
		if last != context.DeadlineExceeded || time.Since(start) != time.Minute {
			t.Errorf("the last error, after %v, is %v", time.Since(start), last)
		}
	})
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

// watchPages watches VMs for some rounds and returns the events of each.
func watchPages(t *testing.T, size, rounds int, answer func(*http.Request) (*http.Response, error), opts ...cloudapi.Option) (events [][]string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		network := stub.Recorder{Answer: answer}
		events = [][]string{nil}
		progress := func(cloudapi.Progress) {
			if events = append(events, nil); len(events) > rounds {
				cancel()
			}
		}
		for e, err := range sdktest.Recorded(t, &network, opts...).VMs.Watch(ctx, &cloudapi.WatchOptions{PageSize: size, Progress: progress}) {
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("it ends with %v", err)
				}
				break
			}
			last := &events[len(events)-1]
			*last = append(*last, string(e.Type)+" "+strings.TrimLeft(e.Record.ID[2:], "0"))
		}
	})
	return events[:rounds]
}

// eventsOf returns the events of all those items.
func eventsOf(what cloudapi.EventType, items []stub.Item) (events []string) {
	for _, item := range items {
		events = append(events, string(what)+" "+strings.TrimLeft(item.ID[2:], "0"))
	}
	return events
}

// TestWatchMissesNothingBetweenPages: an item that stays is never reported as
// deleted, however the list changes during the walk.
func TestWatchMissesNothingBetweenPages(t *testing.T) {
	t.Parallel()
	all := stub.Numbered(60)[1:]
	even := func(n int) (items []stub.Item) { // 2, 4, 6, …
		for i := range n {
			items = append(items, all[2*i+1])
		}
		return items
	}
	for _, tt := range []struct {
		name          string
		first, second []stub.Item // before and after the first page was sent
		rounds        [][]string
	}{
		{"nothing", even(25), even(25), [][]string{eventsOf(cloudapi.EventAdded, even(25)), nil}},
		{"a page less", even(20), even(10), [][]string{eventsOf(cloudapi.EventAdded, even(10)), nil}},
		{"one deleted before and one added behind", even(20), append(slices.Clone(even(20)[1:10]), slices.Concat(all[20:21], even(20)[10:])...),
			[][]string{append(eventsOf(cloudapi.EventAdded, even(10)), append([]string{"added 21"}, eventsOf(cloudapi.EventAdded, even(20)[10:])...)...), {"deleted 2"}}},
		{"one deleted behind and one added before", even(20), append(slices.Clone(all[:1]), slices.Concat(even(20)[:10], even(20)[11:])...),
			[][]string{append(eventsOf(cloudapi.EventAdded, even(10)), eventsOf(cloudapi.EventAdded, even(20)[11:])...), {"added 1"}}},
	} {
		for _, habits := range []stub.List{{}, {Max: 10}, {NoCount: true}, {Bare: true}, {Max: 10, Bare: true}} {
			for _, prefetch := range []int{0, 3} {
				server := habits
				server.Items = tt.first
				size := 10
				if habits.Max > 0 {
					size = 1000 // more than the server sends
				}
				served := 0
				got := watchPages(t, size, 2, func(req *http.Request) (*http.Response, error) {
					if served++; served == 2 {
						server.Items = tt.second
					}
					return server.Answer(req)
				}, cloudapi.WithPrefetch(prefetch))
				if !slices.Equal(slices.Concat(got...), slices.Concat(tt.rounds...)) {
					t.Errorf("%s, prefetch %d, %+v:\n got %q\nwant %q", tt.name, prefetch, habits, got, tt.rounds)
				}
			}
		}
	}
}

// TestWatchOfSmallPages: a server may send fewer items than requested.
func TestWatchOfSmallPages(t *testing.T) {
	t.Parallel()
	items := stub.Numbered(26)[1:]
	server := stub.List{Items: items, Max: 3}
	got := watchPages(t, 1000, 3, func(req *http.Request) (*http.Response, error) {
		if req.URL.Query().Get("start_after") == "" {
			server.Items = server.Items[:min(len(server.Items), 25)]
		}
		resp, err := server.Answer(req)
		if req.URL.Query().Get("start_after") == items[23].ID {
			server.Items = items[:24] // after the first round
		}
		return resp, err
	})
	if want := [][]string{eventsOf(cloudapi.EventAdded, items), {"deleted 25"}, nil}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestWatchAfterABrokenRound: changes in a round that fails are neither lost
// nor repeated.
func TestWatchAfterABrokenRound(t *testing.T) {
	t.Parallel()
	items := stub.Numbered(41)[1:]
	for _, prefetch := range []int{0, 1, 3} {
		server := stub.List{Items: items}
		requests := 0
		got := watchPages(t, 10, 5, func(req *http.Request) (*http.Response, error) {
			switch requests++; requests {
			case 3: // of the first round
				return stub.Respond(503, stub.Envelope(503)), nil
			case 9: // of the third round; the second one took five requests
				server.Items = slices.Concat(items[:5], items[6:30])
			case 10:
				return nil, io.ErrUnexpectedEOF
			}
			return server.Answer(req)
		}, cloudapi.WithPrefetch(prefetch))
		want := [][]string{eventsOf(cloudapi.EventAdded, items[:20]), eventsOf(cloudapi.EventAdded, items[20:]), nil,
			eventsOf(cloudapi.EventDeleted, slices.Concat(items[5:6], items[30:])), nil}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("prefetch %d: got\n%q, want\n%q", prefetch, got, want)
		}
	}
}

// TestWatchRequests: a list that is smaller than a page takes one request per
// round, and any other list at most one more request than it has pages.
func TestWatchRequests(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ items, size, want int }{{0, 10, 1}, {1, 10, 1}, {9, 10, 1}, {10, 10, 2}, {11, 10, 3}, {20, 10, 3}, {1000, 0, 2}, {2500, 0, 4}} {
		synctest.Test(t, func(t *testing.T) {
			server := stub.List{Items: stub.Numbered(tt.items)}
			network := stub.Recorder{Answer: server.Answer}
			if _, _, err := watched(t, sdktest.Recorded(t, &network), 1, cloudapi.WatchOptions{PageSize: tt.size}); err != context.Canceled {
				t.Error(err)
			}
			if sent := network.Take(); len(sent) > tt.want {
				t.Errorf("%d items in pages of %d took %d requests, want at most %d", tt.items, tt.size, len(sent), tt.want)
			}
		})
	}
}

// TestWatchOfAWholeList: families whose lists have no count can be watched as
// well.
func TestWatchOfAWholeList(t *testing.T) {
	t.Parallel()
	for _, server := range []stub.List{{Whole: true, NoCount: true}, {Whole: true}, {Whole: true, Bare: true}} {
		synctest.Test(t, func(t *testing.T) {
			server.Items = stub.Numbered(20)
			network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
				if !strings.HasSuffix(req.URL.Path, "/ssh-public-key") { // of those that are no longer in the list
					return stub.Respond(404, stub.Envelope(404)), nil
				}
				return server.Answer(req)
			}}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			counts := map[cloudapi.EventType]int{}
			for e, err := range sdktest.Recorded(t, &network).SSHPublicKeys.Watch(ctx, &cloudapi.WatchOptions{PageSize: 10, Progress: func(p cloudapi.Progress) {
				switch p.Polls {
				case 2:
					server.Items = server.Items[5:]
				case 4:
					cancel()
				}
			}}) {
				if err == nil {
					counts[e.Type]++
				}
			}
			if want := map[cloudapi.EventType]int{cloudapi.EventAdded: 20, cloudapi.EventDeleted: 5}; !maps.Equal(counts, want) {
				t.Errorf("%+v: got %v", server, counts)
			}
		})
	}
}

func TestWatchCanBeRangedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := stub.Recorder{Answer: stub.Always(200, listOf("a", "b"))}
		opts := &cloudapi.WatchOptions{PageSize: 10}
		seq := sdktest.Recorded(t, &network).VMs.Watch(t.Context(), opts)
		if n := len(network.Take()); n != 0 {
			t.Errorf("%d requests were sent before the first range", n)
		}
		*opts = cloudapi.WatchOptions{Location: "elsewhere", PageSize: 1}
		for range 2 {
			next, stop := iter.Pull2(seq) // a range within the range
			for e := range seq {
				other, _, _ := next()
				if text(e) != text(other) || e.Record == other.Record {
					t.Errorf("got %v and %v", text(e), text(other))
				}
				if e.Record.Name == "b" {
					break
				}
			}
			stop()
		}
		for _, s := range network.Take() {
			if s.Target != "/project/"+stub.Project+"/vm?page_size=10" {
				t.Errorf("asked for %s", s.Target)
			}
		}
	})
}

// TestLeavingAWatch: the bubble fails if a goroutine is left.
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

// TestWatchedRecordsBelongToTheProgram: changes that the program makes to
// records cause no events, and the program gets its own records back.
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

// TestWatchIgnoresOrder: the order of lists within a record is ignored.
func TestWatchIgnoresOrder(t *testing.T) {
	t.Parallel()
	const subnet = `{"items":[{"id":"ps00000000021g000000000001","name":"net-1","firewalls":[%s],"nics":[%s]}],"count":1}`
	firewall := func(id string, rules ...string) string {
		return fmt.Sprintf(`{"id":"%s","name":"f","firewall_rules":[%s]}`, id, strings.Join(rules, ","))
	}
	const ssh, web, nic1, nic2 = `{"id":"fr1","cidr":"0.0.0.0/0","port_range":"22..22"}`, `{"id":"fr2","cidr":"0.0.0.0/0","port_range":"80..80"}`,
		`{"id":"nc1","vm_name":"a"}`, `{"id":"nc2","vm_name":null}`
	show := func(firewalls, nics string) string { return fmt.Sprintf(subnet, firewalls, nics) }
	synctest.Test(t, func(t *testing.T) {
		rounds := []any{
			show(firewall("fw1", ssh, web)+","+firewall("fw2", ssh), nic1+","+nic2),
			show(firewall("fw2", ssh)+","+firewall("fw1", web, ssh), nic2+","+nic1),
			show(firewall("fw2", web)+","+firewall("fw1", web, ssh), nic2+","+nic1), // another rule
			show(firewall("fw2", web)+","+firewall("fw1", web, ssh), nic2),
			show(firewall("fw2", web)+","+firewall("fw1", web, ssh), nic2+","+nic2), // twice
			show(firewall("fw2", ssh)+","+firewall("fw1", web, web), nic2+","+nic2), // rules changed places
			show(firewall("fw2", ssh)+","+firewall("fw1", ssh, ssh), nic2+","+nic2),
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		round, changed := 0, map[int]bool{}
		for _, err := range sdktest.Recorded(t, stub.Polled(rounds...)).PrivateSubnets.Watch(ctx, &cloudapi.WatchOptions{Progress: func(p cloudapi.Progress) {
			if round = p.Polls; round == len(rounds) {
				cancel()
			}
		}}) {
			if err == nil {
				changed[round] = true
			}
		}
		if want := map[int]bool{0: true, 2: true, 3: true, 4: true, 5: true, 6: true}; !maps.Equal(changed, want) {
			t.Errorf("events came in the rounds %v", changed)
		}
	})
}

// TestWatchComparesEverything changes every field of every watched record, one
// at a time, which must cause an event.
func TestWatchComparesEverything(t *testing.T) {
	t.Parallel()
	digest := diff.NewDigester().Sum
	watches := 0
	for _, service := range reflect.VisibleFields(reflect.TypeFor[cloudapi.Client]()) {
		watch, ok := service.Type.MethodByName("Watch")
		if !ok {
			continue
		}
		watches++
		event := watch.Type.Out(0).In(0).In(0) // of the sequence's function
		if event.Kind() != reflect.Struct || event.NumField() != 3 {
			t.Fatalf("%s yields %v", service.Name, event)
		}
		record := event.Field(1).Type.Elem()
		same := digest(sdktest.Fill(record, "x"))
		if digest(sdktest.Fill(record, "x")) != same || digest(reflect.New(record).Elem()) == same {
			t.Errorf("two records of %s differ, or a record is as good as none", service.Name)
		}
		for _, change := range changes(record) {
			v := sdktest.Fill(record, "x")
			where := change(v)
			if digest(v) == same {
				t.Errorf("%s does not see a change of %s", service.Name, where)
			}
		}
	}
	if watches != 12 {
		t.Errorf("there are %d watches, not 12", watches)
	}
	if digest(reflect.ValueOf(&cloudapi.VM{Name: "ab", State: "c"}).Elem()) == digest(reflect.ValueOf(&cloudapi.VM{Name: "a", State: "bc"}).Elem()) {
		t.Error("where a text ends makes no difference")
	}
	moment := cloudapi.Postgres{LatestRestoreTime: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)}
	elsewhere := cloudapi.Postgres{LatestRestoreTime: moment.LatestRestoreTime.In(time.FixedZone("", 3600))}
	if digest(reflect.ValueOf(&moment).Elem()) != digest(reflect.ValueOf(&elsewhere).Elem()) {
		t.Error("the same moment in another zone is a change")
	}
}

// changes returns functions that each change one part of a filled value of a
// type and return its name.
func changes(t reflect.Type, within ...reflect.Type) (all []func(reflect.Value) string) {
	if slices.Contains(within, t) {
		return nil // fill.Value stops here as well
	}
	here := func(name string, change func(reflect.Value)) {
		all = append(all, func(v reflect.Value) string { change(v); return name })
	}
	below := func(name string, t reflect.Type, get func(reflect.Value) reflect.Value) {
		for _, change := range changes(t, within...) {
			all = append(all, func(v reflect.Value) string { return name + change(get(v)) })
		}
	}
	switch t {
	case reflect.TypeFor[cloudapi.Secret]():
		here("secret", func(v reflect.Value) { v.Set(reflect.ValueOf(cloudapi.NewSecret("y"))) })
		return all
	case reflect.TypeFor[time.Time]():
		here("time", func(v reflect.Value) { v.Set(reflect.ValueOf(v.Interface().(time.Time).Add(1))) })
		return all
	}
	within = append(slices.Clone(within), t)
	switch t.Kind() {
	case reflect.String:
		here("text", func(v reflect.Value) { v.SetString("y") })
		here("length", func(v reflect.Value) { v.SetString("xx") })
	case reflect.Bool:
		here("flag", func(v reflect.Value) { v.SetBool(false) })
	case reflect.Int:
		here("number", func(v reflect.Value) { v.SetInt(2) })
	case reflect.Float64:
		here("number", func(v reflect.Value) { v.SetFloat(1.5) })
	case reflect.Pointer:
		here("nil", func(v reflect.Value) { v.SetZero() })
		below("*", t.Elem(), reflect.Value.Elem)
	case reflect.Slice:
		here("length", func(v reflect.Value) { v.Set(reflect.AppendSlice(v, v)) })
		here("none", func(v reflect.Value) { v.SetZero() })
		below("[]", t.Elem(), func(v reflect.Value) reflect.Value { return v.Index(0) })
	case reflect.Struct:
		for i := range t.NumField() {
			below("."+t.Field(i).Name, t.Field(i).Type, func(v reflect.Value) reflect.Value { return v.Field(i) })
		}
	}
	return all
}

// stray is a gateway's 404.
const stray = stub.BadNotFound("no such backend")

// walks is how many times a list is walked before it counts as stalled.
const walks = 4
