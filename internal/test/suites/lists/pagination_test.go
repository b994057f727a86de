package lists_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// ids ranges over a sequence, and returns the IDs of its items and its error. A
// sequence must end after an error.
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

// TestAllTakesFewRequests: a list takes one request if the server sends a count
// and the page isn't full. Otherwise it takes at most one request more than it
// has pages. Pages are as large as the server permits.
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

// TestWholeLists: a list that has no parameters in the contract takes one
// request, whatever the page size, and has no next page. It refuses options
// that would need a parameter.
func TestWholeLists(t *testing.T) {
	t.Parallel()
	for _, server := range []stub.List{{Whole: true, NoCount: true}, {Whole: true}, {Whole: true, Bare: true}} {
		for path, methods := range map[string][2]string{
			"/ssh-public-key":    {"SSHPublicKeys.All", "SSHPublicKeys.List"},
			"/inference-api-key": {"InferenceAPIKeys.All", "InferenceAPIKeys.List"},
			"/vm-init-script":    {"VMInitScripts.All", "VMInitScripts.List"},
			"/location/eu-central-h1/postgres/orders-db/firewall-rule": {"Postgres.AllFirewallRules", "Postgres.ListFirewallRules"},
		} {
			network := stub.Recorder{}
			client := sdktest.Recorded(t, &network)
			call := func(method string, opts *cloudapi.ListOptions) (any, error) {
				args := []any{opts}
				if strings.HasSuffix(method, "FirewallRules") {
					args = []any{"eu-central-h1", "orders-db", opts}
				}
				return sdktest.Do(method, args...).On(t.Context(), client)
			}
			for _, size := range []int{0, 25, 1001} {
				server.Items = stub.Numbered(size)
				network.Answer = server.Answer
				for _, opts := range []*cloudapi.ListOptions{nil, {PageSize: 1}} {
					items := stub.Must(call(methods[0], opts))(t)
					page := reflect.ValueOf(stub.Must(call(methods[1], opts))(t)).Elem()
					var got []string
					for _, item := range reflect.ValueOf(items).Seq2() {
						got = append(got, item.Elem().FieldByName("ID").String())
					}
					if !slices.Equal(got, stub.IDsOf(server.Items)) || page.FieldByName("Items").Len() != size || page.FieldByName("Next").String() != "" {
						t.Errorf("%s: of %d items All has %d, and List has %+v", path, size, len(got), page)
					}
					if sent := network.Take(); len(sent) != 2 || sent[0].Target != "/project/"+stub.Project+path || sent[1].Target != sent[0].Target {
						t.Errorf("%s: sent %+v", path, sent)
					}
				}
			}
			for name, opts := range map[string]*cloudapi.ListOptions{"StartAfter": {StartAfter: "a"}, "OrderColumn": {OrderColumn: cloudapi.OrderByID}, "Location": {Location: "a"}} {
				for _, method := range methods {
					_, err := call(method, opts)
					if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != name || !strings.Contains(e.Reason, "does not apply to this list") || len(network.Take()) != 0 {
						t.Errorf("%s with %s: %v", method, name, err)
					}
				}
			}
		}
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
	if vms, err = cloudapi.Collect[*cloudapi.VM](nil); vms != nil || !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("Collect of no sequence = %#v, %v", vms, err)
	}
	if vms, err = cloudapi.Collect(client.InProject("").VMs.All(t.Context(), nil)); len(vms) != 0 || !errors.Is(err, cloudapi.ErrNoProject) {
		t.Errorf("Collect of an error = %#v, %v", vms, err)
	}
}

// TestCollectKeepsWhatWasRead: a list that ends with an error has items before
// it, here the first page.
func TestCollectKeepsWhatWasRead(t *testing.T) {
	t.Parallel()
	server := stub.List{Items: stub.Numbered(3)}
	network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
		if req.URL.Query().Get("start_after") != "" {
			return stub.Respond(403, stub.Envelope(403)), nil
		}
		return server.Answer(req)
	}}
	vms, err := cloudapi.Collect(sdktest.Recorded(t, &network).VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: 2}))
	if !errors.Is(err, cloudapi.ErrForbidden) || len(vms) != 2 || vms[1].ID != server.Items[1].ID {
		t.Errorf("Collect = %v, %v", vms, err)
	}
}

