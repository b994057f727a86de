// Exporter exports the states of a project's resources and the metrics of its
// databases to Prometheus.
//
//	exporter --listen 127.0.0.1:9790
//	curl http://127.0.0.1:9790/metrics
//	exporter --once
//
// Failed requests are reported on standard error, and in the metric cloudapi_up.
// With --once, the program prints the result of one scrape and exits: run it
// from cron for the textfile collector of the node exporter, or to try it out.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
)

func main() { demo.Main("exporter", run) }

//go:embed main.go
var source string // main.go, whose first comment is the help

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := demo.NewFlags("exporter", source, stdout)
	listen := flags.String("listen", "127.0.0.1:9790", "`address` to serve /metrics on")
	maxAge := flags.Duration("max-age", 30*time.Second, "minimum time between two refreshes")
	timeout := flags.Positive("timeout", 8*time.Second, "maximum `duration` of a refresh, below the scrape_timeout")
	once := flags.Bool("once", false, "print the metrics and exit, with status 1 if some are missing")
	if err := flags.Parse(args, 0); err != nil {
		return err
	}
	if *maxAge < 0 {
		return demo.Usagef("--max-age %v is negative", *maxAge)
	}

	if *once {
		if err := flags.Useless("with --once", "listen", "max-age"); err != nil {
			return err
		}
	}
	client, closeServer, err := demo.Connect(ctx, stderr, "exporter", demo.Server{})
	if err != nil {
		return err
	}
	defer closeServer()
	c := newCollector(ctx, client, *maxAge, *timeout)
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	if *once {
		if err := printMetrics(stdout, registry); err != nil {
			return err
		}
		return c.lastError()
	}
	c.complain = func(err error) { fmt.Fprintf(stderr, "exporter: %v\n", err) }
	if err := checkToken(ctx, client, *timeout); err != nil {
		return err
	}
	return serve(ctx, *listen, stderr, registry, c.complain)
}

// checkToken returns an error if the API refuses the token. It ignores other
// errors, such as an outage, which may be over at the first scrape.
func checkToken(ctx context.Context, client *cloudapi.Client, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := client.CheckAccess(ctx); errors.Is(err, cloudapi.ErrUnauthorized) {
		return err
	}
	return nil
}

// printMetrics prints the metrics, also if some are missing.
func printMetrics(w io.Writer, registry *prometheus.Registry) error {
	families, missing := registry.Gather()
	encoder := expfmt.NewEncoder(w, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			return err
		}
	}
	return missing
}

// errorLog reports what the registry leaves out.
type errorLog func(error)

func (l errorLog) Println(v ...any) { l(errors.New(strings.TrimSpace(fmt.Sprintln(v...)))) }

func serve(ctx context.Context, address string, stderr io.Writer, registry *prometheus.Registry, complain func(error)) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%w: choose another address with --listen", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, ErrorLog: errorLog(complain)}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "The metrics are at /metrics.")
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(stopped)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		server.Shutdown(grace)
	})
	fmt.Fprintf(stderr, "Serving http://%s/metrics until interrupted.\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-stopped
	return nil
}
