package families

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

type metric struct {
	key, name, description string
	unit                   any // a string or nil
	series                 []series
}

type series struct {
	labels map[string]string
	level  float64 // approximate level of the values
}

func namedSeries(name string, level float64) series {
	return series{map[string]string{"name": name}, level}
}

func lone(level float64) []series { return []series{{map[string]string{}, level}} }

type metricsRecord struct {
	Metrics []metricRecord `json:"metrics"`
}

type metricRecord struct {
	Key         string         `json:"key"`
	Name        string         `json:"name"`
	Unit        any            `json:"unit"`
	Description string         `json:"description"`
	Series      []seriesRecord `json:"series"`
}

type seriesRecord struct {
	Labels map[string]string `json:"labels"`
	Values []sample          `json:"values"`
}

type sample struct {
	at    int64 // Unix time
	value float64
}

func (s sample) MarshalJSON() ([]byte, error) {
	b := strconv.AppendInt([]byte("["), s.at, 10)
	b = strconv.AppendFloat(append(b, `,"`...), s.value, 'f', -1, 64)
	return append(b, `"]`...), nil
}

// showMetrics returns a handler that responds with a 404 unless the Accept
// header names JSON, as the real server does.
func showMetrics[T any](find func(*api.Call) (T, error), metrics []metric) api.Handler {
	return func(c *api.Call) (any, error) {
		if !strings.Contains(c.Header.Get("Accept"), "application/json") {
			return nil, reply.NotFound()
		}
		if _, err := find(c); err != nil {
			return nil, err
		}
		start, end, err := metricsRange(c)
		if err != nil {
			return nil, err
		}
		asked, err := askedMetrics(c, metrics)
		return metricsRecord{api.Records(asked, func(m metric) metricRecord {
			return metricRecord{m.key, m.name, m.unit, m.description, api.Records(m.series, func(s series) seriesRecord {
				return seriesRecord{s.labels, s.samples(start, end)}
			})}
		})}, err
	}
}

func askedMetrics(c *api.Call, metrics []metric) ([]metric, error) {
	key, ok := api.Last(c.Query, "key")
	if !ok {
		return metrics, nil
	}
	i := slices.IndexFunc(metrics, func(m metric) bool { return m.key == key })
	if i < 0 {
		return nil, reply.InvalidRequest("Invalid metric name")
	}
	return metrics[i : i+1], nil
}

// samples returns the values in a range of Unix times. A value depends only on
// its time. The values are 15 seconds apart in a range of up to two hours, 30
// seconds in a range of up to four hours, and so on.
func (s series) samples(start, end int64) []sample {
	const interval, hour = 15, 60 * 60
	step := interval * max(1, (end-start+2*hour-1)/(2*hour))
	values := []sample{}
	for at := start - start%step; at <= end; at += step {
		wave := math.Sin(2 * math.Pi * float64(at%hour) / hour)
		values = append(values, sample{at, math.Round(100*s.level*(1+wave/10)) / 100})
	}
	return values
}

func metricsRange(c *api.Call) (start, end int64, err error) {
	const month, tolerance = 31 * 24 * 60 * 60, 5 * 60
	from, to, err := queryRange(c)
	if err != nil {
		return 0, 0, err
	}
	start, end = from.Unix(), to.Unix()
	switch {
	case end < start:
		return 0, 0, reply.InvalidRequest("End timestamp must be greater than start timestamp")
	case end-start > month+tolerance:
		return 0, 0, reply.InvalidRequest("Maximum time range is 31 days")
	case start < c.Now.Unix()-month:
		return 0, 0, reply.InvalidRequest("Cannot query metrics older than 31 days")
	}
	return start, end, nil
}

func queryRange(c *api.Call) (start, end time.Time, err error) {
	if start, err = queryTime(c, "start", c.Now.Add(-30*time.Minute)); err != nil {
		return start, end, err
	}
	end, err = queryTime(c, "end", c.Now)
	return start, end, err
}

func queryTime(c *api.Call, name string, otherwise time.Time) (time.Time, error) {
	s, ok := api.Last(c.Query, name)
	if !ok {
		return otherwise, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, invalidDate(name, s)
	}
	return t, nil
}

func invalidDate(field, s string) error {
	return reply.InvalidField(field, `"%s" is not a valid date for "%s".`, s, field)
}
