package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/demo/demotest"
)

func TestMain(m *testing.M) { demotest.Isolate(m) }

func TestShowsMetrics(t *testing.T) {
	t.Parallel()
	for resource, test := range map[string]struct {
		metrics string
		want    []string
	}{
		"eu-central-h1/orders-reports": {"cpu_usage, network_traffic", []string{"CPU Usage (%)\n", "─ user now ", "* system now ", "Network Traffic (bytes/s)\n", "Ki ┤"}},
		"us-east-a2/staging":           {"pending_pods,api_request_rate", []string{"Pending Pods (count)\n", "API Server Requests (req/s)\n"}},
	} {
		stdout, _ := demotest.Runs(t, run, []string{"--start", "2h", "--metric", test.metrics, resource}, append(test.want, resource+" from ")...)
		if strings.Contains(stdout, "Deadlocks") {
			t.Error("there are metrics that nobody asked for")
		}
	}
}

func TestShowsAllMetricsByDefault(t *testing.T) {
	t.Parallel()
	stdout, _ := demotest.Runs(t, run, []string{"eu-central-h1/orders"})
	if n := strings.Count(stdout, "└"); n != 12 {
		t.Errorf("%d charts, want 12:\n%s", n, stdout)
	}
	for _, line := range strings.Split(stdout, "\n") {
		if n := len([]rune(line)); n > 80 && !strings.Contains(line, " now ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestGapsAndNothing(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	metrics := []cloudapi.Metric{
		{Key: "gaps", Name: "Gaps", Series: []cloudapi.MetricSeries{{Values: cloudapi.MetricSamples{
			{Time: at, Value: 1}, {Time: at.Add(time.Minute), Value: math.NaN()}, {Time: at.Add(2 * time.Minute), Value: 3}, {Time: at.Add(3 * time.Minute), Value: math.Inf(1)}}}}},
		{Key: "../nothing", Name: "Nothing"},
	}
	if got := chart(metrics[0], 40); !strings.Contains(got, "value now 3") || !strings.Contains(got, "08:00") {
		t.Errorf("chart with gaps:\n%s", got)
	}
	if got := chart(metrics[1], 40); got != "Nothing: no values" {
		t.Errorf("chart of nothing: %s", got)
	}
}

func TestHumanize(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value      float64
		unit, want string
	}{
		{0, "%", "0"}, {0.125, "", "0.12"}, {99.95, "%", "100.0"}, {12, "count", "12"}, {1500, "ops/s", "1.50k"},
		{1536, "bytes", "1.50Ki"}, {8e6, "bytes", "7.63Mi"}, {-2048, "bytes/s", "-2Ki"}, {math.NaN(), "", "NaN"},
	} {
		if got := humanize(test.value, test.unit); got != test.want {
			t.Errorf("%v %s: %s, want %s", test.value, test.unit, got, test.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	const db = "eu-central-h1/orders"
	demotest.Refuses(t, run, "name one database")
	demotest.Refuses(t, run, "name one database", db, db)
	demotest.Refuses(t, run, "before --start", "--start", "1h", "--end", "2h", db)
	demotest.Refuses(t, run, "31 days", "--start", "800h", db)
	demotest.Refuses(t, run, "--width", "--width", "5", db)
	demotest.Refuses(t, run, `metric "heat"`, "--metric", "cpu_usage,heat", db)
	demotest.Refuses(t, run, "the metrics are cpu_usage, load_average, ", "--metric", "heat", db)
	demotest.Refuses(t, run, "pending_pods", "--metric", "heat", "us-east-a2/staging")
	demotest.Refuses(t, run, "not found", "eu-central-h1/payments")
}
