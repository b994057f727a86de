package main

import (
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/internal/built"
)

// TestEndedProgramDeletesTheCopy: whatever ends the program, it leaves no copy.
func TestEndedProgramDeletesTheCopy(t *testing.T) {
	t.Parallel()
	built.Ending{
		Server: func(t *testing.T) *cloudapitest.Server {
			server := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{Backup: -time.Hour}))
			newDatabase(t, server.Client(), "eu-central-h1")
			// The copy would end up running, and be reported.
			server.SetDelays(cloudapi.KindPostgres, "", cloudapitest.Delays{Create: 4 * time.Second, Backup: -time.Hour})
			return server
		},
		Args:     []string{"eu-central-h1/db"},
		Begun:    "the copy is creating",
		InStderr: true,
		Ends: map[string]built.End{
			"Ctrl-C":                  {By: built.Interrupt, Status: 130},
			"a supervisor":            {By: built.Terminate, Status: 143},
			"a closed terminal":       {By: func(p *built.Program) { built.HangUp(p); built.HangUp(p) }, Status: 129},
			"no reader of stderr":     {By: built.CloseStderr, Status: 141},
			"no reader, and a signal": {By: func(p *built.Program) { built.CloseStderr(p); built.Terminate(p) }, Status: 143},
		},
		Check: func(t *testing.T, server *cloudapitest.Server, _ built.End, said string) {
			for db, err := range server.Client().Postgres.All(t.Context(), nil) {
				if err != nil || db.Name != "db" {
					t.Errorf("there is %s, %v, after\n%s", db.Name, err, said)
				}
			}
			if strings.Contains(said, "yourself") {
				t.Errorf("it says\n%s", said)
			}
		},
	}.Test(t)
}
