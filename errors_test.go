package cloudapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestErrorTexts pins the text of each error, which is one line.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	const op, path = "VMs.Get", "/project/pj/vm/web-1"
	e := func(change func(*Error)) *Error {
		err := &Error{StatusCode: 400, Code: 400, Type: "InvalidRequest", Message: "no", Operation: op, Method: "GET", Path: path, Attempts: 1}
		change(err)
		return err
	}
	gone := errors.New("context canceled")
	hostile := Resource{Kind: KindVM, ID: "id\x1b", Location: "eu\n", Name: "a\u202e", Parent: &Resource{Kind: KindPrivateSubnet, ID: "b\r"}}
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"server", e(func(*Error) {}), "cloudapi: VMs.Get: GET /project/pj/vm/web-1: 400 InvalidRequest: no"},
		{"no type", e(func(e *Error) { e.Type = "" }), "cloudapi: VMs.Get: GET /project/pj/vm/web-1: 400: no"},
		{"no message", e(func(e *Error) { e.Message = "" }), "cloudapi: VMs.Get: GET /project/pj/vm/web-1: 400 InvalidRequest"},
		{"no envelope", e(func(e *Error) { e.Type, e.Message, e.Body = "", "", "<h1>No" }), `cloudapi: VMs.Get: GET /project/pj/vm/web-1: 400 Bad Request: "<h1>No"`},
		{"no body", e(func(e *Error) { e.StatusCode, e.Type, e.Message = 502, "", "" }), "cloudapi: VMs.Get: GET /project/pj/vm/web-1: 502 Bad Gateway"},
		{"unknown status", e(func(e *Error) { e.StatusCode, e.Type, e.Message, e.Body = 599, "", "", "x" }), `cloudapi: VMs.Get: GET /project/pj/vm/web-1: 599: "x"`},
		{"details", e(func(e *Error) { e.Details = []byte(`{"size":"too big","b.c":["x","y"],"d":1}`) }),
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1: 400 InvalidRequest: no (b.c: x; b.c: y; size: too big)"},
		{"details that are cut off", e(func(e *Error) { e.Details = []byte(`{"size":"too big","b`) }),
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1: 400 InvalidRequest: no"},
		{"attempts", e(func(e *Error) { e.Attempts = 4 }), "cloudapi: VMs.Get: GET /project/pj/vm/web-1: 400 InvalidRequest: no (after 4 attempts)"},
		{"stopped", e(func(e *Error) { e.outcome.NotRetried = gone }), "cloudapi: VMs.Get: GET /project/pj/vm/web-1: 400 InvalidRequest: no; not retried: context canceled"},
		{"outcome unknown", e(func(e *Error) { e.outcome.Unknown = true }),
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1: 400 InvalidRequest: no; the operation may have taken effect: ConfirmChange finds out"},
		{"lines", e(func(e *Error) { e.Type, e.Message, e.Details = "A\nB", "c\r\nd\x1b[31m", []byte(`{"e\nf":"g\nh"}`) }),
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1: 400 A B: c  d [31m (e f: g h)"},
		{"length", e(func(e *Error) { e.Message = strings.Repeat("é", 5000) }),
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1: 400 InvalidRequest: " + strings.Repeat("é", 250) + "…"},

		{"transport", &TransportError{Operation: op, Method: "GET", Path: path, Attempts: 2, Err: io.EOF, outcome: call.Outcome{Unknown: true, NotRetried: gone}},
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1: EOF (after 2 attempts); not retried: context canceled; the operation may have taken effect: ConfirmChange finds out"},
		{"transport, lines", &TransportError{Operation: op, Method: "GET", Path: path, Attempts: 1, Err: errors.Join(io.EOF, io.ErrNoProgress), outcome: call.Outcome{NotRetried: errors.Join(gone, io.EOF)}},
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1: EOF multiple Read calls return no data or error; not retried: context canceled EOF"},
		{"transport, length", &TransportError{Operation: op, Method: "GET", Path: path, Attempts: 1, Err: errors.New(strings.Repeat("x", 1<<20))},
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1: " + strings.Repeat("x", 500) + "…"},
		{"decode, length", &DecodeError{Operation: op, Method: "GET", Path: path, Attempts: 1, StatusCode: 200, Err: errors.New("number 1" + strings.Repeat("0", 1<<20))},
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1: status 200 with an unusable response: number 1" + strings.Repeat("0", 492) + "…"},

		{"decode", &DecodeError{Operation: op, Method: "GET", Path: path, Attempts: 1, StatusCode: 200, ContentType: "text/html", Body: "<h1>", Err: io.ErrUnexpectedEOF},
			`cloudapi: VMs.Get: GET /project/pj/vm/web-1: status 200 with an unusable response: unexpected EOF (text/html): "<h1>"`},
		{"decode, lines", &DecodeError{Operation: op, Method: "GET", Path: path, Attempts: 1, StatusCode: 200, ContentType: "a/b;\x1b[2J", Err: io.EOF},
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1: status 200 with an unusable response: EOF (a/b; [2J)"},
		{"wait, lines", &WaitError{Operation: op, Resource: "eu\x1b/id1", Polls: 2, State: "a\nb", Record: &VM{ID: "id1", Name: "a\n\x1b[2J"}, Err: io.EOF},
			`cloudapi: VMs.Get of eu /"a\n\x1b[2J" (id1) ended after 0s and 2 polls, last state "a\nb": EOF`},
		{"drift, lines", &DriftError{Operation: op, Resource: hostile, Fields: []Drift{{Field: "tags", Wanted: []string{"a"}, Found: []string{"b\nc"}, Remedy: RemedyReplace}}},
			`cloudapi: VMs.Get: VM "eu\n"/"a\u202e" ("id\x1b") of private subnet "b\r" differs from the request: tags is [b c], wanted [a] (which no update can change)`},
		{"unlisted, lines", &UnlistedError{Operation: op, Resources: []Resource{{Kind: KindLoadBalancer, Name: "a\nb"}}},
			`cloudapi: VMs.Get: the server cannot show load balancer "a\nb" while its Kubernetes cluster has no Service; all others were listed`},
		{"host", e(func(e *Error) { e.Host = "api.example.com" }), "cloudapi: VMs.Get: GET /project/pj/vm/web-1 at api.example.com: 400 InvalidRequest: no"},
		{"transport, host", &TransportError{Operation: op, Method: "GET", Host: "api.example.com", Path: path, Attempts: 1, Err: io.EOF},
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1 at api.example.com: EOF"},
		{"transport, host in the cause", &TransportError{Operation: op, Method: "GET", Host: "api.example.com", Path: path, Attempts: 1, Err: errors.New("lookup api.example.com: no such host")},
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1: lookup api.example.com: no such host"},
		{"transport, word", &TransportError{Operation: op, Method: "GET", Host: "server", Path: path, Attempts: 1, Err: errors.New("the server speaks only HTTP/2")},
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1 at server: the server speaks only HTTP/2"},
		{"transport, other host", &TransportError{Operation: op, Method: "GET", Host: "example.com", Path: path, Attempts: 1, Err: errors.New("lookup proxy.example.com: no such host")},
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1 at example.com: lookup proxy.example.com: no such host"},
		{"transport, address", &TransportError{Operation: op, Method: "GET", Host: "[::1]:80", Path: path, Attempts: 1, Err: errors.New("read tcp [::1]:50000->[::1]:80: connection reset")},
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1: read tcp [::1]:50000->[::1]:80: connection reset"},
		{"decode, host", &DecodeError{Operation: op, Method: "GET", Host: "api.example.com:8443", Path: path, Attempts: 1, StatusCode: 200, Err: io.EOF},
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1 at api.example.com:8443: status 200 with an unusable response: EOF"},
		{"decode nothing", &DecodeError{Operation: op, Method: "GET", Path: path, Attempts: 3, StatusCode: 204, Err: errors.New("it is empty"), outcome: call.Outcome{NotRetried: gone}},
			"cloudapi: VMs.Get: GET /project/pj/vm/web-1: status 204 with an unusable response: it is empty (after 3 attempts); not retried: context canceled"},

		{"argument", &ArgumentError{Operation: op, Name: "location", Value: "a b", Reason: "is wrong"}, `cloudapi: VMs.Get: location "a b" is wrong`},
		{"empty argument", &ArgumentError{Operation: op, Name: "location", Reason: "must not be empty"}, "cloudapi: VMs.Get: location must not be empty"},
		{"option", &ArgumentError{Name: "timeout", Value: "-1s", Reason: "is wrong"}, `cloudapi: timeout "-1s" is wrong`},
		{"argument with a line break", &ArgumentError{Name: "project", Value: "pj\n\x00", Reason: "is wrong"}, `cloudapi: project "pj\n\x00" is wrong`},
		{"long argument", &ArgumentError{Name: "project", Value: "x" + strings.Repeat("é", 100), Reason: "is wrong"},
			`cloudapi: project "x` + strings.Repeat("é", 39) + `"… is wrong`},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%s: the text is\n%s, want\n%s", tt.name, got, tt.want)
		}
	}
}

// TestRefusalsByText: errors.Is recognizes some refusals only by the server's
// text, or by a field that only the server names. Other errors with similar
// texts don't match.
func TestRefusalsByText(t *testing.T) {
	t.Parallel()
	const quota = "Insufficient quota for requested size. Requested vCPU count: 60, currently used vCPU count: 13, " +
		"maximum allowed vCPU count: 32, remaining vCPU count: 19"
	details := func(field, text string) *Error {
		return &Error{StatusCode: 400, Type: "InvalidRequest", Details: stub.JSON(map[string]string{field: text})}
	}
	message := func(text string) *Error {
		return &Error{StatusCode: 400, Type: "InvalidRequest", Message: text, Details: []byte("null")}
	}
	with := func(e *Error, change func(*Error)) *Error { change(e); return e }
	for _, tt := range []struct {
		err  *Error
		want error // nil if it matches only ErrInvalidRequest
	}{
		{details("size", quota), ErrQuotaExceeded},
		{details("worker_nodes", quota), ErrQuotaExceeded},
		{details("node_count", quota), ErrQuotaExceeded},
		{with(details("size", ""), func(e *Error) { e.Details = stub.JSON(map[string][]string{"size": {"odd", quota}}) }), ErrQuotaExceeded},
		{message("Project limit exceeded. You can create up to 10 projects. Contact support@ubicloud.com if you need more."), ErrQuotaExceeded},
		{details("billing_info", "Project doesn't have valid billing information"), ErrBillingRequired},
		{message("project_id and location_id and name is already taken"), ErrAlreadyExists},
		{message("project_id and display_name is already taken, project_id and ui_name is already taken"), ErrAlreadyExists},
		{message("project_id and location_id and name is already taken, public_key invalid SSH public key format"), ErrAlreadyExists},
		{message("public_key invalid SSH public key format, project_id and name is already taken"), ErrAlreadyExists},
		{message("Machine image with this name already exists in this location"), ErrAlreadyExists},
		{message("Version v1 already exists for this machine image"), ErrAlreadyExists},

		{details("name", "A private link service named 'orders' already exists in location 'own-1.b_c~d'"), ErrAlreadyExists},

		{details("postgres_resource_id", "A private link service named 'a' already exists in location 'b'"), nil},
		{details("name", "A private link service named 'a' already exists in location 'b' can't be created"), nil},               // the name is "a' already exists in location 'b"
		{details("name", "A private link service named 'a' already exists in location 'b' is unknown in location 'c'"), nil},     // the same name
		{details("name", "A private link service named 'a' can't be in location 'c' already exists in location 'b'"), nil},       // the location is "c' already exists in location 'b"
		{details("name", "The name 'A private link service named 'a' already exists in location 'b''"), nil},                     // the name is the whole text
		{details("name", "No private link service named 'A private link service named 'a' already exists in location 'b'"), nil}, // the name is nearly the whole text
		{message("A private link service named 'a' already exists in location 'b'"), nil},

		{details("size", `"huge-1" is not a valid virtual machine size.`), nil},
		{details("size", "Invalid size."), nil},
		{details("size", `"`+quota+`" is not a valid virtual machine size.`), nil},
		{details("start_after", quota+" is not a valid ID"), nil}, // the server quotes what the caller sent
		{message(quota), nil},
		{details("size", "billing_info"), nil},
		{message("billing_info"), nil},
		{message("name Project limit exceeded."), nil},
		{message("the name is already taken, or is not"), nil},
		{message("Another machine image version is already being captured from this source VM"), nil},
		// A VM that has a load balancer need not have this one.
		{details("vm_id", "VM is already attached to a load balancer"), nil},
		{details("vms", "VM is already attached to a load balancer"), nil},
		{message("vm_id is already taken"), nil},
		{message("VM is already attached to a load balancer"), nil},
		{message("name must only contain lowercase letters, numbers, and hyphens, public_key is not present"), nil},
		{with(message("no"), func(e *Error) { e.Type = "AlreadyExists" }), nil},
		{with(details("size", quota), func(e *Error) { e.Type = "BadRequest" }), nil},
		{with(details("size", quota), func(e *Error) { e.Details = []byte("[1]") }), nil},
	} {
		for _, target := range []error{ErrQuotaExceeded, ErrBillingRequired, ErrAlreadyExists} {
			if got := errors.Is(tt.err, target); got != (target == tt.want) {
				t.Errorf("%v is %v: %v", tt.err, target, got)
			}
		}
		if !errors.Is(tt.err, ErrInvalidRequest) {
			t.Errorf("%v is no invalid request", tt.err)
		}
	}
	for _, e := range []*Error{{Type: "AlreadyExists", Message: "no"}, {Type: "Conflict", Message: "this name is already taken"}, {Type: "Conflict", Message: "a VM of this name already exists"}, {Type: "DependencyError", Message: "has VMs"}} {
		e.StatusCode = 409
		if errors.Is(e, ErrAlreadyExists) != (e.Type != "DependencyError") || !errors.Is(e, ErrConflict) || errors.Is(e, ErrInvalidRequest) {
			t.Errorf("a conflict: %v", e)
		}
		if e.StatusCode = 500; errors.Is(e, ErrAlreadyExists) {
			t.Errorf("a server's error: %v", e)
		}
	}
	for _, status := range []int{403, 422, 500} {
		for _, e := range []*Error{details("size", quota), details("billing_info", "none"), message("Project limit exceeded.")} {
			e.StatusCode = status
			if errors.Is(e, ErrQuotaExceeded) || errors.Is(e, ErrBillingRequired) {
				t.Errorf("a %d is taken for what only a 400 is: %v", status, e)
			}
		}
	}
}

// TestQuota: an error has the numbers of its text, and no others.
func TestQuota(t *testing.T) {
	t.Parallel()
	refused := func(field, text string) *Error {
		return &Error{StatusCode: 400, Type: "InvalidRequest", Details: stub.JSON(map[string]string{field: text})}
	}
	const numbers = "Insufficient quota for requested size. Requested vCPU count: 60, currently used vCPU count: 13, maximum allowed vCPU count: 32, remaining vCPU count: 19"
	for _, tt := range []struct {
		err  *Error
		want *Quota
	}{
		{refused("size", numbers), &Quota{60, 13, 32}},
		{refused("node_count", numbers), &Quota{60, 13, 32}},
		{refused("version", "Insufficient quota for machine image versions. Requested: 17, maximum allowed: 16"), &Quota{17, -1, 16}},
		{refused("size", "Insufficient quota for requested size. Ask your administrator."), nil},
		{refused("size", "Insufficient quota for requested size. Requested vCPU count: x, currently used vCPU count: 13, maximum allowed vCPU count: 32"), nil},
		{refused("name", numbers), nil},
		{refused("size", "x "+numbers), nil},
		{&Error{StatusCode: 400, Type: "InvalidRequest", Message: "Project limit exceeded. You can create up to 10 projects."}, nil},
		{&Error{StatusCode: 404, Type: "ResourceNotFound"}, nil},
	} {
		if got := tt.err.Quota(); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%v: %v, want %v", tt.err, got, tt.want)
		}
	}
}

// TestLocations: the locations are in a detail of the error, in words.
func TestLocations(t *testing.T) {
	t.Parallel()
	for details, want := range map[string][]string{
		`{"location":"Given location is not a valid location. Available locations: eu-central-h1, mine"}`: {"eu-central-h1", "mine"},
		`{"location":"Available locations: mine"}`:                                                        {"mine"},
		`{"location":"Given location is not a valid location."}`:                                          nil,
		`{"size":"Available locations: mine"}`:                                                            nil,
		``:                                                                                                nil,
	} {
		e := &Error{StatusCode: 404, Type: "InvalidLocation", Details: json.RawMessage(details)}
		if got := e.Locations(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", details, got, want)
		}
	}
}

// TestErrorPrefix: an error has the prefix once, however deep its causes are.
func TestErrorPrefix(t *testing.T) {
	t.Parallel()
	const prefix = "cloudapi: "
	ctx := t.Context()
	forbidden := answering(t, 403, "application/json", stub.Envelope(403))
	stalled := answering(t, 200, "application/json", `{"items":[],"count":7}`)
	get := func(c *Client, opts ...Option) error {
		c, err := c.With(opts...)
		if err != nil {
			return err
		}
		_, err = c.VMs.Get(ctx, "l", "v")
		return err
	}
	_, optionErr := NewClient(WithBaseURL(""))
	_, waitErr := forbidden.VMs.WaitRunning(ctx, "l", "v", nil)
	_, emptyWaitErr := Wait(ctx, func(context.Context) (*VM, error) { return nil, nil }, func(*VM) (bool, error) { return true, nil }, nil)
	_, confirmErr := Confirm(ctx, &Error{outcome: call.Outcome{Unknown: true}}, func(ctx context.Context) (*VM, error) { return forbidden.VMs.Get(ctx, "l", "v") }, nil)
	_, listErr := Collect(stalled.VMs.All(ctx, nil))
	_, idErr := ParseID("x")
	for name, err := range map[string]error{
		"server":         get(forbidden),
		"argument":       get(forbidden.InProject("x")),
		"no project":     get(forbidden.InProject("")),
		"option":         optionErr,
		"ID":             idErr,
		"list":           listErr,
		"reply":          get(stalled),
		"limit":          get(stalled, WithResponseLimit(1)),
		"limiter":        get(forbidden, WithLimiter(stub.Limiter(func(context.Context) error { return errors.New("no") }))),
		"token source":   get(forbidden, WithTokenSource(func(context.Context) (string, error) { return "", nil })),
		"wait":           waitErr,
		"wait, no value": emptyWaitErr,
		"wait, no cause": &WaitError{},
		"confirm":        confirmErr,
	} {
		if err == nil || !strings.HasPrefix(err.Error(), prefix) || strings.Count(err.Error(), prefix) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
