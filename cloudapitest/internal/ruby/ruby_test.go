package ruby

import (
	"math"
	"testing"
	"time"
)

func TestIntegers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in      string
		n       int64
		ok      bool
		leading int64
		fits    bool
	}{
		{"7", 7, true, 7, true},
		{" -7\n", -7, true, -7, true},
		{"+07", 7, true, 7, true},
		{"08", 0, false, 8, true},
		{"010", 8, true, 10, true},
		{"0x10", 16, true, 0, true},
		{"0b1", 1, true, 0, true},
		{"0o7", 7, true, 0, true},
		{"0x_1", 1, false, 0, true},
		{"1_000", 1000, true, 1000, true},
		{"1__0", 0, false, 1, true},
		{"_1", 0, false, 0, true},
		{"1.5", 0, false, 1, true},
		{"2,3", 0, false, 2, true},
		{"1e2", 0, false, 1, true},
		{"", 0, false, 0, true},
		{"9223372036854775807", math.MaxInt64, true, math.MaxInt64, true},
		{"9223372036854775808", math.MaxInt64, true, math.MaxInt64, false},
		{"-99999999999999999999", math.MinInt64, true, math.MinInt64, false},
	} {
		if n, ok := Integer(tt.in); ok != tt.ok || ok && n != tt.n {
			t.Errorf("Integer(%q): %d, %t, want %d, %t", tt.in, n, ok, tt.n, tt.ok)
		}
		if n, fits := LeadingInteger(tt.in); n != tt.leading || fits != tt.fits {
			t.Errorf("LeadingInteger(%q): %d, %t, want %d, %t", tt.in, n, fits, tt.leading, tt.fits)
		}
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`[1e15,1e16,0.0001]`:                         `[1000000000000000.0, 1.0e+16, 0.0001]`,
		`{"a":[null,true,1.50,1e20,0.00001],"b":{}}`: `{"a" => [nil, true, 1.5, 1.0e+20, 1.0e-05], "b" => {}}`,
		`"\u0000\u001b\u007fé#{#x\"\\\n😀"`:           `"\u0000\e\x7Fé\#{#x\"\\\n😀"`,
		`"\u0085\ue000"`:                             `"\u0085\uE000"`,
	} {
		if got := Inspect([]byte(in)); got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
}

func TestDates(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2026-11-22":                    "2026-11-22T00:00:00Z",
		"20261122":                      "2026-11-22T00:00:00Z",
		"22/11/2026 10:30":              "2026-11-22T10:30:00Z",
		"Sun Nov 22 2026":               "2026-11-22T00:00:00Z",
		"22 Nov 2026 10:30:15 UTC":      "2026-11-22T10:30:15Z",
		" 2026-11-22T10:30:15.5+02:00 ": "2026-11-22T08:30:15.5Z",
		"2026-11-22 10:30:15 -0230":     "2026-11-22T13:00:15Z",
		"2026-11-22 10:30-02":           "2026-11-22T12:30:00Z",
		"2026-11-22T10:30:00+25:00":     "2026-11-21T09:30:00Z",
		"banana":                        "",
		"2026-13-01":                    "",
		"+02:00":                        "",
	} {
		got, ok := ParseDate(in)
		if s := got.UTC().Format(time.RFC3339Nano); ok != (want != "") || ok && s != want {
			t.Errorf("%q is %s, %t, want %s", in, s, ok, want)
		}
	}
	for in, want := range map[string]string{
		"2026-11-22T10:30:15Z":      "2026-11-22T10:30:15Z",
		"2026-11-22t10:30:15.25z":   "2026-11-22T10:30:15.25Z",
		"2026-11-22 10:30:15-01:30": "2026-11-22T12:00:15Z",
		"2026-11-22T10:30:15+25:00": "2026-11-21T09:30:15Z",
		"2026-11-22T10:30:15":       "",
		"2026-11-22T10:30Z":         "",
		"2026-11-22T10:30:15+0100":  "",
		"2026-11-22T10:30:15 UTC":   "",
		"2026-11-22":                "",
	} {
		got, ok := ParseTime(in)
		if s := got.UTC().Format(time.RFC3339Nano); ok != (want != "") || ok && s != want {
			t.Errorf("%q is %s, %t, want %s", in, s, ok, want)
		}
	}
}
