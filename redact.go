package cloudapi

import (
	"fmt"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/mask"
)

const (
	// maxExcerpt is how much of a text that is no envelope an error holds.
	maxExcerpt = 200

	// Secrets are looked for in more than the excerpt, so that none is cut at
	// its end and then not recognized.
	maxSearched = 16 << 10
)

// known returns the secrets that the call knows of, which some responses
// repeat: its credentials, and what its request holds.
func (cl *call) known() mask.Secrets {
	cfg := &cl.client.config
	values := make([]string, 0, 8)
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

// withoutSecrets returns the error, with another text if there are secrets in
// it: net/http quotes what it cannot read of a response, which may repeat the
// request.
func (cl *call) withoutSecrets(err error) error {
	text := fmt.Sprint(err)
	if hidden := cl.known().Hide(text); hidden != text {
		return &masked{hidden, err}
	}
	return err
}

// masked is an error whose text has secrets in it, without them.
type masked struct {
	text  string
	cause error
}

func (m *masked) Error() string { return m.text }
func (m *masked) Unwrap() error { return m.cause }
