package api

import (
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

func (m *Moment) authenticate(header string) (*Token, error) {
	words := strings.Fields(header)
	if len(words) != 2 || !strings.EqualFold(strings.TrimSuffix(words[0], ":"), "Bearer") || !strings.HasPrefix(words[1], "pat-") {
		return nil, reply.MissingCredentials()
	}
	if t := m.State.Token(words[1]); t != nil {
		return t, nil
	}
	return nil, reply.InvalidCredentials()
}

// AddToken adds a token of the account, or replaces one.
func (s *State) AddToken(value string, a *Account) *Token {
	t := &Token{a}
	s.tokens[value] = t
	return t
}

// Token returns the token with the value, or nil.
func (s *State) Token(value string) *Token { return s.tokens[value] }

// RemoveToken removes a token.
func (s *State) RemoveToken(value string) { delete(s.tokens, value) }
