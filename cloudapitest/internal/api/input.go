package api

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

// Input contains what handlers need from a request.
type Input struct {
	Header http.Header
	Params map[string]string // of the path
	Query  url.Values
	Body   schema.Fields // nil if the operation has no body
}

// Choice returns the text in the named field of the body, or the fallback if the
// field is missing or blank.
func (in *Input) Choice(name, fallback string) string {
	if s := in.Body.Text(name); strings.TrimSpace(s) != "" {
		return s
	}
	return fallback
}

// NewName returns the name in the body, or an error if the form of the name is
// invalid.
func (in *Input) NewName() (string, error) {
	name, err := in.Body.NonEmpty("name")
	if err == nil {
		err = CheckNameForm(name)
	}
	return name, err
}

// SetText returns a step that reads a text from the body. The text must not be
// blank. A later step may fail, so into isn't in a stored object: see [Change].
func SetText(into *string, name string) func(*Call) error {
	return func(c *Call) (err error) {
		*into, err = c.Body.NonEmpty(name)
		return err
	}
}

// SetPositive is [SetText] for a positive number.
func SetPositive(into *int, name string) func(*Call) error {
	return func(c *Call) (err error) {
		*into, err = c.Body.Positive(name)
		return err
	}
}
