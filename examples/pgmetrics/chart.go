package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/guptarohit/asciigraph"
)

// characters distinguish the series of a chart.
var characters = []asciigraph.CharSet{asciigraph.DefaultCharSet, asciigraph.CreateCharSet("*"), asciigraph.CreateCharSet("+"), asciigraph.CreateCharSet("o"), asciigraph.CreateCharSet("x")}

func chart(m cloudapi.Metric, width int) string {
	title := m.Name
	if m.Unit != "" {
		title += " (" + m.Unit + ")"
	}
	var data [][]float64
	var legends []string
	var first, last time.Time
	for _, series := range m.Series {
		if len(series.Values) == 0 {
			continue
		}
		values := make([]float64, len(series.Values))
		for i, sample := range series.Values {
			values[i] = sample.Value
			if math.IsInf(sample.Value, 0) {
				values[i] = math.NaN() // a gap
			}
		}
		first, last = series.Values[0].Time, series.Values[len(series.Values)-1].Time
		data = append(data, values)
		legends = append(legends, fmt.Sprintf("%s now %s", label(series), humanize(newest(values), m.Unit)))
	}
	if data == nil {
		return title + ": no values"
	}

	options := []asciigraph.Option{
		asciigraph.Height(8),
		asciigraph.Width(width - 12), // the labels need the rest
		asciigraph.LowerBound(0),
		asciigraph.YAxisValueFormatter(func(v float64) string { return humanize(v, m.Unit) }),
	}
	if last.After(first) {
		layout := "15:04"
		if last.Sub(first) > 24*time.Hour {
			layout = "Jan 2"
		}
		options = append(options,
			asciigraph.XAxisRange(float64(first.Unix()), float64(last.Unix())),
			asciigraph.XAxisTickCount(5),
			asciigraph.XAxisValueFormatter(func(v float64) string { return time.Unix(int64(v), 0).UTC().Format(layout) }))
	}
	chars := slices.Repeat(characters, len(data)/len(characters)+1)[:len(data)]
	for i := range legends {
		legends[i] = chars[i].Horizontal + " " + legends[i]
	}
	options = append(options, asciigraph.SeriesChars(chars...))
	return title + "\n" + asciigraph.PlotMany(data, options...) + "\n    " + strings.Join(legends, "   ")
}

func newest(values []float64) float64 {
	for _, v := range slices.Backward(values) {
		if !math.IsNaN(v) {
			return v
		}
	}
	return math.NaN()
}

func label(series cloudapi.MetricSeries) string {
	var values []string
	for _, key := range slices.Sorted(maps.Keys(series.Labels)) {
		values = append(values, series.Labels[key])
	}
	if values == nil {
		return "value"
	}
	return strings.Join(values, ", ")
}

// humanize formats a number with at most three significant digits and, if it is
// large, a prefix.
func humanize(v float64, unit string) string {
	scale, prefix := prefixOf(v, unit)
	v /= scale
	digits := 0
	if math.Abs(v) < 10 && v != math.Trunc(v) {
		digits = 2
	} else if math.Abs(v) < 100 && v != math.Trunc(v) {
		digits = 1
	}
	return fmt.Sprintf("%.*f%s", digits, v, prefix)
}

func prefixOf(v float64, unit string) (scale float64, prefix string) {
	base, prefixes := 1000.0, []string{"k", "M", "G", "T", "P"}
	if isBytes(unit) {
		base, prefixes = 1024, []string{"Ki", "Mi", "Gi", "Ti", "Pi"}
	}
	scale = 1
	for _, next := range prefixes {
		if math.Abs(v)/scale >= base {
			scale, prefix = scale*base, next
		}
	}
	return scale, prefix
}

func isBytes(unit string) bool { return unit == "bytes" || unit == "bytes/s" }
