package lists_test

import (
	"context"
	"errors"
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

// TestAllStalls: a list that can't be completed ends with an error that says
// why, after few requests, and no item is yielded twice.
func TestAllStalls(t *testing.T) {
	t.Parallel()
	items := stub.Numbered(50)
	type page struct {
		items []stub.Item
		count *int
	}
	full := page{items[:10], new(50)}
	for _, tt := range []struct {
		name  string
		after string
		pages []page // the last one is repeated
		want  []stub.Item
		text  string
	}{
		{"the first page forever", "", []page{full}, items[:10], "already used"},
		{"the first page forever, no count", "", []page{{items[:10], nil}}, items[:10], "already used"},
		{"a cycle", "", []page{full, {items[10:20], new(50)}, {items[20:30], new(50)}, full}, items[:30], "already used"},
		{"a whole list whose last item goes", "", []page{{items[:10], new(10)}, {items[:9], new(9)}}, items[:10], "already used"},
		{"the caller's cursor again", items[9].ID, []page{full}, nil, "already used"},
		{"items that are not there", "", []page{{nil, new(50)}}, nil, "0 of 50 items reached"},
		{"an empty page on the way, counted late", "", []page{{items[:10], nil}, {items[10:15], new(25)}, {nil, new(25)}}, items[:15], "15 of 25 items reached"},
	} {
		for _, prefetch := range []int{0, 2} {
			synctest.Test(t, func(t *testing.T) {
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
				got, err := ids(t, sdktest.Recorded(t, &network, cloudapi.WithPrefetch(prefetch)).VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: 10, StartAfter: tt.after}))
				if !slices.Equal(got, stub.IDsOf(tt.want)) || served > len(tt.pages)+4 {
					t.Errorf("%s: got %d items in %d requests, want %d", tt.name, len(got), served, len(tt.want))
				}
				if !errors.Is(err, cloudapi.ErrPaginationStalled) || !strings.HasPrefix(err.Error(), "cloudapi: VMs.List: pagination stalled: ") || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("%s: the error is %v", tt.name, err)
				}
			})
		}
	}
}

// TestAllByName: names may occur in several locations. If a page ends between
// two equal names, the second item is lost, and the range ends with an error.
func TestAllByName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := stub.List{Items: stub.Numbered(30)}
		server.Items[10].Name = server.Items[9].Name
		client := sdktest.Recorded(t, &stub.Recorder{Answer: server.Answer})
		for _, tt := range []struct {
			opts cloudapi.ListOptions
			want []stub.Item
			lost string // the end of the error
		}{
			{cloudapi.ListOptions{PageSize: 10, OrderColumn: cloudapi.OrderByName}, append(slices.Clone(server.Items[:10]), server.Items[11:]...),
				"29 of 30 items reached; of items with the same name some may be left out: order by ID"},
			{cloudapi.ListOptions{PageSize: 7, OrderColumn: cloudapi.OrderByName}, server.Items, ""},
			{cloudapi.ListOptions{PageSize: 10, OrderColumn: cloudapi.OrderByID}, server.Items, ""},
			{cloudapi.ListOptions{PageSize: 10, OrderColumn: cloudapi.OrderByName, StartAfter: server.Items[4].Name}, server.Items[5:], ""},
		} {
			got, err := ids(t, client.VMs.All(t.Context(), &tt.opts))
			if !slices.Equal(got, stub.IDsOf(tt.want)) || errors.Is(err, cloudapi.ErrPaginationStalled) != (err != nil) || (err != nil) != (tt.lost != "") {
				t.Errorf("%+v: got %d of %d items: %v", tt.opts, len(got), len(tt.want), err)
			}
			if err != nil && !strings.HasSuffix(err.Error(), tt.lost) {
				t.Errorf("the error is %v", err)
			}
		}
	})
}

// TestAllAsksForMoreThanThereIs: the real server sends at most 1000 items in a
// page, so a page of 1000 may not be the last one, even if the count says so.
func TestAllAsksForMoreThanThereIs(t *testing.T) {
	t.Parallel()
	items := stub.Numbered(1001)
	server := stub.List{Items: items, Max: 1000}
	server.Between = func() { server.Items = items[1:] }
	got, err := ids(t, sdktest.Recorded(t, &stub.Recorder{Answer: server.Answer}).VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: 5000}))
	if err != nil || len(got) != 1001 {
		t.Errorf("got %d of 1001 items: %v", len(got), err)
	}
}

// TestAllLooksAgain: a list that ends with fewer items than its count says is
// read again after a delay, up to three times.
func TestAllLooksAgain(t *testing.T) {
	t.Parallel()
	all := func(t *testing.T, ctx context.Context, isEmpty func(request int) bool) (got []string, took time.Duration, err error) {
		server, served, start := stub.List{Items: stub.Numbered(35)}, 0, time.Now()
		client := sdktest.Recorded(t, &stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
			if served++; isEmpty(served) {
				return stub.Respond(200, `{"items":[],"count":35}`), nil
			}
			return server.Answer(req)
		}}, cloudapi.WithRetry(cloudapi.RetryPolicy{MinDelay: time.Minute, MaxDelay: time.Hour}))
		got, err = ids(t, client.VMs.All(ctx, &cloudapi.ListOptions{PageSize: 10}))
		return got, time.Since(start), err
	}
	for _, empty := range [][]int{{1}, {1, 2, 3}, {2}, {2, 5}} {
		synctest.Test(t, func(t *testing.T) {
			got, took, err := all(t, t.Context(), func(request int) bool { return slices.Contains(empty, request) })
			if err != nil || !slices.Equal(got, stub.IDsOf(stub.Numbered(35))) || took == 0 || took > 7*time.Minute {
				t.Errorf("requests %d empty: got %d of 35 items after %v: %v", empty, len(got), took, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // the delay ends with the context
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, took, err := all(t, ctx, func(int) bool { return true }); !errors.Is(err, context.DeadlineExceeded) || took != time.Millisecond {
			t.Errorf("after %v: %v", took, err)
		}
	})
}
