// Command cloudapi-testserver serves the API on a local address from memory, for
// trying programs in any language without an account and without cost.
//
//	$ cloudapi-testserver -addr 127.0.0.1:8080
//	export CLOUDAPI_BASE_URL=http://127.0.0.1:8080
//	export CLOUDAPI_TOKEN=pat-…
//	export CLOUDAPI_PROJECT=pj…
//
// What it prints is for a shell to evaluate. It runs until it is interrupted, and
// forgets everything then. The token is a random one that opens nothing else.
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
	"syscall"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "cloudapi-testserver:", err)
		os.Exit(1)
	}
}

// run serves until the context is done.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("cloudapi-testserver", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:8080", "`address` to listen on; port 0 is any free one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}

	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	srv := cloudapitest.NewServer(cloudapitest.WithRequestLog(0)) // nobody asks for it
	defer context.AfterFunc(ctx, srv.Close)()
	fmt.Fprintf(stdout, "export CLOUDAPI_BASE_URL=http://%s\nexport CLOUDAPI_TOKEN=%s\nexport CLOUDAPI_PROJECT=%s\n",
		listener.Addr(), srv.Token(), srv.ProjectID())
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		srv.Close()
		return err
	}
	srv.Close() // waits for the one that the context started
	return nil
}
