package demo

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

func TestMain(m *testing.M) {
	Isolate()
	m.Run()
}

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
	db, err := Database(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}
	if db.Name != "orders" || db.EarliestRestoreTime.IsZero() {
		t.Errorf("database %s can be restored from %v", db.Name, db.EarliestRestoreTime)
	}
}

func TestConnectUsesTheEnvironment(t *testing.T) {
	server := cloudapitest.New(t)
	t.Setenv(cloudapi.EnvBaseURL, server.Start())
	t.Setenv(cloudapi.EnvToken, server.Token())
	t.Setenv(cloudapi.EnvProject, server.ProjectID())
	client, closeServer, err := Connect(t.Context(), io.Discard, "test/1", Server{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeServer()
	if _, err := Database(t.Context(), client, nil); err == nil || !strings.Contains(err.Error(), "has no database") {
		t.Errorf("database of an empty project: %v", err)
	}
	requests := server.Requests()
	if len(requests) != 1 || !strings.Contains(requests[0].Header.Get("User-Agent"), "test/1") {
		t.Errorf("requests %v", requests)
	}
}

func TestDatabase(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t).Client()
	for _, name := range []string{"one", "two"} {
		request := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}
		if _, err := client.Postgres.Create(t.Context(), europe, name, request); err != nil {
			t.Fatal(err)
		}
	}
	if db, err := Database(t.Context(), client, []string{europe + "/two"}); err != nil || db.Name != "two" {
		t.Errorf("by name: %v, %v", db, err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "one of the databases: "},
		{[]string{"one", "two"}, "name one database"},
		{[]string{europe + "/three"}, "not found"},
	} {
		if _, err := Database(t.Context(), client, test.args); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want %q", test.args, err, test.want)
		}
	}
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want string
	}{
		{cloudapi.ErrNoProject, cloudapi.EnvProject},
		{&cloudapi.Error{StatusCode: 401}, cloudapi.EnvToken},
		{&cloudapi.Error{StatusCode: 403}, "permission"},
		{&cloudapi.Error{StatusCode: 404, Type: "ResourceNotFound"}, cloudapi.EnvProject},
		{&cloudapi.Error{StatusCode: 503}, "minutes"},
		{&cloudapi.TransportError{Err: io.EOF}, cloudapi.EnvBaseURL},
	} {
		if advice := Advice(test.err); !strings.Contains(advice, test.want) {
			t.Errorf("%v: %q, want %q", test.err, advice, test.want)
		}
	}
	if advice := Advice(errors.New("anything")); advice != "" {
		t.Errorf("anything: %q", advice)
	}
}

// TestConnectRefusesHalfAnEnvironment: a user who sets a token means a real
// service, and must not get a success on a made-up one.
func TestConnectRefusesHalfAnEnvironment(t *testing.T) {
	t.Setenv(cloudapi.EnvToken, "pat-akreliabilityreliabil1234567-0123456789abcdefghijABCDEFGHIJ01")
	t.Setenv(cloudapi.EnvProject, "pjahbwgme82j3qbwnsn4b3w1e9")
	_, _, err := Connect(t.Context(), io.Discard, "test", Server{})
	if err == nil || !strings.Contains(err.Error(), "CLOUDAPI_TOKEN and CLOUDAPI_PROJECT are set, but not CLOUDAPI_BASE_URL") {
		t.Errorf("it is %v", err)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	const source = "// Show shows.\n//\n//\tshow --all\npackage main\n"
	var stdout bytes.Buffer
	newFlags := func() *Flags {
		flags := NewFlags("show", source, &stdout)
		flags.Bool("all", false, "show all")
		return flags
	}
	if err := newFlags().Parse([]string{"--help"}, 0); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("--help is %v", err)
	}
	if want := "Show shows.\n\n\tshow --all\n\nFlags:\n  -all\n    \tshow all\n" + environment; stdout.String() != want {
		t.Errorf("the help is %q, want %q", &stdout, want)
	}
	for _, args := range [][]string{{"--none"}, {"one", "two"}} {
		if err := newFlags().Parse(args, 1); !errors.As(err, new(*UsageError)) {
			t.Errorf("%q is %v, want a UsageError", args, err)
		}
	}
	if err := newFlags().Parse([]string{"--all", "one"}, 1); err != nil {
		t.Error(err)
	}
}
