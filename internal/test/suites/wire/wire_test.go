// Package wire_test checks the bytes that every method of every service sends,
// and how it decodes the bytes of the response.
//
// The cases are in testdata, a file for each family. A case is the call of a
// method, the request, and the response:
//
//	VMs.Rename "eu-central-h1" "web-0" "web-1"
//		POST /location/eu-central-h1/vm/web-0/rename {"name":"web-1"}
//		200 {$item}
//
// The arguments are JSON, with the names of Go fields in objects; the last ones can
// be left out if they are zero. The path is that in the project. A response is JSON,
// the content type, the name and the content of a file, or nothing. All that is in
// it must be in the result.
//
//	item = "id":"vmy9n10s8q164j473ra7pj9nqz","name":"web-1",
//		"state":"running"
//
// gives a text a name, for all that follows in the file.
package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/apitables"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// The first part of the paths of requests, and the location in it.
const (
	projectPath  = "/project/" + stub.Project
	location     = "eu-central-h1"
	locationPath = projectPath + "/location/" + location

	lbID      = "1b09fd2wvdjt1h8h6h32k8re7m"
	pgID      = "pggk8wzevxhe1gh7zjzfx5jn70"
	replicaID = "pgjr8qs5yp5p3k1g8gfpp0s9av"
)

// wireCase is a call, the request that it must send, and the response.
type wireCase struct {
	call  sdktest.Call
	send  string // the method, the path with its query, and the body if there is one
	reply any    // JSON, a cloudapi.File, or nil for a 204
}

var (
	caseEntry       = regexp.MustCompile(`^(\w+\.\w+.*)\n\t([A-Z]+) (/.*)\n\t(?:204|200 (.*))$`)
	definitionEntry = regexp.MustCompile(`(?s)^(\w+) = (.*)$`)
	fileReply       = regexp.MustCompile(`^(\w+/\S+) (\S+) (".*")$`)
)

// readCases returns the cases in testdata.
func readCases(t *testing.T) (cases []wireCase) {
	t.Helper()
	for _, name := range stub.Must(filepath.Glob("testdata/*.txt"))(t) {
		var entries []string
		for line := range strings.Lines(string(stub.Must(os.ReadFile(name))(t))) {
			switch line = strings.TrimSuffix(line, "\n"); {
			case line == "" || line[0] == '#':
			case line[0] == '\t':
				entries[len(entries)-1] += "\n" + line
			default:
				entries = append(entries, line)
			}
		}
		texts := map[string]string{}
		for _, entry := range entries {
			expanded := os.Expand(entry, func(of string) string {
				if _, ok := texts[of]; !ok {
					t.Fatalf("%s: $%s isn't defined before\n%s", name, of, entry)
				}
				return texts[of]
			})
			if m := definitionEntry.FindStringSubmatch(expanded); m != nil {
				texts[m[1]] = strings.ReplaceAll(m[2], "\n\t", "")
			} else if m := caseEntry.FindStringSubmatch(expanded); m != nil {
				cases = append(cases, newCase(t, m[1], m[2], m[3], m[4]))
			} else {
				t.Fatalf("%s: neither a case nor a definition:\n%s", name, entry)
			}
		}
	}
	return cases
}

func newCase(t *testing.T, call, method, target, reply string) wireCase {
	t.Helper()
	c := wireCase{call: readCall(t, call), send: method + " " + target}
	if !strings.HasPrefix(target, "/project") {
		c.send = method + " " + projectPath + target
	}
	if m := fileReply.FindStringSubmatch(reply); m != nil {
		var content string
		stub.Must(0, json.Unmarshal([]byte(m[3]), &content))(t)
		c.reply = cloudapi.File{Name: m[2], ContentType: m[1], Content: []byte(content)}
	} else if reply != "" {
		c.reply = reply
	}
	return c
}

