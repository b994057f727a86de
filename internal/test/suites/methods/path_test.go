// Package methods_test checks properties of all methods of all services.
package methods_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// badSegments must never get into a path, since they would lead to another
// resource, or to none.
var badSegments = []struct{ name, value string }{
	{"empty", ""},
	{"dot", "."},
	{"dots", ".."},
	{"slash", "a/b"},
	{"question mark", "a?b"},
	{"hash", "a#b"},
	{"escaped slash", "a%2Fb"},
	{"space", "a b"},
	{"control character", "a\nb"},
	{"NUL", "a\x00"},
	{"letter outside ASCII", "é"},
	{"invalid UTF-8", "a\xff"},
	{"256 characters", strings.Repeat("a", 256)},
}

// deletes reports whether a method succeeds for a resource that doesn't exist.
func deletes(m *sdktest.Method) bool {
	return m.Operation.Method == http.MethodDelete || strings.HasSuffix(m.Name, ".WaitDeleted")
}

// lastKind returns the kind of the last parameter of a route, or "" if it
// accepts no ID.
func lastKind(t *testing.T, m *sdktest.Method) cloudapi.Kind {
	t.Helper()
	if kind := m.Strings[len(m.Strings)-1].Kind; kind != "" {
		return kind
	}
	_, last, _ := strings.Cut(m.Operation.Route[strings.LastIndex(m.Operation.Route, "{"):], "{")
	name, _, _ := strings.Cut(last, "}")
	kind := sdktest.References[name]
	if kind == "" && strings.HasSuffix(name, "_reference") {
		t.Fatalf("which kind of resource {%s} of %s stands for is not known", name, m.Name)
	}
	return kind
}

// TestDeletionsOfWhatCannotBe: a method refuses a reference that no resource of
// the kind can have if it would take a 404 for success, such as Delete. Other
// methods send it, unless the parameter accepts only IDs.
func TestDeletionsOfWhatCannotBe(t *testing.T) {
	t.Parallel()
	var network stub.Recorder
	client := sdktest.Recorded(t, &network)
	checked := 0
	for _, m := range sdktest.Methods(t) {
		if len(m.Strings) == 0 {
			continue
		}
		last := m.Strings[len(m.Strings)-1]
		other := cloudapitest.NewID(cloudapi.KindNIC).String()
		refused := map[string]bool{other: deletes(&m) || last.Kind != ""}
		if kind := lastKind(t, &m); kind != "" {
			id := cloudapitest.NewID(kind).String()
			mistyped := id[:25] + string(ubid.Alphabet[strings.IndexByte(ubid.Alphabet, id[25])^1])
			refused[id], refused[mistyped] = false, deletes(&m)
			refused[id[:25]+"u"] = deletes(&m) || last.Kind != ""
		}
		if deletes(&m) {
			checked++
		}
		for value, want := range refused {
			_, err := m.Call(t.Context(), client, m.With(last.Index, value))
			if e, ok := errors.AsType[*cloudapi.ArgumentError](err); ok != want || ok && (e.Value != value || e.Operation != m.Name && e.Operation != m.Operation.Name) {
				t.Errorf("%s of %s: %v", m.Name, value, err)
			}
			if sent := len(network.Take()); sent > 0 == want {
				t.Errorf("%s of %s: %d requests were sent", m.Name, value, sent)
			}
		}
	}
	if checked < 26 {
		t.Errorf("only %d methods that delete something were checked", checked)
	}
}

// TestPathParameters calls every method of every service with every bad value
// for every argument that gets into the path, and with good ones.
func TestPathParameters(t *testing.T) {
	t.Parallel()
	var network stub.Recorder
	client := sdktest.Recorded(t, &network)
	methods, parameters := 0, 0
	for _, m := range sdktest.Methods(t) {
		methods++
		path, _, _ := strings.Cut(m.Target, "?")
		t.Run(m.Name, func(t *testing.T) {
			bound := 0
			if strings.HasPrefix(path, "/project/"+stub.Project) {
				bound = 1
			}
			if placeholders := strings.Count(m.Operation.Route, "{"); placeholders != bound+len(m.Strings) {
				t.Errorf("%d arguments get into %s, whose route is %s", len(m.Strings), path, m.Operation.Route)
			}
			for _, arg := range m.Strings {
				parameters++
				for _, bad := range badSegments {
					_, err := m.Call(t.Context(), client, m.With(arg.Index, bad.value))
					checkRefused(t, &network, &m, bad.name, bad.value, err)
				}
				good := []string{cloudapitest.NewID(cloudapi.KindVM).String(), "web-1", strings.Repeat("n", 63)}
				if deletes(&m) && arg == m.Strings[len(m.Strings)-1] {
					good = good[1:] // see TestDeletionsOfWhatCannotBe
				}
				if arg.Kind != "" {
					good = []string{cloudapitest.NewID(arg.Kind).String()}
				}
				for _, value := range good {
					_, _ = m.Call(t.Context(), client, m.With(arg.Index, value))
					want := strings.Replace(m.Target, m.Args[arg.Index].String(), value, 1)
					checkSent(t, &network, value, want)
				}
			}
			if bound == 1 {
				parameters++
				for _, bad := range badSegments {
					_, err := m.Call(t.Context(), client.InProject(bad.value), m.Args)
					if bad.value == "" {
						if !errors.Is(err, cloudapi.ErrNoProject) || len(network.Take()) != 0 {
							t.Errorf("without a project: %v", err)
						}
						continue
					}
					checkRefused(t, &network, &m, bad.name, bad.value, err)
				}
			}
			if m.InLocation.Name == "" {
				return
			}
			parameters++
			_, _ = m.Call(t.Context(), client, m.WithLocation("location-1"))
			sent := network.Take()
			if len(sent) != 1 || !strings.Contains(m.InLocation.Route, "/location/{location}/") || sdktest.CountSegments(sent[0].Target, "location-1") != 1 {
				t.Errorf("the list of a location is %+v", sent)
			}
			for _, bad := range badSegments[1:] { // "" is no location, but means the list of the project
				_, err := m.Call(t.Context(), client, m.WithLocation(bad.value))
				checkRefused(t, &network, &m, bad.name, bad.value, err)
			}
		})
	}
	if parameters == 0 {
		t.Error("no parameter was found")
	}
	t.Logf("%d parameters of %d methods were checked", parameters, methods)
}

