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

// Metrics are the metrics of a database or a cluster.
type Metrics struct {
	Metrics []Metric `json:"metrics"`
}

func (m *Metrics) lacks() string {
	if m.Metrics == nil {
		return "metrics"
	}
	return ""
}

func (*Metrics) inUTC() {}

// Metric is one metric.
type Metric struct {
	Key         string         `json:"key"`         // a constant such as [PostgresMetricKeyCPUUsage] or [KubernetesMetricKeyCPUUsage], or another value
	Name        string         `json:"name"`        // for people, such as "CPU Usage"
	Description string         `json:"description"` // for people
	Unit        string         `json:"unit"`        // such as "%", "bytes" or "count/s"; "" if there is none
	Series      []MetricSeries `json:"series"`      // empty if there is no data
}

// MetricSeries contains the values of a metric for one set of labels.
type MetricSeries struct {
	Labels map[string]string `json:"labels"` // distinguish the series of a metric, such as "mode": "user"
	Values MetricSamples     `json:"values"` // sorted by time
}

// MetricSamples are the values of a series, sorted by time. Their JSON is pairs
// such as [1759512000.5,"0.42"]: a Unix time, and a value in a string.
type MetricSamples []MetricSample

// MetricSample is a value at one time, rounded to what its fields can hold. Its
// JSON is a pair as in [MetricSamples].
type MetricSample struct {
	Time  time.Time // with a precision of one microsecond
	Value float64   // may be NaN, or infinite
}

func (s *MetricSamples) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	samples, err := parseSamples(data)
	var compact bytes.Buffer
	if err != nil && json.Compact(&compact, data) == nil && compact.Len() < len(data) {
		samples, err = parseSamples(compact.Bytes())
	}
	if err == nil {
		*s = samples
	}
	return err
}

// parseSamples parses the JSON of samples, which must have no white space.
func parseSamples(data []byte) (MetricSamples, error) {
	rest, isArray := bytes.CutPrefix(data, []byte("["))
	rest, ends := bytes.CutSuffix(rest, []byte("]"))
	if !isArray || !ends {
		return nil, errors.New("samples are not an array")
	}
	// There can be hundreds of thousands of samples: allocate the slice once.
	samples := make(MetricSamples, 0, bytes.Count(rest, []byte("[")))
	for len(rest) > 0 {
		sample, size, ok := parseSample(rest)
		if !ok {
			return nil, fmt.Errorf("sample %d is not a pair of a Unix time and a number in a string", len(samples))
		}
		samples = append(samples, sample)
		rest = bytes.TrimPrefix(rest[size:], []byte(","))
	}
	return samples, nil
}

// maxUnixTime is a number of seconds that fits in an int64 as microseconds.
const maxUnixTime = 9e12

// parseSample parses the pair at the beginning of data, and returns the number
// of bytes of the pair.
func parseSample(data []byte) (sample MetricSample, size int, ok bool) {
	comma, end := bytes.IndexByte(data, ','), bytes.IndexByte(data, ']')
	if data[0] != '[' || comma < 0 || end < comma+3 || data[comma+1] != '"' || data[end-1] != '"' {
		return MetricSample{}, 0, false
	}
	seconds, err := strconv.ParseFloat(string(data[1:comma]), 64)
	value, errValue := strconv.ParseFloat(string(data[comma+2:end-1]), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || errValue != nil && !errors.Is(errValue, strconv.ErrRange) {
		return MetricSample{}, 0, false
	}
	micros := math.Round(1e6 * max(-maxUnixTime, min(seconds, maxUnixTime)))
	return MetricSample{Time: time.UnixMicro(int64(micros)).UTC(), Value: value}, end + 1, true
}

func (s MetricSamples) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, sample := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = sample.append(b)
	}
	return append(b, ']'), nil
}

func (s MetricSample) append(b []byte) []byte {
	b = append(b, '[')
	b = strconv.AppendFloat(b, float64(s.Time.UnixMicro())/1e6, 'f', -1, 64)
	b = append(b, `,"`...)
	b = strconv.AppendFloat(b, s.Value, 'f', -1, 64)
	return append(b, `"]`...)
}

func (s MetricSample) MarshalJSON() ([]byte, error) { return s.append(nil), nil }

func (s *MetricSample) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var samples MetricSamples
	err := samples.UnmarshalJSON(slices.Concat([]byte("["), data, []byte("]")))
	for _, sample := range samples { // one
		*s = sample
	}
	return err
}

// MetricsOptions select what Metrics returns.
type MetricsOptions struct {
	// Start and End limit the period; the default is the last half hour. Times
	// more than 31 days ago lead to [ErrInvalidRequest].
	Start time.Time `url:"start,omitempty" layout:"2006-01-02T15:04:05.999999999Z07:00"`
	End   time.Time `url:"end,omitempty" layout:"2006-01-02T15:04:05.999999999Z07:00"`
	Key   string    `url:"key,omitempty"` // a constant such as [PostgresMetricKeyCPUUsage] or [KubernetesMetricKeyCPUUsage]; "" means all metrics
}

// metrics performs an operation that returns metrics.
func metrics(ctx context.Context, c *conn, op *Operation, opts *MetricsOptions, args ...string) (*Metrics, error) {
	o := orZero(opts)
	o.Start, o.End = o.Start.UTC(), o.End.UTC()
	in, err := c.ask(op, o, args)
	if err != nil {
		return nil, err
	}
	return doRecord[Metrics](ctx, in)
}
