package cloudapitest

import (
	"net/http"
	"regexp"
	"strings"
)

// account is the owner of projects and tokens.
type account struct{ name string }

// token is a personal access token.
type token struct {
	account *account
}

var (
	// The real server's gate ignores case, the part behind it that takes the
	// token out of the header does not: "bearer pat-…" is an invalid token, not
	// a missing one.
	tokenGate   = regexp.MustCompile(`^(?i:Bearer:?\s+pat-)`)
	tokenHeader = regexp.MustCompile(`^Bearer:?\s+(pat-\S+)\s*$`)
)

// authenticate returns the token of the request.
func (s *state) authenticate(h http.Header) (*token, error) {
	header := h.Get("Authorization")
	if !tokenGate.MatchString(header) {
		return nil, missingCredentials()
	}
	if m := tokenHeader.FindStringSubmatch(header); m != nil {
		if t, ok := s.tokens[canonicalToken(m[1])]; ok {
			return t, nil
		}
	}
	return nil, invalidCredentials()
}

// canonicalToken folds the case of the ID in a token, which does not count; that
// of the secret behind it does.
func canonicalToken(s string) string {
	const secret = len("pat-") + 26
	if len(s) <= secret {
		return s
	}
	return strings.ToLower(s[:secret]) + s[secret:]
}
