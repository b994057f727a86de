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

// TestEndOfFollowing: the program ends normally after an interrupt, and
// silently after head.
func TestEndOfFollowing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("it has no such signals")
	}
	program := built.Build(t)
	for name, test := range map[string]struct {
		end    func(*built.Program)
		status int
		said   string
	}{
		"Ctrl-C": {func(p *built.Program) { p.Process.Signal(syscall.SIGINT) }, 0, "\npglogs: stopping; press Ctrl-C again to stop immediately\n"},
		"head":   {func(p *built.Program) { p.StdoutFile.Close() }, 141, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service), cloudapitest.WithDelays(cloudapitest.Delays{Backup: -time.Hour}))
			client := server.Client()
			if _, err := client.Postgres.Create(t.Context(), "eu-central-h1", "db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}); err != nil {
				t.Fatal(err)
			}
			p := built.Start(t, server, program, "--follow", "--every", "100ms", "--json", "eu-central-h1/db")
			built.Until(t, p.Stdout, "timestamp")
			test.end(p)
			go built.Rest(p.Stdout)
			said := built.Rest(p.Stderr)
			if status := p.Status(); status != test.status || said != test.said || strings.Contains(said, "canceled") {
				t.Errorf("exit status %d and %q, want %d and %q", status, said, test.status, test.said)
			}
		})
	}
}
