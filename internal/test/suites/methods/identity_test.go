package methods_test

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/apitables"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// newRecords are the methods whose record has an ID that isn't in the path.
var newRecords = []string{
	"Firewalls.CreateInProject", "Firewalls.CreateRule", "InferenceAPIKeys.Create", "Kubernetes.CreateNodePool", "Kubernetes.RetireNode",
	"MachineImages.CreateVersion", "Postgres.CreateFirewallRule", "Postgres.CreateLogDestination", "Postgres.CreatePrivateLinkService",
	"Postgres.CreateReadReplica", "Postgres.PrivateLinkService", "Postgres.Restore",
	"PrivateLocations.Create", "PrivateLocations.Get", "PrivateLocations.Rename", "Projects.Create", "SSHPublicKeys.Create", "VMInitScripts.Create",
}

// TestRecordsOfOtherResources: a method that is given an ID refuses a record
// with another ID. If the operation isn't idempotent, the outcome is unknown.
func TestRecordsOfOtherResources(t *testing.T) {
	t.Parallel()
	var unchecked []string
	checked := 0
	for _, m := range sdktest.Methods(t) {
		types := m.Types()
		result := types[0]
		for _, typ := range types {
			if typ.Kind() == reflect.Pointer && typ.Elem().Kind() == reflect.Struct {
				result = typ // the last of several pointers is the result
			}
		}
		_, name, _ := strings.Cut(m.Name, ".")
		if apitables.Composite(name) || strings.HasPrefix(name, "All") || strings.HasPrefix(name, "List") || !hasID(result) || m.Operation.Method == http.MethodDelete {
			continue
		}
		args, ids := idArgs(t, &m)
		accepts := func(id string) bool {
			t.Helper()
			network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
				return stub.Respond(http.StatusOK, `{"id":"`+id+`","type":"vm"}`), nil
			}}
			_, err := m.Call(t.Context(), sdktest.Recorded(t, &network), args)
			if n := len(network.Take()); n != 1 {
				t.Errorf("%s: %d requests", m.Name, n)
			}
			if _, ok := errors.AsType[*cloudapi.DecodeError](err); err != nil && !ok {
				t.Errorf("%s: %v", m.Name, err)
			}
			if once := apitables.Once(m.Operation.Method, m.Operation.Name); err != nil && errors.Is(err, cloudapi.ErrOutcomeUnknown) != once {
				t.Errorf("%s: %v", m.Name, err)
			}
			return err == nil
		}
		if accepts(cloudapitest.NewID(cloudapi.KindNIC).String()) {
			unchecked = append(unchecked, m.Name)
			continue
		}
		checked++
		own := len(ids) - 1
		if m.Name == "PrivateSubnets.Disconnect" {
			own-- // the last argument is the other subnet
		}
		for i, id := range ids {
			if got := accepts(id); got != (i == own) {
				t.Errorf("%s with the IDs %q accepts the record %s: %v", m.Name, ids, id, got)
			}
		}
	}
	slices.Sort(unchecked)
	if !slices.Equal(unchecked, newRecords) {
		t.Errorf("these methods accept a record with any ID:\n%q\nwant\n%q", unchecked, newRecords)
	}
	if checked < 40 {
		t.Errorf("only %d methods were checked", checked)
	}
}

// TestEmptyRecords: no method accepts an object without fields as a record,
// alone or in a list.
func TestEmptyRecords(t *testing.T) {
	t.Parallel()
	for _, m := range sdktest.Methods(t) {
		if _, name, _ := strings.Cut(m.Name, "."); apitables.Composite(name) || m.Name == "Kubernetes.Kubeconfig" { // {} is YAML
			continue
		}
		client := sdktest.Answering(t, http.StatusOK, "application/json", `{"items":[{}]}`)
		if _, err := m.Call(t.Context(), client, m.Args); !errors.Is(err, cloudapi.ErrInvalidResponse) {
			t.Errorf("%s accepts an object without fields (%v): give its record a method lacks", m.Name, err)
		}
	}
}

func hasID(result reflect.Type) bool {
	if result.Kind() != reflect.Pointer || result.Elem().Kind() != reflect.Struct {
		return false
	}
	field, ok := result.Elem().FieldByName("ID")
	return ok && field.Tag.Get("json") == "id"
}

// idArgs returns the arguments of a method, with an ID for each path parameter
// that may be an ID. It also returns these IDs.
func idArgs(t *testing.T, m *sdktest.Method) (args []reflect.Value, ids []string) {
	t.Helper()
	args = slices.Clone(m.Args)
	var names []string
	for segment := range strings.SplitSeq(m.Operation.Route, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	names = names[len(names)-len(m.Strings):]
	for i, arg := range m.Strings {
		kind := arg.Kind
		if kind == "" {
			kind = sdktest.References[names[i]]
		}
		if kind != "" {
			id := cloudapitest.NewID(kind).String()
			args[arg.Index] = reflect.ValueOf(id)
			ids = append(ids, id)
		}
	}
	return args, ids
}
