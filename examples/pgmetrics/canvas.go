package main

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// canvas is a picture to draw on. Its units are pixels, from the top left.
type canvas struct{ *image.RGBA }

func newCanvas(width, height int) canvas {
	c := canvas{image.NewRGBA(image.Rect(0, 0, width, height))}
	draw.Draw(c, c.Bounds(), image.White, image.Point{}, draw.Src)
	return c
}

// save writes the picture into a PNG file.
func (c canvas) save(file string) error {
	to, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := png.Encode(to, c); err != nil {
		to.Close()
		return err
	}
	return to.Close()
}

type point struct{ x, y float64 }

// fill fills polygons. Polygons that overlap must have the same orientation.
func (c canvas) fill(col color.Color, polygons ...[]point) {
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, polygon := range polygons {
		for _, p := range polygon {
			low, high = point{min(low.x, p.x), min(low.y, p.y)}, point{max(high.x, p.x), max(high.y, p.y)}
		}
	}
	box := image.Rect(int(low.x), int(low.y), int(high.x)+1, int(high.y)+1)
	r := vector.NewRasterizer(box.Dx(), box.Dy())
	for _, polygon := range polygons {
		for i, p := range polygon {
			x, y := float32(p.x-float64(box.Min.X)), float32(p.y-float64(box.Min.Y))
			if i == 0 {
				r.MoveTo(x, y)
			} else {
				r.LineTo(x, y)
			}
		}
		r.ClosePath()
	}
	r.Draw(c, box, image.NewUniform(col), image.Point{})
}

// line draws a line through points, with round ends and corners.
func (c canvas) line(col color.Color, width float64, points ...point) {
	const corners = 12
	half := width / 2
	var polygons [][]point
	for i, p := range points {
		disc := make([]point, corners)
		for k := range disc {
			sin, cos := math.Sincos(2 * math.Pi * float64(k) / corners)
			disc[k] = point{p.x + half*cos, p.y + half*sin}
		}
		polygons = append(polygons, disc)
		if i == 0 {
			continue
		}
		q := points[i-1]
		if length := math.Hypot(p.x-q.x, p.y-q.y); length > 0 {
			dx, dy := half*(p.x-q.x)/length, half*(p.y-q.y)/length
			polygons = append(polygons, []point{{q.x + dy, q.y - dx}, {p.x + dy, p.y - dx}, {p.x - dy, p.y + dx}, {q.x - dy, q.y + dx}})
		}
	}
	c.fill(col, polygons...)
}

// Alignments of a text relative to its point.
const (
	before = -1
	around = -0.5
	behind = 0
)

// text draws a text that is vertically centered at the point, and returns its
// left end.
func (c canvas) text(face font.Face, col color.Color, at point, align float64, text string) (begin float64) {
	width := float64(font.MeasureString(face, text)) / 64
	at.x += align * width
	at.y += float64(face.Metrics().CapHeight) / 64 / 2
	drawer := font.Drawer{Dst: c, Src: image.NewUniform(col), Face: face, Dot: fixed.Point26_6{X: fixed.Int26_6(64 * at.x), Y: fixed.Int26_6(64 * at.y)}}
	drawer.DrawString(text)
	return at.x
}

// fonts are the faces for the texts of a picture.
type fonts struct{ bold, large, small font.Face }

// newFonts returns fonts. The small one has the given height.
func newFonts(height float64) (f fonts, err error) {
	for _, face := range []struct {
		to   *font.Face
		ttf  []byte
		size float64
	}{
		{&f.bold, gobold.TTF, 1.35 * height}, {&f.large, goregular.TTF, 1.15 * height}, {&f.small, goregular.TTF, height},
	} {
		parsed, err := opentype.Parse(face.ttf)
		if err != nil {
			return f, err
		}
		if *face.to, err = opentype.NewFace(parsed, &opentype.FaceOptions{Size: face.size, DPI: 72, Hinting: font.HintingNone}); err != nil {
			return f, err
		}
	}
	return f, nil
}
