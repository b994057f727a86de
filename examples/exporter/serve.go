package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
)

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
