package cloudapi

import (
	"context"
	"encoding/json"
	"time"
)

// PostgresMetrics is what was measured at a database.
type PostgresMetrics struct {
	Metrics []PostgresMetric `json:"metrics"`
}

func (m *PostgresMetrics) missing() string {
	if m.Metrics == nil {
		return "metrics"
	}
	return ""
}

// unmarshal does what json.Unmarshal does, sooner. Nearly all of a reply are
// samples, through which encoding/json goes twice before Samples gets them. So
// they are read first, and encoding/json gets the rest, with a number in place
// of each series' samples. Where that does not work out, it gets everything.
func (m *PostgresMetrics) unmarshal(data []byte) error {
	rest, lifted := liftSamples(data)
	var reply struct {
		Metrics []struct {
			PostgresMetric
			Series []struct {
				PostgresMetricSeries
				Lifted int `json:"values#"`
			} `json:"series"`
		} `json:"metrics"`
	}
	if err := json.Unmarshal(rest, &reply); err != nil || reply.Metrics == nil {
		return json.Unmarshal(data, m)
	}
	n := 0
	metrics := make([]PostgresMetric, len(reply.Metrics))
	for i, metric := range reply.Metrics {
		metrics[i] = metric.PostgresMetric
		if metric.Series != nil {
			metrics[i].Series = make([]PostgresMetricSeries, len(metric.Series))
		}
		for j, series := range metric.Series {
			metrics[i].Series[j] = series.PostgresMetricSeries
			if series.Lifted == 0 {
				continue
			}
			if n++; series.Lifted != n || n > len(lifted) || series.Values != nil {
				return json.Unmarshal(data, m)
			}
			metrics[i].Series[j].Values = lifted[n-1]
		}
	}
	if n < len(lifted) { // some are not of a series, or replaced by others
		return json.Unmarshal(data, m)
	}
	m.Metrics = metrics
	return nil
}

// PostgresMetric is one of the things that are measured.
type PostgresMetric struct {
	Key         string                 `json:"key"`         // one of the PostgresMetric constants, or another
	Name        string                 `json:"name"`        // for people, such as "CPU Usage"
	Description string                 `json:"description"` // for people
	Unit        string                 `json:"unit"`        // such as "%", "bytes" or "count/s"; "" if there is none
	Series      []PostgresMetricSeries `json:"series"`      // none if there is no data
}

// PostgresMetricSeries are the values of a metric, or of a part of it, over
// time.
type PostgresMetricSeries struct {
	Labels map[string]string `json:"labels"` // tell the series of a metric apart, such as "mode": "user"
	Values Samples           `json:"values"` // in the order of time
}

// Known values of [PostgresMetric.Key], which can be asked for one by one.
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

// PostgresMetricsOptions selects what [PostgresService.Metrics] returns.
type PostgresMetricsOptions struct {
	// Start and End bound the time. The defaults are half an hour ago and now.
	// The real server keeps 31 days; a time before is [ErrInvalidRequest].
	Start time.Time `url:"start,omitempty" layout:"2006-01-02T15:04:05.999999999Z07:00"`
	End   time.Time `url:"end,omitempty" layout:"2006-01-02T15:04:05.999999999Z07:00"`

	// Key is one of the PostgresMetric constants. The default is all of them.
	Key string `url:"key,omitempty"`
}

var opPostgresMetrics = Operation{"Postgres.Metrics", "GET", postgresRoute + "/metrics", safe}

// Metrics returns what was measured at a database. The server chooses the
// distance of the values, so that there are some 480 in each series at most.
// The options may be nil. Metrics that the server fails to get have no series,
// unless one was asked for by its key: then it is [ErrServer]. [ErrNotFound]
// may mean that the server keeps no metrics at all.
//
//cloudapi:operation GET /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/metrics
func (s *PostgresService) Metrics(ctx context.Context, location, postgres string, opts *PostgresMetricsOptions) (*PostgresMetrics, error) {
	cl, err := s.client.newCall(&opPostgresMetrics, nil, []string{location, postgres})
	if err != nil {
		return nil, err
	}
	var o PostgresMetricsOptions
	if opts != nil {
		o = *opts
	}
	o.Start, o.End = o.Start.UTC(), o.End.UTC()
	if err := cl.setQuery(o); err != nil {
		return nil, err
	}
	return receive[PostgresMetrics](ctx, cl)
}
