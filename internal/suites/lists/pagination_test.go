package lists_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// ids ranges over a sequence and returns the IDs until its error.
func ids[T any](t *testing.T, seq iter.Seq2[*T, error]) (got []string, err error) {
	t.Helper()
	for item, e := range seq {
		if err != nil {
			t.Errorf("the sequence goes on after its error, with %v, %v", item, e)
		}
		if (item == nil) == (e == nil) {
			t.Errorf("the sequence yields %v, %v", item, e)
		}
		if err = e; e == nil {
			got = append(got, reflect.ValueOf(item).Elem().FieldByName("ID").String())
		}
	}
	return got, err
}

// cursors returns the start_after of each request.
func cursors(t *testing.T, sent []stub.Request) []string {
	t.Helper()
	var out []string
	for _, s := range sent {
		u := stub.Must(url.Parse(s.Target))(t)
		out = append(out, u.Query().Get("start_after"))
	}
	return out
}

func TestAllYieldsEachItemOnce(t *testing.T) {
	t.Parallel()
	for _, server := range []struct {
		name   string
		habits stub.List
		order  string
		page   int // maximum number of items in a page
	}{
		{"as the contract", stub.List{}, "", 10},
		{"by name", stub.List{}, cloudapi.OrderByName, 10},
		{"smaller pages", stub.List{Max: 3}, "", 3},
		{"one item a page", stub.List{Max: 1}, "", 1},
		{"no count", stub.List{NoCount: true}, "", 10},
		{"no count and smaller pages", stub.List{NoCount: true, Max: 7}, "", 7},
		{"bare array", stub.List{Bare: true}, "", 10},
	} {
		for _, size := range []int{0, 1, 9, 10, 11, 20, 100} {
			for _, prefetch := range []int{0, 1, 3, 50} {
				t.Run(fmt.Sprintf("%s/%d/%d", server.name, size, prefetch), func(t *testing.T) {
					t.Parallel()
					habits := server.habits
					habits.Items = stub.Numbered(size)
					network := stub.Recorder{Answer: habits.Answer}
					client := sdktest.Recorded(t, &network, cloudapi.WithPrefetch(prefetch))
					got, err := ids(t, client.VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: 10, OrderColumn: server.order}))
					if err != nil || !slices.Equal(got, stub.IDsOf(habits.Items)) {
						t.Errorf("got %d of %d items: %v", len(got), size, err)
					}
					want := []string{""} // the cursor after each page, of which the last is empty
					for i := server.page; i < size; i += server.page {
						want = append(want, habits.Items[i-1].Key(server.order))
					}
					if size > 0 {
						want = append(want, habits.Items[size-1].Key(server.order))
					}
					sent := cursors(t, network.Take())
					if len(sent) > len(want) || len(sent) < len(want)-1 || !slices.Equal(sent, want[:len(sent)]) {
						t.Errorf("asked for the pages after %q, where there are those after %q", sent, want)
					}
				})
			}
		}
	}
}

// TestAllTakesFewRequests: a list takes one request if the server sends a count
// and the page has room for more items, and at most one more than it has pages.
// Pages are as large as the server permits.
func TestAllTakesFewRequests(t *testing.T) {
	t.Parallel()
	items := stub.Numbered(2500)
	for _, tt := range []struct {
		items, pageSize int
		after           string
		whole           bool
		want, most      int // items, and requests
	}{
		{0, 0, "", false, 0, 1}, {1, 0, "", false, 1, 1}, {999, 0, "", false, 999, 1}, {9, 10, "", false, 9, 1}, {1500, 2000, "", false, 1500, 1},
		{25, 10, "", true, 25, 1}, {2500, 0, "", false, 2500, 4},
		{35, 10, items[9].ID, false, 25, 4}, {35, 0, items[34].ID, false, 0, 1}, {35, 0, "vmz", false, 0, 1},
	} {
		server := stub.List{Items: items[:tt.items], Whole: tt.whole}
		network := stub.Recorder{Answer: server.Answer}
		got, err := ids(t, sdktest.Recorded(t, &network).VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: tt.pageSize, StartAfter: tt.after}))
		sent := network.Take()
		if err != nil || len(sent) > tt.most || !slices.Equal(got, stub.IDsOf(items[tt.items-tt.want:tt.items])) {
			t.Errorf("%+v: got %d items in %d requests: %v", tt, len(got), len(sent), err)
		}
		if tt.pageSize == 0 && !strings.HasPrefix(sent[0].Target, "/project/"+stub.Project+"/vm?page_size=1000") {
			t.Errorf("%+v: asked for %s", tt, sent[0].Target)
		}
	}
}

