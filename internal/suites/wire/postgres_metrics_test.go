package wire_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
)

func postgresMetricsCases() []wireCase {
	const (
		location = "eu-central-h1"
		target   = postgresPath + "/orders-db/metrics"
		reply    = `{"metrics":[` +
			`{"key":"load_average","name":"Load Average","unit":null,"description":"load over time","series":[` +
			`{"labels":{"name":"1 minute"},"values":[[1759512000,"0.42"],[1759512015.5,"0.47"]]},{"labels":{},"values":[]}]},` +
			`{"key":"deadlocks","name":"Deadlocks","unit":"deadlocks/s","description":"deadlock rate","series":[]}]}`
	)
	want := &cloudapi.ResourceMetrics{Metrics: []cloudapi.ResourceMetric{
		{
			Key: "load_average", Name: "Load Average", Description: "load over time",
			Series: []cloudapi.ResourceMetricSeries{
				{
					Labels: map[string]string{"name": "1 minute"},
					Values: cloudapi.Samples{{Time: time.Unix(1759512000, 0).UTC(), Value: 0.42}, {Time: time.Unix(1759512015, 5e8).UTC(), Value: 0.47}},
				},
				{Labels: map[string]string{}, Values: cloudapi.Samples{}},
			},
		},
		{Key: "deadlocks", Name: "Deadlocks", Description: "deadlock rate", Unit: "deadlocks/s", Series: []cloudapi.ResourceMetricSeries{}},
	}}
	metricsWith := func(opts *cloudapi.ResourceMetricsOptions) func(context.Context, *cloudapi.Client) (any, error) {
		return calls("Postgres.Metrics", location, "orders-db", opts)
	}
	start := time.Date(2025, 10, 3, 19, 30, 0, 0, time.FixedZone("", 2*60*60))
	return []wireCase{
		{name: "metrics", method: "GET", target: target, reply: reply, want: want, call: metricsWith(nil)},
		{
			name: "a metric of some hours", method: "GET", reply: reply, want: want,
			target: target + "?end=2025-10-03T18%3A30%3A00.000000001Z&key=load_average&start=2025-10-03T17%3A30%3A00Z",
			call:   metricsWith(&cloudapi.ResourceMetricsOptions{Start: start, End: start.Add(time.Hour + 1), Key: cloudapi.PostgresMetricLoadAverage}),
		},
	}
}

func TestInvalidPostgresMetrics(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		`{}`,
		`{"metrics":null}`,
		`[]`,
		`{"metrics":[{"series":[{"values":[["1759512000","1"]]}]}]}`,
	} {
		metrics, err := sdktest.Answering(t, 200, "application/json", reply).Postgres.Metrics(t.Context(), "eu-central-h1", "orders-db", nil)
		if metrics != nil || !errors.Is(err, cloudapi.ErrInvalidResponse) {
			t.Errorf("of %s Metrics made %v, %v", reply, metrics, err)
		}
	}
}

func TestPostgresMetricsOptionsAreNotChanged(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 60*60)
	opts := cloudapi.ResourceMetricsOptions{Start: time.Date(2025, 10, 3, 0, 0, 0, 0, zone)}
	_, err := sdktest.Answering(t, 200, "application/json", `{"metrics":[]}`).Postgres.Metrics(t.Context(), "eu-central-h1", "orders-db", &opts)
	if err != nil {
		t.Fatal(err)
	}
	if opts.Start.Location() != zone {
		t.Errorf("the options became %v", opts)
	}
}
