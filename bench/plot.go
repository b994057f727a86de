package main

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// colors of the contestants, in their order.
var colors = []color.Color{
	color.RGBA{0x1b, 0x5e, 0x9e, 0xff},
	color.RGBA{0xe0, 0x7b, 0x39, 0xff},
	color.RGBA{0x8e, 0xae, 0x50, 0xff},
	color.RGBA{0x9b, 0x9b, 0x9b, 0xff},
	color.RGBA{0x7a, 0x5a, 0xa6, 0xff},
	color.RGBA{0xc0, 0x4a, 0x4a, 0xff},
}

// plotCalls draws the first table: one group of bars for each workload.
func plotCalls(file string, results []callResult) error {
	p := plot.New()
	p.Title.Text = "Time of a call, as a multiple of the same by hand"
	p.Y.Label.Text = "ratio"
	p.Y.Min = 0
	p.Legend.Top = true
	p.Legend.Left = true
	p.Add(plotter.NewGrid())

	const width = font.Length(9)
	var labels []string
	for _, r := range results {
		labels = append(labels, r.workload.name)
	}
	for i, contestant := range peers {
		values := make(plotter.Values, len(results))
		for j, r := range results {
			values[j] = r.samples[contestant.name].ratio
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return err
		}
		bars.Color = colors[i]
		bars.LineStyle.Width = 0
		bars.Offset = width * (font.Length(i) - font.Length(len(peers)-1)/2)
		p.Add(bars)
		p.Legend.Add(contestant.name, bars)
	}
	floor := plotter.NewFunction(func(float64) float64 { return 1 })
	floor.Width = vg.Points(1.2)
	p.Add(floor)
	p.Legend.Add("by hand", floor)
	p.NominalX(labels...)
	return p.Save(36*vg.Centimeter, 14*vg.Centimeter, file)
}