// A wholeList is a list without parameters in the contract.
type wholeList struct {
	path string
	all  func(context.Context, *cloudapi.ListOptions) ([]string, error)
	list func(context.Context, *cloudapi.ListOptions) (items int, next string, err error)
}

func newWholeList[T any](t *testing.T, path string, all func(context.Context, *cloudapi.ListOptions) iter.Seq2[*T, error],
	list func(context.Context, *cloudapi.ListOptions) (*cloudapi.Page[T], error)) wholeList {
	return wholeList{
		path: "/project/" + stub.Project + path,
		all:  func(ctx context.Context, opts *cloudapi.ListOptions) ([]string, error) { return ids(t, all(ctx, opts)) },
		list: func(ctx context.Context, opts *cloudapi.ListOptions) (int, string, error) {
			page, err := list(ctx, opts)
			if err != nil {
				return 0, "", err
			}
			return len(page.Items), page.Next, nil
		},
	}
}

func wholeLists(t *testing.T, c *cloudapi.Client) []wholeList {
	return []wholeList{
		newWholeList(t, "/ssh-public-key", c.SSHPublicKeys.All, c.SSHPublicKeys.List),
		newWholeList(t, "/inference-api-key", c.InferenceAPIKeys.All, c.InferenceAPIKeys.List),
		newWholeList(t, "/vm-init-script", c.VMInitScripts.All, c.VMInitScripts.List),
		newWholeList(t, "/location/eu-central-h1/postgres/orders-db/firewall-rule",
			func(ctx context.Context, opts *cloudapi.ListOptions) iter.Seq2[*cloudapi.PostgresFirewallRule, error] {
				return c.Postgres.AllFirewallRules(ctx, "eu-central-h1", "orders-db", opts)
			},
			func(ctx context.Context, opts *cloudapi.ListOptions) (*cloudapi.Page[cloudapi.PostgresFirewallRule], error) {
				return c.Postgres.ListFirewallRules(ctx, "eu-central-h1", "orders-db", opts)
			}),
	}
}

// TestWholeLists: each of these lists takes one request without parameters.
func TestWholeLists(t *testing.T) {
	t.Parallel()
	for _, habits := range []stub.List{{NoCount: true}, {}, {Bare: true}} {
		for _, size := range []int{0, 1, 25, 1000, 1001} {
			for _, opts := range []*cloudapi.ListOptions{nil, {PageSize: 1}, {PageSize: 1000}} {
				server := stub.List{Items: stub.Numbered(size), Whole: true, NoCount: habits.NoCount, Bare: habits.Bare}
				network := stub.Recorder{Answer: server.Answer}
				for _, list := range wholeLists(t, sdktest.Recorded(t, &network)) {
					got, err := list.all(t.Context(), opts)
					if err != nil || !slices.Equal(got, stub.IDsOf(server.Items)) {
						t.Errorf("%s: All has %d of %d items: %v", list.path, len(got), size, err)
					}
					items, next, err := list.list(t.Context(), opts)
					if err != nil || items != size || next != "" {
						t.Errorf("%s: List has %d of %d items, and then those after %q: %v", list.path, items, size, next, err)
					}
					sent := network.Take()
					if len(sent) != 2 || sent[0].Target != list.path || sent[1].Target != list.path {
						t.Errorf("%s: %d requests were sent, the first for %s", list.path, len(sent), sent[0].Target)
					}
				}
			}
		}
	}
}

