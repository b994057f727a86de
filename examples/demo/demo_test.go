package demo

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func TestMain(m *testing.M) { Isolate(m) }

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
	db := stub.Must(Database(t.Context(), client, nil))(t)
	if db.Name != "orders" || db.EarliestRestoreTime.IsZero() {
		t.Errorf("database %s can be restored from %v", db.Name, db.EarliestRestoreTime)
	}
}

func TestConnectUsesTheEnvironment(t *testing.T) {
	server := cloudapitest.New(t)
	Use(t, server)
	client, closeServer, err := Connect(t.Context(), io.Discard, "test/1", Server{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeServer()
	if _, err := Database(t.Context(), client, nil); err == nil || !strings.Contains(err.Error(), "has no database") {
		t.Errorf("database of an empty project: %v", err)
	}
	requests := server.Requests()
	if len(requests) == 0 || !strings.Contains(requests[0].Header.Get("User-Agent"), "test/1") {
		t.Errorf("requests %v", requests)
	}
}

// TestDatabaseThatTheTokenCannotSee: a list leaves out what the token can't see.
func TestDatabaseThatTheTokenCannotSee(t *testing.T) {
	t.Parallel()
	server := cloudapitest.New(t)
	server.SetPermissions(server.ProjectID(), server.Token())
	if _, err := Database(t.Context(), server.Client(), nil); !errors.Is(err, cloudapi.ErrForbidden) {
		t.Errorf("error %v", err)
	}
}

func TestDatabase(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t).Client()
	for _, name := range []string{"one", "two"} {
		request := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}
		stub.Must(client.Postgres.Create(t.Context(), europe, name, request))(t)
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
		{fmt.Errorf("%w: %w", cloudapi.ErrMaybeUnsupported, cloudapi.ErrNotFound), "may lack this operation"},
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

// TestConnectRefusesHalfAnEnvironment: a user who sets a token or an address, or
// a script whose secrets aren't set, means a real project, and must not see
// success with a made-up one.
func TestConnectRefusesHalfAnEnvironment(t *testing.T) {
	const url = "https://api.example.com"
	for want, set := range map[string]map[string]string{
		"CLOUDAPI_TOKEN is set, but not CLOUDAPI_PROJECT":                       {cloudapi.EnvToken: url},
		"CLOUDAPI_BASE_URL is set, but not CLOUDAPI_TOKEN and CLOUDAPI_PROJECT": {cloudapi.EnvBaseURL: url},
		"CLOUDAPI_BASE_URL is empty":                                            {cloudapi.EnvBaseURL: "", cloudapi.EnvToken: "", cloudapi.EnvProject: ""},
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

func TestPositive(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "0s": 0, "-1s": 0, "5": 0, "": 0} {
		flags := NewFlags("show", "", io.Discard)
		timeout := flags.Positive("timeout", time.Hour, "")
		err := flags.Parse([]string{"--timeout", text}, 0)
		if want > 0 && (err != nil || *timeout != want) || want == 0 && (!errors.As(err, new(*UsageError)) || *timeout != time.Hour) {
			t.Errorf("%q: %v, error %v, want %v", text, *timeout, err, want)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	failed, pipe := errors.New("failed"), &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}
	interrupt, gone, full := &ending{errors.New("interrupt"), 130}, &ending{pipe, 141}, &ending{syscall.ENOSPC, 1}
	for _, test := range []struct {
		err, cause error
		status     int
		said       string
	}{
		{nil, nil, 0, ""},
		{nil, interrupt, 0, ""}, // it succeeds nevertheless
		{failed, interrupt, 130, "show: failed\n"},
		{failed, nil, 1, "show: failed\n"},
		{Usagef("none"), nil, 2, "show: none; see show --help\n"},
		{&cloudapi.Error{StatusCode: 401}, nil, 1, cloudapi.EnvToken},
		{nil, gone, 141, ""},
		{pipe, gone, 141, ""},
		{errors.Join(pipe, failed), gone, 141, "failed\n"}, // such as what is left
		{nil, full, 1, "no space left"},
	} {
		var stderr strings.Builder
		if status := report(&stderr, "show", test.err, test.cause); status != test.status || !strings.Contains(stderr.String(), test.said) || test.said == "" && stderr.Len() > 0 {
			t.Errorf("%v, ended by %v: status %d and %q, want %d and %q", test.err, test.cause, status, &stderr, test.status, test.said)
		}
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
	if want := "Show shows.\n\n\tshow --all\n\nFlags:\n  -all\n    \tshow all\n" + environment + "If none is set,\nit uses a server inside the program.\n"; stdout.String() != want {
		t.Errorf("the help is %q, want %q", &stdout, want)
	}
	flags := newFlags()
	flags.Bool("demo", false, "use the server inside the program")
	if err := flags.Parse([]string{"--help"}, 0); !errors.Is(err, flag.ErrHelp) || !strings.HasSuffix(stdout.String(), "set,\nit needs --demo.\n") {
		t.Errorf("with --demo the help is %q, %v", &stdout, err)
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
