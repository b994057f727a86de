package families

import (
	"fmt"
	"maps"
	"strconv"
)

// commonDefaults are some of the settings that the real service gives to all
// database servers.
var commonDefaults = map[string]string{
	connections:                strconv.Itoa(defaultConnections),
	"archive_mode":             "on",
	"max_parallel_workers":     "4",
	"random_page_cost":         "1.1",
	"ssl":                      "on",
	"timezone":                 "'UTC'",
	"wal_compression":          "lz4",
	"effective_io_concurrency": "200",
}

func (s postgresServers) defaults() map[string]string {
	size := s.size()
	megabytes := func(n int) string { return fmt.Sprintf("%dMB", n) }
	memory := size.memory << 10 // MiB
	defaults := maps.Clone(commonDefaults)
	defaults["effective_cache_size"] = megabytes(memory * 3 / 4)
	defaults["maintenance_work_mem"] = megabytes(memory / 16)
	defaults["max_wal_size"] = fmt.Sprintf("%dGB", min(max(s.storage*4/100, 5), 256))
	defaults["shared_buffers"] = megabytes(memory / 4)
	defaults["work_mem"] = megabytes(max(1, size.memory/8))
	return defaults
}
