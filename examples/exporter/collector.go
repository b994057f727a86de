package main

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/prometheus/client_golang/prometheus"
)

var (
	up = prometheus.NewDesc("cloudapi_up",
		"Whether all requests of the last refresh succeeded.", nil, nil)
	duration = prometheus.NewDesc("cloudapi_refresh_duration_seconds",
		"How long the last refresh took.", nil, nil)
	refreshed = prometheus.NewDesc("cloudapi_refresh_timestamp_seconds",
		"When the last refresh began.", nil, nil)
	state = prometheus.NewDesc("cloudapi_resource_state",
		"1 for each resource, with the state it is in.", []string{"kind", "location", "name", "id", "state"}, nil)
)

// collector requests data from the API when it's scraped, but at most once per
// maxAge: several Prometheus servers may scrape it.
type collector struct {
	ctx             context.Context // the program's context, since a scrape has none
	client          *cloudapi.Client
	maxAge, timeout time.Duration
	errors          *prometheus.CounterVec
	complain        func(error) // is called for each error, unless it's nil

	mu      sync.Mutex // held during a refresh, so that concurrent scrapes share the refresh
	began   time.Time
	metrics []prometheus.Metric
	err     error
}

func newCollector(ctx context.Context, client *cloudapi.Client, maxAge, timeout time.Duration) *collector {
	return &collector{ctx: ctx, client: client, maxAge: maxAge, timeout: timeout,
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cloudapi_errors_total",
			Help: "Requests that failed, by what they were about.",
		}, []string{"about"})}
}

// Describe describes nothing, since the API decides which metrics a database
// has.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of the last refresh, and refreshes them first if
// they're too old.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began.IsZero() || time.Since(c.began) >= c.maxAge {
		c.refresh()
	}
	for _, metric := range c.metrics {
		to <- metric
	}
	c.errors.Collect(to) // last, to count the errors of this refresh
}

func (c *collector) lastError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// round is the result of a refresh. Several goroutines fill it.
type round struct {
	mu      sync.Mutex
	metrics []prometheus.Metric
	samples []sample
	errs    []error
}

// sample is the newest value of a series.
type sample struct {
	name, help     string
	labels, values []string
	value          float64
}

func (r *round) add(desc *prometheus.Desc, value float64, labels ...string) {
	metric := prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.metrics = append(r.metrics, metric)
}

func (r *round) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

// addStates adds the state of each item. labels returns its location, name, ID
// and state, in this order.
func addStates[T any](r *round, kind string, items iter.Seq2[*T, error], labels func(*T) []string) error {
	for item, err := range items {
		if err != nil {
			return err
		}
		r.add(state, 1, append([]string{kind}, labels(item)...)...)
	}
	return nil
}

// addNewest adds a sample with the newest value of a series, and with labels
// for the database.
func (r *round) addNewest(db *cloudapi.Postgres, m cloudapi.Metric, series cloudapi.MetricSeries) {
	if len(series.Values) == 0 {
		return
	}
	labels := []string{"location", "database"}
	values := []string{db.Location, db.Name}
	for _, key := range slices.Sorted(maps.Keys(series.Labels)) {
		label := identifier(key)
		if slices.Contains(labels, label) {
			label = "exported_" + label // as Prometheus does
		}
		labels = append(labels, label)
		values = append(values, strings.ToValidUTF8(series.Labels[key], "?"))
	}
	help := m.Description
	if m.Unit != "" {
		help += " (" + m.Unit + ")"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples = append(r.samples, sample{metricName(m), help, labels, values, series.Values[len(series.Values)-1].Value})
}

// addSamples adds a metric for each sample. All samples of a metric get the same
// help, though databases can describe it differently: Prometheus would drop the
// others.
func (r *round) addSamples() {
	helps := map[string]string{} // by name: the first in the alphabet, which doesn't depend on who answers first
	for _, s := range r.samples {
		if help, ok := helps[s.name]; !ok || s.help < help {
			helps[s.name] = s.help
		}
	}
	for _, s := range r.samples {
		r.add(prometheus.NewDesc(s.name, helps[s.name], s.labels, nil), s.value, s.values...)
	}
}

// metricName returns cloudapi_postgres_<key>_<unit>, without the endings that
// Prometheus reserves for metrics other than gauges, such as "_total".
func metricName(m cloudapi.Metric) string {
	name := "cloudapi_postgres_" + strings.ToLower(identifier(m.Key))
	if things, found := strings.CutSuffix(name, "_count"); found {
		name = things + "s"
	}
	for _, suffix := range []string{"_total", "_sum", "_bucket"} {
		name = strings.TrimSuffix(name, suffix)
	}
	switch unit, perSecond := strings.CutSuffix(m.Unit, "/s"); {
	case unit == "%":
		return name + "_percent"
	case unit == "bytes" && perSecond:
		return name + "_bytes_per_second"
	case unit == "bytes":
		return name + "_bytes"
	case perSecond, unit == "IOPS":
		return name + "_per_second"
	}
	return name
}

// identifier replaces the characters that the name of a metric or label can't
// have.
func identifier(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			return c
		}
		return '_'
	}, s)
}
