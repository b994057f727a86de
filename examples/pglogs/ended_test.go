package main

import (
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/internal/built"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestEndOfFollowing: the program ends normally after an interrupt, and
// silently after head.
func TestEndOfFollowing(t *testing.T) {
	t.Parallel()
	built.Ending{
		Server: func(t *testing.T) *cloudapitest.Server {
			server := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service), cloudapitest.WithDelays(cloudapitest.Delays{Backup: -time.Hour}))
			stub.Must(server.Client().Postgres.Create(t.Context(), "eu-central-h1", "db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
			return server
		},
		Args:  []string{"--follow", "--every", "100ms", "--json", "eu-central-h1/db"},
		Begun: "timestamp",
		Ends: map[string]built.End{
			"Ctrl-C": {By: built.Interrupt, Status: 0, Said: "\npglogs: stopping; press Ctrl-C again to stop immediately\n"},
			"head":   {By: built.CloseStdout, Status: 141, Said: ""},
		},
		Check: func(t *testing.T, _ *cloudapitest.Server, end built.End, said string) {
			if said != end.Said {
				t.Errorf("it says %q, want %q", said, end.Said)
			}
		},
	}.Test(t)
}
