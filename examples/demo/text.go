package demo

import (
	"strconv"
	"strings"
	"unicode"
)

// Printable returns a text that a server sent, such as a name, for a person to
// read. It's a Go string literal if the text has characters that a terminal would
// interpret, or spaces that look like those of a table.
func Printable(text string) string {
	isOdd := func(r rune) bool { return !unicode.IsPrint(r) }
	if strings.ContainsFunc(text, isOdd) || strings.Join(strings.Fields(text), " ") != text {
		return strconv.Quote(text)
	}
	return text
}
