package cloudapi

import "context"

// Known values of [ResourceMetric.Key] for a cluster. Each can be requested by
// itself.
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

var opKubernetesMetrics = Operation{"Kubernetes.Metrics", "GET", kubernetesRoute + "/metrics", idempotent}

// Metrics returns the metrics of a cluster, as [PostgresService.Metrics] does
// for a database. The options may be nil. It is an operation of August 2026; a
// server of October 2025 answers [ErrNotFound].
func (s *KubernetesService) Metrics(ctx context.Context, location, cluster string, opts *ResourceMetricsOptions) (*ResourceMetrics, error) {
	return metrics(ctx, s.conn, &opKubernetesMetrics, opts, location, cluster)
}
