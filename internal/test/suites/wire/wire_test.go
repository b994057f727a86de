// Package wire_test checks the bytes that every method of every service sends,
// and how it decodes the bytes of the response.
package wire_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
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
)

// wireCase is a call, the request that it must send, and the response, all of
// which must be in the result.
type wireCase struct {
	call  sdktest.Call
	send  string // the method, the path with its query, and the body if there is one
	reply any    // JSON, a cloudapi.File, or nil for a 204
}

// TestWire runs the cases. Each operation in the tables has at least one case,
// and each field of a record has a value in at least one response.
func TestWire(t *testing.T) {
	t.Parallel()
	covered, sent := map[string]bool{}, map[string]bool{}
	for _, c := range slices.Concat(auditLogCases(), firewallCases(), gitHubCases(), inferenceCases(), initScriptCases(), kubernetesCases(),
		loadBalancerCases(), machineImageCases(), postgresCases(), postgresAccessCases(), postgresConfigCases(), postgresLogCases(), postgresServerCases(),
		privateLinkServiceCases(), privateLocationCases(), projectCases(), sshKeyCases(), subnetCases(), vmCases()) {
		t.Run(c.call.Name, func(t *testing.T) {
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
			t.Errorf("no response has a value for %s", field)
		}
	}
}

// addFields notes in sent, for each field of the records in a result, whether
// it has a value.
func addFields(sent map[string]bool, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		addFields(sent, v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			addFields(sent, v.Index(i))
		}
	case reflect.Map:
		for _, value := range v.Seq2() {
			addFields(sent, value)
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				record, _, _ := strings.Cut(v.Type().Name(), "[") // a Page of any records
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

func with(object, members string) string {
	return strings.TrimSuffix(object, "}") + cmp.Or(","+members, "") + "}"
}
