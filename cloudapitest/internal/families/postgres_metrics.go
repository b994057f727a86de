package families

import (
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

func postgresMetricsOperations() []api.Operation {
	return []api.Operation{api.GET("Postgres.Metrics", postgresDatabase+"/metrics", showMetrics(findPostgres, postgresMetrics)).
		Takes(schema.Texts("start", "end", "key")...)}
}

var postgresMetrics = []metric{
	{"cpu_usage", "CPU Usage", "Percentage of CPU used by the system", "%",
		[]series{{map[string]string{"mode": "user"}, 20}, {map[string]string{"mode": "system"}, 5}}},
	{"load_average", "Load Average", "System load average over different time periods", nil,
		[]series{namedSeries("1 minute", 0.5), namedSeries("5 minutes", 0.4), namedSeries("15 minutes", 0.3)}},
	{"memory_usage", "Memory Usage", "Total memory usage vs cache & buffers", "%",
		[]series{namedSeries("Used Memory", 40), namedSeries("Cache & Buffers", 30), namedSeries("Committed Memory", 50)}},
	{"disk_usage", "Disk Usage", "Disk space utilization", "%", []series{namedSeries("Used Space", 10)}},
	{"disk_io", "Disk I/O", "I/O operations per second", "IOPS", []series{namedSeries("Reads", 50), namedSeries("Writes", 100)}},
	{"network_traffic", "Network Traffic", "Incoming and outgoing network traffic", "bytes/s",
		[]series{namedSeries("Received", 20000), namedSeries("Transmitted", 80000)}},
	{"connection_count", "Connection Count", "Database activity metrics", "count",
		[]series{namedSeries("Active", 4), namedSeries("Total", 12)}},
	{"cache_hit_ratio", "Cache Hit Ratio", "Percentage of cache hits vs reads", "%", lone(90)},
	{"operation_throughput", "Operation Throughput", "Fetch, insert, update, delete operations per second", "ops/s",
		[]series{namedSeries("Fetch", 1000), namedSeries("Insert", 100), namedSeries("Update", 50), namedSeries("Delete", 10)}},
	{"deadlocks", "Deadlocks", "Deadlocks per second", "deadlocks/s", lone(0)},
	{"database_size", "Database Size", "Top 5 databases by size", "bytes", lone(8e6)},
	{"transactions", "Transactions", "Committed vs rolled back transactions", "count/s",
		[]series{namedSeries("Commits", 200), namedSeries("Rollbacks", 1)}},
}
