package main

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// TestNames: names follow the rules of Prometheus, even for keys that a service
// may add.
func TestNames(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	if err := run(t.Context(), []string{"--once"}, &text, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"backup_count", "wal_total", "write_sum", "poolSize", "lag:seconds"} {
		name := metricName(cloudapi.ResourceMetric{Key: key})
		fmt.Fprintf(&text, "# HELP %s A key\n# TYPE %s gauge\n%s 1\n", name, name, name)
	}
	problems := stub.Must(promlint.New(&text).Lint())(t)
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}
