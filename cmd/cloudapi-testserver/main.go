// Command cloudapi-testserver serves the API from memory on a local address,
// for testing programs in any language without an account and without cost.
//
//	$ cloudapi-testserver -demo
//	export CLOUDAPI_BASE_URL=http://127.0.0.1:8080
//	export CLOUDAPI_TOKEN=pat-…
//	export CLOUDAPI_PROJECT=pj…
//
// With -control it has a second address for changing the server while it runs;
// see control.md.
//
// Experimental: requests to the control address may change.
//
// With -copy it serves a copy of the project that the variables name, and runs a
// program with that copy: see docs/rehearse.md.
//
//	$ cloudapi-testserver -copy ./nightly.sh
//
// Without a program it prints shell commands, runs until it's interrupted, and then
// loses its state. The token is valid only for this server, and random unless
// -token sets it. See cloudapi-testserver -help for the flags.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	status, ended := errors.AsType[exitStatus](err)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case ended:
		os.Exit(int(status))
	case errors.As(err, new(usageError)):
		fmt.Fprintf(os.Stderr, "cloudapi-testserver: %v; see cloudapi-testserver -help\n", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "cloudapi-testserver:", err)
		os.Exit(1)
	}
}

type usageError struct{ error }

const usage = `Usage: cloudapi-testserver [flags] [program [arguments]]

Serves the API from memory, and prints how to reach it. Start it in one
terminal, and paste what it prints into another:

  cloudapi-testserver -demo -delay 0
  curl "$CLOUDAPI_BASE_URL/project/$CLOUDAPI_PROJECT/vm" \
    -H "Authorization: Bearer $CLOUDAPI_TOKEN"

In a script, or to restart it while a program keeps running, set the token and
the project. The new server starts empty:

  export CLOUDAPI_BASE_URL=http://127.0.0.1:8080 CLOUDAPI_TOKEN=pat-test
  export CLOUDAPI_PROJECT=pj8r0dvyb26y6ma6y7n1sw0nzz
  cloudapi-testserver -token "$CLOUDAPI_TOKEN" -project "$CLOUDAPI_PROJECT" &

To see how a program handles a large project, a slow server, or no permissions:

  cloudapi-testserver -vms 5000
  cloudapi-testserver -demo -delay 2m
  cloudapi-testserver -demo -no-permission

To see how it handles failures, here a 503 for the first create and no response
to the second. A -scenario can set everything else at the start, and requests to
the -control address can change it while the server runs:

  cloudapi-testserver -fail VMs.Create=503,drop-after
  cloudapi-testserver -control 127.0.0.1:0
  curl "$CLOUDAPI_CONTROL_URL" -H "Authorization: Bearer $CLOUDAPI_TOKEN" \
    -d '{"quota": {"vm": 200}}'

To see what a program would do to a project, without changing the project: copy
the project of CLOUDAPI_BASE_URL, CLOUDAPI_TOKEN and CLOUDAPI_PROJECT, and run the
program with variables for the copy. The copy can also come from a file:

  cloudapi-testserver -copy ./nightly.sh
  cloudapi-testserver -copy -snapshot project.json
  cloudapi-testserver -snapshot project.json ./nightly.sh

Flags:
`

const defaultAddr, anyPort = "127.0.0.1:8080", "127.0.0.1:0"

type options struct {
	addr, token, project string
	control, scenario    string
	healthCheck          string
	api                  string
	demo                 bool
	copy                 bool     // copy a project at the start
	snapshot             string   // the file to which -copy writes the copy, or that has it
	program              []string // the program to run with a copy, and its arguments
	delay                time.Duration
	steps                []step // the changes of flags such as -fail, applied at the start
}

