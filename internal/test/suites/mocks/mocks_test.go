// Package mocks_test uses the SDK with HTTP mocks, as tests of programs do.
package mocks_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/jarcoal/httpmock"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const (
	vmPath = "/project/" + stub.Project + "/location/eu-central-h1/vm/web-1"
	mocked = `{"id":"` + stub.VMID + `","name":"web-1","state":"mocked","location":"eu-central-h1"}`
)

// cloud is a server that the tests must not reach. It counts its requests.
func cloud(t *testing.T) (address string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, stub.VM)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

func newClient(t *testing.T, opts ...cloudapi.Option) *cloudapi.Client {
	t.Helper()
	client := stub.Must(cloudapi.NewClient(append([]cloudapi.Option{cloudapi.WithToken(stub.Token), cloudapi.WithProject(stub.Project),
		cloudapi.WithRetry(cloudapi.RetryPolicy{MinDelay: time.Nanosecond})}, opts...)...))(t)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func state(ctx context.Context, client *cloudapi.Client) string {
	vm, err := client.VMs.Create(ctx, "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{PublicKey: "laptop"})
	if err != nil {
		return err.Error()
	}
	return vm.State
}

// TestActivate: if a mock replaces http.DefaultTransport, clients use it even
// if they were created before, unless the program has given them a transport of
// its own. The test isn't parallel; the parallel tests begin after it.
func TestActivate(t *testing.T) {
	address, reached := cloud(t)
	usual := newClient(t, cloudapi.WithBaseURL(address))
	copied := stub.Must(usual.With(cloudapi.WithTimeout(time.Minute)))(t)
	plain := newClient(t, cloudapi.WithBaseURL(address), cloudapi.WithHTTPClient(&http.Client{}))
	changed := newClient(t, cloudapi.WithBaseURL(address), cloudapi.WithTransport(func(*http.Transport) {}))
	given := newClient(t, cloudapi.WithBaseURL(address), cloudapi.WithHTTPClient(&http.Client{Transport: &http.Transport{}}))
	expect := func(when string, client *cloudapi.Client, want string, requests int32) {
		t.Helper()
		before := reached.Load()
		if got := state(t.Context(), client); !strings.Contains(got, want) || reached.Load()-before != requests {
			t.Errorf("%s: %s, and the cloud got %d requests, want %s and %d", when, got, reached.Load()-before, want, requests)
		}
	}

	expect("before", usual, "running", 1)
	httpmock.Activate()
	httpmock.RegisterResponder(http.MethodPost, address+vmPath, httpmock.NewStringResponder(http.StatusOK, mocked))
	expect("activated", usual, "mocked", 0)
	expect("activated, a copy", copied, "mocked", 0)
	expect("activated, in a project", usual.InProject(stub.Project), "mocked", 0)
	expect("activated, a new client", newClient(t, cloudapi.WithBaseURL(address)), "mocked", 0)
	expect("activated, an HTTP client without a transport", plain, "mocked", 0)
	expect("activated, WithTransport", changed, "running", 1)
	expect("activated, another transport", given, "running", 1)
	httpmock.Reset()
	expect("activated, without a responder", usual, "no responder found", 0)
	httpmock.Deactivate()
	expect("deactivated", usual, "running", 1)

	original := http.DefaultTransport
	defer func() { http.DefaultTransport = original }()
	dials := 0
	http.DefaultTransport = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		dials++
		return nil, errors.New("dialed by another transport")
	}}
	expect("another transport of net/http", usual, "dialed by another transport", 0)
	if dials != 4 {
		t.Errorf("it dialed %d times", dials)
	}
	for want, transport := range map[string]http.RoundTripper{"and WithRetry for retries": &retryablehttp.RoundTripper{}, "http.DefaultTransport is nil": nil} {
		http.DefaultTransport = transport
		for _, option := range []cloudapi.Option{cloudapi.WithBaseURL(address), cloudapi.WithHTTPClient(&http.Client{})} {
			if _, err := cloudapi.NewClient(option); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a client over %T: %v", transport, err)
			}
		}
	}
	http.DefaultTransport = original
	expect("restored", usual, "running", 1)
}

// TestActivateNonDefault: a mock that replaces the transport of the program's
// HTTP client applies even to a client that was created before. The SDK doesn't
// change the HTTP client.
func TestActivateNonDefault(t *testing.T) {
	t.Parallel()
	address, reached := cloud(t)
	own := &http.Transport{}
	hc := &http.Client{Transport: own}
	client := newClient(t, cloudapi.WithBaseURL(address), cloudapi.WithHTTPClient(hc))
	httpmock.ActivateNonDefault(hc)
	httpmock.RegisterResponder(http.MethodPost, address+vmPath, httpmock.NewStringResponder(http.StatusOK, mocked))
	if got := state(t.Context(), client); got != "mocked" || reached.Load() != 0 || hc.Transport != httpmock.DefaultTransport {
		t.Errorf("mocked: %s, and the cloud got %d requests; the transport is %T", got, reached.Load(), hc.Transport)
	}
	httpmock.DeactivateNonDefault(hc)
	if got := state(t.Context(), client); got != "running" || reached.Load() != 1 || hc.Transport != own {
		t.Errorf("no longer mocked: %s, and the cloud got %d requests; the transport is %T", got, reached.Load(), hc.Transport)
	}
}

