package mask

import (
	"errors"
	"fmt"
)

// Error returns the error, or a masked one if any text in its chain
// contains a secret. net/http quotes malformed responses, and those may repeat
// the request.
func (secrets Secrets) Error(err error) error {
	clean, shows := withoutShowing(secrets, err)
	if !shows {
		return err
	}
	return &maskedError{secrets.Mask(fmt.Sprint(err)), func(target error) bool { return errors.Is(err, target) }, clean}
}

// withoutShowing reports whether the error, or one that it wraps, shows a
// secret. clean is the error itself if it shows none, and otherwise the wrapped
// errors that show none.
func withoutShowing(secrets Secrets, err error) (clean []error, shows bool) {
	var wrapped []error
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			wrapped = []error{cause}
		}
	case interface{ Unwrap() []error }:
		wrapped = e.Unwrap()
	}
	text := fmt.Sprintf("%v %+v %#v", err, err, err)
	shows = secrets.Mask(text) != text
	for _, cause := range wrapped {
		causes, inCause := withoutShowing(secrets, cause)
		clean, shows = append(clean, causes...), shows || inCause
	}
	if !shows {
		return []error{err}, false
	}
	return clean, true
}

// maskedError stands for an error that shows secrets. It matches whatever that error
// matches, but wraps only the causes that show none.
type maskedError struct {
	text   string
	is     func(target error) bool // a function, so that nothing prints the error
	causes []error
}

func (m *maskedError) Error() string        { return m.text }
func (m *maskedError) Is(target error) bool { return m.is(target) }
func (m *maskedError) Unwrap() []error      { return m.causes }
