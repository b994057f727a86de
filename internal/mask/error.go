package mask

import (
	"errors"
	"fmt"
	"slices"
)

// Error returns the error, or a masked one if any text in its chain
// contains a secret. net/http quotes malformed responses, and those may repeat
// the request.
func (secrets Secrets) Error(err error) error {
	if !secrets.shownBy(err) {
		return err
	}
	return Replace(err, secrets.Mask(fmt.Sprint(err)))
}

// Replace returns an error with another text. Like a masked error, it matches
// whatever err matches, but wraps nothing.
func Replace(err error, text string) error {
	return &maskedError{text, func(target error) bool { return errors.Is(err, target) }}
}

func (secrets Secrets) shownBy(err error) bool {
	text := fmt.Sprintf("%v %+v %#v", err, err, err)
	if secrets.Mask(text) != text {
		return true
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		cause := e.Unwrap()
		return cause != nil && secrets.shownBy(cause)
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), secrets.shownBy)
	}
	return false
}

// maskedError stands for an error that shows secrets. It matches whatever that
// error matches, but wraps nothing.
type maskedError struct {
	text string
	is   func(target error) bool // a function, so that nothing prints the error
}

func (m *maskedError) Error() string        { return m.text }
func (m *maskedError) Is(target error) bool { return m.is(target) }
