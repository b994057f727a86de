package calls_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func replying(status int, contentType, body string) *stub.Recorder {
	return &stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
		resp := stub.Respond(status, body)
		resp.Header.Del("Content-Type")
		if contentType != "" {
			resp.Header.Set("Content-Type", contentType)
		}
		return resp, nil
	}}
}

func TestResponsesWithRecords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status            int
		contentType, body string
	}{
		{200, "application/json", stub.VM},
		{201, "application/json", stub.VM},
		{200, "application/json; charset=utf-8", stub.VM},
		{200, "Application/JSON", stub.VM},
		{200, "application/vnd.example+json", stub.VM},
		{200, "", stub.VM},
		{200, "application/json", "\r\n\t " + stub.VM + "\n\n"},
		{200, "application/json", `{"new_field":{"a":[1]},` + stub.VM[1:]},
		{200, "application/json", strings.Replace(stub.VM, `"web-1"`, `"web-1","ip4":null,"firewalls":null,"gpu":null,"storage_size_gib":null`, 1)},
	} {
		vm, err := sdktest.Recorded(t, replying(tt.status, tt.contentType, tt.body)).VMs.Get(t.Context(), "eu-central-h1", "web-1")
		want := &cloudapi.VM{ID: stub.VMID, Name: "web-1", State: cloudapi.VMStateRunning, Location: "eu-central-h1"}
		if err != nil || !reflect.DeepEqual(vm, want) {
			t.Errorf("%d %q %s: %+v, %v", tt.status, tt.contentType, tt.body, vm, err)
		}
	}
}

func TestResponsesWithoutRecords(t *testing.T) {
	t.Parallel()
	const isJSON = "application/json"
	for _, tt := range []struct {
		name        string
		status      int
		contentType string
		body        string
		reason      string // in the error's text
		excerpt     string
	}{
		{"page", 200, "text/html; charset=utf-8", "<!DOCTYPE html>\n<p>Log in", "it is not declared as JSON", "<!DOCTYPE html> <p>Log in"},
		{"page declared as JSON", 200, isJSON, "<html>", "invalid character '<'", "<html>"},
		{"JSON declared as text", 200, "text/plain", stub.VM, "it is not declared as JSON", `{"id":"…","name":"…","state":"…","location":"…"}`},
		{"malformed content type", 200, "application/json; ;", stub.VM, "it is not declared as JSON", `{"id":"…","name":"…","state":"…","location":"…"}`},
		{"text", 200, "text/plain", "secret: x", "it is not declared as JSON", ""},
		{"nothing", 200, isJSON, "", "it is empty", ""},
		{"blanks", 200, isJSON, " \n\t", "it is empty", ""},
		{"no content", 204, "", "", "it is empty", ""},
		{"null", 200, isJSON, "null", "it has no id", ""},
		{"array", 200, isJSON, "[" + stub.VM + "]", "cannot unmarshal array", `[{"id":"…","name":"…","state":"…","location":"…"}]`},
		{"string", 200, isJSON, `"` + stub.VMID + `"`, "cannot unmarshal string", `"…"`},
		{"number", 200, isJSON, "1", "cannot unmarshal number", ""},
		{"boolean", 200, isJSON, "true", "cannot unmarshal bool", ""},
		{"empty object", 200, isJSON, "{}", "it has no id", "{}"},
		{"empty id", 200, isJSON, `{"id":""}`, "it has no id", `{"id":"…"}`},
		{"null id", 200, isJSON, `{"id":null,"name":"web-1"}`, "it has no id", `{"id":null,"name":"…"}`},
		{"list", 200, isJSON, `{"items":[],"count":0}`, "it has no id", `{"items":[],"count":0}`},
		{"field of another type", 200, isJSON, `{"id":7}`, "cannot unmarshal number", `{"id":7}`},
		{"two records", 200, isJSON, stub.VM + stub.VM, "after top-level value", `{"id":"…","name":"…","state":"…","location":"…"}{"id":"…","name":"…","state":"…","location":"…"}`},
		{"one byte more", 200, isJSON, stub.VM + "}", "after top-level value", `{"id":"…","name":"…","state":"…","location":"…"}}`},
		{"byte order mark", 200, isJSON, "\ufeff" + stub.VM, "invalid character", ""},
		{"long page", 200, "text/html", "<" + strings.Repeat("é", 200), "it is not declared as JSON", "<" + strings.Repeat("é", 99)},
		{"long content type", 200, strings.Repeat("x", 1000), "", "it is empty (" + strings.Repeat("x", 200) + ")", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			network := replying(tt.status, tt.contentType, tt.body)
			client := sdktest.Recorded(t, network, cloudapi.WithRetry(cloudapi.RetryPolicy{}))
			for _, call := range []struct {
				operation string
				unknown   bool
				do        func() (*cloudapi.VM, error)
			}{
				{"VMs.Get", false, func() (*cloudapi.VM, error) { return client.VMs.Get(t.Context(), "eu-central-h1", "web-1") }},
				{"VMs.Create", true, func() (*cloudapi.VM, error) { return client.VMs.Create(t.Context(), "eu-central-h1", "web-1", nil) }},
			} {
				vm, err := call.do()
				e, ok := errors.AsType[*cloudapi.DecodeError](err)
				if vm != nil || !ok || !errors.Is(err, cloudapi.ErrInvalidResponse) {
					t.Fatalf("%s = %v, %v", call.operation, vm, err)
				}
				if !strings.Contains(err.Error(), tt.reason) || strings.Contains(err.Error(), "\n") {
					t.Errorf("the error is %q, want %q", err, tt.reason)
				}
				if e.Operation != call.operation || e.StatusCode != tt.status || e.Body != tt.excerpt || e.Attempts != 1 ||
					!strings.HasPrefix(tt.contentType, e.ContentType) || e.Path != "/project/"+stub.Project+"/location/eu-central-h1/vm/web-1" {
					t.Errorf("the error is %+v, want the excerpt %q", e, tt.excerpt)
				}
				if errors.Is(err, cloudapi.ErrOutcomeUnknown) != call.unknown {
					t.Errorf("%s: outcome unknown is %v", call.operation, !call.unknown)
				}
				if errors.Is(err, io.ErrUnexpectedEOF) {
					t.Error("the response is taken for a truncated one")
				}
				if n := len(network.Take()); n != 1 {
					t.Errorf("%d requests were sent", n)
				}
			}
		})
	}
}