func TestWholeListsHaveNoCursor(t *testing.T) {
	t.Parallel()
	var network stub.Recorder
	for _, list := range wholeLists(t, sdktest.Recorded(t, &network)) {
		for name, opts := range map[string]*cloudapi.ListOptions{"StartAfter": {StartAfter: "a"}, "OrderColumn": {OrderColumn: cloudapi.OrderByID}, "Location": {Location: "a"}} {
			_, allErr := list.all(t.Context(), opts)
			_, _, listErr := list.list(t.Context(), opts)
			for _, err := range []error{allErr, listErr} {
				if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != name || !strings.Contains(e.Reason, "does not apply to this list") {
					t.Errorf("%s with %s: %v", list.path, name, err)
				}
			}
		}
	}
	if sent := network.Take(); len(sent) != 0 {
		t.Errorf("%d requests were sent", len(sent))
	}
}

func TestAllCanBeRangedAgain(t *testing.T) {
	t.Parallel()
	server := stub.List{Items: stub.Numbered(25)}
	network := stub.Recorder{Answer: server.Answer}
	opts := &cloudapi.ListOptions{PageSize: 10}
	seq := sdktest.Recorded(t, &network).VMs.All(t.Context(), opts)
	if n := len(network.Take()); n != 0 {
		t.Errorf("%d requests were sent before the first range", n)
	}
	*opts = cloudapi.ListOptions{Location: "elsewhere", StartAfter: "vmz", PageSize: 1, OrderColumn: cloudapi.OrderByName}
	for range 2 {
		next, stop := iter.Pull2(seq) // a range within the range
		first, _, _ := next()
		got, err := ids(t, seq)
		second, _, _ := next()
		stop()
		if err != nil || !slices.Equal(got, stub.IDsOf(server.Items)) || first.ID != got[0] || second.ID != got[1] {
			t.Errorf("got %d items, and %v, %v: %v", len(got), first, second, err)
		}
	}
	for _, s := range network.Take() {
		if !strings.HasPrefix(s.Target, "/project/"+stub.Project+"/vm?page_size=10") {
			t.Errorf("asked for %s", s.Target)
		}
	}
}

func TestAllAfterAnError(t *testing.T) {
	t.Parallel()
	server := stub.List{Items: stub.Numbered(50)}
	for _, prefetch := range []int{0, 1, 3} {
		served := 0
		network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
			if served++; served == 3 {
				return stub.Respond(400, stub.Envelope(400)), nil
			}
			return server.Answer(req)
		}}
		got, err := ids(t, sdktest.Recorded(t, &network, cloudapi.WithPrefetch(prefetch)).VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: 10}))
		if !errors.Is(err, cloudapi.ErrInvalidRequest) || !slices.Equal(got, stub.IDsOf(server.Items[:20])) || served != 3 {
			t.Errorf("prefetch %d: %d items in %d requests, then %v", prefetch, len(got), served, err)
		}
	}
}

func TestCollect(t *testing.T) {
	t.Parallel()
	server := stub.List{Items: stub.Numbered(3)}
	network := stub.Recorder{Answer: server.Answer}
	client := sdktest.Recorded(t, &network)
	vms, err := cloudapi.Collect(client.VMs.All(t.Context(), nil))
	if err != nil || len(vms) != 3 || vms[2].ID != server.Items[2].ID {
		t.Errorf("Collect = %v, %v", vms, err)
	}
	server.Items = nil
	if vms, err = cloudapi.Collect(client.VMs.All(t.Context(), nil)); vms == nil || len(vms) != 0 || err != nil {
		t.Errorf("Collect of nothing = %#v, %v", vms, err)
	}
	if vms, err = cloudapi.Collect[cloudapi.VM](nil); vms != nil || !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("Collect of no sequence = %#v, %v", vms, err)
	}
	if vms, err = cloudapi.Collect(client.InProject("").VMs.All(t.Context(), nil)); vms != nil || !errors.Is(err, cloudapi.ErrNoProject) {
		t.Errorf("Collect of an error = %#v, %v", vms, err)
	}
}

