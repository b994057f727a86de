package watch_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

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
