package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo/demotest"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

func TestMain(m *testing.M) { demotest.Isolate(m) }

func TestOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out, _ := demotest.Runs(t, run, []string{"--once"},
			"\ncloudapi_up 1\n",
			"# HELP cloudapi_postgres_cpu_usage_percent Percentage of CPU used by the system (%)\n",
			`cloudapi_postgres_cpu_usage_percent{database="orders",location="eu-central-h1",mode="user"} `,
			`,kind="vm",location="us-east-a2",name="render-3",state="stopped"} 1`,
			`,kind="kubernetes_cluster",location="us-east-a2",name="staging",state="running"} 1`)
		if n := strings.Count(out, "\ncloudapi_resource_state{"); n != 13+3+2+2+1+1 { // each database and the cluster has a subnet
			t.Errorf("%d states of resources", n)
		}
		// Names follow the rules of Prometheus, even for keys that a service may add.
		for _, key := range []string{"backup_count", "wal_total", "write_sum", "poolSize", "lag:seconds"} {
			name := metricName(cloudapi.Metric{Key: key})
			out += fmt.Sprintf("# HELP %s A key\n# TYPE %s gauge\n%s 1\n", name, name, name)
		}
		for _, problem := range demotest.Must(promlint.New(strings.NewReader(out)).Lint())(t) {
			t.Errorf("%s: %s", problem.Metric, problem.Text)
		}
	})
}

func TestOnceFailsIfSomethingIsMissing(t *testing.T) {
	server, _ := newServer(t)
	demotest.Use(t, server)
	server.Fail(cloudapitest.Match{Operation: "VMs.List"}, cloudapitest.Reply(403, nil, "{}"))
	var stdout bytes.Buffer
	if err := run(t.Context(), []string{"--once"}, &stdout, io.Discard); !errors.Is(err, cloudapi.ErrForbidden) {
		t.Errorf("error %v", err)
	}
	if out := stdout.String(); !strings.Contains(out, "\ncloudapi_up 0\n") || !strings.Contains(out, `kind="postgres"`) {
		t.Errorf("printed\n%s", out)
	}
}

// TestWrongToken: the exporter doesn't start to serve if the API refuses the
// token, since nobody would look for the cause in an empty scrape.
func TestWrongToken(t *testing.T) {
	server, _ := newServer(t)
	demotest.Use(t, server)
	t.Setenv(cloudapi.EnvToken, server.Token()+"x")
	var stderr bytes.Buffer
	if err := run(t.Context(), []string{"--listen", "127.0.0.1:0"}, io.Discard, &stderr); !errors.Is(err, cloudapi.ErrUnauthorized) || stderr.Len() != 0 {
		t.Errorf("it prints %q and ends with %v", stderr.String(), err)
	}
}

func TestServesUntilInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	stderr, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"--listen", "127.0.0.1:0"}, io.Discard, w)
		w.Close()
	}()
	url := ""
	for lines := bufio.NewScanner(stderr); url == "" && lines.Scan(); {
		if _, rest, found := strings.Cut(lines.Text(), "Serving "); found {
			url, _, _ = strings.Cut(rest, " ")
		}
	}
	if url == "" {
		t.Fatal(<-done)
	}

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for path, want := range map[string]string{url: "cloudapi_up 1", strings.TrimSuffix(url, "metrics"): "/metrics"} {
		reply := demotest.Must(client.Get(path))(t)
		body, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil || reply.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: status %d, error %v, %s", path, reply.StatusCode, err, body)
		}
	}
	interrupt()
	if err := <-done; err != nil {
		t.Errorf("after the interrupt: %v", err)
	}
}

// gather scrapes a collector, and returns its values by metric name and by the
// labels "about" and "state".
func gather(t *testing.T, c *collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families := demotest.Must(registry.Gather())(t)
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				if label.GetName() == "about" || label.GetName() == "state" {
					name += " " + label.GetValue()
				}
			}
			values[name] += metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	return values
}

// newServer returns a server with two VMs and a database.
func newServer(t *testing.T) (*cloudapitest.Server, *cloudapi.Client) {
	t.Helper()
	server := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{}))
	client := server.Client(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
	for i := range 2 {
		demotest.Must(client.VMs.Create(t.Context(), "eu-central-h1", fmt.Sprint("vm-", i), &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA"}))(t)
	}
	request := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}
	demotest.Must(client.Postgres.Create(t.Context(), "eu-central-h1", "db", request))(t)
	return server, client
}

func TestWhatFailsIsMissing(t *testing.T) {
	t.Parallel()
	server, client := newServer(t)
	server.Fail(cloudapitest.Match{Operation: "GET /project/{project_id}/vm"}, cloudapitest.Reply(500, nil, "oops").Repeating())
	server.Fail(cloudapitest.Match{Route: "/project/{project_id}/location/{location}/postgres/{postgres_database_reference}/metrics"}, cloudapitest.Reply(403, nil, "{}"))
	c := newCollector(t.Context(), client, 0, time.Minute)
	complaints := map[string]int{}
	c.complain = func(err error) {
		about, _, _ := strings.Cut(err.Error(), ":")
		complaints[about]++
	}
	got := gather(t, c)
	if len(complaints) != 2 || complaints["VMs"] != 1 || complaints["Postgres databases"] != 1 {
		t.Errorf("it complains about %v", complaints)
	}
	for name, want := range map[string]float64{
		"cloudapi_up": 0, "cloudapi_resource_state running": 1, "cloudapi_postgres_deadlocks_per_second": 0, "cloudapi_errors_total VMs": 1, "cloudapi_errors_total Postgres databases": 1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v, in %v", name, got[name], want, got)
		}
	}
	if err := c.lastError(); err == nil || !strings.Contains(err.Error(), "metrics of Postgres database eu-central-h1/db (") || !strings.Contains(err.Error(), "VMs: ") {
		t.Errorf("error %v", err)
	}
	if got := gather(t, c); got["cloudapi_errors_total VMs"] != 2 || got["cloudapi_errors_total Postgres databases"] != 1 || got["cloudapi_postgres_transactions_per_second"] == 0 {
		t.Errorf("second scrape: %v", got)
	}
}

func TestAsksAgainWhenOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := newServer(t)
		c := newCollector(t.Context(), client, 30*time.Second, time.Minute)
		before := len(server.Requests())
		if up := gather(t, c)["cloudapi_up"]; up != 1 {
			t.Errorf("up is %v: %v", up, c.lastError())
		}
		refresh := len(server.Requests()) - before
		for _, test := range []struct {
			pause time.Duration
			want  int
		}{{29 * time.Second, 0}, {time.Second, refresh}, {0, 0}} {
			<-time.After(test.pause) // virtual time
			before := len(server.Requests())
			gather(t, c)
			if n := len(server.Requests()) - before; n != test.want {
				t.Errorf("%d requests after %v, want %d", n, test.pause, test.want)
			}
		}
	})
}

func TestGivesUpAfterTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := newServer(t)
		server.Fail(cloudapitest.Match{Operation: "GET /project/{project_id}/postgres"}, cloudapitest.Delay(time.Hour))
		start := time.Now()
		got := gather(t, newCollector(t.Context(), client, 0, 8*time.Second))
		if took := time.Since(start); took != 8*time.Second {
			t.Errorf("took %v", took)
		}
		if got["cloudapi_up"] != 0 || got["cloudapi_resource_state running"] != 2 || got["cloudapi_errors_total Postgres databases"] != 1 {
			t.Errorf("got %v", got)
		}
		server.Close()
	})
}

func TestNamesThatPrometheusRefuses(t *testing.T) {
	t.Parallel()
	r := &round{}
	db := &cloudapi.Postgres{Location: "eu-central-h1", Name: "db"}
	r.addNewest(db, cloudapi.Metric{Key: "new-metric.%"}, cloudapi.MetricSeries{
		Labels: map[string]string{"data base": "\xff", "database": "orders"}, Values: cloudapi.MetricSamples{{Value: 1}, {Value: 2}}})
	r.addNewest(db, cloudapi.Metric{Key: "empty"}, cloudapi.MetricSeries{})
	r.addSamples()
	if len(r.metrics) != 1 {
		t.Fatalf("%d metrics, want 1", len(r.metrics))
	}
	if text := r.metrics[0].Desc().String(); !strings.Contains(text, `"cloudapi_postgres_new_metric__"`) || !strings.Contains(text, "{location,database,data_base,exported_database}") {
		t.Errorf("description %s", text)
	}
}

// TestDescriptionsDiffer: after an upgrade, a server may describe a metric
// otherwise than others do. Prometheus takes one description of a metric, and
// drops what has another.
func TestDescriptionsDiffer(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"CPU", "Usage of the CPU"}, {"Usage of the CPU", "CPU"}} {
		r := &round{}
		for _, description := range order {
			r.addNewest(&cloudapi.Postgres{Name: description}, cloudapi.Metric{Key: "cpu_usage", Unit: "%", Description: description},
				cloudapi.MetricSeries{Values: cloudapi.MetricSamples{{Value: 1}}})
		}
		r.addSamples()
		registry := prometheus.NewRegistry()
		registry.MustRegister(sent(r.metrics))
		families, err := registry.Gather()
		if err != nil || len(families) != 1 || len(families[0].GetMetric()) != 2 || families[0].GetHelp() != "CPU (%)" {
			t.Errorf("%v, %v", families, err)
		}
	}
}

// sent collects metrics that exist.
type sent []prometheus.Metric

func (s sent) Describe(chan<- *prometheus.Desc) {}
func (s sent) Collect(to chan<- prometheus.Metric) {
	for _, m := range s {
		to <- m
	}
}

// TestWhatPrometheusRefuses: the rest is printed, and the program fails.
func TestWhatPrometheusRefuses(t *testing.T) {
	t.Parallel()
	registry, desc := prometheus.NewRegistry(), prometheus.NewDesc("a", "", nil, nil)
	twice := prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, 1)
	registry.MustRegister(sent{twice, twice, prometheus.MustNewConstMetric(prometheus.NewDesc("b", "", nil, nil), prometheus.GaugeValue, 2)})
	var out strings.Builder
	if err := printMetrics(&out, registry); err == nil || !strings.Contains(out.String(), "\nb 2\n") {
		t.Errorf("%v, printed\n%s", err, &out)
	}
}

// TestTokenThatSeesNothing: lists leave out what the token can't see, so that a
// refresh without resources isn't a success yet.
func TestTokenThatSeesNothing(t *testing.T) {
	t.Parallel()
	server, client := newServer(t)
	empty := gather(t, newCollector(t.Context(), cloudapitest.New(t).Client(), 0, time.Minute))
	if empty["cloudapi_up"] != 1 {
		t.Errorf("an empty project: %v", empty)
	}
	server.SetPermissions(server.ProjectID(), server.Token())
	c := newCollector(t.Context(), client, 0, time.Minute)
	if got := gather(t, c); got["cloudapi_up"] != 0 || got["cloudapi_errors_total project"] != 1 || !errors.Is(c.lastError(), cloudapi.ErrForbidden) {
		t.Errorf("%v, %v", got, c.lastError())
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	demotest.Refuses(t, run, "--listen", "--listen", "256.0.0.1:1")
	demotest.Refuses(t, run, `unexpected argument "more"`, "more")
}
