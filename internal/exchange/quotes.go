package exchange

import (
	"errors"
	"strings"
)

// Unquoted returns the text of an error up to what net/http quotes from a
// malformed response. The text of a transport's own error is unchanged.
func Unquoted(err error) string {
	text, _, quotes := strings.Cut(err.Error(), `"`)
	if !quotes || errors.Is(err, errOwn) {
		return err.Error()
	}
	return strings.TrimRight(text, " :")
}
