package calls_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const lbID = "1b28t5cy4tqj4kzpwqac7cn1j2"

// TestIDsAndRecords decodes the two fields whose form in the service differs
// from its description: IDs in place of records, and records in place of IDs.
func TestIDsAndRecords(t *testing.T) {
	t.Parallel()
	const other, subnet = "vm00000000021g000000000001", "ps6336kqkb6j4qf8813xfx1bw0"
	for vms, want := range map[string][]string{
		`["` + stub.VMID + `","` + other + `"]`:                   {stub.VMID, other},
		`[` + stub.VM + `,{"id":"` + other + `","name":"web-2"}]`: {stub.VMID, other},
		`[{"id":"` + stub.VMID + `"}, "` + other + `"]`:           {stub.VMID, other},
		`[]`: {},
	} {
		body := `{"id":"` + lbID + `","name":"web-lb","src_port":443,"vms":` + vms + `,"later":{"vms":[{}]}}`
		record := &cloudapi.LoadBalancer{ID: lbID, Name: "web-lb", SrcPort: 443, VMs: want}
		got, err := sdktest.Answering(t, http.StatusOK, "application/json", body).LoadBalancers.Get(t.Context(), "eu-central-h1", "web-lb")
		if err != nil || !reflect.DeepEqual(got, record) {
			t.Errorf("%s: %+v, %v", vms, got, err)
		}
		page, err := sdktest.Answering(t, http.StatusOK, "application/json", list(`{"id":"1b00000000000000000000000a"}`, body)).LoadBalancers.List(t.Context(), nil)
		if err != nil || len(page.Items) != 2 || !reflect.DeepEqual(page.Items[1], record) {
			t.Errorf("%s in a list: %+v, %v", vms, page, err)
		}
	}
	for subnets, want := range map[string][]cloudapi.PrivateSubnet{
		`[{"id":"` + subnet + `","name":"net"}]`:                  {{ID: subnet, Name: "net"}},
		`["` + subnet + `"]`:                                      {{ID: subnet}},
		`["` + subnet + `",{"id":"` + subnet + `","name":"net"}]`: {{ID: subnet}, {ID: subnet, Name: "net"}},
		`[]`: {},
	} {
		client := sdktest.Answering(t, http.StatusOK, "application/json", `{"id":"fw8ww2xa7brt1qrn9hgzbc7efq","name":"edge","private_subnets":`+subnets+`}`)
		got, err := client.Firewalls.AttachSubnet(t.Context(), "eu-central-h1", "edge", subnet)
		if err != nil || got.Name != "edge" || !reflect.DeepEqual(got.PrivateSubnets, want) {
			t.Errorf("%s: %+v, %v", subnets, got, err)
		}
	}
}

func list(items ...string) string {
	return fmt.Sprintf(`{"items":[%s],"count":%d}`, strings.Join(items, ","), len(items))
}

