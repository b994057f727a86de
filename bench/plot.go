package main

import (
	"fmt"
	"image/color"
	"os"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// looks of the contestants, by name.
var looks = map[string]draw.GlyphStyle{
	sdk:             {Color: color.RGBA{0x0b, 0x5c, 0xad, 0xff}, Shape: draw.CircleGlyph{}, Radius: vg.Points(6)},
	"oapi-codegen":  {Color: color.RGBA{0xd9, 0x5f, 0x02, 0xff}, Shape: draw.BoxGlyph{}, Radius: vg.Points(3.6)},
	"resty":         {Color: color.RGBA{0x4d, 0x9a, 0x3a, 0xff}, Shape: draw.TriangleGlyph{}, Radius: vg.Points(4.4)},
	"retryablehttp": {Color: color.RGBA{0x80, 0x80, 0x80, 0xff}, Shape: draw.RingGlyph{}, Radius: vg.Points(4)},
	"godo":          {Color: color.RGBA{0x7b, 0x4f, 0xa3, 0xff}, Shape: draw.PyramidGlyph{}, Radius: vg.Points(4.4)},
	"hcloud-go":     {Color: color.RGBA{0xc2, 0x2f, 0x3d, 0xff}, Shape: draw.SquareGlyph{}, Radius: vg.Points(4)},
}

// plot draws the contest: a line for each workload, and on it a mark for each
// contestant, at its time as a multiple of the floor's.
func (r *report) plot(file string) error {
	p := plot.New()
	p.Title.Text = "Time beside the same by hand: left is faster"
	p.Title.TextStyle.Font.Size = font.Points(14)
	p.Title.Padding = vg.Points(12)
	p.X.Label.Text = "multiple of net/http and encoding/json by hand"
	p.X.Label.Padding = vg.Points(6)
	p.X.Min, p.X.Max = 0, 3
	p.Y.Min, p.Y.Max = -0.6, float64(len(r.contest))-0.4
	p.Y.Tick.Length, p.Y.Width = 0, 0
	p.X.Tick.Marker = plot.TickerFunc(func(_, _ float64) []plot.Tick {
		var ticks []plot.Tick
		for v := 0.0; v <= 3; v += 0.5 {
			ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.1f", v)})
		}
		return ticks
	})
	p.Legend.Top, p.Legend.XOffs, p.Legend.Padding = false, vg.Points(-6), vg.Points(3)
	p.Legend.YOffs = vg.Points(8)

	var names []plot.Tick
	for i := range r.contest {
		y := float64(len(r.contest) - 1 - i)
		names = append(names, plot.Tick{Value: y, Label: r.contest[i].what})
		if err := addLine(p, plotter.XYs{{X: 0, Y: y}, {X: 3, Y: y}}, color.Gray{0xe4}, 0.8); err != nil {
			return err
		}
	}
	p.Y.Tick.Marker = plot.ConstantTicks(names)
	if err := addLine(p, plotter.XYs{{X: 1, Y: p.Y.Min}, {X: 1, Y: p.Y.Max}}, color.Gray{0x50}, 1.4); err != nil {
		return err
	}

	// The SDK last, so that nothing covers it.
	for _, contestant := range slices.Backward(peers) {
		var marks plotter.XYs
		var labels []string
		for i, c := range r.contest {
			if e, ok := c.entries[contestant.name]; ok {
				marks = append(marks, plotter.XY{X: min(e.ratio, 3), Y: float64(len(r.contest) - 1 - i)})
				labels = append(labels, fmt.Sprintf("%.2f", e.ratio))
			}
		}
		scatter, err := plotter.NewScatter(marks)
		if err != nil {
			return err
		}
		scatter.GlyphStyle = looks[contestant.name]
		p.Add(scatter)
		p.Legend.Add(contestant.name, scatter)
		if contestant.name != sdk {
			continue
		}
		values, err := plotter.NewLabels(plotter.XYLabels{XYs: marks, Labels: labels})
		if err != nil {
			return err
		}
		values.Offset = vg.Point{Y: vg.Points(8)}
		for i := range values.TextStyle {
			values.TextStyle[i].XAlign = text.XCenter
			values.TextStyle[i].Color = scatter.Color
			values.TextStyle[i].Font.Size = font.Points(9)
		}
		p.Add(values)
	}

	image := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(26*vg.Centimeter, 15*vg.Centimeter), vgimg.UseDPI(160))}
	p.Draw(draw.NewCanvas(image, 26*vg.Centimeter, 15*vg.Centimeter))
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := image.WriteTo(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func addLine(p *plot.Plot, points plotter.XYs, c color.Color, width float64) error {
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = c, vg.Points(width)
	p.Add(line)
	return nil
}
