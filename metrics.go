package cloudapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// ResourceMetrics are the metrics of a database or a cluster.
type ResourceMetrics struct {
	Metrics []ResourceMetric `json:"metrics"`
}

func (m *ResourceMetrics) lacks() string {
	if m.Metrics == nil {
		return "metrics"
	}
	return ""
}

// ResourceMetric is one metric.
type ResourceMetric struct {
	Key         string                 `json:"key"`         // a PostgresMetric or KubernetesMetric constant, or another
	Name        string                 `json:"name"`        // for people, such as "CPU Usage"
	Description string                 `json:"description"` // for people
	Unit        string                 `json:"unit"`        // such as "%", "bytes" or "count/s"; "" if there is none
	Series      []ResourceMetricSeries `json:"series"`      // empty if there is no data
}

// ResourceMetricSeries contains the values of a metric, or of a part of it.
type ResourceMetricSeries struct {
	Labels map[string]string `json:"labels"` // distinguish the series of a metric, such as "mode": "user"
	Values Samples           `json:"values"` // sorted by time
}

// Samples are the values of a series, sorted by time. Their JSON is pairs such
// as [1759512000.5,"0.42"]: a Unix time, and a value in a string.
type Samples []Sample

// Sample is a value at one time. What a field can't hold is rounded.
type Sample struct {
	Time  time.Time // with a precision of one microsecond
	Value float64   // may be NaN, or infinite
}

func (s *Samples) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	hasSpace := func(c byte) bool { return bytes.IndexByte(data, c) >= 0 }
	if slices.ContainsFunc([]byte(" \t\r\n"), hasSpace) {
		var compact bytes.Buffer
		if err := json.Compact(&compact, data); err != nil {
			return err
		}
		data = compact.Bytes()
	}
	rest, isArray := bytes.CutPrefix(data, []byte("["))
	rest, ends := bytes.CutSuffix(rest, []byte("]"))
	if !isArray || !ends {
		return errors.New("samples are not an array")
	}
	// There can be hundreds of thousands of samples: allocate the slice once.
	samples := make(Samples, 0, min(bytes.Count(rest, []byte("]")), bytes.Count(rest, []byte("["))))
	for len(rest) > 0 {
		var pair []byte
		pair, rest, _ = bytes.Cut(rest, []byte("]"))
		rest = bytes.TrimPrefix(rest, []byte(","))
		sample, ok := parseSample(pair)
		if !ok {
			return fmt.Errorf("sample %d is not a pair of a Unix time and a number in a string", len(samples))
		}
		samples = append(samples, sample)
	}
	*s = samples
	return nil
}

// maxUnixTime is a time in seconds that fits in an int64 of microseconds.
const maxUnixTime = 9e12

// parseSample parses a pair without its closing bracket.
func parseSample(pair []byte) (Sample, bool) {
	pair, isArray := bytes.CutPrefix(pair, []byte("["))
	number, text, _ := bytes.Cut(pair, []byte(","))
	text, begins := bytes.CutPrefix(text, []byte(`"`))
	text, ends := bytes.CutSuffix(text, []byte(`"`))
	seconds, err := strconv.ParseFloat(string(number), 64)
	value, errValue := strconv.ParseFloat(string(text), 64)
	if !isArray || !begins || !ends || err != nil && !errors.Is(err, strconv.ErrRange) || errValue != nil && !errors.Is(errValue, strconv.ErrRange) {
		return Sample{}, false
	}
	micros := math.Round(1e6 * max(-maxUnixTime, min(seconds, maxUnixTime)))
	return Sample{Time: time.UnixMicro(int64(micros)).UTC(), Value: value}, true
}

func (s Samples) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, sample := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = strconv.AppendFloat(b, float64(sample.Time.UnixMicro())/1e6, 'f', -1, 64)
		b = append(b, `,"`...)
		b = strconv.AppendFloat(b, sample.Value, 'f', -1, 64)
		b = append(b, `"]`...)
	}
	return append(b, ']'), nil
}

