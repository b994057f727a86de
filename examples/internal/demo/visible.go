package demo

import (
	"strconv"
	"strings"
	"unicode"
)

// Visible returns a text that a terminal shows and does not execute: each
// character that cannot be printed is replaced by its escape sequence in Go.
func Visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\t' || unicode.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
	}
	return b.String()
}