// readCall returns the call of a method with the arguments.
func readCall(t *testing.T, text string) sdktest.Call {
	t.Helper()
	name, args, _ := strings.Cut(text, " ")
	call, types := do(name), parameters(t, name)
	for d := json.NewDecoder(strings.NewReader(args)); d.More(); types = types[1:] {
		var arg json.RawMessage
		if err := d.Decode(&arg); err != nil || len(types) == 0 {
			t.Fatalf("an argument of %s: %v", text, err)
		}
		v := reflect.New(types[0]).Elem()
		if err := decode(arg, v); err != nil {
			t.Fatalf("%s of %s: %v", arg, text, err)
		}
		call.Args = append(call.Args, v.Interface())
	}
	return call
}

// parameters returns the types of a method's parameters after the context.
func parameters(t *testing.T, name string) []reflect.Type {
	t.Helper()
	service, method, _ := strings.Cut(name, ".")
	field, _ := reflect.TypeFor[cloudapi.Client]().FieldByName(service)
	if field.Type != nil {
		if m, ok := field.Type.MethodByName(method); ok {
			return slices.Collect(m.Type.Ins())[2:]
		}
	}
	t.Fatalf("there is no method %s", name)
	return nil
}

// decode is like [json.Unmarshal], but takes the names of Go fields, in any depth.
func decode(text json.RawMessage, v reflect.Value) error {
	_, isOwn := v.Addr().Interface().(json.Unmarshaler)
	switch kind := v.Kind(); {
	case isOwn || string(text) == "null":
	case kind == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decode(text, v.Elem())
	case kind == reflect.Struct:
		var members map[string]json.RawMessage
		if err := json.Unmarshal(text, &members); err != nil {
			return err
		}
		for name, member := range members {
			field := v.FieldByName(name)
			if !field.IsValid() {
				return fmt.Errorf("%v has no field %s", v.Type(), name)
			}
			if err := decode(member, field); err != nil {
				return err
			}
		}
		return nil
	case kind == reflect.Slice:
		var elements []json.RawMessage
		if err := json.Unmarshal(text, &elements); err != nil {
			return err
		}
		v.Set(reflect.MakeSlice(v.Type(), len(elements), len(elements)))
		for i, element := range elements {
			if err := decode(element, v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
	return json.Unmarshal(text, v.Addr().Interface())
}

// TestWire runs the cases. Each operation in the tables has at least one case.
// Each field of a request or of options has a value in at least one of them, and
// each field of a record has one in at least one response.
func TestWire(t *testing.T) {
	t.Parallel()
	covered, sent := map[string]bool{}, map[string]bool{}
	for _, c := range readCases(t) {
		t.Run(c.call.Name, func(t *testing.T) {
			for _, parameter := range parameters(t, c.call.Name) {
				addFields(sent, reflect.Zero(parameter))
			}
			addFields(sent, reflect.ValueOf(c.call.Args))
			op, result := c.run(t)
			covered[op.Method+" "+op.Route] = true
			addFields(sent, reflect.ValueOf(result))
			c.runWithoutReply(t, op)
			c.runRefused(t)
		})
	}
	for _, row := range apitables.Rows() {
		if !covered[row.String()] {
			t.Errorf("no case for %s", row)
		}
	}
	for field, isSent := range sent {
		if !isSent {
			t.Errorf("no case has a value for %s", field)
		}
	}
}

// addFields notes in sent, for each field of the structs in a value and in the
// types of its fields, whether it has a value.
func addFields(sent map[string]bool, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v = reflect.New(v.Type().Elem())
		}
		addFields(sent, v.Elem())
	case reflect.Interface:
		addFields(sent, v.Elem())
	case reflect.Slice:
		if v.Len() == 0 {
			addFields(sent, reflect.Zero(v.Type().Elem()))
		}
		for i := range v.Len() {
			addFields(sent, v.Index(i))
		}
	case reflect.Map:
		for _, value := range v.Seq2() {
			addFields(sent, value)
		}
	case reflect.Struct:
		record, _, _ := strings.Cut(v.Type().Name(), "[") // a Page of any records
		if _, isKnown := sent[record]; isKnown && v.IsZero() {
			return
		}
		sent[record] = true
		for field, value := range v.Fields() {
			if field.IsExported() {
				sent[record+"."+field.Name] = sent[record+"."+field.Name] || !value.IsZero()
				addFields(sent, value)
			}
		}
	}
}

// run calls the method, and returns the operation and the result. The call must
// not change its arguments.
func (c *wireCase) run(t *testing.T) (op cloudapi.Operation, result any) {
	network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
		switch reply := c.reply.(type) {
		case cloudapi.File:
			resp := stub.Respond(http.StatusOK, string(reply.Content))
			resp.Header.Set("Content-Type", reply.ContentType)
			resp.Header.Set("Content-Disposition", `attachment; filename="`+reply.Name+`"`)
			return resp, nil
		case string:
			return stub.Respond(http.StatusOK, reply), nil
		}
		return stub.Respond(http.StatusNoContent, ""), nil
	}}
	before := c.call.String()
	got := stub.Must(c.call.On(t.Context(), sdktest.Client(t, &network)))(t)
	sent := network.Take()
	if len(sent) != 1 {
		t.Fatalf("%d requests were sent", len(sent))
	}
	c.check(t, sent[0])
	if after := c.call.String(); after != before {
		t.Errorf("the arguments were %s and are %s", before, after)
	}
	switch reply := c.reply.(type) {
	case nil:
		if got != nil {
			t.Errorf("the result is %v", got)
		}
	case cloudapi.File:
		if !reflect.DeepEqual(got, &reply) {
			t.Errorf("the result is %v, want %v", got, reply)
		}
	case string:
		for _, loss := range sdktest.Losses(t, reply, got) {
			t.Errorf("the result of %s: %s", reply, loss)
		}
		c.checkNext(t, got)
	}
	op, _ = cloudapi.OperationFromContext(sent[0].Context)
	return op, got
}