// ResourceMetricsOptions select what Metrics returns.
type ResourceMetricsOptions struct {
	// Start and End limit the time, by default to the last half hour. Times more
	// than 31 days ago lead to [ErrInvalidRequest].
	Start time.Time `url:"start,omitempty" layout:"2006-01-02T15:04:05.999999999Z07:00"`
	End   time.Time `url:"end,omitempty" layout:"2006-01-02T15:04:05.999999999Z07:00"`
	Key   string    `url:"key,omitempty"` // a PostgresMetric or KubernetesMetric constant; "" means all metrics
}

// metrics performs an operation that returns metrics.
func metrics(ctx context.Context, c *conn, op *Operation, opts *ResourceMetricsOptions, args ...string) (*ResourceMetrics, error) {
	o := orZero(opts)
	o.Start, o.End = o.Start.UTC(), o.End.UTC()
	in, err := c.ask(op, o, args)
	if err != nil {
		return nil, err
	}
	return perform[ResourceMetrics](ctx, in)
}

// Known values of [ResourceMetric.Key] for a database.
const (
	PostgresMetricCPUUsage            = "cpu_usage"
	PostgresMetricLoadAverage         = "load_average"
	PostgresMetricMemoryUsage         = "memory_usage"
	PostgresMetricDiskUsage           = "disk_usage"
	PostgresMetricDiskIO              = "disk_io"
	PostgresMetricNetworkTraffic      = "network_traffic"
	PostgresMetricConnectionCount     = "connection_count"
	PostgresMetricCacheHitRatio       = "cache_hit_ratio"
	PostgresMetricOperationThroughput = "operation_throughput"
	PostgresMetricDeadlocks           = "deadlocks"
	PostgresMetricDatabaseSize        = "database_size"
	PostgresMetricTransactions        = "transactions"
)

var opPostgresMetrics = Operation{"Postgres.Metrics", "GET", postgresRoute + "/metrics", idempotent}

// Metrics returns the metrics of a database. The options may be nil. A series
// has at most about 480 values; the server chooses their interval. A metric
// that the server can't read has no series, or, if Key selects it, leads to
// [ErrServer]. Metrics returns [ErrNotFound] if the server has no metrics.
func (s *PostgresService) Metrics(ctx context.Context, location, postgres string, opts *ResourceMetricsOptions) (*ResourceMetrics, error) {
	return metrics(ctx, s.conn, &opPostgresMetrics, opts, location, postgres)
}

// Known values of [ResourceMetric.Key] for a cluster.
const (
	KubernetesMetricCPUUsage            = "cpu_usage"
	KubernetesMetricLoadAverage         = "load_average"
	KubernetesMetricMemoryUsage         = "memory_usage"
	KubernetesMetricDiskUsage           = "disk_usage"
	KubernetesMetricDiskIO              = "disk_io"
	KubernetesMetricNetworkTraffic      = "network_traffic"
	KubernetesMetricAPIRequestRate      = "api_request_rate"
	KubernetesMetricAPIRequestLatency   = "api_request_latency"
	KubernetesMetricAPIInflightRequests = "api_inflight_requests"
	KubernetesMetricPendingPods         = "pending_pods"
	KubernetesMetricClusterDatabaseSize = "cluster_database_size"
	KubernetesMetricClusterObjects      = "cluster_objects"
)

var opKubernetesMetrics = Operation{"Kubernetes.Metrics", "GET", kubernetesRoute + "/metrics", idempotent | serviceOnly}

// Metrics returns the metrics of a cluster, as [PostgresService.Metrics] does.
//
// † Only the service has this.
func (s *KubernetesService) Metrics(ctx context.Context, location, cluster string, opts *ResourceMetricsOptions) (*ResourceMetrics, error) {
	return metrics(ctx, s.conn, &opKubernetesMetrics, opts, location, cluster)
}
