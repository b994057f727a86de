// Package mask keeps secrets out of what is shown. It replaces them in texts and
// errors, and finds them in a Go value: structs with a Reveal method, and with a
// MarshalText method that returns a masked text.
package mask

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Redacted replaces a secret.
const Redacted = "[redacted]"

// minSecret is the minimum length of a masked value, in bytes. Shorter values
// protect nothing, and occur in any text.
const minSecret = 6

// Secrets are values that texts must not show.
type Secrets []string

// New returns the values that are long enough to be secrets. It modifies the
// slice.
func New(values []string) Secrets {
	return slices.DeleteFunc(values, func(s string) bool { return len(s) < minSecret })
}

// maxNesting is how many levels of JSON within JSON are examined. Real texts
// have two or three, but a short text can have thousands.
const maxNesting = 8

// occurIn reports whether a text contains one of the secrets, plain or in any
// JSON encoding, even JSON within JSON. It also returns true for a text with
// too many levels, which may contain one.
func (secrets Secrets) occurIn(text string) bool {
	for range maxNesting {
		if slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(text, s) }) {
			return true
		}
		if !strings.Contains(text, `\`) {
			return false
		}
		text = unescaped(text)
	}
	return len(secrets) > 0
}

// Mask returns the text with its secrets replaced. It replaces the whole text
// with [Redacted] if a secret has an uncommon JSON encoding, or if the text has
// too many levels of JSON.
func (secrets Secrets) Mask(text string) string {
	if !secrets.occurIn(text) {
		return text
	}
	if text = secrets.replacer().Replace(text); secrets.occurIn(text) {
		return Redacted
	}
	return text
}

func (secrets Secrets) replacer() *strings.Replacer {
	// The longest first, since a secret may be part of another.
	longest := slices.Clone(secrets)
	slices.SortFunc(longest, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, secret := range longest {
		pairs = append(pairs, secret, Redacted, jsonString(secret, true), Redacted, jsonString(secret, false), Redacted)
	}
	return strings.NewReplacer(pairs...)
}

func unescaped(s string) string {
	var out []byte
	for {
		before, escape, _ := strings.Cut(s, `\`)
		out = append(out, before...)
		if escape == "" {
			return string(out)
		}
		s = s[len(before):]
		control := strings.IndexByte("bfnrt", escape[0])
		unit, ok := escapedUnit(s)
		switch {
		case ok:
			s = s[6:]
			if second, ok := escapedUnit(s); ok && utf16.DecodeRune(unit, second) != utf8.RuneError {
				unit, s = utf16.DecodeRune(unit, second), s[6:]
			}
			out = utf8.AppendRune(out, unit)
		case control >= 0:
			out, s = append(out, "\b\f\n\r\t"[control]), s[2:]
		case escape[0] == '\\':
			out, s = append(out, '\\'), s[2:]
		default:
			s = escape
		}
	}
}

// escapedUnit returns the UTF-16 unit of an escape, such as \u00e9, at the
// beginning of a text.
func escapedUnit(s string) (unit rune, ok bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	code, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(code), err == nil
}

// jsonString returns the JSON encoding of a text, without the quotes.
func jsonString(s string, escapeHTML bool) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapeHTML)
	_ = encoder.Encode(s) // encoding a string can't fail
	quoted := strings.TrimSpace(b.String())
	return quoted[1 : len(quoted)-1]
}