// TestBreakLeavesNothing: the bubble fails if a goroutine is left.
func TestBreakLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, prefetch := range []int{0, 1, 2, 5} {
		synctest.Test(t, func(t *testing.T) { // a panic leaves nothing either
			server := stub.List{Items: stub.Numbered(1000)}
			network := stub.Recorder{Answer: server.Answer}
			defer func() {
				if r := recover(); r != "enough" {
					t.Errorf("recovered %v", r)
				}
			}()
			for range sdktest.Recorded(t, &network, cloudapi.WithPrefetch(prefetch)).VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: 10}) {
				panic("enough")
			}
		})
		for _, taken := range []int{1, 10, 11, 25} {
			t.Run(fmt.Sprintf("%d/%d", prefetch, taken), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					server := stub.List{Items: stub.Numbered(1000)}
					pending := 0
					network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
						pending++
						defer func() { pending-- }()
						select { // a request takes a second
						case <-time.After(time.Second):
							return server.Answer(req)
						case <-req.Context().Done():
							return nil, req.Context().Err()
						}
					}}
					client := sdktest.Recorded(t, &network, cloudapi.WithPrefetch(prefetch))
					got := 0
					var stopped time.Time
					for _, err := range client.VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: 10}) {
						if err != nil {
							t.Fatal(err)
						}
						if got++; got == taken {
							stub.Elapse(time.Second / 2) // so that a request is in progress
							stopped = time.Now()
							break
						}
					}
					if took := time.Since(stopped); took != 0 || pending != 0 {
						t.Errorf("after the break %d requests went on, for %v", pending, took)
					}
					page := (taken-1)/10 + 1
					if n := len(network.Take()); n > page+prefetch {
						t.Errorf("%d pages were asked for when page %d was looked at", n, page)
					}
					stub.Elapse(time.Minute)
					if n := len(network.Take()); n != 0 {
						t.Errorf("%d requests were sent afterwards", n)
					}
				})
			})
		}
	}
}

// TestPrefetchEndsAsItsFetcher: if the goroutine that fetches panics or exits,
// so does the consumer, which would otherwise see the end of the list.
func TestPrefetchEndsAsItsFetcher(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		fail     func()
		panicked any
	}{
		{"a panic", func() { panic("the middleware is broken") }, "the middleware is broken"},
		{"an exit", runtime.Goexit, nil},
	} {
		server := stub.List{Items: stub.Numbered(30)}
		network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
			if req.URL.Query().Get("start_after") != "" {
				tt.fail()
			}
			return server.Answer(req)
		}}
		client := sdktest.Recorded(t, &network, cloudapi.WithPrefetch(2))
		var panicked any
		items, returned := 0, false
		var consumer sync.WaitGroup
		consumer.Go(func() {
			defer func() { panicked = recover() }()
			for range client.VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: 10}) {
				items++
			}
			returned = true
		})
		consumer.Wait()
		if items != 10 || returned || panicked != tt.panicked {
			t.Errorf("%s: %d items, returned %t, recovered %v", tt.name, items, returned, panicked)
		}
	}
}

func TestPrefetchFetchesAhead(t *testing.T) {
	t.Parallel()
	for _, prefetch := range []int{0, 1, 2, 5} {
		synctest.Test(t, func(t *testing.T) {
			server := stub.List{Items: stub.Numbered(1000)}
			network := stub.Recorder{Answer: server.Answer}
			item, n := 0, 0 // n is the number of requests
			for range sdktest.Recorded(t, &network, cloudapi.WithPrefetch(prefetch)).VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: 10}) {
				item++
				synctest.Wait()
				page := (item-1)/10 + 1
				if n += len(network.Take()); n > page+prefetch || n < min(page+prefetch, 100) {
					t.Fatalf("prefetch %d: %d pages were asked for when page %d was looked at", prefetch, n, page)
				}
			}
		})
	}
}

