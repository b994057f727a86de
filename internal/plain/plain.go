// Package plain puts text of unknown origin into a form for errors and log
// lines: short, of one line, and without what a terminal would interpret. It
// knows no secrets; see package mask.
package plain

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine returns a text of unknown origin in a form for one line of an error:
// only printable characters, and cut after 500 bytes.
func OneLine(s string) string {
	const max = 500
	text, cut := Excerpt(s, max)
	if cut {
		text += "…"
	}
	return text
}

// Name returns a name that a server may have sent, in a form for one line. It
// returns a Go string literal if a reader could mistake the name for other text,
// or if a terminal would interpret it.
func Name(s string) string {
	const max = 100
	isPlain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.~:@+ ", r)
	}
	text, cut := Truncate(s, max)
	quoted := strconv.Quote(text)
	switch {
	case cut:
		return quoted + "…"
	case strings.Join(strings.Fields(s), " ") != s || strings.ContainsFunc(s, func(r rune) bool { return !isPlain(r) }):
		return quoted
	}
	return s
}

// Excerpt returns at most max bytes of s, cut at a character. It replaces
// unprintable characters with spaces, and invalid UTF-8 with U+FFFD.
func Excerpt(s string, max int) (text string, cut bool) {
	s, cut = Truncate(strings.ToValidUTF8(s, "\uFFFD"), max)
	clean := func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}
	return strings.TrimSpace(strings.Map(clean, s)), cut
}

// Truncate returns at most max bytes of s, and no part of a character.
func Truncate(s string, max int) (text string, cut bool) {
	if len(s) <= max {
		return s, false
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max], true
}