// checkNext checks that the cursor of a page is the ID or name of its last
// item. A pagination_key is compared by [sdktest.Losses].
func (c *wireCase) checkNext(t *testing.T, page any) {
	v := reflect.Indirect(reflect.ValueOf(page))
	if !strings.HasPrefix(v.Type().Name(), "Page[") || strings.Contains(c.reply.(string), `"pagination_key"`) {
		return
	}
	want := ""
	if items := v.FieldByName("Items"); !v.FieldByName("Count").IsNil() && !unpaged(c.call.Name) {
		field := "ID"
		if strings.Contains(c.send, "order_column=name") {
			field = "Name"
		}
		want = items.Index(items.Len() - 1).Elem().FieldByName(field).String()
	}
	if got := v.FieldByName("Next").String(); got != want {
		t.Errorf("the next page begins after %q, want %q", got, want)
	}
}

// unpaged reports whether the service returns all items in one response,
// although the list has a count.
func unpaged(method string) bool {
	return slices.Contains([]string{"Postgres.ListFirewallRules", "Postgres.ListServers", "Postgres.ListBackups"}, method)
}

// runWithoutReply loses every response. Only an idempotent operation is sent
// again; a rename is idempotent only by ID.
func (c *wireCase) runWithoutReply(t *testing.T, op cloudapi.Operation) {
	path := strings.Fields(c.send)[1]
	_, method, _ := strings.Cut(c.call.Name, ".")
	renames := strings.HasPrefix(method, "Rename") || method == "Update" && strings.Contains(c.send, `{"name":`)
	reference := strings.TrimSuffix(path, "/rename")
	attempts := 4
	if apitables.Once(op.Method, op.Name) || renames && !cloudapi.IsID(reference[strings.LastIndex(reference, "/")+1:]) {
		attempts = 1
	}
	synctest.Test(t, func(t *testing.T) {
		network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) { return nil, io.EOF }}
		_, err := c.call.On(t.Context(), sdktest.Client(t, &network))
		sent := network.Take()
		for _, s := range sent {
			c.check(t, s)
		}
		if len(sent) != attempts || !errors.Is(err, io.EOF) || errors.Is(err, cloudapi.ErrOutcomeUnknown) != (attempts == 1) {
			t.Errorf("without a response, %d requests were sent, want %d: %v", len(sent), attempts, err)
		}
	})
}

