package main

import (
	"bytes"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// TestMain keeps the tests away from the API that the environment may name.
func TestMain(m *testing.M) {
	os.Unsetenv(cloudapi.EnvBaseURL)
	os.Exit(m.Run())
}

func TestShowsMetrics(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), []string{"--start", "2h", "--metric", "cpu_usage, network_traffic", "--png", folder, "eu-central-h1/orders-reports"}, &stdout, &stderr)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	for _, want := range []string{"eu-central-h1/orders-reports from ", "CPU Usage (%)\n", "─ user now ", "* system now ", "Network Traffic (bytes/s)\n", "Ki ┤"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, stdout.String())
		}
	}
	if strings.Contains(stdout.String(), "\x1b") || strings.Contains(stdout.String(), "Deadlocks") {
		t.Error("there are colours, or metrics that nobody asked for")
	}
	for file, width := range map[string]int{"cpu_usage.png": 1, "network_traffic.png": 1, "overview.png": 2} {
		checkPicture(t, filepath.Join(folder, file), width)
	}
}

// checkPicture checks that a file is a picture so many plots wide and that it
// has the colours of two lines.
func checkPicture(t *testing.T, file string, plots int) {
	t.Helper()
	from, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	picture, err := png.Decode(from)
	if err != nil {
		t.Fatal(err)
	}
	bounds := picture.Bounds()
	if ratio := float64(bounds.Dx()) / float64(bounds.Dy()); math.Abs(ratio-float64(2*plots)) > 0.05 {
		t.Errorf("%s is %v, not %d plots wide", file, bounds, plots)
	}
	found := map[[3]uint32]int{}
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			r, g, b, _ := picture.At(x, y).RGBA()
			found[[3]uint32{r >> 8, g >> 8, b >> 8}]++
		}
	}
	for _, c := range lineColors[:2] {
		if n := found[[3]uint32{uint32(c.R), uint32(c.G), uint32(c.B)}]; n < bounds.Dx()/4 {
			t.Errorf("%s has %d points of colour %v", file, n, c)
		}
	}
}

func TestShowsAllMetricsByDefault(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	if err := run(t.Context(), nil, &stdout, io.Discard); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(stdout.String(), "└"); n != 12 {
		t.Errorf("%d charts, want 12:\n%s", n, stdout.String())
	}
	for _, line := range strings.Split(stdout.String(), "\n") {
		if n := len([]rune(line)); n > 80 && !strings.Contains(line, " now ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestGapsAndNothing(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	metrics := []cloudapi.PostgresMetric{
		{Key: "gaps", Name: "Gaps", Series: []cloudapi.PostgresMetricSeries{{Values: cloudapi.Samples{
			{Time: at, Value: 1}, {Time: at.Add(time.Minute), Value: math.NaN()}, {Time: at.Add(2 * time.Minute), Value: 3}, {Time: at.Add(3 * time.Minute), Value: math.Inf(1)}}}}},
		{Key: "../nothing", Name: "Nothing"},
	}
	if got := chart(metrics[0], 40, false); !strings.Contains(got, "value now 3") {
		t.Errorf("chart with gaps:\n%s", got)
	}
	if got := chart(metrics[1], 40, false); got != "Nothing: no values" {
		t.Errorf("chart of nothing: %s", got)
	}
	folder := t.TempDir()
	files, err := savePictures(folder, metrics)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Size() == 0 || filepath.Dir(file) != folder {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
}

func TestHumanize(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value      float64
		unit, want string
	}{
		{0, "%", "0"}, {0.125, "", "0.12"}, {99.95, "%", "100.0"}, {12, "count", "12"}, {1500, "ops/s", "1.50k"},
		{1536, "bytes", "1.50Ki"}, {8e6, "bytes", "7.63Mi"}, {-2048, "bytes/s", "-2Ki"}, {math.NaN(), "", "NaN"},
	} {
		if got := humanize(test.value, test.unit); got != test.want {
			t.Errorf("%v %s: %s, want %s", test.value, test.unit, got, test.want)
		}
	}
}

func TestTimeTicks(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 8, 7, 0, 0, time.Local)
	for _, test := range []struct {
		length time.Duration
		first  string
		count  int
	}{
		{30 * time.Minute, "08:10", 6}, {6 * time.Hour, "09:00", 6}, {24 * time.Hour, "12:00", 4}, {31 * 24 * time.Hour, "", 5},
	} {
		ticks := timeTicks(float64(start.Unix()), float64(start.Add(test.length).Unix()))
		if len(ticks) != test.count || test.first != "" && ticks[0].Label != test.first {
			t.Errorf("%v: %v, want %d from %s", test.length, ticks, test.count, test.first)
		}
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--start", "yesterday"}, "take a form such as"},
		{[]string{"--start", "1h", "--end", "2h"}, "see --start and --end"},
		{[]string{"--start", "800h"}, "31 days"},
		{[]string{"--width", "5"}, "--width"},
		{[]string{"--metric", "cpu_usage,heat"}, `metric "heat"`},
		{[]string{"eu-central-h1/payments"}, "not found"},
	} {
		if err := run(t.Context(), test.args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want %q", test.args, err, test.want)
		}
	}
}
