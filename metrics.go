package cloudapi

import (
	"bytes"
	"context"
	"encoding/json"
	"time"
)

// ResourceMetrics are the metrics of a database or a cluster.
type ResourceMetrics struct {
	Metrics []ResourceMetric `json:"metrics"`
}

func (m *ResourceMetrics) missing() string {
	if m.Metrics == nil {
		return "metrics"
	}
	return ""
}

// unmarshal is a faster json.Unmarshal. Nearly all of a response are samples,
// which encoding/json would scan twice before Samples gets them. So unmarshal
// reads the samples first, and passes the rest to encoding/json with a number
// in place of each series' samples. If that fails, encoding/json gets
// everything.
func (m *ResourceMetrics) unmarshal(data []byte) error {
	if bytes.Contains(data, []byte(`#"`)) || bytes.Contains(data, []byte(`\u0023"`)) {
		return json.Unmarshal(data, m) // a key of the server may look like ours
	}
	rest, lifted := liftSamples(data)
	var reply struct {
		Metrics []struct {
			ResourceMetric
			Series []struct {
				ResourceMetricSeries
				Lifted int `json:"values#"`
			} `json:"series"`
		} `json:"metrics"`
	}
	if err := json.Unmarshal(rest, &reply); err != nil || reply.Metrics == nil {
		return json.Unmarshal(data, m)
	}
	n := 0
	metrics := make([]ResourceMetric, len(reply.Metrics))
	for i, metric := range reply.Metrics {
		metrics[i] = metric.ResourceMetric
		if metric.Series != nil {
			metrics[i].Series = make([]ResourceMetricSeries, len(metric.Series))
		}
		for j, series := range metric.Series {
			metrics[i].Series[j] = series.ResourceMetricSeries
			if series.Lifted == 0 {
				continue
			}
			if n++; series.Lifted != n || n > len(lifted) || series.Values != nil {
				return json.Unmarshal(data, m)
			}
			metrics[i].Series[j].Values = lifted[n-1]
		}
	}
	if n < len(lifted) { // some do not belong to a series, or were replaced by others
		return json.Unmarshal(data, m)
	}
	m.Metrics = metrics
	return nil
}

// ResourceMetric is one metric.
type ResourceMetric struct {
	Key         string                 `json:"key"`         // one of the PostgresMetric or KubernetesMetric constants, or another
	Name        string                 `json:"name"`        // for people, such as "CPU Usage"
	Description string                 `json:"description"` // for people
	Unit        string                 `json:"unit"`        // such as "%", "bytes" or "count/s"; "" if there is none
	Series      []ResourceMetricSeries `json:"series"`      // empty if there is no data
}

// ResourceMetricSeries are the values of a metric, or of a part of it, over
// time.
type ResourceMetricSeries struct {
	Labels map[string]string `json:"labels"` // distinguish the series of a metric, such as "mode": "user"
	Values Samples           `json:"values"` // sorted by time
}

// ResourceMetricsOptions selects what [PostgresService.Metrics] and
// [KubernetesService.Metrics] return.
type ResourceMetricsOptions struct {
	// Start and End limit the time. The defaults are half an hour ago and now.
	// The real server keeps 31 days; an older time is [ErrInvalidRequest].
	Start time.Time `url:"start,omitempty" layout:"2006-01-02T15:04:05.999999999Z07:00"`
	End   time.Time `url:"end,omitempty" layout:"2006-01-02T15:04:05.999999999Z07:00"`

	// Key is one of the PostgresMetric or KubernetesMetric constants. The
	// default is all metrics.
	Key string `url:"key,omitempty"`
}

// metrics performs an operation that returns metrics.
func metrics(ctx context.Context, c *conn, op *Operation, opts *ResourceMetricsOptions, args ...string) (*ResourceMetrics, error) {
	cl, err := c.newCall(op, nil, args)
	if err != nil {
		return nil, err
	}
	var o ResourceMetricsOptions
	if opts != nil {
		o = *opts
	}
	o.Start, o.End = o.Start.UTC(), o.End.UTC()
	if err := cl.setQuery(o); err != nil {
		return nil, err
	}
	return perform[ResourceMetrics](ctx, cl)
}
