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
