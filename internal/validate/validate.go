// Package validate checks the address of a server, the segments of a path,
// tokens, headers, and public keys. Each check returns what is wrong, or "".
package validate

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/cloudapi-sdk/cloudapi/internal/mask"
)

const maxSegment = 255

// Segment checks a path segment. A valid segment can't lead to another route,
// and needs no percent-encoding, which the server wouldn't decode.
func Segment(s string) string {
	switch {
	case s == "":
		return "must not be empty"
	case s == "." || s == "..":
		return "must not be a relative path"
	case len(s) > maxSegment:
		return fmt.Sprintf("has %d characters, at most %d are possible", len(s), maxSegment)
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', 'A' <= c && c <= 'Z',
			c == '-', c == '.', c == '_', c == '~':
		default:
			return "may only contain letters, digits, and the characters - . _ ~"
		}
	}
	return ""
}

// Pasted checks a setting for what a file or a variable may have around it:
// docker's --env-file keeps quotes, and editors add line breaks.
func Pasted(s string) string {
	switch {
	case strings.TrimSpace(s) != s:
		return "begins or ends with white space, such as a line break: remove it"
	case strings.Trim(s, `"'`) != s:
		return "begins or ends with a quote: remove it"
	}
	return ""
}

// BaseURL parses the address of a server, which may have a path. The result
// shown is the address for errors, without what may be a password.
func BaseURL(address string) (u *url.URL, shown, reason string) {
	u, err := url.Parse(address)
	shown = address
	if end := strings.IndexAny(shown, "?#"); end >= 0 {
		shown = shown[:end]
	}
	if strings.Contains(address, "@") { // even after a "?" or "#": a password may contain these
		shown = ""
	}
	if reason := Pasted(address); reason != "" {
		return nil, shown, reason
	}
	switch {
	case !strings.Contains(address, ":/"): // url.Parse takes the host in "localhost:8080" for a scheme
		return nil, shown, "has no scheme: it must begin with https:// or http://"
	case err != nil: // err shows the address, which may contain a password
		return nil, shown, "cannot be parsed" + unparsed(address, err)
	case u.User != nil:
		return nil, shown, "must not have user information"
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, shown, "must begin with https:// or http://"
	case u.Hostname() == "":
		return nil, shown, "has no host"
	case !isPort(u.Port()):
		return nil, shown, "has a port that isn't 1 to 65535"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, shown, "must not have a query or a fragment"
	}
	prefix := strings.Trim(u.EscapedPath(), "/")
	if prefix != "" {
		for segment := range strings.SplitSeq(prefix, "/") {
			if reason := Segment(segment); reason != "" {
				return nil, shown, "has a path whose segment " + reason
			}
		}
		prefix = "/" + prefix
	}
	u.Path, u.RawPath = prefix, ""
	return u, shown, ""
}

// unparsed returns a clause for an error of url.Parse.
func unparsed(address string, err error) string {
	switch {
	case strings.ContainsFunc(address, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return ": it has a space or a control character"
	case strings.Contains(err.Error(), "invalid port"):
		return ": its port isn't a number"
	}
	return ""
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return s == "" || err == nil && n > 0
}

// Token checks a bearer token. The reason never contains the token.
func Token(token string) string {
	switch {
	case token == "":
		return "must not be empty"
	case mask.In(token):
		return mask.IsMasked
	}
	for i := range len(token) {
		if c := token[i]; c <= ' ' || c >= 0x7f {
			return fmt.Sprintf("has a character at position %d of %d that cannot be sent: "+
				"a space, a line break, or one outside ASCII", i+1, len(token))
		}
	}
	return Pasted(token)
}

// Header checks a header that a program adds; its name is in canonical form.
func Header(name, value string) string {
	switch name {
	case "Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Host", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "User-Agent":
		return "is set by the SDK"
	case "Idempotency-Key", "X-Idempotency-Key":
		return "would let net/http retry a create"
	}
	if !IsName(name) {
		return "is not a header name"
	}
	if mask.In(value) {
		return "has a value that " + mask.IsMasked
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return "has a value with a control character"
		}
	}
	return ""
}

// PublicKey checks lines in the format of an authorized_keys file. It refuses a
// private key, and a byte order mark, which makes the key after it useless. The
// server checks the rest.
func PublicKey(text string) string {
	if strings.Contains(text, "----") && strings.Contains(text, "PRIVATE KEY") || strings.Contains(text, "PuTTY-User-Key-File-") {
		return "is a private key: use the public key, such as the file with the same name and .pub"
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "\uFEFF") {
			return "has a byte order mark (U+FEFF) at the beginning of a line"
		}
	}
	return ""
}

// UserAgent checks a part of a User-Agent header.
func UserAgent(text string) string {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f {
			return "must be printable ASCII"
		}
	}
	return ""
}

const nameCharacters = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// IsName reports whether a text can be the name of a header or an HTTP
// method.
func IsName(s string) bool { return s != "" && strings.Trim(s, nameCharacters) == "" }
