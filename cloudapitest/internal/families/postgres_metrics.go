package families

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/ruby"
)

func postgresMetricsOperations() []api.Operation {
	return []api.Operation{
		api.GET("Postgres.Metrics", postgresDatabase+"/metrics", getPostgresMetrics).Takes("start", "end", "key"),
	}
}

// metric is something that is measured, with the lines of its chart.
type metric struct {
	key, name, description string
	unit                   any // a string or nil
	series                 []series
}

type series struct {
	labels map[string]string
	level  float64 // the values are about this
}

func namedSeries(name string, level float64) series {
	return series{map[string]string{"name": name}, level}
}

var metrics = []metric{
	{"cpu_usage", "CPU Usage", "Percentage of CPU used by the system", "%",
		[]series{{map[string]string{"mode": "user"}, 20}, {map[string]string{"mode": "system"}, 5}}},
	{"load_average", "Load Average", "System load average over different time periods", nil,
		[]series{namedSeries("1 minute", 0.5), namedSeries("5 minutes", 0.4), namedSeries("15 minutes", 0.3)}},
	{"memory_usage", "Memory Usage", "Total memory usage vs cache & buffers", "%",
		[]series{namedSeries("Used Memory", 40), namedSeries("Cache & Buffers", 30)}},
	{"disk_usage", "Disk Usage", "Disk space utilization", "%", []series{namedSeries("Used Space", 10)}},
	{"disk_io", "Disk I/O", "I/O operations per second", "IOPS", []series{namedSeries("Reads", 50), namedSeries("Writes", 100)}},
	{"network_traffic", "Network Traffic", "Incoming and outgoing network traffic", "bytes/s",
		[]series{namedSeries("Received", 20000), namedSeries("Transmitted", 80000)}},
	{"connection_count", "Connection Count", "Database activity metrics", "count",
		[]series{namedSeries("Active", 4), namedSeries("Total", 12)}},
	{"cache_hit_ratio", "Cache Hit Ratio", "Percentage of cache hits vs reads", "%", []series{{map[string]string{}, 90}}},
	{"operation_throughput", "Operation Throughput", "Fetch, insert, update, delete operations per second", "ops/s",
		[]series{namedSeries("Fetch", 1000), namedSeries("Insert", 100), namedSeries("Update", 50), namedSeries("Delete", 10)}},
	{"deadlocks", "Deadlocks", "Deadlocks per second", "deadlocks/s", []series{{map[string]string{}, 0}}},
	{"database_size", "Database Size", "Top 5 databases by size", "bytes", []series{{map[string]string{}, 8e6}}},
	{"transactions", "Transactions", "Committed vs rolled back transactions", "count/s",
		[]series{namedSeries("Commits", 200), namedSeries("Rollbacks", 1)}},
}

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

// sample is a measurement: in JSON the Unix time and the value as a string.
type sample struct {
	at    int64
	value float64
}

func (s sample) MarshalJSON() ([]byte, error) {
	b := strconv.AppendInt([]byte("["), s.at, 10)
	b = strconv.AppendFloat(append(b, `,"`...), s.value, 'f', -1, 64)
	return append(b, `"]`...), nil
}

// getPostgresMetrics is not there for a client that does not name JSON among what
// it accepts.
func getPostgresMetrics(c *api.Call) (any, error) {
	if !strings.Contains(c.Header("Accept"), "application/json") {
		return nil, reply.NotFound()
	}
	if _, err := findPostgres(c); err != nil {
		return nil, err
	}
	start, end, err := metricsRange(c)
	if err != nil {
		return nil, err
	}
	asked := metrics
	if key, ok := api.Last(c.Query, "key"); ok {
		i := slices.IndexFunc(metrics, func(m metric) bool { return m.key == key })
		if i < 0 {
			return nil, reply.InvalidRequest("Invalid metric name")
		}
		asked = metrics[i : i+1]
	}
	return metricsRecord{api.Records(asked, func(m metric) metricRecord {
		return metricRecord{m.key, m.name, m.unit, m.description, api.Records(m.series, func(s series) seriesRecord {
			return seriesRecord{s.labels, s.samples(start, end)}
		})}
	})}, nil
}

// samples returns the values in a range of Unix times. They depend on nothing but
// the time. There is one every 15 seconds, or as many times more seconds as the
// range has pairs of hours.
func (s series) samples(start, end int64) []sample {
	const interval, pair, hour = 15, 2 * 60 * 60, 60 * 60
	step := interval * max(1, (end-start+pair-1)/pair)
	values := []sample{}
	for at := start - start%step; at <= end; at += step {
		wave := math.Sin(2 * math.Pi * float64(at%hour) / hour)
		values = append(values, sample{at, math.Round(100*s.level*(1+wave/10)) / 100})
	}
	return values
}

// metricsRange returns the Unix times between which the query asks for metrics.
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

// queryRange returns the times between which the query asks for something: the
// last half hour if it does not say.
func queryRange(c *api.Call) (start, end time.Time, err error) {
	if err = c.CheckUploaded(); err != nil {
		return start, end, err
	}
	if start, err = queryTime(c, "start", c.Now.Add(-30*time.Minute)); err != nil {
		return start, end, err
	}
	end, err = queryTime(c, "end", c.Now)
	return start, end, err
}

// queryTime returns a query parameter as a time.
func queryTime(c *api.Call, name string, otherwise time.Time) (time.Time, error) {
	s, ok := api.Last(c.Query, name)
	if !ok {
		return otherwise, nil
	}
	t, ok := ruby.ParseTime(s)
	if !ok {
		return t, invalidDate(name, s)
	}
	return t, nil
}

func invalidDate(field, s string) error {
	return reply.InvalidField(field, `"%s" is not a valid date for "%s".`, s, field)
}
