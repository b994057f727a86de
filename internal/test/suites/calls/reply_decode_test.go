package calls_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const lbID = "1b28t5cy4tqj4kzpwqac7cn1j2"

func list(items ...string) string {
	return fmt.Sprintf(`{"items":[%s],"count":%d}`, strings.Join(items, ","), len(items))
}

// TestTimesInUTC: times are in UTC, whatever the offset in a response and the time
// zone of the program, so that equal records are DeepEqual.
func TestTimesInUTC(t *testing.T) {
	t.Parallel()
	record := func(at string) string {
		return `{"id":"pgn30gjk1d1e2jj34v9x0dq4rp","name":"orders-db","earliest_restore_time":"` + at + `","read_replicas":[]}`
	}
	want := time.Date(2025, 10, 3, 17, 40, 0, 0, time.UTC)
	for _, at := range []string{"2025-10-03T17:40:00Z", "2025-10-03T17:40:00+00:00", "2025-10-03T19:40:00+02:00"} {
		db, err := sdktest.Answering(t, http.StatusOK, "application/json", record(at)).Postgres.Get(t.Context(), "eu-central-h1", "orders-db")
		if err != nil || db.EarliestRestoreTime != want {
			t.Errorf("%s: %+v, %v", at, db, err)
		}
		page, err := sdktest.Answering(t, http.StatusOK, "application/json", list(record(at))).Postgres.List(t.Context(), nil)
		if err != nil || page.Items[0].EarliestRestoreTime != want {
			t.Errorf("%s in a list: %+v, %v", at, page, err)
		}
	}
}

// TestInvalidForms: a load balancer in any other form is refused.
func TestInvalidForms(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a text":                       `"` + lbID + `"`,
		"an ID that is a record":       `{"id":{"id":"` + lbID + `"}}`,
		"a name that is a record":      `{"id":"` + lbID + `","name":{"id":"x"}}`,
		"VMs that are no array":        `{"id":"` + lbID + `","vms":{"id":"` + stub.VMID + `"}}`,
		"a VM that is a number":        `{"id":"` + lbID + `","vms":[1]}`,
		"a VM that is a record":        `{"id":"` + lbID + `","vms":[{"id":"` + stub.VMID + `"}]}`,
		"a port that is a text":        `{"id":"` + lbID + `","src_port":"443","vms":[{"id":"` + stub.VMID + `"}]}`,
		"JSON that ends in the middle": `{"id":"` + lbID + `","vms":[{"id":"` + stub.VMID + `"}`,
	} {
		client := sdktest.Answering(t, http.StatusOK, "application/json", body)
		if l, err := client.LoadBalancers.Get(t.Context(), "eu-central-h1", "web-lb"); l != nil || !errors.Is(err, cloudapi.ErrInvalidResponse) {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
	client := sdktest.Answering(t, http.StatusOK, "application/json", `{"items":["`+lbID+`"],"count":1}`)
	if page, err := client.LoadBalancers.List(t.Context(), nil); page != nil || !errors.Is(err, cloudapi.ErrInvalidResponse) {
		t.Errorf("a list of IDs: %+v, %v", page, err)
	}
	for _, field := range []string{`"tags":["team"]`, `"earliest_restore_time":"2025-10-01 02:15:09 UTC"`} {
		client = sdktest.Answering(t, http.StatusOK, "application/json", `{"id":"pg00000000021g000000000001",`+field+`}`)
		if p, err := client.Postgres.Get(t.Context(), "eu-central-h1", "pg-1"); p != nil || !errors.Is(err, cloudapi.ErrInvalidResponse) || !strings.Contains(err.Error(), field[1:5]) {
			t.Errorf("%s: %+v, %v", field, p, err)
		}
	}
}

// TestObjectsUnderUnknownKeys: a response is decoded even if it has many values
// under keys that the SDK doesn't know.
func TestObjectsUnderUnknownKeys(t *testing.T) {
	t.Parallel()
	for name, unknown := range map[string]string{
		"small objects":      strings.Repeat(`{"a":1},`, 1<<16) + "{}",
		"objects in objects": strings.Repeat(`{"firewalls":[{},{}]},`, 1<<14) + "{}",
		"numbers":            strings.Repeat("1,", 1<<17) + "-1.5e3",
		"texts":              strings.Repeat(`"{\"",`, 1<<16) + "null",
	} {
		vm := `{"id":"` + stub.VMID + `","later":[` + unknown + `],"name":"web-1","` + name + `":{"x":[` + unknown + `]}}`
		got, err := sdktest.Answering(t, 200, "application/json", vm).VMs.Get(t.Context(), "eu-central-h1", "web-1")
		if err != nil || got.Name != "web-1" {
			t.Errorf("%s in a record: %v", name, err)
		}
		page, err := sdktest.Answering(t, 200, "application/json", `{"later":[`+unknown+`],"items":[`+vm+`],"count":1}`).VMs.List(t.Context(), nil)
		if err != nil || len(page.Items) != 1 || page.Items[0].Name != "web-1" {
			t.Errorf("%s in a list: %v", name, err)
		}
	}
}

// endingBody is a response body that ends the context of its request after the
// last byte was read.
type endingBody struct {
	io.Reader
	cancel func()
}

func (b endingBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		b.cancel()
	}
	return n, err
}

