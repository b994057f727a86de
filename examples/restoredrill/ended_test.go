package main

import (
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/internal/built"
)

// TestEndedProgramDeletesTheCopy: whatever ends the program, it leaves no copy.
func TestEndedProgramDeletesTheCopy(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("it has no such signals")
	}
	program := built.Build(t)
	for name, test := range map[string]struct {
		end    func(*built.Program)
		status int
	}{
		"Ctrl-C":                  {func(p *built.Program) { p.Process.Signal(syscall.SIGINT) }, 130},
		"a supervisor":            {func(p *built.Program) { p.Process.Signal(syscall.SIGTERM) }, 143},
		"a closed terminal":       {func(p *built.Program) { p.Process.Signal(syscall.SIGHUP); p.Process.Signal(syscall.SIGHUP) }, 129},
		"no reader of stderr":     {func(p *built.Program) { p.StderrFile.Close() }, 141},
		"no reader, and a signal": {func(p *built.Program) { p.StderrFile.Close(); p.Process.Signal(syscall.SIGTERM) }, 143},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{Backup: -time.Hour}))
			client := server.Client()
			if _, err := client.Postgres.Create(t.Context(), "eu-central-h1", "db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}); err != nil {
				t.Fatal(err)
			}
			server.SetDelays(cloudapi.KindPostgres, "", cloudapitest.Delays{Create: 4 * time.Second, Backup: -time.Hour})
			// The copy would end up running, and be reported.
			p := built.Start(t, server, program, "eu-central-h1/db")
			said := built.Until(t, p.Stderr, "the copy is creating")
			test.end(p)
			said += built.Rest(p.Stderr)
			if status := p.Status(); status != test.status {
				t.Errorf("exit status %d, want %d:\n%s", status, test.status, said)
			}
			for db, err := range client.Postgres.All(t.Context(), nil) {
				if err != nil || db.Name != "db" {
					t.Errorf("there is %s, %v, after\n%s", db.Name, err, said)
				}
			}
			if strings.Contains(said, "yourself") {
				t.Errorf("it says\n%s", said)
			}
		})
	}
}