// parse returns [flag.ErrHelp] after printing the help to stderr, and a
// usageError if the arguments are wrong.
func parse(args []string, stderr io.Writer) (options, error) {
	o := options{delay: 3 * time.Second}
	flags := flag.NewFlagSet("cloudapi-testserver", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // main prints errors, once
	flags.StringVar(&o.addr, "addr", "", "`address` to listen on; port 0 is any free port\n(default "+defaultAddr+", or "+anyPort+" with a program)")
	flags.StringVar(&o.api, "api", "", fmt.Sprintf("implement exactly this `version` of the API: %s or %s\n(default %[1]s, with what only the contract has as well)",
		cloudapitest.Service, cloudapitest.Contract))
	flags.StringVar(&o.token, "token", "", "`token` with every permission: \"pat-\" and visible characters\n(default random)")
	flags.StringVar(&o.project, "project", "", "`ID` of the project (default random)")
	flags.StringVar(&o.control, "control", "", "`address` for changing the server while it runs (default none)")
	flags.StringVar(&o.scenario, "scenario", "", "JSON `file` with changes to apply at the start, in the format of the\ncontrol address")
	flags.StringVar(&o.healthCheck, "health-check", "", "only check the health of the server with the control `URL`;\nthe exit status is 1 if it isn't healthy")
	flags.BoolVar(&o.demo, "demo", false, "fill the project with at least one resource of each family")
	flags.BoolVar(&o.copy, "copy", false, "begin with a copy of the project that the environment names, which is\nonly read; with a program, run it with the copy, and print what it did")
	flags.StringVar(&o.snapshot, "snapshot", "", "`file` for the copy: with -copy it's written, and otherwise it's read;\nits only secrets are those in init scripts, settings and the paths of URLs")
	flags.Func("delay", "`time` that creating, restarting, resizing and deleting each take,\nsuch as 500ms (default 3s)", func(text string) (err error) {
		o.delay, err = parseTime(text)
		return err
	})
	o.changeFlags(flags)
	err := parseArguments(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stderr, usage)
		flags.SetOutput(stderr)
		flags.PrintDefaults()
		return o, err
	case err != nil:
		return o, usageError{err}
	case flags.NArg() > 0 && !o.isCopy():
		return o, usageError{fmt.Errorf("unexpected argument %q", flags.Arg(0))}
	case o.healthCheck != "" && flags.NFlag() > 1:
		return o, usageError{errors.New("-health-check goes with no other flag")}
	case o.isCopy() && (o.demo || o.project != "" || o.api != ""):
		return o, usageError{errors.New("-demo, -project and -api don't go with a copy, which has a project and an API of its own")}
	}
	addr := defaultAddr
	if flags.NArg() > 0 {
		o.program, addr = flags.Args(), anyPort
	}
	o.addr = cmp.Or(o.addr, addr)
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.healthCheck != "" {
		return checkHealth(ctx, o.healthCheck)
	}
	start, err := o.start()
	if err != nil {
		return usageError{err}
	}
	config := o.config(stderr)
	var rehearsed *rehearsal
	if o.isCopy() {
		if rehearsed, err = o.takeCopy(ctx, stderr); err != nil {
			return err
		}
		config = append(config, cloudapitest.WithSnapshot(rehearsed.copied))
	}
	srv, err := newServer(ctx, o, start, config...)
	if err != nil {
		return err
	}
	defer srv.Close()
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	variables := []string{"CLOUDAPI_BASE_URL=" + localURL(listener.Addr()), "CLOUDAPI_TOKEN=" + srv.Token(), "CLOUDAPI_PROJECT=" + srv.ProjectID()}
	if needsPermission(listener.Addr()) {
		variables = append(variables, "CLOUDAPI_INSECURE_HTTP=true")
	}
	if o.control != "" {
		controlled, stop, err := srv.serveControl(o.control)
		if err != nil {
			return err
		}
		defer stop()
		variables = append(variables, "CLOUDAPI_CONTROL_URL="+localURL(controlled))
	}
	if o.program != nil {
		go srv.Serve(listener) // returns ErrServerClosed after Close
		return rehearsed.run(srv, o.program, variables, stdout, stderr)
	}
	defer context.AfterFunc(ctx, srv.Close)()
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		if _, err := fmt.Fprintf(stdout, "export %s=%s\n", name, shellQuote(value)); err != nil {
			return err
		}
	}
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func localURL(addr net.Addr) string {
	at := addr.(*net.TCPAddr).AddrPort()
	ip := at.Addr().Unmap()
	if ip.IsUnspecified() { // all interfaces, including loopback
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return "http://" + netip.AddrPortFrom(ip, at.Port()).String()
}

// needsPermission reports whether a client of the SDK refuses to send a token
// to the address without CLOUDAPI_INSECURE_HTTP.
func needsPermission(addr net.Addr) bool {
	ip := addr.(*net.TCPAddr).IP
	return !ip.IsUnspecified() && !ip.IsLoopback()
}

// checkHealth is for containers that have no program such as curl.
func checkHealth(ctx context.Context, control string) error {
	address, err := url.JoinPath(control, "health")
	if err != nil {
		return usageError{err}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return usageError{err}
	}
	transport := &http.Transport{DisableKeepAlives: true} // without a proxy
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s isn't healthy: %s", control, response.Status)
	}
	return nil
}

func shellQuote(text string) string {
	special := func(r rune) bool {
		return !strings.ContainsRune("-_.:/", r) && !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9')
	}
	if !strings.ContainsFunc(text, special) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func (o options) config(stderr io.Writer) []cloudapitest.Option {
	requests := 0 // how many requests the log keeps; only the control address shows them
	switch {
	case o.program != nil:
		requests = maxRehearsed
	case o.control != "":
		requests = maxLogged
	}
	opts := []cloudapitest.Option{
		cloudapitest.WithLog(stderr),
		cloudapitest.WithDelays(o.delays()),
		cloudapitest.WithRequestLog(requests),
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

func (o options) delays() cloudapitest.Delays { return uniform(o.delay) }

func uniform(d time.Duration) cloudapitest.Delays {
	return cloudapitest.Delays{Create: d, Backup: d, Restart: d, Resize: d, Promote: d, Detach: d, Delete: d, Vacate: d, SerialLog: d}
}
