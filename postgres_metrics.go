package cloudapi

import "context"

// The metrics of a database are a [ResourceMetrics].
type (
	PostgresMetrics        = ResourceMetrics
	PostgresMetric         = ResourceMetric
	PostgresMetricSeries   = ResourceMetricSeries
	PostgresMetricsOptions = ResourceMetricsOptions
)

// Known values of [ResourceMetric.Key] for a database. Each can be requested by
// itself.
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

// Metrics returns the metrics of a database. The server chooses the interval of
// the values, so that a series has at most about 480. The options may be nil.
// Metrics that the server cannot read have no series. If one metric was
// requested by its key and cannot be read, the error is [ErrServer].
// [ErrNotFound] may mean that the server keeps no metrics.
func (s *PostgresService) Metrics(ctx context.Context, location, postgres string, opts *PostgresMetricsOptions) (*PostgresMetrics, error) {
	return metrics(ctx, s.conn, &opPostgresMetrics, opts, location, postgres)
}
