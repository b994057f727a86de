package lists_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestAllWhenTheListChanges: items may come and go between pages.
func TestAllWhenTheListChanges(t *testing.T) {
	t.Parallel()
	all := stub.Numbered(40)
	for _, tt := range []struct {
		name          string
		first, second []stub.Item
	}{
		{"items were added", all[:20], all[:40]},
		{"items were removed", all[:40], all[:20]},
		{"items before the cursor were removed", all[:40], all[10:40]},
		{"all were removed", all[:40], nil},
	} {
		server := stub.List{Items: tt.first}
		network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
			defer func() { server.Items = tt.second }()
			return server.Answer(req)
		}}
		got, err := ids(t, sdktest.Recorded(t, &network).VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: 10}))
		want := stub.IDsOf(tt.first[:10])
		for _, item := range tt.second {
			if item.ID > want[9] {
				want = append(want, item.ID)
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %d items, want %d: %v", tt.name, len(got), len(want), err)
		}
	}
}

// TestAllWithOddCounts: neither a count that is too small nor one that only some
// pages have ends a list of several pages.
func TestAllWithOddCounts(t *testing.T) {
	t.Parallel()
	always := func(int) bool { return true }
	for name, tt := range map[string]struct {
		isOdd func(page int) bool
		count any // in place of the right one
	}{
		"negative":     {always, -1},
		"zero":         {always, 0},
		"one":          {always, 1},
		"too small":    {always, 9},
		"late":         {func(page int) bool { return page < 2 }, nil},
		"first":        {func(page int) bool { return page > 1 }, nil},
		"now and then": {func(page int) bool { return page%2 == 1 }, nil},
	} {
		for _, size := range []int{0, 5, 10, 25, 30} {
			if count, ok := tt.count.(int); ok && count > size {
				continue
			}
			server, page := stub.List{Items: stub.Numbered(size)}, 0
			network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
				resp, err := server.Answer(req)
				if page++; err != nil || !tt.isOdd(page) {
					return resp, err
				}
				var body map[string]any
				if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
					return nil, err
				}
				if body["count"] = tt.count; tt.count == nil {
					delete(body, "count")
				}
				return stub.Respond(200, string(stub.JSON(body))), nil
			}}
			got, err := ids(t, sdktest.Recorded(t, &network).VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: 10}))
			if err != nil || !slices.Equal(got, stub.IDsOf(server.Items)) {
				t.Errorf("%s: got %d of %d items: %v", name, len(got), size, err)
			}
		}
	}
}

// TestAllStalls: a list that can't be completed ends with an error, and no item
// is yielded twice.
func TestAllStalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testAllStalls)
}

