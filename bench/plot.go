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

// right is where the scale of the picture ends.
const right = 2.75

// plot draws the contest: a line for each workload, and on it a mark for each
// contestant, at its time as a multiple of the floor's.
func (r *report) plot(file string) error {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	p := plot.New()
	p.Title.Text = "Time beside the same by hand: left is faster"
	p.Title.TextStyle.Font.Size = font.Points(14)
	p.Title.Padding = vg.Points(6)
	p.X.Label.Text = "multiple of net/http and encoding/json by hand"
	p.X.Label.Padding = vg.Points(6)
	p.X.Min, p.X.Max = 0, right
	p.Y.Min, p.Y.Max = -0.6, float64(len(r.contest))-0.4
	p.Y.Tick.Length, p.Y.Width = 0, 0
	p.X.Tick.Marker = plot.TickerFunc(func(_, _ float64) []plot.Tick {
		var ticks []plot.Tick
		for v := 0.0; v <= right; v += 0.5 {
			ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.1f", v)})
		}
		return ticks
	})
	p.Legend.Padding, p.Legend.XOffs, p.Legend.YOffs = vg.Points(3), vg.Points(-6), vg.Points(10)
	p.Legend.TextStyle.Font.Size = font.Points(11)

	var names []plot.Tick
	for i := range r.contest {
		y := float64(len(r.contest) - 1 - i)
		names = append(names, plot.Tick{Value: y, Label: r.contest[i].what})
		if err := addLine(p, plotter.XYs{{X: 0, Y: y}, {X: right, Y: y}}, color.Gray{0xe4}, 0.8); err != nil {
			return err
		}
	}
	p.Y.Tick.Marker = plot.ConstantTicks(names)
	if err := addLine(p, plotter.XYs{{X: 1, Y: p.Y.Min}, {X: 1, Y: p.Y.Max}}, color.Gray{0x50}, 1.4); err != nil {
		return err
	}

	legend := map[string]plot.Thumbnailer{}
	// The SDK last, so that nothing covers it.
	for _, contestant := range slices.Backward(peers) {
		var marks plotter.XYs
		var labels []string
		for i, c := range r.contest {
			if e, ok := c.entries[contestant.name]; ok {
				marks = append(marks, plotter.XY{X: min(e.ratio, right), Y: float64(len(r.contest) - 1 - i)})
				labels = append(labels, fmt.Sprintf("%.2f", e.ratio))
			}
		}
		scatter, err := plotter.NewScatter(marks)
		if err != nil {
			return err
		}
		scatter.GlyphStyle = looks[contestant.name]
		p.Add(scatter)
		legend[contestant.name] = scatter
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
			values.TextStyle[i].Font = font.From(plot.DefaultFont, font.Points(9))
		}
		p.Add(values)
	}

	for _, contestant := range peers {
		p.Legend.Add(contestant.name, legend[contestant.name])
	}

	const width, height, margin = 26 * vg.Centimeter, 15 * vg.Centimeter, vg.Centimeter / 3
	image := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(160), vgimg.UseBackgroundColor(color.White))}
	p.Draw(draw.Crop(draw.NewCanvas(image, width, height), margin, -margin, margin, -margin))
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
