package cloudapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestSamples decodes samples, and encodes them again. The second text is the
// result, or "" if it's the same as the first text.
func TestSamples(t *testing.T) {
	t.Parallel()
	for text, written := range map[string]string{
		`[]`: ``,
		`[[1759512000,"0.42"],[1759512000.5,"1000000"],[0.000001,"NaN"],[-0.5,"+Inf"],[-2,"-Inf"],[-1.25,"3"]]`:     ``,
		`[[1759512000.123456,"1"],[1759512000.1,"1"],[-1759512000.25,"1"],[7258118400.25,"1"],[1759512000123,"1"]]`: ``,
		"\n[ [\t1759512000 ,\r\n\"-1e-3\" ] , [ 1759512015 , \"3\" ] ]\n":                                           `[[1759512000,"-0.001"],[1759512015,"3"]]`,
		`[[1759512000.1234567,"1"],[1.7595120001234e9,"1"],[17595120E+2,"1"]]`:                                      `[[1759512000.123457,"1"],[1759512000.1234,"1"],[1759512000,"1"]]`,
		`[[1e18,"1e999"],[-1e999,"-1e999"],[1e-999,"1e-999"]]`:                                                      `[[9000000000000,"+Inf"],[-9000000000000,"-Inf"],[0,"0"]]`,
	} {
		var samples MetricSamples
		if err := json.Unmarshal([]byte(text), &samples); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := string(stub.JSON(samples)); got != cmp.Or(written, text) {
			t.Errorf("%s is written as %s", text, got)
		}
	}
	sample := MetricSample{time.Unix(-1, 750_000_000).UTC(), 3}
	var samples MetricSamples
	if err := json.Unmarshal([]byte(`[[-0.25,"3"]]`), &samples); err != nil || len(samples) != 1 || samples[0] != sample {
		t.Errorf("got %v, %v, want %v", samples, err, sample)
	}
	if err := json.Unmarshal([]byte(`null`), &samples); err != nil || len(samples) != 1 {
		t.Errorf("null made of them %v, %v", samples, err)
	}
	for _, text := range []string{`[1759512000.5,"0.42"]`, `[0,"NaN"]`, `[-0.25,"+Inf"]`} {
		var sample MetricSample
		err := json.Unmarshal([]byte(" "+text), &sample)
		if got := string(stub.JSON(&sample)); err != nil || got != text {
			t.Errorf("%s alone is written as %s, %v", text, got, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"Time":"2026-01-01T00:00:00Z","Value":1}`), &sample); err == nil || sample.Value != 3 {
		t.Errorf("an object is %v, %v", sample, err)
	}
	if got := string(stub.JSON(MetricSeries{})); got != `{"labels":null,"values":[]}` {
		t.Errorf("no samples are written as %s", got)
	}
}

// TestNoSamples: any other text is an error, and leaves the samples unchanged,
// even if it's invalid JSON, which some decoders pass.
func TestNoSamples(t *testing.T) {
	t.Parallel()
	for i, texts := range [][]string{
		{`[1759512000,"0.42"]`, `[[]]`, `[null]`, `[{}]`, `[[1]]`, `[["1"]]`, `[[1,"2",3]]`, `[[1,2]]`, `[[1,null]]`, `[["1","2"]]`, `[[null,"2"]]`, `[[1,""]]`,
			`[[1," 2"]]`, `[[1,"many"]]`, `[[1,"1\""]]`, `[[1,"\\1"]]`, `[[1,"]"]]`, `[[1,"`, `[[1,"2`, `[[,"2"]]`, `[[1-2,"2"]]`, `[,[1,"2"]]`},
		{`[[1,"2"],[3]]`, `[[1,"2"],[[[[[3]]]]]]`, `[[1,"2"],3]`, `[[1,"2"]x]`},
		{`[[1,"2"],[3,"4"],["5",6]]`, `[[1,"2"],[3,"4"],[5,true]]`},
	} {
		for _, text := range texts {
			samples := MetricSamples{{Value: 7}}
			err := samples.UnmarshalJSON([]byte(text))
			if want := fmt.Sprintf("sample %d is not a pair of a Unix time and a number in a string", i); err == nil || err.Error() != want && json.Valid([]byte(text)) {
				t.Errorf("%s: the error is %v, want %s", text, err, want)
			}
			if len(samples) != 1 || samples[0].Value != 7 {
				t.Errorf("%s: half of it was kept: %v", text, samples)
			}
		}
	}
	for _, text := range []string{``, `{}`, `"x"`, `1`, `[`, ` [`} {
		if err := new(MetricSamples).UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
}

// TestSamplesMemory: the samples of a series, which can be hundreds of
// thousands, take one allocation.
func TestSamplesMemory(t *testing.T) {
	// Not parallel: other tests would be counted too.
	text := []byte("[" + strings.Repeat(`[1759512000.25,"1.125"],`, 2000) + `[1,"2"]]`)
	var samples MetricSamples
	allocs := testing.AllocsPerRun(5, func() { _ = samples.UnmarshalJSON(text) })
	brackets := []byte(`["` + strings.Repeat("]", 1<<20) + `"]`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_ = new(MetricSamples).UnmarshalJSON(brackets)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 { // a sample for each bracket would take 24 MB or more
		t.Errorf("brackets in a text take %d bytes", n)
	}
	if allocs > 3 || len(samples) != 2001 || cap(samples) != 2001 || samples[0] != (MetricSample{time.Unix(1759512000, 250_000_000).UTC(), 1.125}) {
		t.Errorf("%v allocations for %d samples in a slice for %d", allocs, len(samples), cap(samples))
	}
}
