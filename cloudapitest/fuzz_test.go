package cloudapitest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/families"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// FuzzRequest sends any request twice to a server of each version with objects
// called web-1. The server never panics, never responds with the 500 of its own
// mistakes, and always responds in the form of the API.
//
// TOKEN and PROJECT in the raw request stand for the server's own.
func FuzzRequest(f *testing.F) {
	token, project := newToken(), NewID(cloudapi.KindProject).String()
	marks := strings.NewReplacer("TOKEN", token, "PROJECT", project)
	const head = " HTTP/1.1\r\nHost: api.localhost\r\nAuthorization: Bearer TOKEN\r\nContent-Type: application/json\r\n"
	for _, op := range families.New(api.Config{}).Config.Operations {
		path := op.Route
		for segment := range strings.SplitSeq(op.Route, "/") {
			if name, ok := api.ParamName(segment); ok {
				path = strings.Replace(path, segment, seedSegment(name), 1)
			}
		}
		bodies := []string{`{}`, ``}
		if body := seedBody(op.Body); body != `{}` {
			bodies = append(bodies, body, `{"name":null,"x":[{}]}`)
		}
		for _, body := range bodies {
			f.Add([]byte(fmt.Sprintf("%s %s?page_size=2%sContent-Length: %d\r\n\r\n%s", op.Method, path, head, len(body), body)))
		}
	}
	for _, raw := range []string{
		"GET /project?start_after=%zz" + head + "\r\n",
		"GET /project;x?order_column=a;b&page_size=-1" + head + "\r\n",
		"GET //project/../%2e%2e" + head + "\r\n",
		"POST /project" + head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"POST /project HTTP/1.0\r\nAuthorization: Bearer pat-\r\n\r\n",
		"DELETE /project HTTP/1.1\r\nHost: x\r\nAuthorization: bearer: TOKEN\r\n\r\n",
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, v := range []API{Contract, Service} {
			cfg := stub.Must(newConfig([]Option{WithAPI(v), WithToken(token), WithProjectID(project), WithDelays(Delays{}), Lenient()}))(t)
			sendTwice(t, newServer(cfg), marks, raw)
		}
	})
}

// sendTwice creates the objects, and then sends a raw request twice.
func sendTwice(t *testing.T, s *Server, marks *strings.Replacer, raw []byte) {
	for _, o := range seedObjects(s.config.api) {
		body := strings.NewReader(o.body)
		r := httptest.NewRequest(http.MethodPost, marks.Replace(o.path), body)
		r.Header = http.Header{"Authorization": {"Bearer " + s.Token()}, "Content-Type": {"application/json"}}
		w := httptest.NewRecorder()
		if s.serve(w, r); w.Code != http.StatusOK {
			t.Fatalf("%s: %d with %s", o.path, w.Code, w.Body)
		}
	}
	raw = []byte(marks.Replace(string(raw)))
	for range 2 {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		if aborted := serveOne(s, w, r); aborted {
			return
		}
		checkForm(t, w, r)
	}
}

type seedObject struct{ path, body string }

// seedObjects returns objects of several kinds, which the server starts with.
func seedObjects(v API) []seedObject {
	kubernetes := map[API]string{Contract: "v1.34", Service: "v1.36"}[v]
	return []seedObject{
		{"/project/PROJECT/location/eu-central-h1/private-subnet/web-1", `{}`},
		{"/project/PROJECT/location/eu-central-h1/firewall/web-1", `{}`},
		{"/project/PROJECT/location/eu-central-h1/vm/web-1", `{"public_key":"ssh-ed25519 AAAA"}`},
		{"/project/PROJECT/location/eu-central-h1/postgres/web-1", `{"size":"standard-2","storage_size":64}`},
		{"/project/PROJECT/location/eu-central-h1/kubernetes-cluster/web-1", `{"version":"` + kubernetes + `","worker_size":"standard-2"}`},
		{"/project/PROJECT/ssh-public-key", `{"name":"web-1","public_key":"ssh-ed25519 AAAA"}`},
	}
}

// serveOne serves a request, and reports whether the server dropped the
// connection, as for a body that it can't read. It doesn't recover other
// panics.
func serveOne(s *Server, w http.ResponseWriter, r *http.Request) (aborted bool) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			aborted = true
		default:
			panic(p)
		}
	}()
	s.serve(w, r)
	return false
}

func checkForm(t *testing.T, w *httptest.ResponseRecorder, r *http.Request) {
	t.Helper()
	body := w.Body.Bytes()
	switch {
	case w.Code == http.StatusNoContent:
		if len(body) > 0 {
			t.Fatalf("%s %s: a 204 with %q", r.Method, r.URL, body)
		}
	case w.Code == http.StatusOK, w.Code == http.StatusAccepted:
		if w.Header().Get("Content-Type") == "application/json" && !json.Valid(body) {
			t.Fatalf("%s %s: %q", r.Method, r.URL, body)
		}
	default:
		var envelope struct {
			Error *reply.Error `json:"error"`
		}
		err := json.Unmarshal(body, &envelope)
		if err != nil || envelope.Error == nil || envelope.Error.Code != w.Code || envelope.Error.Type == "" || envelope.Error.Message == "" {
			t.Fatalf("%s %s: %d with %q", r.Method, r.URL, w.Code, body)
		}
		if _, err := url.ParseQuery(r.URL.RawQuery); w.Code >= 500 && err == nil {
			t.Fatalf("%s %s: %d with %q", r.Method, r.URL, w.Code, body)
		}
	}
}

// seedSegment returns a value for a path parameter.
func seedSegment(name string) string {
	prefixes := map[string]string{"private_subnet_id": "ps", "firewall_rule_id": "fr", "metric_destination_id": "et", "inference_api_key_id": "ak"}
	switch name {
	case "project_id":
		return "PROJECT"
	case "location":
		return "eu-central-h1"
	case "object_id":
		return "vmy9n10s8q164j473ra7pj9nqz"
	}
	if prefix, ok := prefixes[name]; ok {
		return prefix + strings.Repeat("0", 24)
	}
	return "web-1"
}

// seedBody returns a body with all the fields that an operation has.
func seedBody(s schema.Schema) string {
	if len(s.AnyOf) > 0 {
		return seedBody(s.AnyOf[0])
	}
	switch {
	case s.Enum != nil:
		return string(reply.Encode(s.Enum[0]))
	case s.Type == "string":
		return `"a"`
	case s.Type == "integer":
		return "2"
	case s.Type == "boolean":
		return "true"
	case s.Type == "array":
		return "[" + seedBody(*s.Items) + "]"
	}
	var members []string
	for _, f := range s.Fields {
		members = append(members, fmt.Sprintf("%q:%s", f.Name, seedBody(f.Schema)))
	}
	return "{" + strings.Join(members, ",") + "}"
}
