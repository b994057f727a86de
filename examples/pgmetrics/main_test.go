package main

import (
	"bytes"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/internal/demo"
)

func TestMain(m *testing.M) {
	demo.Isolate()
	m.Run()
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

// checkPicture checks that a file is a picture wide enough to read, that its
// plots are beside each other and twice as wide as high, and that it has the
// colors of two lines.
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
	if ratio := float64(bounds.Dx()) / float64(bounds.Dy()*plots); bounds.Dx() < 1200 || ratio < 1.5 || ratio > 2.5 {
		t.Errorf("%s is %v, for %d plots beside each other", file, bounds, plots)
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

func TestShowsMetricsOfClusters(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), []string{"--start", "1h", "--metric", "pending_pods,api_request_rate", "us-east-a2/staging"}, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	for _, want := range []string{"us-east-a2/staging from ", "Pending Pods (count)\n", "API Server Requests (req/s)\n"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, stdout.String())
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
	metrics := []cloudapi.ResourceMetric{
		{Key: "gaps", Name: "Gaps", Series: []cloudapi.ResourceMetricSeries{{Values: cloudapi.Samples{
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
	files, err := pictures{"eu-central-h1/orders", at, at.Add(time.Hour)}.save(folder, metrics)
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

func TestValueTicks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		highest float64
		unit    string
		want    []string
	}{
		{0, "", []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}},
		{0, "count", []string{"0", "1"}},
		{3, "count", []string{"0", "1", "2", "3"}},
		{0.3, "", []string{"0", "0.1", "0.2", "0.3"}},
		{98.6, "%", []string{"0", "20", "40", "60", "80", "100"}},
		{1500, "ops/s", []string{"0", "0.5k", "1k", "1.5k"}},
		{700 << 20, "bytes", []string{"0", "200Mi", "400Mi", "600Mi", "800Mi"}},
	} {
		var got []string
		for _, tick := range valueTicks(test.highest, test.unit) {
			got = append(got, tick.label)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%v %s: %v, want %v", test.highest, test.unit, got, test.want)
		}
	}
}

func TestTimeTicks(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 8, 7, 0, 0, time.UTC)
	for _, test := range []struct {
		length time.Duration
		want   []string
	}{
		{30 * time.Minute, []string{"08:10", "08:15", "08:20", "08:25", "08:30", "08:35"}},
		{6 * time.Hour, []string{"09:00", "10:00", "11:00", "12:00", "13:00", "14:00"}},
		{24 * time.Hour, []string{"12:00", "18:00", "Mar 2", "06:00"}},
		{31 * 24 * time.Hour, []string{"Mar 2", "Mar 9", "Mar 16", "Mar 23", "Mar 30"}},
	} {
		var got []string
		for _, tick := range timeTicks(start, start.Add(test.length)) {
			got = append(got, tick.label)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.length, got, test.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--start", "yesterday"}, "use a form such as"},
		{[]string{"--start", "1h", "--end", "2h"}, "before --start"},
		{[]string{"--start", "800h"}, "31 days"},
		{[]string{"--width", "5"}, "--width"},
		{[]string{"--metric", "cpu_usage,heat"}, `metric "heat"`},
		{[]string{"--metric", "heat"}, "the metrics are cpu_usage, load_average, "},
		{[]string{"--metric", "heat", "us-east-a2/staging"}, "pending_pods"},
		{[]string{"--metric", "cpu_usage,,disk_io"}, "has an empty key"},
		{[]string{"--metric", ","}, "has an empty key"},
		{[]string{"--metric", ""}, "is a variable not set?"},
		{[]string{"--png", ""}, "is a variable not set?"},
		{[]string{"eu-central-h1/payments"}, "not found"},
	} {
		if err := run(t.Context(), test.args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want %q", test.args, err, test.want)
		}
	}
}
