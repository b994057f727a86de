package cloudapi

import "context"

// What is measured at a database is a [ResourceMetrics].
type (
	PostgresMetrics        = ResourceMetrics
	PostgresMetric         = ResourceMetric
	PostgresMetricSeries   = ResourceMetricSeries
	PostgresMetricsOptions = ResourceMetricsOptions
)

// Known values of [ResourceMetric.Key] at a database, which can be asked for one
// by one.
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

var opPostgresMetrics = Operation{"Postgres.Metrics", "GET", postgresRoute + "/metrics", safe}

// Metrics returns what was measured at a database. The server chooses the
// distance of the values, so that there are some 480 in each series at most.
// The options may be nil. Metrics that the server fails to get have no series,
// unless one was asked for by its key: then it is [ErrServer]. [ErrNotFound]
// may mean that the server keeps no metrics at all.
//
//cloudapi:operation GET /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/metrics
func (s *PostgresService) Metrics(ctx context.Context, location, postgres string, opts *PostgresMetricsOptions) (*PostgresMetrics, error) {
	return metrics(ctx, s.client, &opPostgresMetrics, opts, location, postgres)
}