// TestBreakLeavesNothing: after a break, no request continues or is sent, and
// the synctest bubble fails if a goroutine is left. Before, WithPrefetch(n)
// fetches exactly n pages ahead.
func TestBreakLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, prefetch := range []int{0, 1, 2, 5} {
		for _, taken := range []int{1, 10, 11, 25} {
			synctest.Test(t, func(t *testing.T) {
				server := stub.List{Items: stub.Numbered(1000)}
				var pending, sent atomic.Int32
				client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
					sent.Add(1)
					pending.Add(1)
					defer pending.Add(-1)
					select { // a request takes a second
					case <-time.After(time.Second):
						return server.Answer(req)
					case <-req.Context().Done():
						return nil, req.Context().Err()
					}
				}), cloudapi.WithPrefetch(prefetch))
				got := 0
				for _, err := range client.VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: 10}) {
					if err != nil {
						t.Fatal(err)
					}
					if got++; got == taken {
						synctest.Wait() // a request ahead has begun
						break
					}
					stub.Elapse(time.Minute)
					if page := (got-1)/10 + 1; int(sent.Load()) != page+prefetch {
						t.Errorf("prefetch %d: %d pages were asked for when page %d was looked at", prefetch, sent.Load(), page)
					}
				}
				before := sent.Load()
				if n := pending.Load(); n != 0 {
					t.Errorf("prefetch %d: after the break %d requests went on", prefetch, n)
				}
				if stub.Elapse(time.Minute); sent.Load() != before {
					t.Errorf("prefetch %d: %d requests were sent afterwards", prefetch, sent.Load()-before)
				}
			})
		}
	}
}

// TestCanceledListFails: a range whose context is canceled ends with an error,
// even if the page has items left. So it can't be mistaken for a complete list.
func TestCanceledListFails(t *testing.T) {
	t.Parallel()
	for _, prefetch := range []int{0, 1, 4} {
		for _, taken := range []int{0, 1, 10, 15} {
			synctest.Test(t, func(t *testing.T) {
				server := stub.List{Items: stub.Numbered(1000)}
				client := sdktest.Recorded(t, &stub.Recorder{Answer: server.Answer}, cloudapi.WithPrefetch(prefetch))
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				reason := errors.New("the operator lost patience")
				if taken == 0 {
					cancel(reason)
				}
				got, last := 0, error(nil)
				for _, err := range client.VMs.All(ctx, &cloudapi.ListOptions{PageSize: 10}) {
					if last = err; err == nil {
						if got++; got == taken {
							cancel(reason)
						}
					}
				}
				if got != taken || !errors.Is(last, context.Canceled) || !errors.Is(last, reason) {
					t.Errorf("prefetch %d, canceled after %d items: %d came, and then %v", prefetch, taken, got, last)
				}
			})
		}
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
		{`{"items":[{"id":"a"}],"logs":0,"pagination_key":1}`, nil, []string{"a"}, nil, "a"}, // fields of another list
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
	client := sdktest.SendingNothing(t)
	prefetching := stub.Must(client.With(cloudapi.WithPrefetch(2)))(t)
	ctx, tooSmall, somewhere := t.Context(), &cloudapi.ListOptions{PageSize: -1}, &cloudapi.ListOptions{Location: "x"}
	var none context.Context
	page := func(_ any, err error) error { return err }
	for _, tt := range []struct {
		name, operation string
		err             error
	}{
		{"PageSize", "VMs.List", page(client.VMs.List(ctx, tooSmall))},
		{"PageSize", "VMs.List", page(cloudapi.Collect(client.VMs.All(ctx, tooSmall)))},
		{"ctx", "VMs.List", page(cloudapi.Collect(client.VMs.All(none, nil)))},
		{"ctx", "VMs.List", page(cloudapi.Collect(prefetching.VMs.All(none, nil)))},
		{"Location", "Projects.List", page(client.Projects.List(ctx, somewhere))},
		{"PageSize", "AuditLog.List", page(client.AuditLog.List(ctx, &cloudapi.AuditLogOptions{PageSize: -1}))},
		{"PageSize", "Postgres.ListLogs", page(cloudapi.Collect(client.Postgres.AllLogs(ctx, "eu-central-h1", "db-1", &cloudapi.PostgresLogsOptions{PageSize: -1})))},
	} {
		if e, ok := errors.AsType[*cloudapi.ArgumentError](tt.err); !ok || e.Name != tt.name || e.Operation != tt.operation {
			t.Errorf("%s of %s: %v", tt.name, tt.operation, tt.err)
		}
	}
}
