// Package demo has what the example programs share: how they start and stop,
// and how they get a client.
package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"golang.org/x/term"
)

// Advice returns what a person can do about an error, or "".
func Advice(err error) string {
	var transport *cloudapi.TransportError
	switch {
	case errors.Is(err, cloudapi.ErrNoProject):
		return "Set " + cloudapi.EnvProject + " to the ID of a project."
	case errors.Is(err, cloudapi.ErrUnauthorized):
		return "Is the token in " + cloudapi.EnvToken + " complete and still valid?"
	case errors.Is(err, cloudapi.ErrForbidden):
		return "The token in " + cloudapi.EnvToken + " lacks a permission for this: grant it, or use another token."
	case errors.Is(err, cloudapi.ErrOutcomeUnknown):
		return "The server may have done it nevertheless: look before you try again."
	case errors.Is(err, cloudapi.ErrMaybeUnsupported): // programs call such operations only for what they have found
		return "The server may lack this operation, which Ubicloud's service has: does " + cloudapi.EnvBaseURL + " name the right one?"
	case errors.Is(err, cloudapi.ErrNotFound):
		return "Check the name, the location in front of it, and the project in " + cloudapi.EnvProject + "."
	case errors.Is(err, cloudapi.ErrRateLimited), errors.Is(err, cloudapi.ErrServer):
		return "The server has a problem: try again in a few minutes."
	case errors.As(err, &transport):
		return "Does " + cloudapi.EnvBaseURL + " hold the address of the API, and can this machine reach it?"
	}
	return ""
}

// variables are the environment variables that name a real project. If there's
// no base URL, the project is one of Ubicloud's service.
var variables = []string{cloudapi.EnvBaseURL, cloudapi.EnvToken, cloudapi.EnvProject}

// IsEmbedded reports whether none of the variables is set: [Connect] then
// starts a server inside the program. It returns an error if one is empty, or
// if some are set but not both the token and the project. A user who meant a
// real server must not see success with made-up resources.
func IsEmbedded() (bool, error) {
	var set, missing []string
	for _, variable := range variables {
		value, isSet := os.LookupEnv(variable)
		switch {
		case isSet && value == "":
			return false, fmt.Errorf("%s is empty: unset it, or set it for a real project", variable)
		case isSet:
			set = append(set, variable)
		case variable != cloudapi.EnvBaseURL:
			missing = append(missing, variable)
		}
	}
	if len(set) == 0 || len(missing) == 0 {
		return len(set) == 0, nil
	}
	verb := "is"
	if len(set) > 1 {
		verb = "are"
	}
	return false, fmt.Errorf("%s %s set, but not %s: set the token and the project for a real project, or nothing for the embedded server",
		strings.Join(set, " and "), verb, strings.Join(missing, " and "))
}

// Isolate runs the tests of a program without the variables, so that they never
// use a real server.
func Isolate(tests interface{ Run() int }) {
	for _, variable := range variables {
		os.Unsetenv(variable)
	}
	tests.Run()
}

// Use sets the environment variables to the server's values during a test.
func Use(t interface{ Setenv(name, value string) }, server *cloudapitest.Server) {
	t.Setenv(cloudapi.EnvBaseURL, server.Start())
	t.Setenv(cloudapi.EnvToken, server.Token())
	t.Setenv(cloudapi.EnvProject, server.ProjectID())
}

// A test is a *testing.T. With an interface, the programs don't link package
// testing.
type test interface {
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Helper()
	TempDir() string
}

type program func(ctx context.Context, args []string, stdout, stderr io.Writer) error

// Runs runs a program, and returns what it prints. The test fails unless the
// program succeeds and prints each of the texts.
func Runs(t test, run program, args []string, texts ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	if err := run(t.Context(), args, &out, &errs); err != nil {
		t.Fatalf("%q: %v\n%s%s", args, err, &out, &errs)
	}
	for _, text := range texts {
		if !strings.Contains(out.String()+errs.String(), text) {
			t.Errorf("%q: no %q in\n%s%s", args, text, &out, &errs)
		}
	}
	return out.String(), errs.String()
}

// File writes the text to a new file, and returns the file's path.
func File(t test, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatalf("%v", err)
	}
	return path
}

