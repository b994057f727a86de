package cloudapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// The memory for a long response is that of its samples.
func TestSamplesMemory(t *testing.T) {
	// Not parallel: other tests would be counted too.
	const series, length = 20, 2000
	var b strings.Builder
	b.WriteString(`{"metrics":[{"key":"k","name":"n","description":"","unit":null,"series":[`)
	for i := range series {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"labels":{"name":"%d"},"values":[`, i)
		for j := range length {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `[%d.25,"%d.125"]`, 1759512000+j, j)
		}
		b.WriteString(`]}`)
	}
	b.WriteString(`]}]}`)
	text := []byte(b.String())

	var metrics ResourceMetrics
	decode := func() {
		metrics = ResourceMetrics{}
		if err := json.Unmarshal(text, &metrics); err != nil {
			t.Fatal(err)
		}
	}
	if allocs := testing.AllocsPerRun(5, decode); allocs > series*15 {
		t.Errorf("%v allocations for %d series of %d samples", allocs, series, length)
	}
	for i, s := range metrics.Metrics[0].Series {
		if len(s.Values) != length || cap(s.Values) != length {
			t.Fatalf("series %d has %d samples in a slice for %d", i, len(s.Values), cap(s.Values))
		}
		for j, sample := range s.Values {
			if sample.Time.UnixNano() != (1759512000+int64(j))*1e9+250_000_000 || sample.Value != float64(j)+0.125 {
				t.Fatalf("sample %d of series %d is %v", j, i, sample)
			}
		}
	}
}
