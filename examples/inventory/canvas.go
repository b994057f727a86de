package main

import (
	"fmt"
	"html"
	"strings"
)

// canvas is the body of an SVG picture.
type canvas struct{ strings.Builder }

// style is the fill and outline color of a shape.
type style struct{ fill, stroke string }

func (c *canvas) box(x, y, w, h, radius float64, s style) {
	fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f" fill="%s" stroke="%s"/>`+"\n", x, y, w, h, radius, s.fill, s.stroke)
}

func (c *canvas) line(x1, y1, x2, y2 float64, color string) {
	fmt.Fprintf(c, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="1.5"/>`+"\n", x1, y1, x2, y2, color)
}

func (c *canvas) dot(x, y, radius float64, color string) {
	fmt.Fprintf(c, `<circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s"/>`+"\n", x, y, radius, color)
}

// cylinder draws the symbol of a database.
func (c *canvas) cylinder(x, y, w, h float64, s style) {
	const lid = 6.0
	fmt.Fprintf(c, `<path d="M%.1f %.1f v%.1f a%.1f %.1f 0 0 0 %.1f 0 v%.1f" fill="%s" stroke="%s"/>`+"\n",
		x, y+lid, h-2*lid, w/2, lid, w, -(h - 2*lid), s.fill, s.stroke)
	fmt.Fprintf(c, `<ellipse cx="%.1f" cy="%.1f" rx="%.1f" ry="%.1f" fill="%s" stroke="%s"/>`+"\n", x+w/2, y+lid, w/2, lid, tile.fill, s.stroke)
}

// begin starts a group that shows the text under the mouse pointer.
func (c *canvas) begin(text string) {
	fmt.Fprintf(c, "<g><title>%s</title>\n", html.EscapeString(text))
}

func (c *canvas) end() { c.WriteString("</g>\n") }

// font is the appearance of a text.
type font struct {
	size  float64
	bold  bool
	color string
}

// text writes a text that begins at x, cut to the width.
func (c *canvas) text(x, y, width float64, f font, text string) {
	c.anchored(x, y, width, f, "start", text)
}

// textLeft writes a text that ends at x.
func (c *canvas) textLeft(x, y, width float64, f font, text string) {
	c.anchored(x, y, width, f, "end", text)
}

func (c *canvas) anchored(x, y, width float64, f font, anchor, text string) {
	weight := 400
	if f.bold {
		weight = 600
	}
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" font-size="%g" font-weight="%d" text-anchor="%s" fill="%s">%s</text>`+"\n",
		x, y, f.size, weight, anchor, f.color, html.EscapeString(f.fit(text, width)))
}

// fit shortens a text to the width, in its middle: names often differ only at
// their ends.
func (f font) fit(text string, width float64) string {
	runes := []rune(text)
	for n := len(runes); f.width(text) > width && n > 0; n-- {
		text = string(runes[:n/2]) + "…" + string(runes[len(runes)-(n-1)/2:])
	}
	return text
}

// cut shortens a text to the width, at its end.
func (f font) cut(text string, width float64) string {
	runes := []rune(text)
	for n := len(runes) - 1; f.width(text) > width && n >= 0; n-- {
		text = string(runes[:n]) + "…"
	}
	return text
}

// width is the approximate width of a text in the widest of the usual fonts.
func (f font) width(text string) float64 {
	var width float64
	for _, r := range text {
		switch {
		case strings.ContainsRune("ijl.,:;|!'/ ", r):
			width += 0.36
		case strings.ContainsRune("frt-()1", r):
			width += 0.48
		case strings.ContainsRune("mwMW@%…", r):
			width += 0.98
		case 'A' <= r && r <= 'Z':
			width += 0.72
		default:
			width += 0.63
		}
	}
	if f.bold {
		width *= 1.08
	}
	return width * f.size
}
