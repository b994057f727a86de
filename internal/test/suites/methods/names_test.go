package methods_test

import (
	"cmp"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestNewNames: no rename, and no update that can rename, accepts a blank name.
func TestNewNames(t *testing.T) {
	t.Parallel()
	var network stub.Recorder
	client := sdktest.Recorded(t, &network)
	renames, updates := 0, 0
	for _, m := range sdktest.Methods(t) {
		_, method, _ := strings.Cut(m.Name, ".")
		last := len(m.Args) - 1
		var with func(name string) reflect.Value // the argument with a new name
		switch {
		case strings.HasPrefix(method, "Rename"):
			renames++
			with = func(name string) reflect.Value { return reflect.ValueOf(name) }
		case method == "Update" && m.Args[last].Elem().FieldByName("Name").IsValid():
			updates++
			with = func(name string) reflect.Value {
				request := reflect.New(m.Args[last].Type().Elem())
				request.Elem().Set(m.Args[last].Elem())
				request.Elem().FieldByName("Name").SetString(name)
				return request
			}
		default:
			continue
		}
		for _, name := range []string{"", " ", "\t\n", "web-1"} {
			_, err := m.Call(t.Context(), client, m.With(last, with(name).Interface()))
			sends := name == "web-1" || name == "" && method == "Update" // an update with an empty name keeps the name
			if sent := len(network.Take()); (sent > 0) != sends {
				t.Errorf("%s with the name %q sends %d requests", m.Name, name, sent)
			}
			if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !sends && (!ok || e.Operation != m.Name || e.Name != "name") {
				t.Errorf("%s with the name %q: %v", m.Name, name, err)
			}
		}
	}
	if renames < 9 || updates < 2 {
		t.Errorf("%d renames and %d updates were called", renames, updates)
	}
}

// TestNamesAreArguments: the name of what a method creates is an argument, and
// no field of the request.
func TestNamesAreArguments(t *testing.T) {
	t.Parallel()
	requests := 0
	for _, m := range sdktest.Methods(t) {
		_, method, _ := strings.Cut(m.Name, ".")
		if !strings.HasPrefix(method, "Create") && method != "Restore" {
			continue
		}
		for _, arg := range m.Args {
			if typ := arg.Type(); typ.Kind() == reflect.Pointer {
				requests++
				if _, ok := typ.Elem().FieldByName("Name"); ok {
					t.Errorf("%s takes the name in a %v", m.Name, typ)
				}
			}
		}
	}
	if requests < 18 {
		t.Errorf("only %d requests were checked", requests)
	}
}

// oneForm has the fields whose JSON key is another form of what the API calls
// otherwise elsewhere.
var oneForm = map[string]string{
	"cp_nodes":          "CPNodeCount",
	"enable_ip4":        "EnableIPv4",
	"ip4":               "IPv4",
	"ip4_enabled":       "IPv4Enabled",
	"ip6":               "IPv6",
	"postgres_resource": "PostgresResourceID",
	"server_ubid":       "ServerID",
	"vm":                "VMID",
	"worker_nodes":      "WorkerNodeCount",
}

// TestNamesOfFields: a field of a record or request has the name of its JSON key,
// or of its one form, so that no two keys can be mixed up.
func TestNamesOfFields(t *testing.T) {
	t.Parallel()
	seen := map[reflect.Type]bool{}
	var check func(typ reflect.Type)
	check = func(typ reflect.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			check(typ.Elem())
		case reflect.Struct:
			for field := range typ.Fields() {
				key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				want := cmp.Or(oneForm[key], strings.ReplaceAll(key, "_", ""))
				if strings.HasSuffix(typ.Name(), "MaintenanceWindowRequest") {
					want = strings.TrimPrefix(want, "maintenancewindow") // the type's name has it
				}
				if key != "" && key != "-" && !strings.EqualFold(want, field.Name) {
					t.Errorf("%s.%s has the key %s", typ.Name(), field.Name, key)
				}
				check(field.Type)
			}
		}
	}
	for _, m := range sdktest.Methods(t) {
		for _, typ := range m.Types() {
			check(typ)
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d types were checked", len(seen))
	}
}
