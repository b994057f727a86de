package families

var kubernetesMetrics = []metric{
	{"cpu_usage", "CPU Usage", "Percentage of CPU used per node", "%", lone(25)},
	{"load_average", "Load Average", "System load average over the last minute", nil, lone(0.5)},
	{"memory_usage", "Memory Usage", "Percentage of memory in use per node", "%", lone(40)},
	{"disk_usage", "Disk Usage", "Root filesystem utilization per node", "%", lone(10)},
	{"disk_io", "Disk I/O", "I/O operations per second", "IOPS", []series{namedSeries("Reads", 50), namedSeries("Writes", 100)}},
	{"network_traffic", "Network Traffic", "Incoming and outgoing network traffic", "bytes/s",
		[]series{namedSeries("Received", 20000), namedSeries("Transmitted", 80000)}},
	{"api_request_rate", "API Server Requests", "API server request rate by response code", "req/s", lone(30)},
	{"api_request_latency", "API Server Latency", "99th percentile API server request duration by verb", "seconds", lone(0.05)},
	{"api_inflight_requests", "API Server Inflight Requests", "Requests the API server is currently serving", "count", lone(2)},
	{"pending_pods", "Pending Pods", "Pods waiting to be scheduled, by scheduler queue", "count", lone(0)},
	{"cluster_database_size", "Cluster Database Size", "Size of the cluster state database", "bytes", lone(2e7)},
	{"cluster_objects", "Cluster Objects", "Number of objects stored in the cluster state database", "count", lone(400)},
}
