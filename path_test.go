package cloudapi

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// badSegments must never get into a path: they would name another resource
// than the caller means, or none.
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

// TestPathParameters calls every method of every service with every bad value
// for every argument that gets into the path, and with good ones.
func TestPathParameters(t *testing.T) {
	t.Parallel()
	var network recorder
	client := network.client(t)
	methods, parameters := 0, 0
	for _, m := range serviceMethods(t) {
		methods++
		path, _, _ := strings.Cut(m.target, "?")
		t.Run(m.name, func(t *testing.T) {
			bound := 0
			if strings.HasPrefix(path, "/project/"+testProject) {
				bound = 1
			}
			if placeholders := strings.Count(m.operation.Route, "{"); placeholders != bound+len(m.strings) {
				t.Errorf("%d arguments get into %s, whose route is %s", len(m.strings), path, m.operation.Route)
			}
			for _, arg := range m.strings {
				parameters++
				for _, bad := range badSegments {
					_, err := m.call(t.Context(), client, m.with(arg.index, bad.value))
					checkRefused(t, &network, &m, bad.name, bad.value, err)
				}
				good := []string{NewID(KindVM).String(), "web-1", strings.Repeat("n", 63)}
				if arg.kind != "" {
					good = []string{NewID(arg.kind).String()}
				}
				for _, value := range good {
					_, _ = m.call(t.Context(), client, m.with(arg.index, value))
					want := strings.Replace(m.target, m.args[arg.index].String(), value, 1)
					checkSent(t, &network, value, want)
				}
			}
			if bound == 1 {
				parameters++
				for _, bad := range badSegments {
					_, err := m.call(t.Context(), client.InProject(bad.value), m.args)
					if bad.value == "" {
						if !errors.Is(err, ErrNoProject) || len(network.take()) != 0 {
							t.Errorf("without a project: %v", err)
						}
						continue
					}
					checkRefused(t, &network, &m, bad.name, bad.value, err)
				}
			}
			if m.inLocation.Name == "" {
				return
			}
			parameters++
			_, _ = m.call(t.Context(), client, m.withLocation("location-1"))
			sent := network.take()
			if len(sent) != 1 || !strings.Contains(m.inLocation.Route, "/location/{location}/") || countSegments(sent[0].target, "location-1") != 1 {
				t.Errorf("the list of a location is %+v", sent)
			}
			for _, bad := range badSegments[1:] { // no location is that of the project
				_, err := m.call(t.Context(), client, m.withLocation(bad.value))
				checkRefused(t, &network, &m, bad.name, bad.value, err)
			}
		})
	}
	if parameters == 0 {
		t.Error("no parameter was found")
	}
	t.Logf("%d parameters of %d methods were checked", parameters, methods)
}

// checkRefused checks that a bad value was not sent and is named in the error.
func checkRefused(t *testing.T, network *recorder, m *serviceMethod, name, value string, err error) {
	t.Helper()
	for _, s := range network.take() {
		t.Errorf("%s was sent: %s %s", name, s.method, s.target)
	}
	argErr, ok := errors.AsType[*ArgumentError](err)
	if !ok || !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("%s: the error is %T: %v", name, err, err)
		return
	}
	if argErr.Value != value || argErr.Name == "" || argErr.Reason == "" || argErr.Operation == "" {
		t.Errorf("%s: the error is %#v", name, argErr)
	}
}

// checkSent checks that one request was sent, for the target to the letter.
func checkSent(t *testing.T, network *recorder, value, want string) {
	t.Helper()
	sent := network.take()
	if len(sent) != 1 {
		t.Errorf("%q: %d requests were sent", value, len(sent))
		return
	}
	if sent[0].target != want {
		t.Errorf("%q: %s was asked for, want %s", value, sent[0].target, want)
	}
}