func testAllStalls(t *testing.T) {
	items := stub.Numbered(50)
	count := func(n int) *int { return &n }
	type page struct {
		items []stub.Item
		count *int
	}
	for _, tt := range []struct {
		name  string
		opts  cloudapi.ListOptions
		pages []page // the last one is repeated
		want  []stub.Item
		text  string
	}{
		{"the first page forever", cloudapi.ListOptions{}, []page{{items[:10], count(50)}}, items[:10], "already used"},
		{"the first page until the count", cloudapi.ListOptions{}, []page{{items[:10], count(20)}}, items[:10], "already used"},
		{"the first page forever, no count", cloudapi.ListOptions{}, []page{{items[:10], nil}}, items[:10], "already used"},
		{"a later page forever", cloudapi.ListOptions{}, []page{{items[:10], count(50)}, {items[10:20], count(50)}}, items[:20], "already used"},
		{"a cycle", cloudapi.ListOptions{}, []page{{items[:10], count(50)}, {items[10:20], count(50)}, {items[20:30], count(50)}, {items[:10], count(50)}}, items[:30], "already used"},
		{"a page that overlaps, forever", cloudapi.ListOptions{}, []page{{items[:10], count(30)}, {items[9:19], count(30)}}, items[:19], "already used"},
		{"a short page again", cloudapi.ListOptions{}, []page{{items[:10], nil}, {items[5:10], nil}}, items[:10], "already used"},
		{"a whole list whose last item goes", cloudapi.ListOptions{}, []page{{items[:10], count(10)}, {items[:9], count(9)}}, items[:10], "already used"},
		{"the caller's cursor again", cloudapi.ListOptions{StartAfter: items[9].ID}, []page{{items[:10], count(50)}}, nil, "already used"},
		{"items that are not there", cloudapi.ListOptions{}, []page{{nil, count(50)}}, nil, "0 of 50 items reached"},
		{"an empty page on the way", cloudapi.ListOptions{}, []page{{items[:10], count(25)}, {nil, count(25)}}, items[:10], "10 of 25 items reached"},
		{"an empty page on the way, counted late", cloudapi.ListOptions{}, []page{{items[:10], nil}, {items[10:15], count(25)}, {nil, count(25)}}, items[:15], "15 of 25 items reached"},
		{"a short page on the way", cloudapi.ListOptions{}, []page{{items[:3], count(25)}, {nil, count(25)}}, items[:3], "3 of 25 items reached"},
	} {
		for _, prefetch := range []int{0, 2} {
			served := 0
			network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
				p := tt.pages[min(served, len(tt.pages)-1)]
				served++
				body := map[string]any{"items": append([]stub.Item{}, p.items...)}
				if p.count != nil {
					body["count"] = *p.count
				}
				return stub.Respond(200, string(stub.JSON(body))), nil
			}}
			opts := tt.opts
			opts.PageSize = 10
			got, err := ids(t, sdktest.Recorded(t, &network, cloudapi.WithPrefetch(prefetch)).VMs.All(t.Context(), &opts))
			if !slices.Equal(got, stub.IDsOf(tt.want)) {
				t.Errorf("%s: got %d items, want %d", tt.name, len(got), len(tt.want))
			}
			if !errors.Is(err, cloudapi.ErrPaginationStalled) || !strings.Contains(err.Error(), tt.text) || !strings.HasPrefix(err.Error(), "cloudapi: VMs.List: pagination stalled: ") {
				t.Errorf("%s: the error is %v", tt.name, err)
			}
			if served > len(tt.pages)+4 {
				t.Errorf("%s: %d requests were sent", tt.name, served)
			}
		}
	}
}

// TestAllByName: names may occur in several locations, and a page that ends
// between two equal names loses the second item.
func TestAllByName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testAllByName)
}

func testAllByName(t *testing.T) {
	server := stub.List{Items: stub.Numbered(30)}
	server.Items[10].Name = server.Items[9].Name
	network := stub.Recorder{Answer: server.Answer}
	client := sdktest.Recorded(t, &network)
	for _, tt := range []struct {
		opts cloudapi.ListOptions
		lost bool
		want []stub.Item
	}{
		{cloudapi.ListOptions{PageSize: 10, OrderColumn: cloudapi.OrderByName}, true, append(slices.Clone(server.Items[:10]), server.Items[11:]...)},
		{cloudapi.ListOptions{PageSize: 7, OrderColumn: cloudapi.OrderByName}, false, server.Items},
		{cloudapi.ListOptions{PageSize: 10, OrderColumn: cloudapi.OrderByID}, false, server.Items},
		{cloudapi.ListOptions{PageSize: 10, OrderColumn: cloudapi.OrderByName, StartAfter: server.Items[4].Name}, false, server.Items[5:]},
	} {
		got, err := ids(t, client.VMs.All(t.Context(), &tt.opts))
		if !slices.Equal(got, stub.IDsOf(tt.want)) || errors.Is(err, cloudapi.ErrPaginationStalled) != tt.lost || err != nil != tt.lost {
			t.Errorf("%+v: got %d of %d items: %v", tt.opts, len(got), len(tt.want), err)
		}
		if tt.lost && !strings.Contains(err.Error(), "29 of 30 items reached; of items with the same name some may be left out: order by ID") {
			t.Errorf("the error is %v", err)
		}
	}
}

