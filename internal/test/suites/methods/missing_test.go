package methods_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/apitables"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestMissingOperations: the error for a 404 matches ErrMaybeUnsupported if
// only the service or only the contract has the operation, since the response
// doesn't show what is missing. A 404 of an operation that the service lacks
// never proves that a resource is gone, and neither does a 404 of an operation
// that can be off, whatever its type, or a search.
func TestMissingOperations(t *testing.T) {
	t.Parallel()
	rows := map[string]apitables.Row{}
	for _, row := range apitables.Rows() {
		rows[row.String()] = row
	}
	const missing = `{"error":{"code":404,"type":"ResourceNotFound","message":"Sorry, we couldn’t find the resource you’re looking for."}}`
	for _, m := range sdktest.Methods(t) {
		if _, method, _ := strings.Cut(m.Name, "."); apitables.Composite(method) && method != "Watch" {
			continue
		}
		row := rows[m.Operation.Method+" "+m.Operation.Route]
		end := ""
		switch {
		case row.Switchable():
			end = "; the operation is off by default, and the project may not have it"
		case row.ServiceOnly:
			end = "; the operation isn't in the contract, and the server may lack it"
		case row.ContractOnly:
			end = "; the operation is only in the contract: Ubicloud's service doesn't have it"
		}
		call := func(body string) error {
			network := stub.Recorder{Answer: stub.Always(http.StatusNotFound, body)}
			_, err := m.Call(t.Context(), sdktest.Recorded(t, &network), m.Args)
			return err
		}
		err := call(missing)
		if !errors.Is(err, cloudapi.ErrNotFound) || errors.Is(err, cloudapi.ErrMaybeUnsupported) != (end != "") {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		if text := err.Error(); !strings.HasSuffix(text, end) || strings.Contains(text, ";") != (end != "") {
			t.Errorf("%s: %v, want the end %q", m.Name, err, end)
		}
		if gone := cloudapi.IsGone(err); gone == (row.ContractOnly || row.Switchable() || m.Name == "Projects.ObjectInfo") {
			t.Errorf("%s: %v; gone: %v", m.Name, err, gone)
		}
		err = call(strings.Replace(missing, "ResourceNotFound", "NotFound", 1))
		if !errors.Is(err, cloudapi.ErrNotFound) || errors.Is(err, cloudapi.ErrMaybeUnsupported) != row.Switchable() || row.Switchable() && cloudapi.IsGone(err) {
			t.Errorf("%s, a 404 with a text of its own: %v", m.Name, err)
		}
		err = call(strings.Replace(missing, "ResourceNotFound", "InvalidLocation", 1))
		if !errors.Is(err, cloudapi.ErrLocationNotFound) || errors.Is(err, cloudapi.ErrMaybeUnsupported) || cloudapi.IsGone(err) || strings.Contains(err.Error(), ";") {
			t.Errorf("%s in an unknown location: %v", m.Name, err)
		}
	}
}
