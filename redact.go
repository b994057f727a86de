package cloudapi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/exchange"
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
// credentials, the secrets in the request, and the credentials for a proxy.
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
	if cl.request.Request != nil {
		values = append(values, exchange.ProxyCredentials(cfg.transport, cl.request.Request)...)
	}
	return mask.New(values)
}

// withoutSecrets returns the error, or one with secrets masked if any text in
// its chain shows one: net/http quotes malformed parts of a response, and those
// may repeat the request.
func (cl *call) withoutSecrets(err error) error {
	secrets := cl.known()
	clean, shows := withoutShowing(secrets, err)
	if !shows {
		return err
	}
	return &masked{secrets.Hide(fmt.Sprint(err)), func(target error) bool { return errors.Is(err, target) }, clean}
}

// withoutShowing reports whether the error, or one that it wraps, shows a secret.
// It returns the error itself, or those that it wraps and that show none.
func withoutShowing(secrets mask.Secrets, err error) (clean []error, shows bool) {
	var wrapped []error
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		wrapped = causes(e.Unwrap())
	case interface{ Unwrap() []error }:
		wrapped = causes(e.Unwrap()...)
	}
	text := fmt.Sprintf("%v %+v %#v", err, err, err)
	shows = secrets.Hide(text) != text
	for _, cause := range wrapped {
		causes, inCause := withoutShowing(secrets, cause)
		clean, shows = append(clean, causes...), shows || inCause
	}
	if !shows {
		return []error{err}, false
	}
	return clean, true
}

// masked stands for an error that shows secrets. It matches what that error
// matches, but wraps only the causes that show none.
type masked struct {
	text   string
	is     func(target error) bool // a function, so that nothing prints the error
	causes []error
}

func (m *masked) Error() string        { return m.text }
func (m *masked) Is(target error) bool { return m.is(target) }
func (m *masked) Unwrap() []error      { return m.causes }