func TestTruncatedResponses(t *testing.T) {
	t.Parallel()
	for end := 1; end < len(stub.VM); end++ {
		_, err := sdktest.Recorded(t, replying(200, "application/json", stub.VM[:end])).VMs.Get(t.Context(), "eu-central-h1", "web-1")
		if !errors.Is(err, cloudapi.ErrInvalidResponse) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", stub.VM[:end], err)
		}
	}
}

type measured struct {
	io.Reader
	read   int64
	closed bool
}

func (m *measured) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	m.read += int64(n)
	return n, err
}

func (m *measured) Close() error {
	m.closed = true
	return nil
}

// endless is a JSON string without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '"'
	}
	return len(p), nil
}

// TestResponseLimit: no more than the limit is read of a response, and no more
// than 1 MiB of an error response.
func TestResponseLimit(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	fits := `{"id":"` + stub.VMID + `","name":"`
	fits += strings.Repeat("n", limit-len(fits)-2) + `"}`
	for _, tt := range []struct {
		name      string
		status    int
		body      io.Reader
		announced int64
		read      int64 // at most
		err       error
		excerpt   string // of an error
	}{
		{"fits", 200, strings.NewReader(fits), limit, limit, nil, ""},
		{"fits, length unknown", 200, strings.NewReader(fits), -1, limit, nil, ""},
		{"announced", 200, endless{}, limit + 1, 0, cloudapi.ErrResponseTooLarge, ""},
		{"not announced", 200, endless{}, -1, limit + 1, cloudapi.ErrResponseTooLarge, ""},
		{"one byte more", 200, strings.NewReader(fits + "\n"), -1, limit + 1, cloudapi.ErrResponseTooLarge, ""},
		{"an endless error", 400, endless{}, -1, 1 << 20, cloudapi.ErrInvalidRequest, strings.Repeat(`"`, 200)},
		{"a large error, announced", 400, endless{}, 1 << 30, 1 << 20, cloudapi.ErrInvalidRequest, strings.Repeat(`"`, 200)},
		{"an error that breaks off", 400, io.MultiReader(strings.NewReader("<h1>Bad"), iotest.ErrReader(errors.New("reset"))), 5000, 7, cloudapi.ErrInvalidRequest, "<h1>Bad"},
	} {
		body := &measured{Reader: tt.body}
		network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
			resp := stub.Respond(tt.status, "{}")
			resp.Body, resp.ContentLength = body, tt.announced
			return resp, nil
		}}
		vm, err := sdktest.Client(t, &network, cloudapi.WithResponseLimit(limit)).VMs.Create(t.Context(), "eu-central-h1", "web-1", nil)
		isTooLarge := errors.Is(err, cloudapi.ErrResponseTooLarge)
		if isTooLarge != (tt.err == cloudapi.ErrResponseTooLarge) || tt.err != nil && (vm != nil || !errors.Is(err, tt.err)) { // the VM that fits has another name, which is another error
			t.Errorf("%s: %v, %v", tt.name, vm, err)
		}
		if tt.err == cloudapi.ErrResponseTooLarge && (!errors.Is(err, cloudapi.ErrInvalidResponse) || !strings.Contains(err.Error(), "limit of 100000 bytes")) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if e, ok := errors.AsType[*cloudapi.Error](err); ok && e.Body != tt.excerpt {
			t.Errorf("%s: the excerpt is %q", tt.name, e.Body)
		}
		if n := len(network.Take()); n != 1 || body.read > tt.read || !body.closed {
			t.Errorf("%s: %d bytes were read in %d requests, closed: %v", tt.name, body.read, n, body.closed)
		}
	}
}

