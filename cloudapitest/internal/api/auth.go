package api

import (
	"regexp"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

var (
	tokenGate   = regexp.MustCompile(`^(?i:Bearer:?\s+pat-)`)
	tokenHeader = regexp.MustCompile(`^(?i:Bearer):?\s+(pat-\S+)\s*$`)
)

// authenticate returns the token of a request with the header.
func (m *Moment) authenticate(header string) (*Token, error) {
	if !tokenGate.MatchString(header) {
		return nil, reply.MissingCredentials()
	}
	if found := tokenHeader.FindStringSubmatch(header); found != nil {
		if t, ok := m.State.tokens[canonicalToken(found[1])]; ok {
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

// canonicalToken folds the case of the ID in a token, which the server ignores.
// The case of the secret after it matters.
func canonicalToken(s string) string {
	const secret = len("pat-") + 26
	if len(s) <= secret {
		return s
	}
	return strings.ToLower(s[:secret]) + s[secret:]
}
