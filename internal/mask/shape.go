package mask

import "strings"

// Shape returns JSON, or its beginning, with string values replaced, so that it
// shows the shape but not the content.
func Shape(s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, `"`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		end := 0
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(rest) {
			b.WriteString(`"…`)
			return b.String()
		}
		after := rest[end+1:]
		if strings.HasPrefix(strings.TrimLeft(after, " \t\r\n"), ":") {
			b.WriteString(`"` + rest[:end] + `"`)
		} else {
			b.WriteString(`"…"`)
		}
		s = after
	}
}
