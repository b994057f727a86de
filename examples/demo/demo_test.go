package demo

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo/demotest"
)

func TestConnectFillsTheEmbeddedServer(t *testing.T) {
	var stderr bytes.Buffer
	client, closeServer, err := Connect(t.Context(), &stderr, "test", Server{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeServer()
	if text := stderr.String(); !strings.Contains(text, "embedded") || strings.Count(text, "\n") != 2 {
		t.Errorf("said %q", text)
	}
	states := map[string]int{}
	for vm, err := range client.VMs.All(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		states[vm.State]++
	}
	if states[cloudapi.VMStateRunning] != 12 || states[cloudapi.VMStateStopped] != 1 {
		t.Errorf("VMs by state: %v", states)
	}
	if db := demotest.Must(client.Postgres.Get(t.Context(), europe, "orders"))(t); db.EarliestRestoreTime.IsZero() {
		t.Error("the database can't be restored")
	}
}

func TestConnectUsesTheEnvironment(t *testing.T) {
	server := cloudapitest.New(t)
	demotest.Use(t, server)
	client, closeServer, err := Connect(t.Context(), io.Discard, "test/1", Server{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeServer()
	if err := client.CheckAccess(t.Context()); err != nil {
		t.Error(err)
	}
	requests := server.Requests()
	if len(requests) == 0 || !strings.Contains(requests[0].Header.Get("User-Agent"), "test/1") {
		t.Errorf("requests %v", requests)
	}
}

// TestConnectRefusesHalfAnEnvironment: a user who sets a token or an address, or
// a script whose secrets aren't set, means a real project, and must not see
// success with a made-up one.
func TestConnectRefusesHalfAnEnvironment(t *testing.T) {
	const url = "https://api.example.com"
	for want, set := range map[string]map[string]string{
		"set CLOUDAPI_PROJECT for a real project, or unset CLOUDAPI_TOKEN for": {cloudapi.EnvToken: url},
		"set CLOUDAPI_TOKEN and CLOUDAPI_PROJECT for":                          {cloudapi.EnvBaseURL: url},
		"set CLOUDAPI_BASE_URL for":                                            {cloudapi.EnvBaseURL: "", cloudapi.EnvToken: url, cloudapi.EnvProject: url},
		"unset CLOUDAPI_BASE_URL and CLOUDAPI_TOKEN and CLOUDAPI_PROJECT for":  {cloudapi.EnvBaseURL: "", cloudapi.EnvToken: "", cloudapi.EnvProject: ""},
	} {
		t.Run(want, func(t *testing.T) {
			for variable, value := range set {
				t.Setenv(variable, value)
			}
			if _, _, err := Connect(t.Context(), io.Discard, "test", Server{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("it is %v", err)
			}
		})
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "",
		"web-1":                             "web-1",
		"80, 443 from 10.0.0.0/8; Zoë":      "80, 443 from 10.0.0.0/8; Zoë",
		"x\x1b]0;owned\a\x1b[2J\nfake line": `"x\x1b]0;owned\a\x1b[2J\nfake line"`,
		"x\u202egnp":                        `"x\u202egnp"`,
		"web-1  running":                    `"web-1  running"`,
		"web-1 ":                            `"web-1 "`,
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