// Refuses tests that a program refuses wrong arguments: it must return an error
// that contains want, and print nothing to stdout.
func Refuses(t test, run program, want string, args ...string) {
	t.Helper()
	var stdout strings.Builder
	if err := run(t.Context(), args, &stdout, io.Discard); err == nil || !strings.Contains(err.Error(), want) || stdout.Len() > 0 {
		t.Errorf("%q: error %v, want %q, and it printed %s", args, err, want, &stdout)
	}
}

// Server configures the server that a program starts inside itself.
type Server struct {
	Delays cloudapitest.Delays
	Empty  bool // whether its project has no resources; otherwise, it has those of a small shop

	Started func(*cloudapitest.Server) // is called with the server, unless it's nil
}

// Connect returns a client for the API that the environment variables name. If
// [IsEmbedded], it starts a server inside the program instead, and says so. The
// returned function closes the server.
func Connect(ctx context.Context, stderr io.Writer, application string, s Server) (*cloudapi.Client, func(), error) {
	embedded, err := IsEmbedded()
	if err != nil {
		return nil, nil, err
	}
	if !embedded {
		client, err := cloudapi.NewClient(cloudapi.FromEnv(), cloudapi.WithUserAgent(application))
		return client, func() {}, err
	}
	project := "a made-up"
	if s.Empty {
		project = "an empty"
	}
	fmt.Fprintf(stderr, "Using an embedded server with %s project.\nSet %s and %s for a real one.\n",
		project, cloudapi.EnvToken, cloudapi.EnvProject)
	s.Delays.Backup = -24 * time.Hour // as if the databases were a day old, so that they can be restored and have logs
	server := cloudapitest.NewServer(
		cloudapitest.WithDelays(s.Delays),
		cloudapitest.WithQuota(cloudapitest.Quota{VM: 1000, Postgres: 1000, Kubernetes: 1000, MachineImageVersions: 1000, Projects: 10}),
		cloudapitest.WithRequestLog(0),
	)
	if s.Started != nil {
		s.Started(server)
	}
	client := server.Client(cloudapi.WithUserAgent(application))
	if s.Empty {
		return client, server.Close, nil
	}
	if err := fill(ctx, server, client); err != nil {
		server.Close()
		return nil, nil, fmt.Errorf("fill the embedded server: %w", err)
	}
	return client, server.Close, nil
}

// IsTerminal reports whether w is a terminal that can show colors and moving
// lines.
func IsTerminal(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// IsTyped reports whether r is a terminal: a user's typing is visible there.
func IsTyped(r io.Reader) bool { return isTerminal(r) }

func isTerminal(stream any) bool {
	file, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(file.Fd()))
}

// Width returns the number of characters in a line of the terminal, or 0 if w
// isn't a terminal.
func Width(w io.Writer) int {
	if !isTerminal(w) {
		return 0
	}
	columns, _, err := term.GetSize(int(w.(interface{ Fd() uintptr }).Fd()))
	if err != nil || columns <= 0 {
		return 80
	}
	return columns
}

// Database returns the database in the argument, which is "location/name" or an
// ID. Without an argument it returns the project's only database that isn't a
// replica.
func Database(ctx context.Context, client *cloudapi.Client, args []string) (*cloudapi.Postgres, error) {
	if len(args) == 1 {
		return cloudapi.Lookup[cloudapi.Postgres](ctx, client, args[0])
	}
	var names []string
	for db, err := range client.Postgres.All(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if !db.ReadReplica {
			names = append(names, db.Location+"/"+db.Name)
		}
	}
	switch {
	case len(args) > 1:
		return nil, fmt.Errorf("name one database, not %d", len(args))
	case len(names) == 0:
		if _, err := client.CheckAccess(ctx); err != nil { // lists leave out what the token can't see
			return nil, err
		}
		return nil, errors.New("the project has no database")
	case len(names) > 1:
		return nil, fmt.Errorf("name one of the databases: %s", strings.Join(names, ", "))
	}
	return cloudapi.Lookup[cloudapi.Postgres](ctx, client, names[0])
}

// ByteOrderMark returns the number of the first line of a text file that has a
// byte order mark, or 0. Editors write one at the beginning, and don't show it.
func ByteOrderMark(text []byte) (line int) {
	for _, utf16 := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(text, []byte(utf16)) {
			return 1
		}
	}
	before, _, found := bytes.Cut(text, []byte("\ufeff"))
	if !found {
		return 0
	}
	return 1 + bytes.Count(before, []byte("\n"))
}

// Count returns a number of things, such as "1 VM" or "2 VMs".
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}