func TestErrorBodies(t *testing.T) {
	t.Parallel()
	type fields = map[string][]string
	for _, tt := range []struct {
		name, body string
		want       cloudapi.Error
		fields     fields
	}{
		{"contract", `{"error":{"code":400,"type":"InvalidRequest","message":"m","details":{"size":"too big"}}}`,
			cloudapi.Error{Code: 400, Type: "InvalidRequest", Message: "m", Details: []byte(`{"size":"too big"}`)}, fields{"size": {"too big"}}},
		{"details absent", `{"error":{"code":404,"type":"ResourceNotFound","message":"m"}}`,
			cloudapi.Error{Code: 404, Type: "ResourceNotFound", Message: "m"}, nil},
		{"details null", `{"error":{"code":400,"type":"T","message":"m","details":null}}`,
			cloudapi.Error{Code: 400, Type: "T", Message: "m", Details: []byte("null")}, nil},
		{"details empty", `{"error":{"code":400,"type":"T","message":"m","details":{}}}`,
			cloudapi.Error{Code: 400, Type: "T", Message: "m", Details: []byte("{}")}, nil},
		{"details with arrays", `{"error":{"code":400,"type":"T","message":"m","details":{"password":["short","weak"],"pg_config.max_connections":["must be an integer"]}}}`,
			cloudapi.Error{Code: 400, Type: "T", Message: "m", Details: []byte(`{"password":["short","weak"],"pg_config.max_connections":["must be an integer"]}`)},
			fields{"password": {"short", "weak"}, "pg_config.max_connections": {"must be an integer"}}},
		{"details of many shapes", `{"error":{"code":400,"type":"T","message":"m","details":{"a":"x","b":1,"c":{"d":"e"},"f":["y",2,null],"g":null,"h":[],"i":""}}}`,
			cloudapi.Error{Code: 400, Type: "T", Message: "m", Details: []byte(`{"a":"x","b":1,"c":{"d":"e"},"f":["y",2,null],"g":null,"h":[],"i":""}`)},
			fields{"a": {"x"}, "f": {"y"}, "i": {""}}},
		{"details an array", `{"error":{"code":400,"type":"T","message":"m","details":["a","b"]}}`,
			cloudapi.Error{Code: 400, Type: "T", Message: "m", Details: []byte(`["a","b"]`)}, nil},
		{"details a string", `{"error":{"code":400,"type":"T","message":"m","details":"why"}}`,
			cloudapi.Error{Code: 400, Type: "T", Message: "m", Details: []byte(`"why"`)}, nil},
		{"details a number", `{"error":{"code":400,"type":"T","message":"m","details":7}}`,
			cloudapi.Error{Code: 400, Type: "T", Message: "m", Details: []byte("7")}, nil},
		{"more fields", `{"error":{"code":400,"type":"T","message":"m","trace":"x"},"request_id":"y"}`,
			cloudapi.Error{Code: 400, Type: "T", Message: "m"}, nil},
		{"code a string", `{"error":{"code":"409","type":"T","message":"m","details":{"a":"x"}}}`,
			cloudapi.Error{Code: 400, Type: "T", Message: "m", Details: []byte(`{"a":"x"}`)}, fields{"a": {"x"}}},
		{"code and type absent", `{"error":{"message":"m"}}`, cloudapi.Error{Code: 400, Message: "m"}, nil},
		{"message of another type", `{"error":{"code":400,"type":"T","message":["m"]}}`, cloudapi.Error{Code: 400, Type: "T"}, nil},
		{"message null", `{"error":{"code":400,"type":"T","message":null}}`, cloudapi.Error{Code: 400, Type: "T"}, nil},
		{"error empty", `{"error":{}}`, cloudapi.Error{Code: 400, Body: `{"error":{}}`}, nil},
		{"error a string", `{"error":"no such thing"}`, cloudapi.Error{Code: 400, Body: `{"error":"no such thing"}`}, nil},
		{"error an array", `{"error":["a"]}`, cloudapi.Error{Code: 400, Body: `{"error":["a"]}`}, nil},
		{"error null", `{"error":null}`, cloudapi.Error{Code: 400, Body: `{"error":null}`}, nil},
		{"no error", `{"message":"m"}`, cloudapi.Error{Code: 400, Body: `{"message":"m"}`}, nil},
		{"array", `[1]`, cloudapi.Error{Code: 400, Body: `[1]`}, nil},
		{"null", `null`, cloudapi.Error{Code: 400, Body: `null`}, nil},
		{"page", "<html>\r\n<h1>502</h1>\x00", cloudapi.Error{Code: 400, Body: "<html>  <h1>502</h1>"}, nil},
		{"invalid UTF-8", "caf\xe9", cloudapi.Error{Code: 400, Body: "caf\uFFFD"}, nil},
		{"cut off", `{"error":{"code":400,"type":"T","mess`, cloudapi.Error{Code: 400, Body: `{"error":{"code":400,"type":"T","mess`}, nil},
		{"empty", "", cloudapi.Error{Code: 400}, nil},
		{"long", strings.Repeat("é", 5000), cloudapi.Error{Code: 400, Body: strings.Repeat("é", 100)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := sdktest.Recorded(t, replying(400, "", tt.body)).VMs.Get(t.Context(), "eu-central-h1", "web-1")
			e, ok := errors.AsType[*cloudapi.Error](err)
			if !ok {
				t.Fatalf("the error is %T: %v", err, err)
			}
			want := tt.want
			want.StatusCode, want.Attempts = 400, 1
			want.Operation, want.Method, want.Host = "VMs.Get", "GET", "api.example.com"
			want.Path = "/project/" + stub.Project + "/location/eu-central-h1/vm/web-1"
			if !reflect.DeepEqual(*e, want) {
				t.Errorf("the error is\n%#v, want\n%#v", *e, want)
			}
			if got := e.FieldErrors(); !reflect.DeepEqual(got, tt.fields) {
				t.Errorf("FieldErrors = %v, want %v", got, tt.fields)
			}
			if strings.ContainsAny(err.Error(), "\n\r\x00") || len(err.Error()) > 700 {
				t.Errorf("the text is %q", err)
			}
		})
	}
}