// runRefused checks that an error shows no secret of the request, even if the
// server repeats the body that it refuses.
func (c *wireCase) runRefused(t *testing.T) {
	secrets := secretsIn(reflect.ValueOf(c.call.Args))
	if len(secrets) == 0 {
		return
	}
	body := strings.SplitN(c.send, " ", 3)[2]
	refusal := stub.JSON(map[string]any{"error": map[string]any{
		"code": 400, "type": "BadRequest", "message": body + " of " + strings.Join(secrets, " "), "details": map[string]any{"body": secrets}}})
	_, err := c.call.On(t.Context(), sdktest.Answering(t, http.StatusBadRequest, "application/json", string(refusal)))
	e, ok := errors.AsType[*cloudapi.Error](err)
	if !ok || !strings.HasSuffix(e.Message, strings.TrimSpace(" of "+strings.Repeat("[redacted] ", len(secrets)))) {
		t.Fatalf("the error is %v", err)
	}
	shown := fmt.Sprintf("%v %+v %s %s", err, *e, e.Details, c.call)
	for _, secret := range secrets {
		if quoted := string(stub.JSON(secret)); strings.Contains(shown, secret) || strings.Contains(shown, quoted[1:len(quoted)-1]) {
			t.Errorf("%q shows in %s", secret, shown)
		}
	}
}

func secretsIn(v reflect.Value) (secrets []string) {
	if v.IsValid() && v.CanInterface() {
		if secret, ok := v.Interface().(cloudapi.Secret); ok {
			return []string{secret.Reveal()}
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return secretsIn(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			secrets = append(secrets, secretsIn(v.Index(i))...)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			secrets = append(secrets, secretsIn(v.MapIndex(key))...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			secrets = append(secrets, secretsIn(v.Field(i))...)
		}
	}
	return slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
}

func (c *wireCase) check(t *testing.T, sent stub.Request) {
	t.Helper()
	if got := strings.TrimSpace(sent.Method + " " + sent.Target + " " + sent.Body); got != c.send {
		t.Errorf("sent\n%s, want\n%s", got, c.send)
	}
	accept, agent := sent.Header.Get("Accept"), sent.Header.Get("User-Agent")
	want := http.Header{"Accept": {"application/json"}, "Authorization": {"Bearer " + stub.Token}, "User-Agent": {agent}}
	if sent.Method == http.MethodPost || sent.Method == http.MethodPatch {
		want["Content-Type"] = []string{"application/json"}
	}
	if file, ok := c.reply.(cloudapi.File); ok { // Accept has the file's type first, and then JSON for errors
		want["Accept"] = []string{accept}
		if !strings.HasPrefix(accept, file.ContentType+",") || !strings.Contains(accept, "application/json;q=0.5") {
			t.Errorf("a file of the type %s is asked for as %s", file.ContentType, accept)
		}
	}
	if !reflect.DeepEqual(sent.Header, want) || !strings.HasPrefix(agent, "cloudapi/"+cloudapi.Version) {
		t.Errorf("the headers are %v, want %v", sent.Header, want)
	}
}

func do(name string, args ...any) sdktest.Call { return sdktest.Do(name, args...) }

func list(items ...string) string {
	return fmt.Sprintf(`{"items":[%s],"count":%d}`, strings.Join(items, ","), len(items))
}
