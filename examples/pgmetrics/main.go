// Pgmetrics draws charts of the metrics of a database with text characters. If
// the server has metrics of Kubernetes clusters, it can draw those instead.
//
//	pgmetrics eu-central-h1/orders
//	pgmetrics --start 24h --metric cpu_usage,disk_io eu-central-h1/orders
//	pgmetrics --start 2026-03-01T08:00:00Z --end 2026-03-01T20:00:00Z eu-central-h1/orders
//
//	pgmetrics --metric pending_pods,api_request_rate eu-central-h1/apps
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
	"golang.org/x/sync/errgroup"
)

// measurements gets metrics of a database or a cluster.
type measurements func(context.Context, *cloudapi.MetricsOptions) (*cloudapi.Metrics, error)

func find(ctx context.Context, client *cloudapi.Client, reference string) (name string, measure measurements, err error) {
	found, err := client.Resolve(ctx, reference, cloudapi.KindPostgres, cloudapi.KindKubernetesCluster)
	if err != nil {
		return "", nil, err
	}
	metrics := client.Postgres.Metrics
	if found.Kind == cloudapi.KindKubernetesCluster {
		metrics = client.Kubernetes.Metrics
	}
	return found.Reference(), func(ctx context.Context, opts *cloudapi.MetricsOptions) (*cloudapi.Metrics, error) {
		return metrics(ctx, found.Location, found.ID, opts)
	}, nil
}

// fetch gets all metrics or, if keys are wanted, only the metrics with these
// keys. It gets each of those with its own request, all at the same time. For
// an unknown key it returns an error that names the known keys.
func fetch(ctx context.Context, measure measurements, start, end time.Time, wanted []string) ([]cloudapi.Metric, error) {
	if len(wanted) == 0 {
		wanted = []string{""}
	}
	replies := make([]*cloudapi.Metrics, len(wanted))
	tasks, ctx := errgroup.WithContext(ctx)
	for i, key := range wanted {
		tasks.Go(func() (err error) {
			replies[i], err = measure(ctx, &cloudapi.MetricsOptions{Start: start, End: end, Key: key})
			if err == nil || key == "" {
				return err
			}
			err = fmt.Errorf("metric %q: %w", key, err)
			if errors.Is(err, cloudapi.ErrInvalidRequest) {
				err = errors.Join(err, listKeys(ctx, measure))
			}
			return err
		})
	}
	if err := tasks.Wait(); err != nil {
		return nil, err
	}
	var metrics []cloudapi.Metric
	for _, reply := range replies {
		metrics = append(metrics, reply.Metrics...)
	}
	return metrics, nil
}

// listKeys returns an error that names the keys of all metrics, or nil if it
// can't get them.
func listKeys(ctx context.Context, measure measurements) error {
	all, err := measure(ctx, nil)
	if err != nil {
		return nil
	}
	var keys []string
	for _, m := range all.Metrics {
		keys = append(keys, m.Key)
	}
	return fmt.Errorf("the metrics are %s", strings.Join(keys, ", "))
}

func main() { demo.Main("pgmetrics", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	now := time.Now()
	start, end := now.Add(-6*time.Hour), now
	flags := flag.NewFlagSet("pgmetrics [flags] location/name", flag.ExitOnError)
	flags.Func("start", "`time` of the first value, such as 2026-03-01T08:00:00Z,\nor how long ago, such as 24h (default 6h)", timeFlag(&start, now))
	flags.Func("end", "`time` of the last value, in the same forms (default now)", timeFlag(&end, now))
	keys := flags.String("metric", "", "`keys` of metrics, such as cpu_usage,disk_io (default all)")
	width := flags.Int("width", 80, "width of the charts in `columns`, at least 20")
	flags.Parse(args)
	switch {
	case flags.NArg() != 1:
		return demo.Usagef("name one database or cluster, such as eu-central-h1/orders")
	case !start.Before(end):
		return demo.Usagef("--end %s is before --start", end.Format(time.RFC3339))
	case *width < 20:
		return demo.Usagef("--width %d is too small for a chart", *width)
	}

	client, closeServer, err := demo.Connect(ctx, stderr, "pgmetrics", demo.Server{})
	if err != nil {
		return err
	}
	defer closeServer()
	name, measure, err := find(ctx, client, flags.Arg(0))
	if err != nil {
		return err
	}
	metrics, err := fetch(ctx, measure, start, end, strings.FieldsFunc(*keys, func(r rune) bool { return r == ',' || r == ' ' }))
	if err != nil {
		return err
	}

	fmt.Fprintf(stdout, "%s from %s to %s UTC\n", name, start.UTC().Format(time.DateTime), end.UTC().Format(time.DateTime))
	for _, m := range metrics {
		fmt.Fprintf(stdout, "\n%s\n", chart(m, *width))
	}
	return nil
}

func timeFlag(to *time.Time, now time.Time) func(string) error {
	return func(text string) (err error) {
		if ago, err := time.ParseDuration(text); err == nil {
			*to = now.Add(-ago)
			return nil
		}
		if *to, err = time.Parse(time.RFC3339, text); err != nil {
			return fmt.Errorf("use a form such as %s or 90m", now.UTC().Format(time.RFC3339))
		}
		return nil
	}
}