func (endingBody) Close() error { return nil }

// TestDecodingEndsWithTheContext: a large response never succeeds after the end
// of its context.
func TestDecodingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	const n = 1 << 15
	fill := func(begin, unit, end string) string { return begin + strings.Repeat(unit+",", n) + unit + end }
	for name, body := range map[string]string{
		"a record":  fill(`{"id":"`+stub.VMID+`","x":[`, `{}`, `]}`),
		"items":     fill(`{"items":[`, stub.VM, `]}`),
		"malformed": fill(`{"items":[`, stub.VM, `,}`),
	} {
		var end func()
		client := sdktest.Client(t, stub.RoundTripper(func(*http.Request) (*http.Response, error) {
			resp := stub.Respond(200, "")
			resp.Body, resp.ContentLength = endingBody{strings.NewReader(body), end}, int64(len(body))
			return resp, nil
		}))
		for method, call := range map[string]func(context.Context) (any, error){
			"Get":  func(ctx context.Context) (any, error) { return client.VMs.Get(ctx, "eu-central-h1", "web-1") },
			"List": func(ctx context.Context) (any, error) { return client.VMs.List(ctx, nil) },
		} {
			ctx, cancel := context.WithCancel(t.Context())
			end = cancel
			result, err := call(ctx)
			if !reflect.ValueOf(result).IsNil() || !errors.Is(err, context.Canceled) || errors.Is(err, cloudapi.ErrInvalidResponse) {
				t.Errorf("%s of %s: %v", method, name, err)
			}
			cancel()
		}
	}
}

// TestUnmarkedEnd: a response that ends with its connection may be cut off,
// unless a length, chunks or gzip would show that.
func TestUnmarkedEnd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*http.Response)
		marked bool
	}{
		"nothing":            {func(*http.Response) {}, false},
		"a length":           {func(r *http.Response) { r.ContentLength = 4 }, true},
		"chunks":             {func(r *http.Response) { r.TransferEncoding = []string{"chunked"} }, true},
		"gzip":               {func(r *http.Response) { r.Uncompressed = true }, true},
		"an open connection": {func(r *http.Response) { r.Close = false }, true},
	} {
		client := sdktest.Client(t, stub.RoundTripper(func(*http.Request) (*http.Response, error) {
			resp := stub.Respond(200, "text")
			resp.Close, resp.ContentLength = true, -1
			tt.change(resp)
			return resp, nil
		}), cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
		var out []byte
		if err := client.Do(t.Context(), "GET", []string{"x"}, nil, nil, &out); (err == nil) != tt.marked || tt.marked != (string(out) == "text") {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}
