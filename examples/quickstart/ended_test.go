package main

import (
	"errors"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/internal/built"
)

// TestEndedProgramLeavesNothing: the program deletes what it has created, even
// if a signal ends it or a reader such as head goes away.
func TestEndedProgramLeavesNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("it has no such signals")
	}
	program := built.Build(t)
	for name, test := range map[string]struct {
		end    func(*built.Program)
		status int
	}{
		"Ctrl-C":            {func(p *built.Program) { p.Process.Signal(syscall.SIGINT) }, 130},
		"a supervisor":      {func(p *built.Program) { p.Process.Signal(syscall.SIGTERM) }, 143},
		"a closed terminal": {func(p *built.Program) { p.Process.Signal(syscall.SIGHUP) }, 129},
		"head":              {func(p *built.Program) { p.StdoutFile.Close() }, 141},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{Create: time.Hour}))
			p := built.Start(t, server, program)
			built.Until(t, p.Stdout, "firewall")
			test.end(p)
			go built.Rest(p.Stdout)
			said := built.Rest(p.Stderr)
			if status := p.Status(); status != test.status {
				t.Errorf("exit status %d, want %d:\n%s", status, test.status, said)
			}
			client := server.Client()
			vms, err := cloudapi.Collect(client.VMs.All(t.Context(), nil))
			subnets, err2 := cloudapi.Collect(client.PrivateSubnets.All(t.Context(), nil))
			firewalls, err3 := cloudapi.Collect(client.Firewalls.All(t.Context(), nil))
			keys, err4 := cloudapi.Collect(client.SSHPublicKeys.All(t.Context(), nil))
			if n := len(vms) + len(subnets) + len(firewalls) + len(keys); n > 0 || errors.Join(err, err2, err3, err4) != nil {
				t.Errorf("%d resources are left, after\n%s", n, said)
			}
		})
	}
}
