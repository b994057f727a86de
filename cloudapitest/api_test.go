package cloudapitest

import (
	"errors"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// TestWhatOnlyTheContractHasIsLoggedOnce uses registered scripts, which only
// the contract has, several times.
func TestWhatOnlyTheContractHasIsLoggedOnce(t *testing.T) {
	t.Parallel()
	use := func(srv *Server) {
		client := srv.Client()
		client.VMs.Create(t.Context(), here, "text", &cloudapi.VMCreateRequest{
			PublicKey: "ssh-ed25519 AAAA", InitScriptText: "date",
		})
		client.VMInitScripts.Create(t.Context(), "setup", &cloudapi.VMInitScriptCreateRequest{Script: "date"})
		for range 2 {
			client.VMInitScripts.Get(t.Context(), "setup")
			client.VMs.Create(t.Context(), here, "web", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", InitScript: "setup", InitScriptArgs: "-x"})
		}
	}
	const refused = " is in the contract, but not in the service, which refuses it"
	const want = "cloudapitest: POST /project/{project_id}/vm-init-script" + refused +
		"\ncloudapitest: GET /project/{project_id}/vm-init-script/{vm_init_script_reference}" + refused +
		"\ncloudapitest: body field init_script_args" + refused
	tb := &recorder{TB: t}
	use(New(tb))
	if got := strings.Join(tb.lines, "\n"); got != want {
		t.Errorf("the test's log is %q, want %q", got, want)
	}
	var out strings.Builder
	srv := NewServer(WithLog(&out))
	use(srv)
	srv.Close()
	if out.String() != want+"\n" {
		t.Errorf("the log is %q, want %q", out.String(), want)
	}
	tb.lines = nil
	use(New(tb, WithAPI(Contract)))
	if tb.lines != nil {
		t.Errorf("a test that chose the contract is told %q", tb.lines)
	}
}

// TestWhatWorksWithTheServiceIsNotLogged uses functions that ask for registered
// scripts, and skip what the service doesn't have.
func TestWhatWorksWithTheServiceIsNotLogged(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]Option{"default": nil, "service": {WithAPI(Service)}} {
		tb := &recorder{TB: t}
		client := New(tb, opts...).Client()
		stub.Must(client.Firewalls.Create(t.Context(), here, "web", nil))(t)
		var resources []cloudapi.Resource
		for r, err := range client.Resources(t.Context(), nil) {
			resources = append(resources, stub.Must(r, err)(t))
		}
		plan := stub.Must(teardown.NewPlan(t.Context(), client, nil))(t)
		if len(resources) != 1 || len(plan.Stages()) != 1 {
			t.Errorf("%s: %v and %v", name, resources, plan.Stages())
		}
		stub.Must(client.Resolve(t.Context(), here+"/web"))(t)
		if _, err := client.Resolve(t.Context(), "none"); !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if tb.lines != nil || tb.reports != nil {
			t.Errorf("%s: logged %q, reported %q", name, tb.lines, tb.reports)
		}
	}
}