// TestPrefetchOverlaps: the next page is fetched while the consumer works.
func TestPrefetchOverlaps(t *testing.T) {
	t.Parallel()
	for prefetch, want := range []time.Duration{21 * time.Second, 11 * time.Second} { // ten of these are the consumer's
		synctest.Test(t, func(t *testing.T) {
			server := stub.List{Items: stub.Numbered(100)}
			network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
				stub.Elapse(time.Second)
				return server.Answer(req)
			}}
			start := time.Now()
			for range sdktest.Recorded(t, &network, cloudapi.WithPrefetch(prefetch)).VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: 10}) {
				stub.Elapse(time.Second / 10)
			}
			if took := time.Since(start); took != want {
				t.Errorf("prefetch %d took %v, want %v", prefetch, took, want)
			}
		})
	}
}

// TestCanceledListFails: a canceled list ends with an error, unlike a
// list that is just shorter.
func TestCanceledListFails(t *testing.T) {
	t.Parallel()
	for _, prefetch := range []int{0, 1, 4} {
		for _, taken := range []int{0, 1, 10, 15} {
			synctest.Test(t, func(t *testing.T) {
				server := stub.List{Items: stub.Numbered(1000)}
				network := stub.Recorder{Answer: server.Answer}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				reason := errors.New("the operator lost patience")
				if taken == 0 {
					cancel(reason)
				}
				got, last := 0, error(nil)
				for _, err := range sdktest.Recorded(t, &network, cloudapi.WithPrefetch(prefetch)).VMs.All(ctx, &cloudapi.ListOptions{PageSize: 10}) {
					if last = err; err != nil {
						continue
					}
					if got++; got == taken {
						cancel(reason)
					}
				}
				if !errors.Is(last, context.Canceled) || !errors.Is(last, reason) {
					t.Errorf("prefetch %d, after %d items: the last error is %v", prefetch, got, last)
				}
				if got != taken {
					t.Errorf("prefetch %d: %d items came, although it was cancelled after %d", prefetch, got, taken)
				}
			})
		}
	}
}

// TestAllEndsWithTheDeadline: a list ends with the deadline, even if the page
// has items left.
func TestAllEndsWithTheDeadline(t *testing.T) {
	t.Parallel()
	for _, prefetch := range []int{0, 2} {
		synctest.Test(t, func(t *testing.T) {
			server := stub.List{Items: stub.Numbered(900)}
			network := stub.Recorder{Answer: server.Answer}
			ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
			defer cancel()
			got, last := 0, error(nil)
			for _, last = range sdktest.Recorded(t, &network, cloudapi.WithPrefetch(prefetch)).VMs.All(ctx, nil) {
				if last == nil {
					got++
					stub.Elapse(time.Second)
				}
			}
			if got != 6 || !errors.Is(last, context.DeadlineExceeded) {
				t.Errorf("prefetch %d: %d items, then %v", prefetch, got, last)
			}
		})
	}
}

// TestAllKeepsNoItem: if the consumer keeps nothing, the page doesn't stay in
// memory.
func TestAllKeepsNoItem(t *testing.T) {
	t.Parallel()
	server := stub.List{Items: stub.Numbered(100)}
	network := stub.Recorder{Answer: server.Answer}
	var first weak.Pointer[cloudapi.VM]
	seen := 0
	for vm, err := range sdktest.Recorded(t, &network).VMs.All(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 1 {
			first = weak.Make(vm)
		}
		if seen == 50 {
			runtime.GC()
			if first.Value() != nil {
				t.Error("the first item of the page is still held at the 50th")
			}
		}
	}
	if seen != 100 {
		t.Errorf("%d items were seen", seen)
	}
}

