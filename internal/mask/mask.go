// Package mask keeps secrets out of what is shown. It replaces them in texts and
// errors, and finds them in a Go value: structs with a Reveal method, and with a
// MarshalText method that returns a masked text.
package mask

import (
	"bytes"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Redacted replaces a secret.
const Redacted = "[redacted]"

// IsMasked says what is wrong with a value that contains [Redacted].
const IsMasked = "is the masked form of a Secret: use the result of Reveal"

// In reports whether a text contains the masked form of a secret.
func In(text string) bool { return strings.Contains(text, Redacted) }

// InJSON reports whether a JSON text contains the masked form of a secret. A
// string may contain it with other text, such as a URL from fmt.Sprint.
func InJSON(text []byte) bool { return bytes.Contains(text, []byte(Redacted)) }

// minSecret is the minimum length of a masked value, in bytes. Shorter values
// protect nothing, and occur in any text.
const minSecret = 6

// Secrets are values that texts must not show, the longest first, since a secret
// may be part of another.
type Secrets []string

// New returns the values that are long enough to be secrets. It modifies the
// slice.
func New(values []string) Secrets {
	values = slices.DeleteFunc(values, func(s string) bool { return len(s) < minSecret })
	slices.SortStableFunc(values, func(a, b string) int { return len(b) - len(a) })
	return values
}

// encodings are the forms in which a response may repeat a secret.
var encodings = []func(string) string{
	func(s string) string { return jsonText(s, true) },
	func(s string) string { return jsonText(s, false) },
	html.EscapeString,
	url.QueryEscape,
	url.PathEscape,
}

// Mask returns the text with its secrets replaced, plain or encoded. If a JSON
// string in the text has a secret in an unusual spelling, Mask returns only
// [Redacted]: an error's details are shown decoded.
func (secrets Secrets) Mask(text string) string {
	text = secrets.replace(text)
	if strings.Contains(text, `\`) {
		decoded := escapes.ReplaceAllStringFunc(text, decodeEscapes)
		if secrets.replace(decoded) != decoded {
			return Redacted
		}
	}
	return text
}

func (secrets Secrets) replace(text string) string {
	encoded := strings.ContainsAny(text, `\&%+`)
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, Redacted)
		for i := 0; encoded && i < len(encodings); i++ {
			text = strings.ReplaceAll(text, encodings[i](secret), Redacted)
		}
	}
	return text
}

// escapes are successive escapes of a JSON string.
var escapes = regexp.MustCompile(`(?:\\u[0-9a-fA-F]{4}|\\["\\/bfnrt])+`)

func decodeEscapes(text string) (decoded string) {
	_ = json.Unmarshal([]byte(`"`+text+`"`), &decoded) // can't fail
	return decoded
}

// jsonText returns the JSON encoding of a text, without the quotes.
func jsonText(s string, escapeHTML bool) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapeHTML)
	_ = encoder.Encode(s) // encoding a string can't fail
	quoted := strings.TrimSpace(b.String())
	return quoted[1 : len(quoted)-1]
}
