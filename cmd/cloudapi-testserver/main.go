// Command cloudapi-testserver serves the API from memory on a local address, to
// test programs in any language without an account and without cost.
//
//	$ cloudapi-testserver -demo
//	export CLOUDAPI_BASE_URL=http://127.0.0.1:8080
//	export CLOUDAPI_TOKEN=pat-…
//	export CLOUDAPI_PROJECT=pj…
//
// Its output is shell commands. It runs until it is interrupted, and then its
// state is lost. The token is random and valid only here, unless -token sets
// it. See cloudapi-testserver -help for the flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/given"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.As(err, new(usageError)):
		fmt.Fprintf(os.Stderr, "cloudapi-testserver: %v; see cloudapi-testserver -help\n", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "cloudapi-testserver:", err)
		os.Exit(1)
	}
}

// A usageError says that the arguments are wrong.
type usageError struct{ error }

const usage = `Usage: cloudapi-testserver [flags]

Serves the API from memory, and prints how to reach it. Start it in one terminal,
and paste what it prints into another:

  cloudapi-testserver -demo -delay 0
  curl "$CLOUDAPI_BASE_URL/project/$CLOUDAPI_PROJECT/vm" -H "Authorization: Bearer $CLOUDAPI_TOKEN"

In a script, or to start it again while a program goes on, set token and project.
The new server starts empty:

  export CLOUDAPI_BASE_URL=http://127.0.0.1:8080 CLOUDAPI_TOKEN=pat-test CLOUDAPI_PROJECT=pj8r0dvyb26y6ma6y7n1sw0nzz
  cloudapi-testserver -token "$CLOUDAPI_TOKEN" -project "$CLOUDAPI_PROJECT" &

What a program does in a large project, with a slow service, or without rights:

  cloudapi-testserver -vms 5000
  cloudapi-testserver -demo -delay 2m
  cloudapi-testserver -demo -no-permission

Flags:
`

// options are the values of the flags.
type options struct {
	addr, token, project string
	api                  string
	demo, noPermission   bool
	vms                  int
	delay                time.Duration
}

// parse prints the help to stderr if the arguments ask for it. All its other
// errors are a usageError.
func parse(args []string, stderr io.Writer) (options, error) {
	o := options{delay: 3 * time.Second}
	flags := flag.NewFlagSet("cloudapi-testserver", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // main prints errors, once
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8080", "`address` to listen on; port 0 is any free one")
	flags.StringVar(&o.api, "api", "", fmt.Sprintf("`version` of the service, strictly: %s, %s, or %s (default that of %[2]s, with the contract's init scripts)",
		cloudapitest.October2025, cloudapitest.August2026, cloudapitest.Contract))
	flags.StringVar(&o.token, "token", "", "`token` that has every permission, \"pat-\" and visible characters (default a random one)")
	flags.StringVar(&o.project, "project", "", "`ID` of the project (default a random one)")
	flags.BoolVar(&o.demo, "demo", false, "fill the project with one resource or more of each family")
	flags.IntVar(&o.vms, "vms", 0, "`number` of running VMs to add, \"vm-1\" and so on, in "+location)
	flags.Func("delay", "`time` that creating, restarting, resizing and deleting take each, such as 500ms (default 3s)", func(text string) (err error) {
		if o.delay, err = time.ParseDuration(text); err != nil {
			return errors.New("a time needs a unit, such as 2s")
		}
		return nil
	})
	flags.BoolVar(&o.noPermission, "no-permission", false, "take every permission in the project from the token")
	err := given.Parse(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stderr, usage)
		flags.SetOutput(stderr)
		flags.PrintDefaults()
		return o, err
	case err != nil:
		return o, usageError{err}
	case flags.NArg() > 0:
		return o, usageError{fmt.Errorf("unexpected argument %q", flags.Arg(0))}
	case o.vms < 0:
		return o, usageError{fmt.Errorf("-vms: %d is not a number of VMs", o.vms)}
	}
	return o, nil
}

// run serves until the context is done.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	srv, err := newServer(o.config(stderr)...)
	if err != nil {
		return err
	}
	defer srv.Close()
	if err := o.fill(ctx, srv); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, srv.Close)()
	if _, err := fmt.Fprintf(stdout, "export CLOUDAPI_BASE_URL=%s\nexport CLOUDAPI_TOKEN=%s\nexport CLOUDAPI_PROJECT=%s\n",
		quote("http://"+listener.Addr().String()), quote(srv.Token()), quote(srv.ProjectID())); err != nil {
		return err
	}
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// quote returns a text as a word of a shell, in quotes where it needs them.
func quote(text string) string {
	special := func(r rune) bool {
		return !strings.ContainsRune("-_.:/", r) && !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9')
	}
	if !strings.ContainsFunc(text, special) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// newServer is [cloudapitest.NewServer] with an error in place of its panic.
func newServer(opts ...cloudapitest.Option) (srv *cloudapitest.Server, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = usageError{fmt.Errorf("%v", v)}
		}
	}()
	return cloudapitest.NewServer(opts...), nil
}

// config returns the options of the server, which logs to stderr.
func (o options) config(stderr io.Writer) []cloudapitest.Option {
	opts := []cloudapitest.Option{
		cloudapitest.WithLog(stderr),
		cloudapitest.WithDelays(o.delays()),
		cloudapitest.WithRequestLog(0), // the log is not used
	}
	if o.api != "" {
		opts = append(opts, cloudapitest.WithAPI(cloudapitest.API(o.api)))
	}
	if o.token != "" {
		opts = append(opts, cloudapitest.WithToken(o.token))
	}
	if o.project != "" {
		opts = append(opts, cloudapitest.WithProjectID(o.project))
	}
	return opts
}

func (o options) delays() cloudapitest.Delays {
	d := o.delay
	return cloudapitest.Delays{Create: d, Backup: d, Restart: d, Resize: d, Promote: d, Detach: d, Delete: d}
}

// fill adds what the flags ask for to the project.
func (o options) fill(ctx context.Context, srv *cloudapitest.Server) error {
	if o.demo {
		if err := addDemo(ctx, srv, o); err != nil {
			return err
		}
	}
	srv.AddVMs(location, "vm", o.vms)
	if o.noPermission {
		srv.SetPermissions(srv.ProjectID(), srv.Token())
	}
	return nil
}
