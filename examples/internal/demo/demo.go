// Package demo is shared by the example programs: how they start and stop, and
// how they get a client.
package demo

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"golang.org/x/term"
)

// Main runs a program until it is done or interrupted. It exits with status 1
// if the program failed, 2 after wrong arguments, and 130 if an interrupt ended
// the program before it was done. It reports an interrupt at once. A second one
// kills the program.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop()
		fmt.Fprintf(os.Stderr, "\n%s: stopping; press Ctrl-C again to stop immediately\n", name)
	})
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case ctx.Err() != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(130)
	case errors.As(err, new(*UsageError)):
		fmt.Fprintf(os.Stderr, "%s: %v; see %s --help\n", name, err, name)
		os.Exit(2)
	default:
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		if advice := Advice(err); advice != "" {
			fmt.Fprintln(os.Stderr, advice)
		}
		os.Exit(1)
	}
}

// Advice returns what a person can do about an error, or "".
func Advice(err error) string {
	var transport *cloudapi.TransportError
	switch {
	case errors.Is(err, cloudapi.ErrNoProject):
		return "Set " + cloudapi.EnvProject + " to the ID of a project."
	case errors.Is(err, cloudapi.ErrUnauthorized):
		return "Is the token in " + cloudapi.EnvToken + " complete, and has it not been revoked?"
	case errors.Is(err, cloudapi.ErrForbidden):
		return "The token in " + cloudapi.EnvToken + " lacks a permission for this: grant it, or take another token."
	case errors.Is(err, cloudapi.ErrOutcomeUnknown):
		return "It may have happened nevertheless: look before you try again."
	case errors.Is(err, cloudapi.ErrNotFound):
		return "Check the name, the location in front of it, and the project in " + cloudapi.EnvProject + "."
	case errors.Is(err, cloudapi.ErrRateLimited), errors.Is(err, cloudapi.ErrServer):
		return "The service has a problem: try again in a few minutes."
	case errors.As(err, &transport):
		return "Does " + cloudapi.EnvBaseURL + " hold the address of the API, and can this machine reach it?"
	}
	return ""
}

// variables are the environment variables that name a real service.
var variables = []string{cloudapi.EnvBaseURL, cloudapi.EnvToken, cloudapi.EnvProject}

// IsEmbedded reports whether none of the variables is set, so that [Connect]
// starts a server inside the program.
func IsEmbedded() bool {
	return !slices.ContainsFunc(variables, func(variable string) bool { return os.Getenv(variable) != "" })
}

// Isolate removes the variables from the environment of the process. Tests call
// it first, so that they never use a real service.
func Isolate() {
	for _, variable := range variables {
		os.Unsetenv(variable)
	}
}

// Server describes the server inside a program.
type Server struct {
	Delays cloudapitest.Delays
	Empty  bool // whether its project is empty; otherwise it is that of a small company
}

// Connect returns a client of the API that the environment variables name. If
// none of them is set it starts a server inside the program, and says so. If
// only some are set the error names the missing ones, so that a program does
// not report success on made-up resources to a user who has named real ones.
// The returned function closes the server.
func Connect(ctx context.Context, stderr io.Writer, application string, s Server) (*cloudapi.Client, func(), error) {
	var set, missing []string
	for _, variable := range variables {
		if os.Getenv(variable) != "" {
			set = append(set, variable)
		} else {
			missing = append(missing, variable)
		}
	}
	switch {
	case len(missing) == 0:
		client, err := cloudapi.NewClient(cloudapi.FromEnv(), cloudapi.WithUserAgent(application))
		return client, func() {}, err
	case len(set) > 0:
		verb := "is"
		if len(set) > 1 {
			verb = "are"
		}
		return nil, nil, fmt.Errorf("%s %s set, but not %s: set all three for a real service, or none for the embedded server",
			strings.Join(set, " and "), verb, strings.Join(missing, " and "))
	}
	project := "a made-up"
	if s.Empty {
		project = "an empty"
	}
	fmt.Fprintf(stderr, "Using an embedded server with %s project.\nSet %s, %s and %s for a real one.\n",
		project, cloudapi.EnvBaseURL, cloudapi.EnvToken, cloudapi.EnvProject)
	s.Delays.Backup = -24 * time.Hour // as if the databases were a day old, so that they can be restored and have logs
	server := cloudapitest.NewServer(
		cloudapitest.WithDelays(s.Delays),
		cloudapitest.WithQuota(cloudapitest.Quota{VM: 1000, Postgres: 1000, Kubernetes: 1000, MachineImageVersions: 1000, Projects: 10}),
		cloudapitest.WithRequestLog(0),
	)
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

// IsTerminal reports whether the output is a terminal, which can show colours
// and moving lines.
func IsTerminal(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// IsTyped reports whether the input is a terminal, which shows what is typed.
func IsTyped(r io.Reader) bool { return isTerminal(r) }

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Database returns the database with the reference "location/name" or ID in the
// argument. Without an argument it is the project's only database that is not a
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
		return nil, errors.New("the project has no database")
	case len(names) > 1:
		return nil, fmt.Errorf("name one of the databases: %s", strings.Join(names, ", "))
	}
	return cloudapi.Lookup[cloudapi.Postgres](ctx, client, names[0])
}

// Count returns a number of things, such as "1 VM" or "2 VMs".
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}
