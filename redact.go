package cloudapi

import (
	"fmt"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/mask"
)

const (
	// maxExcerpt is the length of the excerpt of a body without an envelope.
	maxExcerpt = 200

	// Secrets are masked in more than the excerpt, since a secret that is cut
	// at the end of the excerpt would not be recognized.
	maxSearched = 16 << 10
)

// known returns the secrets that a response may repeat: the client's
// credentials, and the secrets in the request.
func (cl *call) known() mask.Secrets {
	cfg := &cl.conn.config
	values := make([]string, 0, 1+len(cl.secrets)+2*len(cfg.headers))
	values = append(values, cfg.token.Reveal())
	values = append(values, cl.secrets...)
	for _, header := range cfg.headers {
		value := header.value.Reveal()
		values = append(values, value)
		if _, credentials, found := strings.Cut(value, " "); found && header.name == "Authorization" {
			values = append(values, credentials)
		}
	}
	return mask.New(values)
}

// withoutSecrets returns the error with secrets masked in its text: net/http
// quotes malformed parts of a response, and those may repeat the request.
func (cl *call) withoutSecrets(err error) error {
	text := fmt.Sprint(err)
	if hidden := cl.known().Hide(text); hidden != text {
		return &masked{hidden, err}
	}
	return err
}

// masked is an error with secrets masked in its text.
type masked struct {
	text  string
	cause error
}

func (m *masked) Error() string { return m.text }
func (m *masked) Unwrap() error { return m.cause }
