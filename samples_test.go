package cloudapi

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func TestSamples(t *testing.T) {
	t.Parallel()
	at := func(seconds, nanos int64) time.Time { return time.Unix(seconds, nanos).UTC() }
	for _, tt := range []struct {
		text string
		want Samples
	}{
		{`[]`, Samples{}},
		{` [ ] `, Samples{}},
		{`[[1759512000,"0.42"]]`, Samples{{at(1759512000, 0), 0.42}}},
		{"\n[ [\t1759512000 ,\r\n\"-1e-3\" ] , [ 1759512015 , \"3\" ] ]\n", Samples{{at(1759512000, 0), -0.001}, {at(1759512015, 0), 3}}},
		{`[[0,"NaN"],[1,"+Inf"],[2,"-Inf"]]`, Samples{{at(0, 0), math.NaN()}, {at(1, 0), math.Inf(1)}, {at(2, 0), math.Inf(-1)}}},
		{`[[0,"\u002bInf"],[0,"\u0034\u0032"]]`, Samples{{at(0, 0), math.Inf(1)}, {at(0, 0), 42}}},

		// Times that a float cannot represent.
		{`[[1759512000.123456789,"1"]]`, Samples{{at(1759512000, 123456789), 1}}},
		{`[[1759512000.1,"1"]]`, Samples{{at(1759512000, 100000000), 1}}},
		{`[[1759512000.000000001,"1"]]`, Samples{{at(1759512000, 1), 1}}},
		{`[[1759512000.9999999999,"1"]]`, Samples{{at(1759512000, 999999999), 1}}},
		{`[[253402300799.999999999,"1"]]`, Samples{{at(253402300799, 999999999), 1}}},
		{`[[-0.5,"1"]]`, Samples{{at(-1, 500000000), 1}}},
		{`[[-1759512000.25,"1"]]`, Samples{{at(-1759512001, 750000000), 1}}},
		{`[[1.7595120001234e9,"1"]]`, Samples{{at(1759512000, 123400000), 1}}},
		{`[[17595120E+2,"1"]]`, Samples{{at(1759512000, 0), 1}}},
		{`[[5e-9,"1"],[12345e-12,"1"],[1e-99,"1"],[0e99,"1"]]`, Samples{{at(0, 5), 1}, {at(0, 12), 1}, {at(0, 0), 1}, {at(0, 0), 1}}},
		{`[[1759512000123,"1"],[-1759512000123,"1"]]`, Samples{{at(1759512000123, 0), 1}, {at(-1759512000123, 0), 1}}}, // milliseconds

		// Out of range.
		{`[[1e18,"1"],[4611686018427387899,"1"],[-1e18,"1"]]`, Samples{{at(1e18, 0), 1}, {at(1<<62-5, 0), 1}, {at(-1e18, 0), 1}}},
		{`[[1e99,"1"],[1e999999999999,"1"],[-1e400,"1"],[99999999999999999999.5,"1"]]`, Samples{{at(1<<62, 0), 1}, {at(1<<62, 0), 1}, {at(-1<<62, 0), 1}, {at(1<<62, 0), 1}}},
		{`[[1e-100,"1"],[1e-999999999999,"1"],[0e999999999999,"1"],[1000000000000000000000e-20,"1"]]`, Samples{{at(0, 0), 1}, {at(0, 0), 1}, {at(0, 0), 1}, {at(10, 0), 1}}},
		{`[[1,"1e999"],[2,"-1e999"],[3,"1e-999"]]`, Samples{{at(1, 0), math.Inf(1)}, {at(2, 0), math.Inf(-1)}, {at(3, 0), 0}}},
	} {
		var got Samples
		if err := json.Unmarshal([]byte(tt.text), &got); err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		// fmt compares NaN too, and shows an empty slice as it does nil.
		if fmt.Sprint(got) != fmt.Sprint(tt.want) || got == nil {
			t.Errorf("%s is %v, want %v", tt.text, got, tt.want)
		}
	}
}

