// Package wire_test checks the bytes that every method of every service sends,
// and how it decodes the bytes of the response.
package wire_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/jarcoal/httpmock"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/contract"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// Paths with which the targets of the cases begin.
const (
	projectPath  = "/project/" + stub.Project
	locationPath = projectPath + "/location/eu-central-h1"
)

// wireCase is one call of a method: the bytes that it must send, the bytes of
// the response, and the result.
type wireCase struct {
	name   string // defaults to the operation's name
	call   func(context.Context, *cloudapi.Client) (any, error)
	method string
	target string // the path with its query
	body   string // "" if there is none
	reply  string // "" for a 204
	status int    // of a reply; default 200
	header http.Header
	want   any

	// byName: the call changes the name by which it addresses its resource, so
	// it must not be retried even if the operation may be.
	byName bool
}

// runWireCases runs the cases of a service. Each of its operations in the
// contract must have at least one.
func runWireCases(t *testing.T, service string, cases []wireCase) {
	t.Helper()
	covered := map[string]bool{}
	for _, c := range cases {
		op := c.run(t)
		covered[op.Method+" "+op.Route] = true
		c.runWithoutReply(t, op)
	}
	rows := 0
	for _, row := range contract.Rows() {
		if row.Service() != service {
			continue
		}
		rows++
		if !covered[row.String()] {
			t.Errorf("no case for %s", row)
		}
	}
	if rows == 0 {
		t.Errorf("the contract has no operation of %s", service)
	}
}

// title names the case among the cases of its service.
func (c *wireCase) title() string { return cmp.Or(c.name, c.method+" "+c.path()) }

func (c *wireCase) path() string {
	path, _, _ := strings.Cut(c.target, "?")
	return path
}

// run returns the operation that was called.
func (c *wireCase) run(t *testing.T) (op cloudapi.Operation) {
	t.Helper()
	t.Run(c.title(), func(t *testing.T) {
		mock := httpmock.NewMockTransport()
		mock.RegisterResponder(c.method, "https://api.example.com"+c.path(), func(req *http.Request) (*http.Response, error) {
			op, _ = cloudapi.OperationFromContext(req.Context())
			c.check(t, req)
			resp := httpmock.NewStringResponse(cmp.Or(c.status, http.StatusOK), c.reply)
			resp.Header = http.Header{"Content-Type": {"application/json"}}
			if c.header != nil {
				resp.Header = c.header
			}
			if c.reply == "" {
				resp.StatusCode = http.StatusNoContent
			}
			return resp, nil
		})
		got := stub.Must(c.call(t.Context(), sdktest.Client(t, mock)))(t)
		if n := mock.GetTotalCallCount(); n != 1 {
			t.Errorf("%d requests were sent", n)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("the result differs:\n got %s\nwant %s", stub.JSON(got), stub.JSON(c.want))
		}
	})
	return op
}

// runWithoutReply loses every response: the same request is sent again if the
// retry class of the operation permits it, and otherwise only once.
func (c *wireCase) runWithoutReply(t *testing.T, op cloudapi.Operation) {
	t.Helper()
	attempts := 4
	if c.byName || contract.Once(c.method, op.Name) {
		attempts = 1
	}
	t.Run(c.title()+" without a reply", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				requests++
				c.check(t, req)
				return nil, io.EOF
			}))
			_, err := c.call(t.Context(), client)
			if requests != attempts {
				t.Errorf("%d requests were sent, want %d", requests, attempts)
			}
			if unknown := errors.Is(err, cloudapi.ErrOutcomeUnknown); !errors.Is(err, io.EOF) || unknown != (attempts == 1) {
				t.Errorf("the error is %v", err)
			}
		})
	})
}

// check compares a request with what should be sent.
func (c *wireCase) check(t *testing.T, req *http.Request) {
	t.Helper()
	if got := req.URL.RequestURI(); got != c.target {
		t.Errorf("asked for %s, want %s", got, c.target)
	}
	contentType := ""
	if c.method == http.MethodPost || c.method == http.MethodPatch {
		contentType = "application/json"
	}
	accept := "application/json"
	if file := c.header.Get("Content-Type"); file != "" { // which goes before the JSON of errors
		accept = req.Header.Get("Accept")
		if !strings.Contains(accept, file) || !strings.Contains(accept, "application/json;q=0.5") {
			t.Errorf("a file of the type %s is asked for as %s", file, accept)
		}
	}
	for name, want := range map[string]string{
		"Accept":        accept,
		"Authorization": "Bearer " + stub.Token,
		"Content-Type":  contentType,
	} {
		if got := req.Header.Get(name); got != want {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			t.Error(err)
		}
	}
	if string(body) != c.body {
		t.Errorf("the body differs:\n got %s\nwant %s", body, c.body)
	}
}

// calls returns a call of a method, such as "VMs.Get", with these arguments after
// the context. It returns the items of a sequence as a slice.
func calls(name string, args ...any) func(context.Context, *cloudapi.Client) (any, error) {
	return func(ctx context.Context, c *cloudapi.Client) (any, error) {
		service, method, _ := strings.Cut(name, ".")
		fn := reflect.ValueOf(c).Elem().FieldByName(service).MethodByName(method)
		in := []reflect.Value{reflect.ValueOf(ctx)}
		for i, arg := range args {
			typ := fn.Type().In(min(i+1, fn.Type().NumIn()-1))
			if fn.Type().IsVariadic() && i+1 >= fn.Type().NumIn()-1 {
				typ = typ.Elem()
			}
			value := reflect.New(typ).Elem()
			if arg != nil {
				value.Set(reflect.ValueOf(arg).Convert(value.Type()))
			}
			in = append(in, value)
		}
		for i := len(in); i < fn.Type().NumIn() && !fn.Type().IsVariadic(); i++ { // options that aren't given
			in = append(in, reflect.Zero(fn.Type().In(i)))
		}
		out := fn.Call(in)
		last := out[len(out)-1]
		if last.Type().CanSeq2() {
			items := reflect.MakeSlice(reflect.SliceOf(last.Type().In(0).In(0)), 0, 0)
			for item, err := range last.Seq2() {
				if !err.IsNil() {
					return nil, err.Interface().(error)
				}
				items = reflect.Append(items, item)
			}
			return items.Interface(), nil
		}
		err, _ := last.Interface().(error)
		if len(out) == 1 {
			return nil, err
		}
		return out[0].Interface(), err
	}
}
