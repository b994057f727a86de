package ensure_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/apitables"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestEveryFieldOfARequest: each field of a request is set in a case of the wire
// suite, and the test server knows it.
func TestEveryFieldOfARequest(t *testing.T) {
	t.Parallel()
	wired := fieldsInWireCases(t)
	bodies, checked := newBodies(t), 0
	for _, m := range sdktest.Methods(t) {
		for _, arg := range m.Args {
			request := arg.Type()
			if request.Kind() != reflect.Pointer || !strings.HasSuffix(request.Elem().Name(), "Request") {
				continue
			}
			checked++
			for _, key := range bodies.unknown(t, &m) {
				t.Errorf("%s: the test server refuses %q; add it to the schema in cloudapitest/internal/families", m.Name, key)
			}
			for name, field := range requestFields(request.Elem()) {
				of := request.Elem()
				if within := field.Index[:len(field.Index)-1]; len(within) > 0 {
					of = of.FieldByIndex(within).Type
				}
				if !wired[of.Name()][field.Name] {
					t.Errorf("%s of %s: no case in internal/test/suites/wire sets %s.%s", name, m.Name, of.Name(), field.Name)
				}
			}
		}
	}
	if checked < 25 {
		t.Errorf("only %d requests were checked", checked)
	}
}

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

// fieldsInWireCases returns the fields that the cases of the wire suite set, by
// the type of the request.
func fieldsInWireCases(t *testing.T) map[string]map[string]bool {
	t.Helper()
	files := stub.Must(filepath.Glob(filepath.Join(sdktest.Root(t), "internal/test/suites/wire/*_test.go")))(t)
	fields := map[string]map[string]bool{}
	for _, file := range files {
		ast.Inspect(stub.Must(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t), func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if of, ok := literal.Type.(*ast.SelectorExpr); ok {
				if fields[of.Sel.Name] == nil {
					fields[of.Sel.Name] = map[string]bool{}
				}
				for _, element := range literal.Elts {
					if pair, ok := element.(*ast.KeyValueExpr); ok {
						fields[of.Sel.Name][fmt.Sprint(pair.Key)] = true
					}
				}
			}
			return true
		})
	}
	return fields
}

// bodies sends requests whose body has a single field to the test server.
type bodies struct {
	body              string
	network           stub.Recorder
	records           *cloudapi.Client
	service, contract *cloudapi.Client
}

func newBodies(t *testing.T) *bodies {
	b := &bodies{}
	b.records = sdktest.Recorded(t, &b.network)
	replaced := cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			req.Body, req.ContentLength = io.NopCloser(strings.NewReader(b.body)), int64(len(b.body))
			return next.RoundTrip(req)
		})
	})
	b.service = cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service), cloudapitest.Lenient()).Client(replaced)
	b.contract = cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract), cloudapitest.Lenient()).Client(replaced)
	return b
}

// unknown returns the fields of a method's body that no version of the test
// server knows.
func (b *bodies) unknown(t *testing.T, m *sdktest.Method) (unknown []string) {
	t.Helper()
	b.network.Take()
	_, _ = m.Call(t.Context(), b.records, m.Args)
	sent := b.network.Take()
	var fields map[string]any
	if err := json.Unmarshal([]byte(sent[0].Body), &fields); err != nil || len(fields) == 0 {
		t.Errorf("%s sends %s", m.Name, sent[0].Body)
	}
	refused := regexp.MustCompile(`unrecognized parameters: |isn't any of|does not match pattern \^pf`) // the rule's ID has the form of the service
	agreed := slices.ContainsFunc(apitables.Contract(), func(row apitables.Row) bool { return slices.Contains(row.Names, m.Operation.Name) })
	fields["bogus"] = "x" // no version knows this field
	for field, value := range fields {
		b.body = string(stub.Must(json.Marshal(map[string]any{field: value}))(t))
		_, err := m.Call(t.Context(), b.service, m.Args)
		knows := !errors.Is(err, cloudapi.ErrMaybeUnsupported) && (err == nil || !refused.MatchString(err.Error()))
		if !knows && agreed {
			_, err := m.Call(t.Context(), b.contract, m.Args)
			knows = err == nil || !refused.MatchString(err.Error())
		}
		switch {
		case field == "bogus" && knows:
			t.Errorf("%s: the test server accepts any field", m.Name)
		case field != "bogus" && !knows:
			unknown = append(unknown, field)
		}
	}
	return unknown
}
