package api

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

var (
	// The real server's gate ignores case, the part behind it that takes the
	// token out of the header does not: "bearer pat-…" is an invalid token, not
	// a missing one.
	tokenGate   = regexp.MustCompile(`^(?i:Bearer:?\s+pat-)`)
	tokenHeader = regexp.MustCompile(`^Bearer:?\s+(pat-\S+)\s*$`)
)

// authenticate returns the token of the request.
func (s *State) authenticate(h http.Header) (*Token, error) {
	header := h.Get("Authorization")
	if !tokenGate.MatchString(header) {
		return nil, reply.MissingCredentials()
	}
	if m := tokenHeader.FindStringSubmatch(header); m != nil {
		if t, ok := s.tokens[canonicalToken(m[1])]; ok {
			return t, nil
		}
	}
	return nil, reply.InvalidCredentials()
}

// AddToken adds a token of the account, or replaces one.
func (s *State) AddToken(value string, a *Account) *Token {
	t := &Token{a}
	s.tokens[canonicalToken(value)] = t
	return t
}

// Token returns the token with the value, or nil.
func (s *State) Token(value string) *Token { return s.tokens[canonicalToken(value)] }

// RemoveToken removes a token.
func (s *State) RemoveToken(value string) { delete(s.tokens, canonicalToken(value)) }

// canonicalToken folds the case of the ID in a token, which does not count; that
// of the secret behind it does.
func canonicalToken(s string) string {
	const secret = len("pat-") + 26
	if len(s) <= secret {
		return s
	}
	return strings.ToLower(s[:secret]) + s[secret:]
}