// TestWholeListsAreChecked: a list whose count is larger than its number of
// items is requested again, and ends with an error if that doesn't help.
func TestWholeListsAreChecked(t *testing.T) {
	t.Parallel()
	for _, short := range []int{1, 3, 100} { // number of responses with 10 of 25 items
		synctest.Test(t, func(t *testing.T) {
			items := stub.Numbered(25)
			served := 0
			network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
				page := items
				if served++; served <= short {
					page = items[:10]
				}
				return stub.Respond(200, string(stub.JSON(map[string]any{"items": page, "count": 25}))), nil
			}}
			got, err := ids(t, sdktest.Recorded(t, &network).Postgres.AllFirewallRules(t.Context(), "eu-central-h1", "orders-db", nil))
			switch {
			case short < 100 && (err != nil || !slices.Equal(got, stub.IDsOf(items))):
				t.Errorf("after %d short responses: %d items, %v", short, len(got), err)
			case short == 100 && (!errors.Is(err, cloudapi.ErrPaginationStalled) || !slices.Equal(got, stub.IDsOf(items[:10])) || served > 5):
				t.Errorf("%d items in %d requests: %v", len(got), served, err)
			}
		})
	}
}

// changing responds to the requests for a list that changes. It calls on with
// the number of requests begun, and midway with the number of pages read,
// before it counts the items.
type changing struct {
	stub.List
	begun, read int
	on, midway  func(*changing, int)
}

func (c *changing) RoundTrip(req *http.Request) (*http.Response, error) {
	c.begun++
	if c.on != nil {
		c.on(c, c.begun)
	}
	c.Between = func() {
		if c.read++; c.midway != nil {
			c.midway(c, c.read)
		}
	}
	return c.Answer(req)
}

func (c *changing) remove(id string) {
	c.Items = slices.DeleteFunc(slices.Clone(c.Items), func(l stub.Item) bool { return l.ID == id })
}

func (c *changing) insert(item stub.Item) {
	c.Items = append(slices.Clone(c.Items), item)
	slices.SortFunc(c.Items, func(a, b stub.Item) int { return strings.Compare(a.ID, b.ID) })
}

// TestAllLosesNothingThatStays: whatever comes and goes between two requests,
// or between a page and its count, items that stay are yielded once.
func TestAllLosesNothingThatStays(t *testing.T) {
	t.Parallel()
	items := stub.Numbered(60)
	even, odd := []stub.Item{}, []stub.Item{}
	for i := 0; i < len(items); i += 2 {
		even, odd = append(even, items[i]), append(odd, items[i+1])
	}
	for _, tt := range []struct {
		name       string
		size       int // of the list
		on, midway func(*changing, int)
	}{
		{"one goes behind the cursor and another comes ahead of it", 20, func(c *changing, n int) {
			if n == 2 {
				c.remove(even[0].ID)
				c.insert(odd[15])
			}
		}, nil},
		{"one goes ahead of the cursor and another comes behind it", 20, func(c *changing, n int) {
			if n == 2 {
				c.remove(even[15].ID)
				c.insert(odd[0])
			}
		}, nil},
		{"one goes between a full page and its count", 11, nil, func(c *changing, n int) {
			if n == 1 {
				c.remove(even[0].ID)
			}
		}},
		{"one goes between the second page and its count", 21, nil, func(c *changing, n int) {
			if n == 2 {
				c.remove(even[0].ID)
			}
		}},
		{"one comes between an empty page and its count", 0, nil, func(c *changing, n int) {
			if n == 1 {
				c.insert(even[0])
			}
		}},
		{"one comes between an empty page and its count, and goes again", 0, func(c *changing, n int) {
			if n == 2 {
				c.Items = nil
			}
		}, func(c *changing, n int) {
			if n == 1 {
				c.insert(even[0])
			}
		}},
		{"one comes between a short page and its count", 5, nil, func(c *changing, n int) {
			if n == 1 {
				c.insert(even[10])
			}
		}},
		{"all go", 20, func(c *changing, n int) {
			if n == 2 {
				c.Items = nil
			}
		}, nil},
	} {
		for _, prefetch := range []int{0, 2} {
			synctest.Test(t, func(t *testing.T) {
				server := &changing{List: stub.List{Items: even[:tt.size]}, on: tt.on, midway: tt.midway}
				network := stub.Recorder{Answer: server.RoundTrip}
				got, err := ids(t, sdktest.Recorded(t, &network, cloudapi.WithPrefetch(prefetch)).VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: 10}))
				if err != nil {
					t.Errorf("%s, prefetch %d: %v", tt.name, prefetch, err)
				}
				for _, item := range even[:tt.size] {
					if slices.Contains(stub.IDsOf(server.Items), item.ID) && !slices.Contains(got, item.ID) {
						t.Errorf("%s, prefetch %d: %s was there all the time, and is not among the %d", tt.name, prefetch, item.Name, len(got))
					}
				}
				if slices.Sort(got); len(slices.Compact(got)) != len(got) {
					t.Errorf("%s, prefetch %d: one came twice: %q", tt.name, prefetch, got)
				}
			})
		}
	}
}

