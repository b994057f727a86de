package demo

import (
	"strconv"
	"strings"
	"unicode"
)

// Visible returns a text that a terminal can only show. It replaces each
// unprintable character, which the terminal could execute, with its Go escape
// sequence.
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
