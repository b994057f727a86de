package recordings_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/apitables"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
)

// TestRecordedResponses: every successful response of the real server becomes a
// record without losses. Methods are found by path, also new ones.
func TestRecordedResponses(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v version, all []recording) {
		calls := calls(t)
		read := map[string]int{}
		for _, r := range all {
			if r.Response.Status >= 300 || r.Response.BodyTruncated {
				continue
			}
			row := r.row(calls)
			if row == "" {
				// Some requests belong to no operation, and the service may never publish
				// the list of runners.
				if !strings.HasPrefix(r.Operation, "_") && r.Operation != "getGithubInstallationRunners" {
					t.Errorf("there is no method for %s", &r)
				}
				continue
			}
			read[row]++
			result, err := calls[row].method.Call(t.Context(), sdktest.Recorded(t, r.transport()), r.args(row, calls[row]))
			if err != nil {
				t.Errorf("%s: %v", &r, err)
				continue
			}
			for _, loss := range r.losses(t, result) {
				t.Errorf("%s as %T: %s", &r, result, loss)
			}
		}
		successes := 0
		for _, n := range read {
			successes += n
		}
		t.Logf("%d successes of %d operations were read", successes, len(read))
		var unrecorded []string
		for _, row := range v.operations {
			if read[row.String()] == 0 {
				unrecorded = append(unrecorded, row.String())
			}
		}
		if !slices.Equal(unrecorded, v.unrecorded) {
			t.Errorf("no success was read of\n%s\nwant\n%s", strings.Join(unrecorded, "\n"), strings.Join(v.unrecorded, "\n"))
		}
	})
}

// args returns the arguments for the recorded request: the values in its path,
// and the new name in its body.
func (r *recording) args(row string, c call) []reflect.Value {
	var body struct{ Name string }
	if r.Request.Body != nil {
		_ = json.Unmarshal([]byte(*r.Request.Body), &body) // some aren't JSON
	}
	var values []string
	path := strings.Split(strings.TrimSuffix(r.key(), "?"), "/")
	for i, segment := range strings.Split(row, "/") {
		if strings.HasPrefix(segment, "{") {
			values = append(values, path[i])
		}
	}
	inPath := c.method.Strings
	args := slices.Clone(c.args)
	for i, arg := range args {
		if o, ok := arg.Interface().(*cloudapi.ListOptions); ok && o.Location != "" {
			args[i], values = reflect.ValueOf(&cloudapi.ListOptions{Location: values[len(values)-1]}), nil
		}
	}
	if len(values) > len(inPath) {
		values = values[1:] // without the project
	}
	for i, value := range values {
		args[inPath[i].Index] = reflect.ValueOf(value)
	}
	for i, arg := range args {
		named := arg.Kind() == reflect.String && !slices.ContainsFunc(inPath, func(s sdktest.StringArg) bool { return s.Index == i })
		switch {
		case named && body.Name != "":
			args[i] = reflect.ValueOf(body.Name)
		case arg.Kind() == reflect.Pointer && arg.Elem().Kind() == reflect.Struct && arg.Elem().FieldByName("Name").IsValid():
			request := reflect.New(arg.Type().Elem())
			request.Elem().Set(arg.Elem())
			request.Elem().FieldByName("Name").SetString(body.Name)
			args[i] = request
		}
	}
	return args
}

type call struct {
	method *sdktest.Method
	args   []reflect.Value
}

// calls returns a call for each operation, by HTTP method and route.
func calls(t *testing.T) map[string]call {
	t.Helper()
	calls := map[string]call{}
	for _, m := range sdktest.Methods(t) {
		if _, name, _ := strings.Cut(m.Name, "."); apitables.Composite(name) || strings.HasPrefix(name, "All") {
			continue
		}
		calls[m.Operation.Method+" "+m.Operation.Route] = call{&m, m.Args}
		if m.InLocation.Name != "" {
			calls[m.InLocation.Method+" "+m.InLocation.Route] = call{&m, m.WithLocation("location-1")}
		}
	}
	return calls
}

// row returns the method and route of a request, or "". If two routes match, it
// returns the one with fewer placeholders.
func (r *recording) row(calls map[string]call) (found string) {
	for row := range calls {
		if matches(row, r.key()) && (found == "" || strings.Count(row, "{") < strings.Count(found, "{")) {
			found = row
		}
	}
	return found
}

func matches(row, request string) bool {
	route, path := strings.Split(row, "/"), strings.Split(request, "/")
	if len(route) != len(path) {
		return false
	}
	for i, segment := range route {
		placeholder := strings.HasPrefix(segment, "{") && path[i] != ""
		if segment != path[i] && !placeholder {
			return false
		}
	}
	return true
}

func (r *recording) losses(t *testing.T, result any) []string {
	t.Helper()
	switch file, isFile := result.(*cloudapi.File); {
	case r.Response.Status == http.StatusNoContent && result == nil, isFile && string(file.Content) == r.Response.Body:
		return nil
	case r.Response.Status == http.StatusNoContent || isFile:
		return []string{"the content differs"}
	}
	return sdktest.Losses(t, r.Response.Body, result)
}
