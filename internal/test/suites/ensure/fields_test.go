package ensure_test

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestEnsureComparesFields: Ensure reports every field in which the resource
// differs from the request, unless records don't show the field.
func TestEnsureComparesFields(t *testing.T) {
	t.Parallel()
	others := strings.NewReplacer(`"cidr":"x"`, `"cidr":"::/0"`, `"x"`, `"other"`, ":1", ":2", "true", "false", "[redacted]", "other")
	for service := range reflect.TypeFor[cloudapi.Client]().Fields() {
		ensure, ok := service.Type.MethodByName("Ensure")
		if !ok {
			continue
		}
		record := others.Replace(string(stub.JSON(sdktest.Fill(ensure.Type.Out(0), "x").Interface())))
		client := sdktest.Answering(t, http.StatusOK, "application/json", strings.TrimSuffix(record, "}")+
			`,"type":"other","pg_config":{},"pgbouncer_config":{},"items":[`+strings.TrimSuffix(record, "}")+`,"version":"other"}],"count":1}`) // the response to each request
		requestType := ensure.Type.In(ensure.Type.NumIn() - 2).Elem()
		for name, field := range requestFields(requestType) {
			if name == "private_subnet_id" { // Ensure looks up the subnet by it
				continue
			}
			request, filled := reflect.New(requestType), sdktest.Fill(requestType, "x")
			for other := range requestType.Fields() {
				v := request.Elem().FieldByIndex(other.Index)
				_, isID := other.Tag.Lookup("id")
				switch isRequired := isID && !strings.HasSuffix(other.Tag.Get("json"), ",omitzero"); {
				case other.Name == "Name":
					v.SetString("other")
				case isRequired:
					v.Set(filled.FieldByIndex(other.Index))
				}
			}
			if tested := request.Elem().FieldByIndex(field.Index); name == "-" { // InitScriptText
				tested.SetString("#!/bin/sh")
			} else {
				tested.Set(filled.FieldByIndex(field.Index))
			}
			args := []any{request.Interface(), nil}
			for range ensure.Type.NumIn() - 4 {
				args = append([]any{"other"}, args...) // the name, and the location if there's one
			}
			_, err := sdktest.Do(service.Name+".Ensure", args...).On(t.Context(), client)
			drift, differs := errors.AsType[*cloudapi.DriftError](err)
			if differs = differs && len(drift.Fields) == 1 && drift.Fields[0].Field == name; differs == slices.Contains(uncompared[service.Name], name) || !differs && err != nil {
				t.Errorf("%s.Ensure must report %q if it differs, and only if it isn't in uncompared; it returns %v", service.Name, name, err)
			}
		}
	}
}

// requestFields returns the fields of a request by name. The name of a field in
// an object of the request has the object's name before it: "aws.supported_regions".
func requestFields(request reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for field := range request.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !strings.HasSuffix(field.Type.Name(), "Request") {
			fields[name] = field
			continue
		}
		for inner, nested := range requestFields(field.Type) {
			nested.Index = append(slices.Clone(field.Index), nested.Index...)
			fields[name+"."+inner] = nested
		}
	}
	return fields
}

// uncompared are the fields of requests that Ensure can't compare, because
// records don't show them.
var uncompared = map[string][]string{
	"PrivateLinkServices": {"target_ports"},                                              // the server ignores them without ports
	"VMs":                 {"public_key", "gpu", "init_script", "init_script_args", "-"}, // "-" is InitScriptText
	"Postgres":            {"private_subnet_name"},
	"PrivateLocations":    {"access_key", "secret_key"},
	"MachineImages":       {"vm", "destroy_source"},
}
