package cloudapitest

import (
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
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
		for range 2 {
			client.VMInitScripts.Get(t.Context(), "setup")
			client.VMs.Create(t.Context(), here, "web", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", InitScript: "setup", InitScriptArgs: "-x"})
		}
	}
	const fails = " is in the contract, but not in the service: it fails in production"
	const want = "cloudapitest: GET /project/{project_id}/vm-init-script/{vm_init_script_reference}" + fails +
		"\ncloudapitest: body field init_script_args" + fails
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