func TestInvalidLists(t *testing.T) {
	t.Parallel()
	for body, reason := range map[string]string{
		`{}`:                          "it has no items",
		`{"count":0}`:                 "it has no items",
		`{"items":null}`:              "it has no items",
		`null`:                        "it has no items",
		`{"items":{}}`:                "cannot unmarshal object",
		`{"items":[null]}`:            "item 0 is null",
		`[null]`:                      "item 0 is null",
		`{"items":[{"id":"a"},{}]}`:   "item 1 has no id",
		`[{"name":"web-1"}]`:          "item 0 has no id",
		`{"items":[],"count":"many"}`: "cannot unmarshal string",
		`[]]`:                         "after top-level value",
		`""`:                          "cannot unmarshal string",
	} {
		network := stub.Recorder{Answer: stub.Always(200, body)}
		client := sdktest.Recorded(t, &network)
		page, err := client.VMs.List(t.Context(), nil)
		if page != nil || !errors.Is(err, cloudapi.ErrInvalidResponse) || !strings.Contains(err.Error(), reason) {
			t.Errorf("List of %s = %v, %v", body, page, err)
		}
		if got, err := ids(t, client.VMs.All(t.Context(), nil)); got != nil || !errors.Is(err, cloudapi.ErrInvalidResponse) {
			t.Errorf("All of %s = %v, %v", body, got, err)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body  string
		opts  *cloudapi.ListOptions
		ids   []string
		count *int
		next  string
	}{
		{`{"items":[{"id":"a","name":"y"},{"id":"b","name":"z"}],"count":7}`, nil, []string{"a", "b"}, new(7), "b"},
		{`{"items":[{"id":"a","name":"y"},{"id":"b","name":"z"}],"count":7}`, &cloudapi.ListOptions{OrderColumn: cloudapi.OrderByName}, []string{"a", "b"}, new(7), "z"},
		{`{"items":[{"id":"a"}]}`, nil, []string{"a"}, nil, "a"},
		{` [{"id":"a"}]`, nil, []string{"a"}, nil, "a"},
		{`{"items":[],"count":0}`, nil, nil, new(0), ""},
		{`[]`, nil, nil, nil, ""},
	} {
		network := stub.Recorder{Answer: stub.Always(200, tt.body)}
		page, err := sdktest.Recorded(t, &network).VMs.List(t.Context(), tt.opts)
		if err != nil {
			t.Errorf("%s: %v", tt.body, err)
			continue
		}
		var got []string
		for _, vm := range page.Items {
			got = append(got, vm.ID)
		}
		if page.Items == nil || !slices.Equal(got, tt.ids) || !reflect.DeepEqual(page.Count, tt.count) || page.Next != tt.next {
			t.Errorf("%s: %q, count %v, next %q", tt.body, got, page.Count, page.Next)
		}
	}
}

func TestInvalidListOptions(t *testing.T) {
	t.Parallel()
	var network stub.Recorder
	var none context.Context
	client := sdktest.Recorded(t, &network)
	for _, tt := range []struct {
		name, operation string
		call            func() error
	}{
		{"PageSize", "VMs.List", func() error { _, err := client.VMs.List(t.Context(), &cloudapi.ListOptions{PageSize: -1}); return err }},
		{"PageSize", "VMs.List", func() error {
			_, err := cloudapi.Collect(client.VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: -1}))
			return err
		}},
		{"ctx", "VMs.List", func() error { _, err := cloudapi.Collect(client.VMs.All(none, nil)); return err }},
		{"ctx", "VMs.List", func() error {
			_, err := cloudapi.Collect(sdktest.Recorded(t, &network, cloudapi.WithPrefetch(2)).VMs.All(none, nil))
			return err
		}},
		{"Location", "Projects.List", func() error {
			_, err := client.Projects.List(t.Context(), &cloudapi.ListOptions{Location: "x"})
			return err
		}},
		{"PageSize", "AuditLog.List", func() error {
			_, err := client.AuditLog.List(t.Context(), &cloudapi.AuditLogOptions{PageSize: -1})
			return err
		}},
		{"PageSize", "Postgres.Logs", func() error {
			_, err := cloudapi.Collect(client.Postgres.AllLogs(t.Context(), "eu-central-h1", "db-1", &cloudapi.PostgresLogsOptions{PageSize: -1}))
			return err
		}},
	} {
		err := tt.call()
		if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != tt.name || e.Operation != tt.operation || len(network.Take()) != 0 {
			t.Errorf("%s of %s: %v", tt.name, tt.operation, err)
		}
	}
}