// TestPathParametersAreFound makes sure that the search which the test above
// relies on tells the parts of a path from those of a body.
func TestPathParametersAreFound(t *testing.T) {
	t.Parallel()
	want := map[string][]stringArg{
		"Projects.ObjectInfo":       {{0, KindProject}, {1, KindFirewall}},
		"Firewalls.AttachSubnet":    {{0, ""}, {1, ""}},
		"Firewalls.GetRule":         {{0, ""}, {1, ""}, {2, KindFirewallRule}},
		"VMs.Rename":                {{0, ""}, {1, ""}},
		"VMs.WaitDeleted":           {{0, ""}, {1, ""}},
		"SSHPublicKeys.Update":      {{0, ""}},
		"SSHPublicKeys.Create":      nil,
		"VMs.All":                   nil,
		"Firewalls.CreateInProject": nil,
	}
	for _, m := range serviceMethods(t) {
		if args, ok := want[m.name]; ok {
			if !reflect.DeepEqual(m.strings, args) {
				t.Errorf("%s: found %v, want %v", m.name, m.strings, args)
			}
			delete(want, m.name)
		}
	}
	for name := range want {
		t.Errorf("%s was not found", name)
	}
}

// TestIDsInBodies calls every method with bad IDs in every field of a body that
// holds one, whether that comes from an argument or from a request.
func TestIDsInBodies(t *testing.T) {
	t.Parallel()
	var network recorder
	client := network.client(t)
	var found []string
	for _, m := range serviceMethods(t) {
		_, _ = m.call(t.Context(), client, m.args)
		sent := network.take()
		var body map[string]json.RawMessage
		if !sent[0].hasBody || json.Unmarshal([]byte(sent[0].body), &body) != nil {
			continue
		}
		for key := range body {
			if !strings.HasSuffix(key, "_id") && !strings.HasSuffix(key, "-id") && key != "vms" {
				continue
			}
			found = append(found, m.name+" "+key)
			with, optional := m.idInBody(t, key, string(body[key]))
			for _, bad := range badSegments {
				if bad.value == "" && optional {
					continue // not in the body then
				}
				_, err := m.call(t.Context(), client, with(bad.value))
				checkRefused(t, &network, &m, bad.name, bad.value, err)
				if e, ok := errors.AsType[*ArgumentError](err); !ok || e.Name != key || e.Operation != m.operation.Name {
					t.Errorf("%s with a bad %s: %#v", m.name, key, err)
				}
			}
			// A name is no ID, but that is for the server to say.
			for _, good := range []string{NewID(KindVM).String(), "web-1"} {
				_, err := m.call(t.Context(), client, with(good))
				if sent := network.take(); len(sent) != 1 || !strings.Contains(sent[0].body, `"`+good+`"`) {
					t.Errorf("%s with %s %q sends %+v: %v", m.name, key, good, sent, err)
				}
			}
		}
	}
	slices.Sort(found)
	want := []string{
		"Firewalls.AttachSubnet private_subnet_id",
		"Firewalls.CreateRule firewall_id", "Firewalls.CreateRule project_id",
		"Firewalls.DetachSubnet private_subnet_id",
		"Firewalls.UpdateRule firewall_id", "Firewalls.UpdateRule project_id",
		"LoadBalancers.AttachVM vm_id",
		"LoadBalancers.Create private_subnet_id",
		"LoadBalancers.DetachVM vm_id",
		"LoadBalancers.Update vms",
		"PrivateSubnets.Connect connected-subnet-id",
		"PrivateSubnets.Create firewall_id",
		"VMs.Create private_subnet_id",
	}
	if !slices.Equal(found, want) {
		t.Errorf("IDs are in the fields\n%s\nwant\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
	}
}

// idInBody returns a function that makes the method's arguments with another
// value for a field of the body, and whether that field may be left out.
func (m *serviceMethod) idInBody(t *testing.T, key, value string) (with func(string) []reflect.Value, optional bool) {
	t.Helper()
	for i, arg := range m.args {
		if arg.Kind() == reflect.String && value == `"`+arg.String()+`"` {
			return func(id string) []reflect.Value { return m.with(i, id) }, false
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
					field.Set(reflect.ValueOf([]string{NewID(KindVM).String(), id}))
				} else {
					field.SetString(id)
				}
				return m.with(i, request.Interface())
			}, options == "omitzero"
		}
	}
	t.Fatalf("%s: where the %s in the body comes from was not found", m.name, key)
	return nil, false
}
