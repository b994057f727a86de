package methods_test

import (
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/contract"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
)

// TestOperationNames: an operation has the name of its method, and each name is
// unique.
func TestOperationNames(t *testing.T) {
	t.Parallel()
	routes := map[string]string{}
	for _, m := range sdktest.Methods(t) {
		op := m.Operation
		service, method, _ := strings.Cut(m.Name, ".")
		want := m.Name
		switch {
		case method == "Watch":
			want = service + ".List"
		case method == "FollowLogs":
			want = service + ".Logs"
		case strings.HasPrefix(method, "WaitVersion"):
			want = service + ".ListVersions"
		case contract.Composite(method):
			want = service + ".Get"
		case strings.HasPrefix(method, "All"):
			want = service + ".List" + strings.TrimPrefix(method, "All")
			if method == "AllLogs" {
				want = "Postgres.Logs"
			}
		}
		if op.Name != want {
			t.Errorf("%s performs %s", m.Name, op.Name)
		}
		row := op.Method + " " + op.Route
		if known, ok := routes[op.Name]; ok && known != row {
			t.Errorf("%s is %s and %s", op.Name, known, row)
		}
		routes[op.Name] = row
	}
}