func TestSentinelsByStatus(t *testing.T) {
	t.Parallel()
	sentinels := map[error]func(status int) bool{
		cloudapi.ErrInvalidRequest:   func(s int) bool { return s == 400 || s == 422 },
		cloudapi.ErrUnauthorized:     func(s int) bool { return s == 401 },
		cloudapi.ErrForbidden:        func(s int) bool { return s == 403 },
		cloudapi.ErrNotFound:         func(s int) bool { return s == 404 },
		cloudapi.ErrMaybeUnsupported: func(s int) bool { return s == 404 },
		cloudapi.ErrConflict:         func(s int) bool { return s == 409 },
		cloudapi.ErrRateLimited:      func(s int) bool { return s == 429 },
		cloudapi.ErrServer:           func(s int) bool { return s >= 500 },
	}
	for _, never := range []error{cloudapi.ErrAlreadyExists, cloudapi.ErrInvalidArgument, cloudapi.ErrNoProject, cloudapi.ErrInvalidResponse,
		cloudapi.ErrResponseTooLarge, cloudapi.ErrPaginationStalled, cloudapi.ErrOutcomeUnknown, cloudapi.ErrWaitFailed} {
		sentinels[never] = func(int) bool { return false }
	}
	for status := 300; status < 600; status++ {
		body := strings.Replace(stub.Envelope(status), `"T"`, `"ResourceNotFound"`, 1)
		_, err := sdktest.Recorded(t, replying(status, "application/json", body)).Postgres.Capabilities(t.Context())
		if e, ok := errors.AsType[*cloudapi.Error](err); !ok || e.StatusCode != status || e.Type != "ResourceNotFound" || e.Message != "m" {
			t.Errorf("%d: %v", status, err)
		}
		for sentinel, matches := range sentinels {
			if got := errors.Is(err, sentinel); got != matches(status) {
				t.Errorf("%d is %q: %v", status, sentinel, got)
			}
		}
	}
}

