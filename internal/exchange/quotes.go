package exchange

import "strings"

// Unquoted returns the text of an error up to what net/http quotes from a
// malformed response. The text of a lasting error, such as that of a certificate,
// is unchanged: it quotes no response, and its type says that it's lasting.
func Unquoted(err error) string {
	text, _, quotes := strings.Cut(err.Error(), `"`)
	if !quotes || IsLasting(err) {
		return err.Error()
	}
	return strings.TrimRight(text, " :")
}