// TestAllAsksForMoreThanThereIs: the real server sends at most 1000 items in a
// page, so a page of 1000 may not be the last one.
func TestAllAsksForMoreThanThereIs(t *testing.T) {
	t.Parallel()
	items := stub.Numbered(1001)
	server := &changing{List: stub.List{Items: items, Max: 1000}, midway: func(c *changing, n int) {
		if n == 1 {
			c.remove(items[0].ID)
		}
	}}
	network := stub.Recorder{Answer: server.RoundTrip}
	got, err := ids(t, sdktest.Recorded(t, &network).VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: 5000}))
	if err != nil || len(got) != 1001 {
		t.Errorf("got %d of 1001 items: %v", len(got), err)
	}
}

// TestAllLooksAgain: a list that ends before as many items as it counts is
// walked again, after a delay.
func TestAllLooksAgain(t *testing.T) {
	t.Parallel()
	items := stub.Numbered(35)
	for _, tt := range []struct {
		name  string
		empty []int // the requests that get an empty page
	}{
		{"the first page", []int{1}},
		{"the first page, three times", []int{1, 2, 3}},
		{"a later page", []int{2}},
		{"two later pages", []int{2, 5}},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := stub.List{Items: items}
			served := 0
			network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
				if served++; slices.Contains(tt.empty, served) {
					return stub.Respond(200, `{"items":[],"count":35}`), nil
				}
				return server.Answer(req)
			}}
			start := time.Now()
			got, err := ids(t, sdktest.Recorded(t, &network, cloudapi.WithRetry(cloudapi.RetryPolicy{MinDelay: time.Minute, MaxDelay: time.Hour})).VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: 10}))
			if err != nil || !slices.Equal(got, stub.IDsOf(items)) {
				t.Errorf("%s empty: got %d of 35 items: %v", tt.name, len(got), err)
			}
			if took := time.Since(start); took == 0 || took > 7*time.Minute {
				t.Errorf("%s empty: it paused for %v", tt.name, took)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // the delay ends with the context
		network := stub.Recorder{Answer: stub.Always(200, `{"items":[],"count":35}`)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := ids(t, sdktest.Recorded(t, &network, cloudapi.WithRetry(cloudapi.RetryPolicy{MinDelay: time.Hour, MaxDelay: time.Hour})).VMs.All(ctx, nil))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Millisecond {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// TestAllYieldsNothingTwice: a page may come twice, or begin before the cursor.
func TestAllYieldsNothingTwice(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"", cloudapi.OrderByName} {
		for _, size := range []int{25, 12_000} { // more IDs than are remembered
			for _, stale := range []int{0, 2, 3, 4} { // the page that is too early; 0: each
				pageSize := max(size/12, 10)
				for _, back := range []int{1, pageSize / 2, pageSize} {
					server, served := stub.List{Items: stub.Numbered(size)}, 0
					network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
						query := req.URL.Query()
						served++
						if after := query.Get("start_after"); after != "" && (stale == 0 || stale == served) {
							at := slices.IndexFunc(server.Items, func(l stub.Item) bool { return l.Key(order) == after })
							query.Del("start_after")
							if at >= back {
								query.Set("start_after", server.Items[at-back].Key(order))
							}
							req.URL.RawQuery = query.Encode()
						}
						return server.Answer(req)
					}}
					got, err := ids(t, sdktest.Recorded(t, &network).VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: pageSize, OrderColumn: order}))
					if err != nil && !errors.Is(err, cloudapi.ErrPaginationStalled) || !slices.Equal(got, stub.IDsOf(server.Items[:len(got)])) {
						t.Errorf("%d items, page %d too early by %d: got %d items: %v", size, stale, back, len(got), err)
					}
					if err == nil && len(got) != size {
						t.Errorf("%d items, page %d too early by %d: got %d items, and no error", size, stale, back, len(got))
					}
				}
			}
		}
	}
}