const secret = "postgres://postgres:s3cret@db-1.example.com:5432/postgres?sslmode=require&x=<1>"

// TestEncodedRecords: Encode returns JSON with every field of a record,
// including the content of its secrets, for all records that methods return.
func TestEncodedRecords(t *testing.T) {
	t.Parallel()
	records, revealed := map[reflect.Type]bool{}, 0
	for _, m := range sdktest.Methods(t) {
		for _, typ := range m.Types() {
			if typ.Kind() == reflect.Pointer && typ.Elem().Kind() == reflect.Struct && typ.Elem().NumField() > 0 &&
				typ.Elem().Field(0).Tag.Get("json") != "" && !strings.HasSuffix(typ.Elem().Name(), "Request") {
				records[typ.Elem()] = true
			}
		}
	}
	for typ := range records {
		want := sdktest.Fill(reflect.PointerTo(typ), secret).Interface()
		got := reflect.New(typ).Interface()
		if metrics, ok := want.(*cloudapi.Metrics); ok {
			metrics.Metrics[0].Series[0].Values = cloudapi.MetricSamples{{Value: 1.5}}
		}
		encoded := cloudapitest.Encode(want)
		if err := json.Unmarshal(encoded, got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v became %s, which decodes as %v, %v", typ, encoded, got, err)
		}
		if masked := string(stub.JSON(want)); strings.Contains(masked, "[redacted]") {
			revealed++
			if strings.Contains(string(encoded), "[redacted]") {
				t.Errorf("%v is encoded as %s", typ, encoded)
			}
		}
	}
	if len(records) < 20 || revealed < 3 {
		t.Errorf("%d records, %d with secrets", len(records), revealed)
	}
}

// TestEncodedPages: Encode returns the pages of a list as a server sends them,
// and All can read them.
func TestEncodedPages(t *testing.T) {
	t.Parallel()
	key := func(id, name string) *cloudapi.InferenceAPIKey {
		return &cloudapi.InferenceAPIKey{ID: id, Key: cloudapi.NewSecret(name)}
	}
	for _, test := range []struct {
		page any
		want string
	}{
		{&cloudapi.Page[cloudapi.VM]{Count: new(3)}, `{"count":3,"items":[]}`},
		{cloudapi.Page[cloudapi.VM]{}, `{"items":[]}`},
		{&cloudapi.Page[cloudapi.InferenceAPIKey]{Items: []*cloudapi.InferenceAPIKey{key("ak00000000021g000000000001", "s3cret")}},
			`{"items":[` + string(cloudapitest.Encode(key("ak00000000021g000000000001", "s3cret"))) + `]}`},
		{&cloudapi.Page[cloudapi.AuditLogEntry]{Next: "next"}, `{"items":[],"pagination_key":"next"}`},
		{&cloudapi.Page[cloudapi.VM]{Count: new(3), Next: "web-1"}, `{"count":3,"items":[]}`},
	} {
		if got := string(cloudapitest.Encode(test.page)); got != test.want {
			t.Errorf("%+v is encoded as %s, want %s", test.page, got, test.want)
		}
	}

	mock := httpmock.NewMockTransport()
	page := func(ids ...string) httpmock.Responder {
		page := cloudapi.Page[cloudapi.VM]{Count: new(3)}
		for _, id := range ids {
			page.Items = append(page.Items, &cloudapi.VM{ID: id, Name: "web"})
		}
		return httpmock.NewBytesResponder(http.StatusOK, cloudapitest.Encode(&page))
	}
	ids := []string{"vm00000000021g000000000001", "vm00000000021g000000000002", "vm00000000021g000000000003"}
	mock.RegisterResponder(http.MethodGet, "=~/vm$", page(ids[0], ids[1]).Then(page(ids[2])).Then(page()))
	var got []string
	for vm, err := range sdktest.Client(t, mock).VMs.All(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, vm.ID)
	}
	if !slices.Equal(got, ids) {
		t.Errorf("the pages have %v, want %v", got, ids)
	}
}

