// Package ruby parses and formats values as the real server does, which is
// written in Ruby.
package ruby

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Member is a field of a JSON object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members returns the fields of a JSON object in their order; other values have
// none.
func Members(raw json.RawMessage) []Member {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, _ := d.Token(); open != json.Delim('{') {
		return nil
	}
	var found []Member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return found
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return found
		}
		found = append(found, Member{name.(string), value})
	}
	return found
}

// Class returns the Ruby class of a JSON value.
func Class(raw json.RawMessage) string {
	switch raw = bytes.TrimSpace(raw); raw[0] {
	case '{':
		return "Hash"
	case '[':
		return "Array"
	case '"':
		return "String"
	case 't':
		return "TrueClass"
	case 'f':
		return "FalseClass"
	case 'n':
		return "NilClass"
	}
	if bytes.ContainsAny(raw, ".eE") {
		return "Float"
	}
	return "Integer"
}

// Inspect returns a JSON value in the form of Ruby's inspect.
func Inspect(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	switch Class(raw) {
	case "Hash":
		var parts []string
		for _, m := range Members(raw) {
			parts = append(parts, Quote(m.Name)+" => "+Inspect(m.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case "Array":
		var elements []json.RawMessage
		_ = json.Unmarshal(raw, &elements) // raw is part of a valid document
		parts := make([]string, len(elements))
		for i, e := range elements {
			parts[i] = Inspect(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case "String":
		var s string
		_ = json.Unmarshal(raw, &s)
		return Quote(s)
	case "Float":
		f, _ := strconv.ParseFloat(string(raw), 64) // out of range is infinity, as in Ruby
		return Float(f)
	case "NilClass":
		return "nil"
	}
	return string(raw)
}

// Float formats a number, in JSON too, always with a fraction.
func Float(f float64) string {
	format := byte('f')
	if abs := math.Abs(f); abs >= 1e16 || abs > 0 && abs < 1e-4 {
		format = 'e'
	}
	s := strconv.FormatFloat(f, format, -1, 64)
	mantissa, exponent, hasExponent := strings.Cut(s, "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if hasExponent {
		return mantissa + "e" + exponent
	}
	return mantissa
}

func Strings(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = Quote(v)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// Quote returns a string in the form of Ruby's inspect.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch escape := strings.IndexRune("\"\\\n\t\r\f\v\b\a\x1b", r); {
		case escape >= 0:
			b.WriteString(`\` + `"\ntrfvbae`[escape:escape+1])
		case r == '#' && len(s) > i+1 && strings.IndexByte("{$@", s[i+1]) >= 0:
			b.WriteString(`\#`)
		case r == 0x7f:
			b.WriteString(`\x7F`)
		case strconv.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\u{%X}`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
