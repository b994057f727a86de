package main

import (
	"image/color"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

const (
	pictureWidth  = 16 * vg.Centimeter
	pictureHeight = 8 * vg.Centimeter
	columns       = 3 // of the picture of all metrics
)

var (
	lineColors = []color.NRGBA{
		{0x2f, 0x6d, 0xc4, 0xff}, {0xe0, 0x81, 0x2c, 0xff}, {0x2f, 0xa0, 0x67, 0xff}, {0xa4, 0x59, 0xc0, 0xff}, {0xc4, 0x9a, 0x16, 0xff},
	}
	ink  = color.NRGBA{0x1f, 0x2a, 0x3d, 0xff}
	pale = color.NRGBA{0xe3, 0xe8, 0xf0, 0xff}
)

// savePictures draws each metric, and all of them as overview.png, and returns
// the files.
func savePictures(folder string, metrics []cloudapi.PostgresMetric) ([]string, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	var files []string
	for i, m := range metrics {
		file := filepath.Join(folder, filepath.Base(m.Key)+".png")
		if err := savePicture(file, metrics[i:i+1], 1); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	overview := filepath.Join(folder, "overview.png")
	return append(files, overview), savePicture(overview, metrics, min(columns, len(metrics)))
}

// savePicture draws metrics beside and below each other.
func savePicture(file string, metrics []cloudapi.PostgresMetric, columns int) (err error) {
	rows := (len(metrics) + columns - 1) / columns
	plots := make([][]*plot.Plot, rows)
	for i, m := range metrics {
		p, err := newPlot(m)
		if err != nil {
			return err
		}
		plots[i/columns] = append(plots[i/columns], p)
	}
	for len(plots[rows-1]) < columns {
		plots[rows-1] = append(plots[rows-1], nil) // an empty place
	}

	canvas := vgimg.New(vg.Length(columns)*pictureWidth, vg.Length(rows)*pictureHeight)
	tiles := draw.Tiles{
		Rows: rows, Cols: columns,
		PadTop: 4 * vg.Millimeter, PadBottom: 4 * vg.Millimeter, PadLeft: 4 * vg.Millimeter, PadRight: 6 * vg.Millimeter,
		PadX: 8 * vg.Millimeter, PadY: 8 * vg.Millimeter,
	}
	for y, row := range plot.Align(plots, tiles, draw.New(canvas)) {
		for x, place := range row {
			if plots[y][x] != nil {
				plots[y][x].Draw(place)
			}
		}
	}

	to, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if closed := to.Close(); err == nil {
			err = closed
		}
	}()
	_, err = vgimg.PngCanvas{Canvas: canvas}.WriteTo(to)
	return err
}

// newPlot draws a metric: a line for each of its series.
func newPlot(m cloudapi.PostgresMetric) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = m.Name
	p.Title.Padding = 3 * vg.Millimeter
	p.Y.Label.Text = m.Unit
	p.X.Tick.Marker = plot.TickerFunc(timeTicks)
	p.Y.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick { return valueTicks(low, high, m.Unit) })
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
		style.Color = ink
	}
	p.Title.TextStyle.Font.Size = 13
	p.Legend.TextStyle.Font.Size = 10
	p.Legend.Top = true
	p.Legend.Padding = vg.Millimeter
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = pale, pale
	p.Add(grid)

	p.Y.Min, p.Y.Max = 0, 0
	for i, series := range m.Series {
		if err := addSeries(p, series, lineColors[i%len(lineColors)], len(m.Series) == 1); err != nil {
			return nil, err
		}
	}
	if p.Y.Max == 0 {
		p.Y.Max = 1 // a line of zeros is at the bottom
	}
	if len(m.Series) > 1 {
		p.Y.Max *= 1.1 + 0.13*float64(len(m.Series)) // room for the legend
	}
	return p, nil
}

// addSeries adds a line with gaps where there is no number.
func addSeries(p *plot.Plot, series cloudapi.PostgresMetricSeries, c color.NRGBA, alone bool) error {
	var runs []plotter.XYs
	gap := true
	for _, sample := range series.Values {
		if math.IsNaN(sample.Value) || math.IsInf(sample.Value, 0) {
			gap = true
			continue
		}
		if gap {
			runs = append(runs, nil)
			gap = false
		}
		last := len(runs) - 1
		runs[last] = append(runs[last], plotter.XY{X: float64(sample.Time.Unix()), Y: sample.Value})
	}
	for i, run := range runs {
		line, err := plotter.NewLine(run)
		if err != nil {
			return err
		}
		line.Color, line.Width = c, vg.Points(1.6)
		if alone {
			line.FillColor = color.NRGBA{c.R, c.G, c.B, 0x28}
		}
		p.Add(line)
		switch {
		case i > 0 || len(series.Labels) == 0:
		case alone:
			p.Title.Text += ": " + label(series)
		default:
			p.Legend.Add(label(series), line)
		}
	}
	return nil
}

// valueTicks are round numbers, of bytes those of a unit such as KiB.
func valueTicks(low, high float64, unit string) []plot.Tick {
	scale := 1.0
	if isBytes(unit) {
		for high/scale >= 1024 {
			scale *= 1024
		}
	}
	ticks := plot.DefaultTicks{}.Ticks(low/scale, high/scale)
	for i := range ticks {
		ticks[i].Value *= scale
		if ticks[i].Label != "" {
			ticks[i].Label = humanize(ticks[i].Value, unit)
		}
	}
	return ticks
}

// timeTicks are at most eight times at which people would look at a clock.
func timeTicks(low, high float64) []plot.Tick {
	first, last := time.Unix(int64(low), 0), time.Unix(int64(high), 0)
	step, layout := 7*24*time.Hour, "15:04"
	for _, minutes := range []time.Duration{1, 2, 5, 10, 15, 30, 60, 2 * 60, 3 * 60, 6 * 60, 12 * 60, 24 * 60, 2 * 24 * 60} {
		if last.Sub(first)/(minutes*time.Minute) < 8 {
			step = minutes * time.Minute
			break
		}
	}
	if step >= 24*time.Hour {
		layout = "Jan 2"
	}
	_, offset := first.Zone() // Truncate knows nothing of it
	zone := time.Duration(offset) * time.Second
	var ticks []plot.Tick
	for t := first.Add(zone).Truncate(step).Add(-zone); !t.After(last); t = t.Add(step) {
		if !t.Before(first) {
			ticks = append(ticks, plot.Tick{Value: float64(t.Unix()), Label: t.Format(layout)})
		}
	}
	return ticks
}