// TestAllInAnyOrder: no items are lost if the server's order isn't the order of
// IDs but, for example, the order of names.
func TestAllInAnyOrder(t *testing.T) {
	t.Parallel()
	shuffled := stub.Numbered(5000)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	turned := slices.Concat(stub.Numbered(5000)[1500:], stub.Numbered(5000)[:1500])
	for _, tt := range []struct {
		items []stub.Item
		order string
		size  int
	}{
		{shuffled[:100], "", 2}, {shuffled[:100], "", 3}, {shuffled[:100], "", 30}, {shuffled, "", 1000},
		{shuffled, cloudapi.OrderByName, 1000}, {turned, cloudapi.OrderByName, 1000},
	} {
		network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
			after := req.URL.Query().Get("start_after")
			at := 1 + slices.IndexFunc(tt.items, func(l stub.Item) bool { return l.Key(tt.order) == after })
			return stub.Respond(200, string(stub.JSON(map[string]any{"items": tt.items[at:min(at+tt.size, len(tt.items))]}))), nil
		}}
		got, err := ids(t, sdktest.Recorded(t, &network).VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: tt.size, OrderColumn: tt.order}))
		if err != nil || !slices.Equal(got, stub.IDsOf(tt.items)) {
			t.Errorf("order %q, pages of %d: got %d of %d items: %v", tt.order, tt.size, len(got), len(tt.items), err)
		}
	}
}

// TestLongListIsWalkedAgain: of a list too long to be remembered, a second walk
// yields only what the first one didn't show, and an item that was added before
// the cursor doesn't make it incomplete.
func TestLongListIsWalkedAgain(t *testing.T) {
	t.Parallel()
	items := stub.Numbered(20_000)
	for _, tt := range []struct {
		name       string
		items      []stub.Item
		on, midway func(*changing, int)
		want       []stub.Item
	}{
		{"one comes before the cursor, and another goes", items[1:], func(c *changing, n int) {
			if n == 10 {
				c.remove(items[19_000].ID)
				c.insert(items[0])
			}
		}, nil, slices.Concat(items[1:19_000], items[19_001:])},
		{"one is hidden", items[:5001], func(c *changing, n int) {
			if n <= 6 {
				c.remove(items[3500].ID)
			}
		}, func(c *changing, n int) {
			if n <= 6 {
				c.insert(items[3500])
			}
		}, slices.Concat(items[:3500], items[3501:5001], items[3500:3501])},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := &changing{List: stub.List{Items: tt.items}, on: tt.on, midway: tt.midway}
			network := stub.Recorder{Answer: server.RoundTrip}
			got, err := ids(t, sdktest.Recorded(t, &network).VMs.All(t.Context(), nil))
			if err != nil || !slices.Equal(got, stub.IDsOf(tt.want)) {
				t.Errorf("%s: got %d items, want %d, or in another order: %v", tt.name, len(got), len(tt.want), err)
			}
		})
	}
}

// TestOrderOfIDs: within a kind, IDs are ordered like their UUIDs, as in lists
// of the real server.
func TestOrderOfIDs(t *testing.T) {
	t.Parallel()
	for _, kind := range []cloudapi.Kind{cloudapi.KindVM, cloudapi.KindLoadBalancer, cloudapi.KindProject} {
		var ids []cloudapi.ID
		for range 2000 {
			ids = append(ids, cloudapitest.NewID(kind))
		}
		byID, byUUID := slices.Clone(ids), slices.Clone(ids)
		slices.Sort(byID)
		slices.SortFunc(byUUID, func(a, b cloudapi.ID) int { return strings.Compare(a.UUID(), b.UUID()) })
		if !slices.Equal(byID, byUUID) {
			t.Errorf("%d IDs of kind %s have another order as UUIDs", len(ids), kind)
		}
	}
}
