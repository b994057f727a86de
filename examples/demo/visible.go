package demo

import (
	"strconv"
	"strings"
	"unicode"
)

// Visible replaces each unprintable character of a text with its Go escape
// sequence. Otherwise a terminal could execute it.
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
