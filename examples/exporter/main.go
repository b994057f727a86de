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
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
)

// refresh requests everything concurrently. If a request fails, only its
// metrics are missing.
func (c *collector) refresh() {
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout)
	defer cancel()
	c.began = time.Now()
	r := &round{}
	var requests sync.WaitGroup
	request := func(about string, do func() error) {
		requests.Go(func() {
			if err := do(); err != nil {
				c.errors.WithLabelValues(about).Inc()
				r.fail(fmt.Errorf("%s: %w", about, err))
			}
		})
	}
	request("VMs", func() error {
		return addStates(r, "vm", c.client.VMs.All(ctx, nil), func(vm *cloudapi.VM) []string {
			return []string{vm.Location, vm.Name, vm.ID, vm.State}
		})
	})
	request("private subnets", func() error {
		return addStates(r, "private_subnet", c.client.PrivateSubnets.All(ctx, nil), func(s *cloudapi.PrivateSubnet) []string {
			return []string{s.Location, s.Name, s.ID, s.State}
		})
	})
	request("Kubernetes clusters", func() error {
		return addStates(r, "kubernetes_cluster", c.client.Kubernetes.All(ctx, nil), func(k *cloudapi.KubernetesCluster) []string {
			return []string{k.Location, k.Name, k.ID, k.DisplayState}
		})
	})
	request("Postgres databases", func() error { return c.addDatabases(ctx, r) })
	requests.Wait()
	if len(r.metrics) == 0 && r.errs == nil { // the project is empty, or the token can't see anything in it
		request("project", func() error { return c.client.CheckAccess(ctx) })
		requests.Wait()
	}
	r.addSamples()

	ok := 1.0
	if r.errs != nil {
		ok = 0
	}
	r.add(up, ok)
	r.add(duration, time.Since(c.began).Seconds())
	r.add(refreshed, float64(c.began.UnixMilli())/1000)
	c.metrics, c.err = r.metrics, errors.Join(r.errs...)
	for _, err := range r.errs {
		if c.complain != nil && c.ctx.Err() == nil {
			c.complain(err)
		}
	}
}

func (c *collector) addDatabases(ctx context.Context, r *round) error {
	var databases []*cloudapi.Postgres
	err := addStates(r, "postgres", c.client.Postgres.All(ctx, nil), func(db *cloudapi.Postgres) []string {
		databases = append(databases, db)
		return []string{db.Location, db.Name, db.ID, db.State}
	})
	if err != nil {
		return err
	}
	var requests errgroup.Group // a failed request doesn't stop the others
	requests.SetLimit(8)
	for _, db := range databases {
		requests.Go(func() error {
			reply, err := c.client.Postgres.Metrics(ctx, db.Location, db.ID, nil)
			if errors.Is(err, cloudapi.ErrNotFound) {
				return nil // deleted by now, or too young for metrics
			}
			if err != nil {
				return fmt.Errorf("metrics of %v: %w", db.Resource(), err)
			}
			for _, m := range reply.Metrics {
				for _, series := range m.Series {
					r.addNewest(db, m, series)
				}
			}
			return nil
		})
	}
	return requests.Wait()
}

// checkToken returns an error if the API refuses the token. It ignores other
// errors, such as an outage, which may be over at the first scrape.
func checkToken(ctx context.Context, client *cloudapi.Client, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := client.CheckAccess(ctx); errors.Is(err, cloudapi.ErrUnauthorized) {
		return err
	}
	return nil
}

func main() { demo.Main("exporter", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("exporter", flag.ExitOnError)
	listen := flags.String("listen", "127.0.0.1:9790", "`address` to serve /metrics on")
	maxAge := flags.Duration("max-age", 30*time.Second, "minimum time between two refreshes")
	timeout := flags.Duration("timeout", 8*time.Second, "maximum `duration` of a refresh, below the scrape_timeout")
	once := flags.Bool("once", false, "print the metrics and exit, with status 1 if some are missing")
	flags.Parse(args)
	if flags.NArg() > 0 {
		return demo.Usagef("unexpected argument %q", flags.Arg(0))
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
