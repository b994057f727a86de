package cloudapitest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
)

// TestInitScriptsOfEachAPI creates VMs with both forms of init scripts: with a
// reference to a registered script, and with a script.
func TestInitScriptsOfEachAPI(t *testing.T) {
	t.Parallel()
	const key, long = "ssh-ed25519 AAAA", 2001
	registered := &cloudapi.VMCreateRequest{PublicKey: key, InitScript: "setup"}
	byID := func(id string) *cloudapi.VMCreateRequest {
		return &cloudapi.VMCreateRequest{PublicKey: key, InitScript: id, InitScriptArgs: "--fast"}
	}
	unknown := &cloudapi.VMCreateRequest{PublicKey: key, InitScript: "other", InitScriptArgs: "--fast"}
	text := &cloudapi.VMCreateRequest{PublicKey: key, InitScriptText: "#!/bin/sh\necho setup"}
	tooLong := &cloudapi.VMCreateRequest{PublicKey: key, InitScriptText: strings.Repeat("x", long)}
	for _, tt := range []struct {
		name     string
		opts     []Option
		registry string // the status of each request
		requests string
	}{
		{"default", nil, "200", "200 200 400 200 400"},
		{"contract", []Option{WithAPI(Contract)}, "200", "200 200 400 400 400"},
		{"service", []Option{WithAPI(Service), Lenient()}, "404", "400 400 400 200 400"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := New(t, tt.opts...)
			client := srv.Client()
			script, err := client.VMInitScripts.Create(t.Context(), &cloudapi.VMInitScriptCreateRequest{Name: "setup", Script: "date"})
			if script == nil {
				script = &cloudapi.VMInitScript{ID: "setup"}
			}
			if got := status(err); got != tt.registry {
				t.Errorf("registering a script: %s, want %s (%v)", got, tt.registry, err)
			}
			var got []string
			for i, request := range []*cloudapi.VMCreateRequest{registered, byID(script.ID), unknown, text, tooLong} {
				_, err := client.VMs.Create(t.Context(), here, fmt.Sprint("vm-", i), request)
				got = append(got, status(err))
			}
			if s := strings.Join(got, " "); s != tt.requests {
				t.Errorf("VMs: %s, want %s", s, tt.requests)
			}
		})
	}
}

func status(err error) string {
	if e, ok := errors.AsType[*cloudapi.Error](err); ok {
		return fmt.Sprint(e.StatusCode)
	}
	if err != nil {
		return err.Error()
	}
	return "200"
}

// logOf is a test that keeps its log.
type logOf struct {
	TB
	lines []string
}

func (l *logOf) Logf(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// TestWhatOnlyTheContractHasIsLoggedOnce uses registered scripts several times.
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
	tb := &logOf{TB: t}
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