func TestMalformedSamples(t *testing.T) {
	t.Parallel()
	const pair = `sample %d is not a pair of a Unix time and a number in a string`
	for text, want := range map[string]string{
		`{}`:                         "samples are not an array",
		`"x"`:                        "samples are not an array",
		`1`:                          "samples are not an array",
		`[1759512000,"0.42"]`:        fmt.Sprintf(pair, 0),
		`[[]]`:                       fmt.Sprintf(pair, 0),
		`[null]`:                     fmt.Sprintf(pair, 0),
		`[{}]`:                       fmt.Sprintf(pair, 0),
		`[[1]]`:                      fmt.Sprintf(pair, 0),
		`[["1"]]`:                    fmt.Sprintf(pair, 0),
		`[[1,"2",3]]`:                fmt.Sprintf(pair, 0),
		`[[1,2]]`:                    fmt.Sprintf(pair, 0),
		`[[1,null]]`:                 fmt.Sprintf(pair, 0),
		`[["1","2"]]`:                fmt.Sprintf(pair, 0),
		`[[null,"2"]]`:               fmt.Sprintf(pair, 0),
		`[[1,""]]`:                   fmt.Sprintf(pair, 0),
		`[[1," 2"]]`:                 fmt.Sprintf(pair, 0),
		`[[1,"many"]]`:               fmt.Sprintf(pair, 0),
		`[[1,"1\""]]`:                fmt.Sprintf(pair, 0),
		`[[1,"\\1"]]`:                fmt.Sprintf(pair, 0),
		`[[1,"2"],[3]]`:              fmt.Sprintf(pair, 1),
		`[[1,"2"],[[[[[3]]]]]]`:      fmt.Sprintf(pair, 1),
		`[[1,"2"],[3,"4"],["5",6]]`:  fmt.Sprintf(pair, 2),
		`[[1,"2"],[3,"4"],[5,true]]`: fmt.Sprintf(pair, 2),
	} {
		samples := Samples{{Value: 7}}
		err := json.Unmarshal([]byte(text), &samples)
		if err == nil || err.Error() != want {
			t.Errorf("%s: the error is %v, want %s", text, err, want)
		}
		if len(samples) != 1 || samples[0].Value != 7 {
			t.Errorf("%s: half of it was kept: %v", text, samples)
		}
	}

	// Called by a decoder other than encoding/json, with invalid JSON.
	for _, text := range []string{``, `[`, `[[`, `[[1`, `[[1,`, `[[1,"`, `[[1,"2`, `[[1,"2"`, `[[1,"2"]`, `[[1,"2"],`, `[[1,"2"],]`, `[[1,"2"][3,"4"]]`,
		`[,[1,"2"]]`, `[[,"2"]]`, `[[-,"2"]]`, `[[.5,"2"]]`, `[[1-2,"2"]]`, `[[1e,"2"]]`, `[[1.2.3,"2"]]`, `[[+1,"2"]]`} {
		var samples Samples
		if err := samples.UnmarshalJSON([]byte(text)); err == nil || samples != nil {
			t.Errorf("%s became %v, %v", text, samples, err)
		}
	}
}

// Decoding matches exact arithmetic, and encoded samples decode to the same.
func TestUnixTimeIsExact(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	billion := big.NewInt(1e9)
	for range 5000 {
		text := fmt.Sprint(random.Int64N(2e9))
		if digits := random.IntN(12); digits > 0 {
			text += "." + fmt.Sprintf("%011d", random.Int64N(1e11))[:digits]
		}
		switch random.IntN(6) {
		case 0:
			text += fmt.Sprintf("e%d", random.IntN(3))
		case 1:
			text += fmt.Sprintf("E-%d", random.IntN(15))
		case 2:
			text = "-" + text
		}
		got, ok := parseUnixTime([]byte(text))
		if !ok {
			t.Fatalf("%s was refused", text)
		}
		exact, _ := new(big.Rat).SetString(text)
		exact.Mul(exact, new(big.Rat).SetInt(billion))
		want := new(big.Int).Quo(exact.Num(), exact.Denom()) // towards zero
		nanos := new(big.Int).Mul(big.NewInt(got.Unix()), billion)
		nanos.Add(nanos, big.NewInt(int64(got.Nanosecond())))
		if nanos.Cmp(want) != 0 {
			t.Fatalf("%s is %v nanoseconds, want %v", text, nanos, want)
		}
		again, ok := parseUnixTime(appendUnixTime(nil, got))
		if !ok || !again.Equal(got) {
			t.Fatalf("%s was written as %s", text, appendUnixTime(nil, got))
		}
	}
}

func TestSamplesAsJSON(t *testing.T) {
	t.Parallel()
	const text = `[[1759512000,"0.42"],[1759512000.5,"1000000"],[0.000000001,"NaN"],[-0.5,"+Inf"],[-2,"-Inf"],[-1.25,"3"]]`
	var samples Samples
	if err := json.Unmarshal([]byte(text), &samples); err != nil {
		t.Fatal(err)
	}
	if got := string(stub.JSON(samples)); got != text {
		t.Errorf("written as %s, want %s", got, text)
	}
	if got := string(stub.JSON(PostgresMetricSeries{})); got != `{"labels":null,"values":[]}` {
		t.Errorf("no samples are written as %s", got)
	}
	if err := json.Unmarshal([]byte(`null`), &samples); err != nil || len(samples) != 6 {
		t.Errorf("null made of them %v, %v", samples, err)
	}
}

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

	var metrics PostgresMetrics
	decode := func() {
		metrics = PostgresMetrics{}
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

// Other JSON does not get the memory for samples.
func TestSamplesMemoryForNonsense(t *testing.T) {
	// Not parallel: other tests would be counted too.
	for _, text := range []string{
		"[" + strings.Repeat("1,", 1<<20) + "1]",
		"[" + strings.Repeat(`"",`, 1<<20) + `""]`,
		"[" + strings.Repeat("[", 1<<19) + strings.Repeat("]", 1<<19) + "]",
	} {
		var before, after runtime.MemStats
		var samples Samples
		runtime.ReadMemStats(&before)
		err := samples.UnmarshalJSON([]byte(text))
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Fatalf("%.20s… was accepted", text)
		}
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(6*len(text)); got > most {
			t.Errorf("%.20s…: %d bytes were allocated for %d", text, got, len(text))
		}
	}
}
