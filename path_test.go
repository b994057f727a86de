package cloudapi

import (
	"errors"
	"reflect"
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
			if m.listOpts < 0 {
				return
			}
			_, err := m.call(t.Context(), client, m.with(m.listOpts, &ListOptions{Location: "location-1"}))
			sent := network.take()
			if len(sent) == 0 {
				if argErr, ok := errors.AsType[*ArgumentError](err); !ok || argErr.Name != "Location" {
					t.Errorf("a location is refused with %v", err)
				}
				return
			}
			parameters++
			if !strings.Contains(sent[0].operation.Route, "/location/{location}/") || countSegments(sent[0].target, "location-1") != 1 {
				t.Errorf("the list of a location is %s %s", sent[0].method, sent[0].target)
			}
			for _, bad := range badSegments[1:] {
				_, err := m.call(t.Context(), client, m.with(m.listOpts, &ListOptions{Location: bad.value}))
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
