package cloudapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxExcerpt = 200

	// Secrets are looked for in more than the excerpt, so that none is cut at
	// its end and then not recognized.
	maxSearched = 16 << 10

	// Shorter values are not masked in texts of the server: they protect
	// nothing, and occur in any text.
	minSecret = 6
)

// redactor masks what the request holds of secrets in texts of the server,
// since some errors repeat the request. It is what a [strings.Replacer] takes:
// the secrets, as they are and as JSON spells them, of which there are two
// ways that are common, each with what stands for it.
type redactor []string

// redactor returns that of the call. What JSON spells in another way has a
// backslash, without which only the secrets as they are need to be looked for.
func (cl *call) redactor(backslash bool) redactor {
	cfg := &cl.client.config
	secrets := make([]string, 0, 8)
	secrets = append(secrets, cfg.token.Reveal())
	secrets = append(secrets, cl.secrets...)
	for _, header := range cfg.headers {
		value := header.value.Reveal()
		secrets = append(secrets, value)
		if _, credentials, found := strings.Cut(value, " "); found && header.name == "Authorization" {
			secrets = append(secrets, credentials)
		}
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return len(s) < minSecret })
	// The longest first, since one may be a part of another.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	r := make(redactor, 0, 2*len(secrets))
	for _, secret := range secrets {
		r = append(r, secret, redacted)
		if backslash && strings.ContainsFunc(secret, differsInJSON) {
			r = append(r, jsonString(secret, true), redacted, jsonString(secret, false), redacted)
		}
	}
	return r
}

// in reports whether there is anything to mask in the text.
func (r redactor) in(text string) bool {
	for i := 0; i < len(r); i += 2 {
		if strings.Contains(text, r[i]) {
			return true
		}
	}
	return strings.Contains(text, `\`) && r.in(unescaped(text))
}

// hide returns the text without what is to be masked. Of one that has it in yet
// another spelling nothing is left.
func (r redactor) hide(text string) string {
	if !r.in(text) {
		return text
	}
	if text = strings.NewReplacer(r...).Replace(text); r.in(text) {
		return redacted
	}
	return text
}

// unescaped returns JSON, or a part of it, with what its escapes stand for in
// their place.
func unescaped(s string) string {
	var units []uint16 // since one character may be escaped as two
	for s != "" {
		before, escape, _ := strings.Cut(s, `\`)
		units = append(units, utf16.Encode([]rune(before))...)
		if s = escape; s == "" {
			break
		}
		control := strings.IndexByte("bfnrt", s[0])
		code, err := strconv.ParseUint(s[1:min(len(s), 5)], 16, 16)
		switch {
		case s[0] == 'u' && len(s) >= 5 && err == nil:
			units, s = append(units, uint16(code)), s[5:]
		case control >= 0:
			units, s = append(units, uint16("\b\f\n\r\t"[control])), s[1:]
		case s[0] == '\\':
			units, s = append(units, '\\'), s[1:]
		}
	}
	return string(utf16.Decode(units))
}

// differsInJSON reports characters that JSON may spell in another way.
func differsInJSON(c rune) bool {
	return c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&'
}

// jsonString returns a text as it stands between the quotes of a JSON string.
func jsonString(s string, escapeHTML bool) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapeHTML)
	_ = encoder.Encode(s) // of a string, which cannot fail
	quoted := strings.TrimSpace(b.String())
	return quoted[1 : len(quoted)-1]
}

// withoutSecrets returns the error, with another text if there are secrets in
// it: net/http quotes what it cannot read of a reply, which may repeat the request.
func (cl *call) withoutSecrets(err error) error {
	text := fmt.Sprint(err)
	if hidden := cl.redactor(strings.Contains(text, `\`)).hide(text); hidden != text {
		return &masked{hidden, err}
	}
	return err
}

// oneLine makes a text of the server, or one that may have one of it in it, fit
// into an error's line.
func oneLine(s string) string {
	const max = 500
	text, cut := excerpt(s, max)
	if cut {
		text += "…"
	}
	return text
}

// excerpt returns at most max bytes of s, cut at a character, with what cannot
// be printed and what is not UTF-8 replaced. The latter may grow by that.
func excerpt(s string, max int) (text string, cut bool) {
	s, cut = truncate(strings.ToValidUTF8(s, "\uFFFD"), max)
	clean := func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}
	return strings.TrimSpace(strings.Map(clean, s)), cut
}

// truncate returns at most max bytes of s, cut at a character.
func truncate(s string, max int) (text string, cut bool) {
	if len(s) <= max {
		return s, false
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max], true
}

// maskStrings returns JSON, or its beginning, with the values of strings
// replaced, so that what is left shows the shape and no content.
func maskStrings(s string) string {
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