// TestInvalidTimes: a time that isn't in RFC 3339 is zero, and the rest of the
// record is decoded.
func TestInvalidTimes(t *testing.T) {
	t.Parallel()
	for _, sent := range []string{`"2025-10-01 02:15:09 UTC"`, `""`, `"soon"`, `1759285509`, `{"time":1}`, `null`, `"+12025-01-01T00:00:00Z"`} {
		record := func(earliest string) string {
			return `{"id":"pgn30gjk1d1e2jj34v9x0dq4rp","name":"orders-db","connection_string":"postgres://","earliest_restore_time":` + earliest +
				`,"latest_restore_time":"2025-10-03T17:40:00Z","firewall_rules":[{"id":"pf00000000000000000000000a","cidr":"0.0.0.0/0"}],"tags":[{"key":"a","value":"<b>"}]}`
		}
		for _, body := range []string{record(sent), list(record(sent)), "[" + record(sent) + "]"} {
			client := sdktest.Answering(t, http.StatusOK, "application/json", body)
			var db *cloudapi.Postgres
			page, err := client.Postgres.List(t.Context(), nil)
			if body == record(sent) {
				db, err = client.Postgres.Get(t.Context(), "eu-central-h1", "orders-db")
			} else if err == nil {
				db = page.Items[0]
			}
			if err != nil {
				t.Errorf("%s: %v", body, err)
				continue
			}
			for _, loss := range sdktest.Losses(t, record("null"), db) {
				t.Errorf("%s: %s", body, loss)
			}
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
		"a VM without ID":              `{"id":"` + lbID + `","vms":[{"name":"web-1"}]}`,
		"a VM whose ID is a number":    `{"id":"` + lbID + `","vms":[{"id":1}]}`,
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
	client = sdktest.Answering(t, http.StatusOK, "application/json", `{"id":"pg00000000021g000000000001","tags":["team"]}`)
	if p, err := client.Postgres.Get(t.Context(), "eu-central-h1", "pg-1"); p != nil || !errors.Is(err, cloudapi.ErrInvalidResponse) {
		t.Errorf("a record without an ID that is a text: %+v, %v", p, err)
	}
}

// TestDeepForms: a response with a thousand nested records is refused, since
// converting it level by level could take minutes.
func TestDeepForms(t *testing.T) {
	t.Parallel()
	nested := func(times int) string {
		return `{"id":"fw8ww2xa7brt1qrn9hgzbc7efq","name":"edge"` + strings.Repeat(`,"private_subnets":[{"firewalls":[{"id":"fw"`, times) +
			`,"private_subnets":["ps6336kqkb6j4qf8813xfx1bw0"]` + strings.Repeat(`}]}]`, times) + `}`
	}
	for times, invalid := range map[int]bool{0: false, 2: false, 1000: true} {
		firewall, err := sdktest.Answering(t, http.StatusOK, "application/json", nested(times)).Firewalls.Get(t.Context(), "eu-central-h1", "edge")
		if errors.Is(err, cloudapi.ErrInvalidResponse) != invalid || firewall == nil != invalid {
			t.Errorf("nested %d times: %v, %v", times, firewall, err)
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

// TestDoBoundsMemory: Do refuses a response that would take too much memory:
// decoded into a map, {} takes thirty times its size.
func TestDoBoundsMemory(t *testing.T) {
	// Not parallel, since the memory of other tests would be counted as well.
	for name, body := range map[string]string{
		"empty objects": "[" + strings.Repeat("{},", 14<<20/3) + "{}]",
		"numbers":       "[" + strings.Repeat("1,", 28<<20/2) + "1]",
	} {
		client := sdktest.Answering(t, 200, "application/json", body)
		var before, after runtime.MemStats
		var out any
		runtime.ReadMemStats(&before)
		err := client.Do(t.Context(), "GET", []string{"x"}, nil, nil, &out)
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; err == nil || grown > 200<<20 {
			t.Errorf("%s: %d MiB of memory were allocated for %d bytes, %v", name, grown>>20, len(body), err)
		}
	}
	var texts []string
	client := sdktest.Answering(t, 200, "application/json", "["+strings.Repeat(`"",`, 12<<20/3)+`""]`)
	if err := client.Do(t.Context(), "GET", []string{"x"}, nil, nil, &texts); err != nil || len(texts) != 12<<20/3+1 {
		t.Errorf("%d texts, %v", len(texts), err)
	}
	var out any
	usual := "[" + strings.Repeat(`{"id":"vmy9n10s8q164j473ra7pj9nqz","count":1.5,"tags":["a","b"],"more":{"x":null}},`, 10_000) + "{}]"
	if err := sdktest.Answering(t, 200, "application/json", usual).Do(t.Context(), "GET", []string{"x"}, nil, nil, &out); err != nil || len(out.([]any)) != 10_001 {
		t.Errorf("a usual response: %v", err)
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
