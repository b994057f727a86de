package main

import (
	"fmt"
	"html"
	"math"
	"os"
	"slices"
	"strings"
)

// look is the mark of a contestant: its color and its shape.
type look struct{ color, shape string }

// looks of the contestants, by name.
var looks = map[string]look{
	sdk:             {"#0b5cad", `<circle r="10" fill="%s"/>`},
	"oapi-codegen":  {"#d95f02", `<rect x="-6" y="-6" width="12" height="12" fill="%s"/>`},
	"resty":         {"#3f8a2e", `<path d="M0-8 8 6H-8z" fill="#fff" stroke="%s" stroke-width="2"/>`},
	"retryablehttp": {"#6b6b6b", `<circle r="6.5" fill="#fff" stroke="%s" stroke-width="2"/>`},
	"godo":          {"#7b4fa3", `<path d="M0-8 8 6H-8z" fill="%s"/>`},
	"hcloud-go":     {"#c22f3d", `<rect x="-6" y="-6" width="12" height="12" fill="#fff" stroke="%s" stroke-width="2"/>`},
}

// Positions in the picture, in pixels.
const (
	pictureWidth   = 1300
	left, right    = 250.0, pictureWidth - 40.0 // of the area with the marks
	legendY, top   = 78.0, 110.0
	rowHeight      = 56.0
	belowRows      = 80.0
	grid, ink, dim = "#e4e4e4", "#222", "#555"
)

// plot draws the results: a line for each workload with a mark for each
// contestant, at its time as a multiple of the floor's.
func (r *report) plot(file string) error {
	most := 1.0
	for _, c := range r.contest {
		for _, e := range c.entries {
			most = max(most, e.ratio)
		}
	}
	most = math.Ceil(2*most) / 2
	x := func(ratio float64) float64 { return left + (right-left)*ratio/most }
	bottom := top + rowHeight*float64(len(r.contest))

	var b svg
	b.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" viewBox="0 0 %[1]d %.0[2]f" font-family="Helvetica, Arial, sans-serif" font-size="18">`, pictureWidth, bottom+belowRows)
	b.printf(`<rect width="100%%" height="100%%" fill="#fff"/>`)
	b.text(pictureWidth/2, 38, "middle", ink, `font-size="24"`, "Time beside the same by hand: left is faster")
	for i, contestant := range peers {
		at := left + (right-left)*float64(i)/float64(len(peers))
		b.mark(contestant.name, at+10, legendY)
		b.text(at+26, legendY+6, "start", ink, "", contestant.name)
	}
	for ratio := 0.0; ratio <= most; ratio += 0.5 {
		b.line(x(ratio), top, x(ratio), bottom+6, grid, 1)
		b.text(x(ratio), bottom+28, "middle", dim, "", fmt.Sprintf("%.1f", ratio))
	}
	b.text((left+right)/2, bottom+60, "middle", dim, "", "multiple of net/http and encoding/json by hand")
	y := func(row int) float64 { return top + rowHeight*(float64(row)+0.6) }
	for i, c := range r.contest {
		b.text(left-16, y(i)+6, "end", ink, "", c.what)
		b.line(left, y(i), right, y(i), grid, 1.5)
	}
	b.line(left, bottom, right, bottom, dim, 1.5)
	b.line(x(1), top, x(1), bottom, dim, 2.5)
	for i, c := range r.contest {
		for _, contestant := range slices.Backward(peers) { // the SDK last, so that no other mark covers it
			if e, ok := c.entries[contestant.name]; ok {
				b.mark(contestant.name, x(e.ratio), y(i))
			}
		}
		if e, ok := c.entries[sdk]; ok {
			b.text(x(e.ratio), y(i)-16, "middle", looks[sdk].color, `font-size="16" stroke="#fff" stroke-width="5" paint-order="stroke"`, fmt.Sprintf("%.2f", e.ratio))
		}
	}
	b.printf("</svg>")
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

// svg is the text of a picture.
type svg struct{ strings.Builder }

func (b *svg) printf(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }

func (b *svg) line(x1, y1, x2, y2 float64, color string, width float64) {
	b.printf(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%g"/>`, x1, y1, x2, y2, color, width)
}

func (b *svg) text(x, y float64, anchor, color, attributes, text string) {
	b.printf(`<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s" %s>%s</text>`, x, y, anchor, color, attributes, html.EscapeString(text))
}

// mark draws a contestant's mark, with its name as a tooltip.
func (b *svg) mark(name string, x, y float64) {
	look := looks[name]
	shape := fmt.Sprintf(look.shape, look.color)
	b.printf(`<g transform="translate(%.1f %.1f)"><title>%s</title>%s</g>`, x, y, html.EscapeString(name), shape)
}