func checkRefused(t *testing.T, network *stub.Recorder, m *sdktest.Method, name, value string, err error) {
	t.Helper()
	for _, s := range network.Take() {
		t.Errorf("%s was sent: %s %s", name, s.Method, s.Target)
	}
	argErr, ok := errors.AsType[*cloudapi.ArgumentError](err)
	if !ok || !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("%s: the error is %T: %v", name, err, err)
		return
	}
	if argErr.Value != value || argErr.Name == "" || argErr.Reason == "" || argErr.Operation == "" {
		t.Errorf("%s: the error is %#v", name, argErr)
	}
}

func checkSent(t *testing.T, network *stub.Recorder, value, want string) {
	t.Helper()
	sent := network.Take()
	if len(sent) == 0 {
		t.Errorf("%q: nothing was sent", value)
		return
	}
	if sent[0].Target != want { // a wait for a deletion asks further, for a proof
		t.Errorf("%q: %s was asked for, want %s", value, sent[0].Target, want)
	}
}

// TestIDsInBodies calls every method with bad IDs in every ID field of a body,
// whether it comes from an argument or from a request.
func TestIDsInBodies(t *testing.T) {
	t.Parallel()
	var network stub.Recorder
	client := sdktest.Recorded(t, &network)
	kinds := map[string]cloudapi.Kind{"connected-subnet-id": cloudapi.KindPrivateSubnet, "firewall_id": cloudapi.KindFirewall,
		"postgres_resource_id": cloudapi.KindPostgres, "private_subnet_id": cloudapi.KindPrivateSubnet, "project_id": cloudapi.KindProject,
		"vm": cloudapi.KindVM, "vm_id": cloudapi.KindVM, "vms": cloudapi.KindVM}
	var found []string
	for _, m := range sdktest.Methods(t) {
		_, _ = m.Call(t.Context(), client, m.Args)
		sent := network.Take()
		var body map[string]json.RawMessage
		if !sent[0].HasBody || json.Unmarshal([]byte(sent[0].Body), &body) != nil {
			continue
		}
		for key := range body {
			if !strings.HasSuffix(key, "_id") && !strings.HasSuffix(key, "-id") && key != "vms" && key != "vm" {
				continue
			}
			found = append(found, m.Name+" "+key)
			with, optional := idInBody(t, &m, key, string(body[key]))
			for _, bad := range badSegments {
				if bad.value == "" && optional {
					continue // an empty value isn't sent
				}
				_, err := m.Call(t.Context(), client, with(bad.value))
				checkRefused(t, &network, &m, bad.name, bad.value, err)
				if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != key || e.Operation != m.Operation.Name {
					t.Errorf("%s with a bad %s: %#v", m.Name, key, err)
				}
			}
			for _, id := range []string{"web-1", cloudapitest.NewID(cloudapi.KindNIC).String()} { // a name, and an ID of another kind
				_, err := m.Call(t.Context(), client, with(id))
				if strings.Contains(m.Operation.Route, "/firewall-rule") { // the server ignores the field
					network.Take()
					continue
				}
				checkRefused(t, &network, &m, key, id, err)
			}
			good := cloudapitest.NewID(kinds[key]).String()
			_, err := m.Call(t.Context(), client, with(good))
			if sent := network.Take(); len(sent) != 1 || !strings.Contains(sent[0].Body, `"`+good+`"`) {
				t.Errorf("%s with %s %q sends %+v: %v", m.Name, key, good, sent, err)
			}
		}
	}
	if len(found) < 13 {
		t.Errorf("IDs were found only in %q", found)
	}
}

// idInBody returns a function that replaces the value of a body field in the
// method's arguments. optional tells whether the field may be left out.
func idInBody(t *testing.T, m *sdktest.Method, key, value string) (with func(string) []reflect.Value, optional bool) {
	t.Helper()
	for i, arg := range m.Args {
		if arg.Kind() == reflect.String && value == `"`+arg.String()+`"` {
			return func(id string) []reflect.Value { return m.With(i, id) }, false
		}
		if arg.Kind() != reflect.Pointer || arg.Type().Elem().Kind() != reflect.Struct {
			continue
		}
		for j := range arg.Type().Elem().NumField() {
			name, options, _ := strings.Cut(arg.Type().Elem().Field(j).Tag.Get("json"), ",")
			if name != key {
				continue
			}
			return func(id string) []reflect.Value {
				request := reflect.New(arg.Type().Elem())
				request.Elem().Set(arg.Elem())
				if field := request.Elem().Field(j); field.Kind() == reflect.Slice {
					field.Set(reflect.ValueOf([]string{cloudapitest.NewID(cloudapi.KindVM).String(), id}))
				} else {
					field.SetString(id)
				}
				return m.With(i, request.Interface())
			}, options == "omitzero"
		}
	}
	t.Fatalf("%s: where the %s in the body comes from was not found", m.Name, key)
	return nil, false
}