// TestEncodedErrors: Encode returns an error as the API sends it, and the SDK
// decodes the same error from that. Encode refuses errors that no server sends.
func TestEncodedErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  *cloudapi.Error
		want string
		is   error
	}{
		{&cloudapi.Error{StatusCode: 404, Type: "ResourceNotFound", Message: "no such <VM>"},
			`{"error":{"code":404,"message":"no such \u003cVM\u003e","type":"ResourceNotFound"}}`, cloudapi.ErrNotFound},
		{&cloudapi.Error{StatusCode: 409, Code: 409, Type: "DependencyError", Message: "has VMs", Details: json.RawMessage("null")},
			`{"error":{"code":409,"details":null,"message":"has VMs","type":"DependencyError"}}`, cloudapi.ErrConflict},
		{&cloudapi.Error{Code: 400, Type: "InvalidRequest", Details: json.RawMessage(`{"size":["is too large"]}`), Operation: "VMs.Create", Attempts: 2, Body: "x"},
			`{"error":{"code":400,"details":{"size":["is too large"]},"message":"","type":"InvalidRequest"}}`, cloudapi.ErrInvalidRequest},
	} {
		encoded := cloudapitest.Encode(test.err)
		if byValue := cloudapitest.Encode(*test.err); string(encoded) != test.want || string(byValue) != test.want {
			t.Errorf("%v is encoded as %s, want %s", test.err, encoded, test.want)
		}
		mock := httpmock.NewMockTransport()
		mock.RegisterNoResponder(httpmock.NewBytesResponder(cmp.Or(test.err.StatusCode, test.err.Code), encoded))
		_, err := sdktest.Client(t, mock).VMs.Get(t.Context(), "eu-central-h1", "web-1")
		got, ok := errors.AsType[*cloudapi.Error](err)
		if !ok || !errors.Is(err, test.is) || got.Type != test.err.Type || got.Message != test.err.Message || string(got.Details) != string(test.err.Details) || got.Body != "" {
			t.Errorf("%s became %v", encoded, err)
		}
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{&cloudapi.Error{StatusCode: 404}, "needs a Type"},
		{&cloudapi.Error{Type: "ResourceNotFound"}, "and a Code or StatusCode"},
		{(*cloudapi.Error)(nil), "needs a Type"},
		{&cloudapi.TransportError{Err: io.EOF}, "doesn't send a *cloudapi.TransportError: encode a *cloudapi.Error"},
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.HasPrefix(text, "cloudapitest: Encode: ") || !strings.Contains(text, test.want) {
					t.Errorf("%#v: the panic is %q, want %q", test.err, text, test.want)
				}
			}()
			cloudapitest.Encode(test.err)
		}()
	}
}

// TestMaskedRecord: in a response from json.Marshal the secrets are missing, and
// in one from Encode they are there.
func TestMaskedRecord(t *testing.T) {
	t.Parallel()
	db := &cloudapi.Postgres{ID: "pg00000000021g000000000001", Name: "[redacted]", State: "running", Location: "eu-central-h1", ConnectionString: cloudapi.NewSecret(secret)}
	key := &cloudapi.InferenceAPIKey{ID: "ak00000000021g000000000001", Key: cloudapi.NewSecret(secret)}
	mock := httpmock.NewMockTransport()
	client := sdktest.Client(t, mock)
	responders := func(db, keys httpmock.Responder) {
		mock.RegisterResponder(http.MethodGet, "=~/postgres/", db)
		mock.RegisterResponder(http.MethodGet, "=~/inference-api-key$", keys)
	}
	get := func() (*cloudapi.Postgres, error) { return client.Postgres.Get(t.Context(), "eu-central-h1", db.ID) }
	list := func() ([]*cloudapi.InferenceAPIKey, error) {
		return cloudapi.Collect(client.InferenceAPIKeys.All(t.Context(), nil))
	}

	responders(httpmock.NewJsonResponderOrPanic(http.StatusOK, db), httpmock.NewJsonResponderOrPanic(http.StatusOK, map[string]any{"items": []any{key}}))
	if got, err := get(); err != nil || got.Name != db.Name || !got.ConnectionString.IsZero() {
		t.Errorf("a masked record: %v, %v", got, err)
	}
	if got, err := list(); err != nil || len(got) != 1 || !got[0].Key.IsZero() {
		t.Errorf("a masked list: %v, %v", got, err)
	}

	responders(httpmock.NewBytesResponder(http.StatusOK, cloudapitest.Encode(db)),
		httpmock.NewBytesResponder(http.StatusOK, cloudapitest.Encode([]*cloudapi.InferenceAPIKey{key})))
	if got, err := get(); err != nil || !reflect.DeepEqual(got, db) || got.ConnectionString.Reveal() != secret {
		t.Errorf("an encoded record: %v, %v", got, err)
	}
	if got, err := list(); err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], key) {
		t.Errorf("an encoded list: %v, %v", got, err)
	}
	responders(httpmock.NewBytesResponder(http.StatusOK, cloudapitest.Encode(db)), httpmock.NewBytesResponder(http.StatusOK, cloudapitest.Encode([]*cloudapi.InferenceAPIKey(nil))))
	if got, err := list(); err != nil || len(got) != 0 {
		t.Errorf("an empty list: %v, %v", got, err)
	}
}
