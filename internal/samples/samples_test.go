package samples

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

// list is a type whose JSON are samples.
type list []sample

func (l *list) UnmarshalJSON(data []byte) error {
	read, err := Read[sample](data)
	if err == nil {
		*l = read
	}
	return err
}

func TestRead(t *testing.T) {
	t.Parallel()
	at := func(seconds, nanos int64) time.Time { return time.Unix(seconds, nanos).UTC() }
	for _, tt := range []struct {
		text string
		want list
	}{
		{`[]`, list{}},
		{` [ ] `, list{}},
		{`[[1759512000,"0.42"]]`, list{{at(1759512000, 0), 0.42}}},
		{"\n[ [\t1759512000 ,\r\n\"-1e-3\" ] , [ 1759512015 , \"3\" ] ]\n", list{{at(1759512000, 0), -0.001}, {at(1759512015, 0), 3}}},
		{`[[0,"NaN"],[1,"+Inf"],[2,"-Inf"]]`, list{{at(0, 0), math.NaN()}, {at(1, 0), math.Inf(1)}, {at(2, 0), math.Inf(-1)}}},
		{`[[0,"\u002bInf"],[0,"\u0034\u0032"]]`, list{{at(0, 0), math.Inf(1)}, {at(0, 0), 42}}},

		// Times that a float can't represent.
		{`[[1759512000.123456789,"1"]]`, list{{at(1759512000, 123456789), 1}}},
		{`[[1759512000.1,"1"]]`, list{{at(1759512000, 100000000), 1}}},
		{`[[1759512000.000000001,"1"]]`, list{{at(1759512000, 1), 1}}},
		{`[[1759512000.9999999999,"1"]]`, list{{at(1759512000, 999999999), 1}}},
		{`[[253402300799.999999999,"1"]]`, list{{at(253402300799, 999999999), 1}}},
		{`[[-0.5,"1"]]`, list{{at(-1, 500000000), 1}}},
		{`[[-1759512000.25,"1"]]`, list{{at(-1759512001, 750000000), 1}}},
		{`[[1.7595120001234e9,"1"]]`, list{{at(1759512000, 123400000), 1}}},
		{`[[17595120E+2,"1"]]`, list{{at(1759512000, 0), 1}}},
		{`[[5e-9,"1"],[12345e-12,"1"],[1e-99,"1"],[0e99,"1"]]`, list{{at(0, 5), 1}, {at(0, 12), 1}, {at(0, 0), 1}, {at(0, 0), 1}}},
		{`[[1759512000123,"1"],[-1759512000123,"1"]]`, list{{at(1759512000123, 0), 1}, {at(-1759512000123, 0), 1}}}, // milliseconds

		// Out of range.
		{`[[1e18,"1"],[4611686018427387899,"1"],[-1e18,"1"]]`, list{{at(1e18, 0), 1}, {at(1<<62-5, 0), 1}, {at(-1e18, 0), 1}}},
		{`[[1e99,"1"],[1e999999999999,"1"],[-1e400,"1"],[99999999999999999999.5,"1"]]`, list{{at(1<<62, 0), 1}, {at(1<<62, 0), 1}, {at(-1<<62, 0), 1}, {at(1<<62, 0), 1}}},
		{`[[1e-100,"1"],[1e-999999999999,"1"],[0e999999999999,"1"],[1000000000000000000000e-20,"1"]]`, list{{at(0, 0), 1}, {at(0, 0), 1}, {at(0, 0), 1}, {at(10, 0), 1}}},
		{`[[1,"1e999"],[2,"-1e999"],[3,"1e-999"]]`, list{{at(1, 0), math.Inf(1)}, {at(2, 0), math.Inf(-1)}, {at(3, 0), 0}}},
	} {
		var got list
		if err := json.Unmarshal([]byte(tt.text), &got); err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		// fmt also compares NaN, and prints an empty slice like nil.
		if fmt.Sprint(got) != fmt.Sprint(tt.want) || got == nil {
			t.Errorf("%s is %v, want %v", tt.text, got, tt.want)
		}
	}
}

func TestMalformed(t *testing.T) {
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
		samples := list{{Value: 7}}
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
		var samples list
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

func TestJSON(t *testing.T) {
	t.Parallel()
	const text = `[[1759512000,"0.42"],[1759512000.5,"1000000"],[0.000000001,"NaN"],[-0.5,"+Inf"],[-2,"-Inf"],[-1.25,"3"]]`
	read := stub.Must(Read[sample]([]byte(text)))(t)
	if got := string(JSON(read)); got != text {
		t.Errorf("written as %s, want %s", got, text)
	}
	if got := string(JSON[sample](nil)); got != `[]` {
		t.Errorf("no samples are written as %s", got)
	}
}

// JSON that isn't samples doesn't get the memory for samples.
func TestMemoryForNonsense(t *testing.T) {
	// Not parallel: other tests would also be counted.
	for _, text := range []string{
		"[" + strings.Repeat("1,", 1<<20) + "1]",
		"[" + strings.Repeat(`"",`, 1<<20) + `""]`,
		"[" + strings.Repeat("[", 1<<19) + strings.Repeat("]", 1<<19) + "]",
	} {
		var before, after runtime.MemStats
		var samples list
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
