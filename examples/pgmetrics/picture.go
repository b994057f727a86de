package main

import (
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

var (
	lineColors = []color.NRGBA{
		{0x2f, 0x6d, 0xc4, 0xff}, {0xe0, 0x81, 0x2c, 0xff}, {0x2f, 0xa0, 0x67, 0xff}, {0xa4, 0x59, 0xc0, 0xff}, {0xc4, 0x9a, 0x16, 0xff},
	}
	ink  = color.NRGBA{0x1f, 0x2a, 0x3d, 0xff}
	gray = color.NRGBA{0x5b, 0x67, 0x7a, 0xff}
	pale = color.NRGBA{0xe3, 0xe8, 0xf0, 0xff}
)

// pictures draws metrics of a database or a cluster over a range of time.
type pictures struct {
	name       string
	start, end time.Time
}

// save draws each metric, and all of them as overview.png, and returns the
// names of the files.
func (p pictures) save(folder string, metrics []cloudapi.ResourceMetric) ([]string, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	var files []string
	for i, m := range metrics {
		file := filepath.Join(folder, filepath.Base(m.Key)+".png")
		if err := p.draw(file, metrics[i:i+1], 1); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	overview := filepath.Join(folder, "overview.png")
	return append(files, overview), p.draw(overview, metrics, min(3, len(metrics)))
}

// draw draws metrics in columns, below a line with the name and the time.
func (p pictures) draw(file string, metrics []cloudapi.ResourceMetric, columns int) error {
	width, height, letters := 1280.0, 600.0, 20.0 // of a plot with its margins
	if columns > 1 {
		width, height, letters = 760, 380, 17
	}
	fonts, err := newFonts(letters)
	if err != nil {
		return err
	}
	rows := (len(metrics) + columns - 1) / columns
	head := 3 * letters
	c := newCanvas(columns*int(width), rows*int(height)+int(head))
	c.text(fonts.bold, ink, point{letters, head / 2}, behind, p.name)
	c.text(fonts.large, gray, point{float64(columns)*width - letters, head / 2}, before, p.period())
	for i, m := range metrics {
		plot := plot{
			pictures: p, canvas: c, fonts: fonts, letter: letters, unit: m.Unit,
			left: float64(i%columns)*width + 4.5*letters, right: float64(i%columns+1)*width - 1.5*letters,
			top: head + float64(i/columns)*height + 4*letters, bottom: head + float64(i/columns+1)*height - 3.5*letters,
		}
		plot.draw(m)
	}
	return c.save(file)
}

// period returns the range of time as text, with only one date if it's within
// one day.
func (p pictures) period() string {
	const day, minute = "2006-01-02", " 15:04"
	if p.start.Format(day) == p.end.Format(day) {
		return p.start.Format(day+minute) + " to" + p.end.Format(minute+" MST")
	}
	return p.start.Format(day+minute) + " to " + p.end.Format(day+minute+" MST")
}

// plot is one metric in a picture.
type plot struct {
	pictures
	canvas
	fonts
	letter                   float64 // height of lower-case letters
	left, right, top, bottom float64 // of the area with the lines
	unit                     string
	high                     float64 // the value at the top
}

func (p *plot) x(at time.Time) float64 {
	return p.left + (p.right-p.left)*at.Sub(p.start).Seconds()/p.end.Sub(p.start).Seconds()
}

func (p *plot) y(value float64) float64 { return p.bottom - (p.bottom-p.top)*value/p.high }

// draw draws the axes, and a line for each of the metric's series.
func (p *plot) draw(m cloudapi.ResourceMetric) {
	p.text(p.bold, ink, point{p.left, p.top - 2.7*p.letter}, behind, m.Name)
	p.axes(highest(m))
	values := false
	for i, series := range m.Series {
		values = p.series(series, lineColors[i%len(lineColors)], len(m.Series) == 1) || values
	}
	if !values {
		p.text(p.large, gray, point{(p.left + p.right) / 2, (p.top + p.bottom) / 2}, around, "no values")
	}
	p.legend(m.Series)
}

func (p *plot) axes(highest float64) {
	ticks := valueTicks(highest, p.unit)
	p.high = ticks[len(ticks)-1].at
	for _, t := range ticks {
		p.line(pale, 1.5, point{p.left, p.y(t.at)}, point{p.right, p.y(t.at)})
		p.text(p.small, gray, point{p.left - 0.5*p.letter, p.y(t.at)}, before, t.label)
	}
	for _, t := range timeTicks(p.start, p.end) {
		p.line(pale, 1.5, point{p.x(t.at), p.top}, point{p.x(t.at), p.bottom})
		p.line(gray, 1.5, point{p.x(t.at), p.bottom}, point{p.x(t.at), p.bottom + 0.3*p.letter})
		p.text(p.small, gray, point{p.x(t.at), p.bottom + 0.9*p.letter}, around, t.label)
	}
	p.line(gray, 1.5, point{p.left, p.bottom}, point{p.right, p.bottom})
	unit := p.unit
	if unit == "" {
		unit = "value"
	}
	p.text(p.small, gray, point{p.left, p.top - 1.1*p.letter}, behind, unit)
	p.text(p.small, gray, point{p.right, p.bottom + 2.1*p.letter}, before, "time ("+p.end.Format("MST")+")")
}

// series draws a line with gaps where there's no number, and reports whether
// there are any numbers.
func (p *plot) series(series cloudapi.ResourceMetricSeries, col color.NRGBA, alone bool) bool {
	var runs [][]point
	gap := true
	for _, sample := range series.Values {
		if !finite(sample.Value) || sample.Time.Before(p.start) || sample.Time.After(p.end) {
			gap = true
			continue
		}
		if gap {
			runs = append(runs, nil)
			gap = false
		}
		last := len(runs) - 1
		runs[last] = append(runs[last], point{p.x(sample.Time), p.y(sample.Value)})
	}
	for _, run := range runs {
		if alone {
			area := append([]point{{run[0].x, p.bottom}}, run...)
			area = append(area, point{run[len(run)-1].x, p.bottom})
			p.fill(color.NRGBA{col.R, col.G, col.B, 0x28}, area)
		}
		p.line(col, 0.16*p.letter, run...)
	}
	return runs != nil
}

// legend draws the names of the lines above the area, from right to left.
func (p *plot) legend(all []cloudapi.ResourceMetricSeries) {
	at := point{p.right, p.top - 1.1*p.letter}
	for i := len(all) - 1; i >= 0; i-- {
		if len(all) == 1 && len(all[i].Labels) == 0 {
			return
		}
		at.x = p.text(p.small, ink, at, before, label(all[i])) - 0.5*p.letter
		p.line(lineColors[i%len(lineColors)], 0.3*p.letter, point{at.x - 1.2*p.letter, at.y}, at)
		at.x -= 2.6 * p.letter
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// highest returns the largest number in all series, or 0.
func highest(m cloudapi.ResourceMetric) (highest float64) {
	for _, series := range m.Series {
		for _, sample := range series.Values {
			if finite(sample.Value) {
				highest = max(highest, sample.Value)
			}
		}
	}
	return highest
}

// tick is a mark on an axis.
type tick[T any] struct {
	at    T
	label string
}

// valueTicks returns round numbers from 0 up to the first that isn't below the
// highest value. Bytes are round in a unit such as KiB.
func valueTicks(highest float64, unit string) (ticks []tick[float64]) {
	if highest == 0 {
		highest = 1 // draws a line of zeros at the bottom
	}
	scale, prefix := prefixOf(highest, unit)
	least := highest / scale / 5
	step := math.Pow(10, math.Floor(math.Log10(least)))
	for _, factor := range []float64{2, 2.5, 2, 1} { // 2, 5, 10
		if step >= least {
			break
		}
		step *= factor
	}
	if unit == "count" && scale == 1 {
		step = max(step, 1)
	}
	for i := 0; ; i++ {
		value := float64(i) * step
		t := tick[float64]{value * scale, strconv.FormatFloat(value, 'g', 4, 64)}
		if i > 0 {
			t.label += prefix
		}
		if ticks = append(ticks, t); t.at >= highest {
			return ticks
		}
	}
}

// timeTicks returns at most eight round times. The first tick of a day shows
// the date.
func timeTicks(first, last time.Time) (ticks []tick[time.Time]) {
	step := 7 * 24 * time.Hour
	for _, minutes := range []time.Duration{1, 2, 5, 10, 15, 30, 60, 2 * 60, 3 * 60, 6 * 60, 12 * 60, 24 * 60, 2 * 24 * 60} {
		if last.Sub(first)/(minutes*time.Minute) < 8 {
			step = minutes * time.Minute
			break
		}
	}
	_, offset := first.Zone() // Truncate ignores the zone
	zone := time.Duration(offset) * time.Second
	for t := first.Add(zone).Truncate(step).Add(-zone); !t.After(last); t = t.Add(step) {
		if t.Before(first) {
			continue
		}
		layout := "15:04"
		if step >= 24*time.Hour || t.Hour() == 0 && t.Minute() == 0 {
			layout = "Jan 2"
		}
		ticks = append(ticks, tick[time.Time]{t, t.Format(layout)})
	}
	return ticks
}
