package main

import (
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/internal/built"
)

// TestEndedProgramLeavesNothing: the program deletes what it has created, even
// if a signal ends it or a reader such as head goes away.
func TestEndedProgramLeavesNothing(t *testing.T) {
	t.Parallel()
	built.Ending{
		Server: func(t *testing.T) *cloudapitest.Server {
			return cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{Create: time.Hour}))
		},
		Begun: "firewall",
		Ends: map[string]built.End{
			"Ctrl-C":            {By: built.Interrupt, Status: 130},
			"a supervisor":      {By: built.Terminate, Status: 143},
			"a closed terminal": {By: built.HangUp, Status: 129},
			"head":              {By: built.CloseStdout, Status: 141},
		},
		Check: func(t *testing.T, server *cloudapitest.Server, _ built.End, said string) {
			for resource, err := range server.Client().Resources(t.Context(), nil) {
				t.Errorf("%v is left, %v, after\n%s", resource, err, said)
			}
		},
	}.Test(t)
}