// TestInvalidUTF8IsNotSent: text that isn't UTF-8 would arrive changed, for
// example as a password that nobody knows. U+FFFD is the result of such a
// change, so it isn't sent either.
func TestInvalidUTF8IsNotSent(t *testing.T) {
	t.Parallel()
	var sent []string
	client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
		var body struct{ Description string }
		if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		sent = append(sent, body.Description)
		return stub.Respond(http.StatusOK, `{"id":"fw8ww2xa7brt1qrn9hgzbc7efq"}`), nil
	}))
	const location = "eu-central-h1"
	_, secret := client.Postgres.ResetSuperuserPassword(t.Context(), location, "db", cloudapi.NewSecret("Abcdefghijk1\xff"))
	_, field := client.Firewalls.Create(t.Context(), location, "edge", &cloudapi.FirewallCreateRequest{Description: "a\\\xff"})
	_, setting := client.Postgres.UpdateConfig(t.Context(), location, "db", &cloudapi.PostgresConfigUpdateRequest{PGConfig: cloudapi.PostgresSettings{"search_path": cloudapi.NewPostgresSetting("\xff")}})
	_, tag := client.Postgres.Update(t.Context(), location, "db", &cloudapi.PostgresUpdateRequest{Tags: []cloudapi.PostgresTag{{Key: "a", Value: "\xff"}}})
	_, name := client.VMs.Rename(t.Context(), location, "web-1", "\xc3")
	_, replaced := client.Firewalls.Create(t.Context(), location, "edge", &cloudapi.FirewallCreateRequest{Description: "a\\\uFFFD"})
	for i, err := range []error{secret, field, setting, tag, name, replaced} {
		if !errors.Is(err, cloudapi.ErrInvalidArgument) || !strings.Contains(err.Error(), "UTF-8") || strings.Contains(err.Error(), "Abcdef") || sent != nil {
			t.Errorf("text %d: %v, and sent were %q", i, err, sent)
		}
	}
	escapes := []string{`\ufffd`, `\\ufffd`}
	for _, text := range escapes {
		stub.Must(client.Firewalls.Create(t.Context(), location, "edge", &cloudapi.FirewallCreateRequest{Description: text}))(t)
	}
	if !slices.Equal(sent, escapes) {
		t.Errorf("%q arrived as %q", escapes, sent)
	}
}

func TestDoRefusesUnsuitableResults(t *testing.T) {
	t.Parallel()
	client := sdktest.SendingNothing(t)
	for _, out := range []any{(*[]byte)(nil), (*cloudapi.VM)(nil), cloudapi.VM{}, map[string]any{}, "text"} {
		if err := client.Do(t.Context(), "POST", []string{"project"}, nil, nil, out); !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("out %T: %v", out, err)
		}
	}
}

func TestNilContextAndZeroClient(t *testing.T) {
	t.Parallel()
	var none context.Context
	client := sdktest.SendingNothing(t)
	_, err := client.VMs.Get(none, "eu-central-h1", "web-1")
	_, following := cloudapi.Collect(client.Postgres.FollowLogs(none, "eu-central-h1", "orders-db", nil, nil))
	_, waiting := cloudapi.WaitAll(none, []int{1}, func(context.Context, int) (*int, error) { return nil, nil }, nil)
	if !errors.Is(err, cloudapi.ErrInvalidArgument) || !errors.Is(following, cloudapi.ErrInvalidArgument) || !errors.Is(waiting, cloudapi.ErrInvalidArgument) {
		t.Errorf("without a context: %v, %v, %v", err, following, waiting)
	}
	const unmade = "cloudapi.Client(not created by NewClient)"
	if got := fmt.Sprint(&cloudapi.Client{}, cloudapi.Client{}); got != unmade+" "+unmade {
		t.Errorf("clients that nobody made print as %q", got)
	}
	var nobody *cloudapi.Client
	if got := fmt.Sprint(nobody); got != "<nil>" || nobody.String() != unmade {
		t.Errorf("no client prints as %q, and describes itself as %q", got, nobody)
	}
	if got := (&cloudapi.TransportError{Operation: "VMs.Get"}).Error(); !strings.HasPrefix(got, "cloudapi: VMs.Get") {
		t.Errorf("a transport error without a cause is %q", got)
	}
}
