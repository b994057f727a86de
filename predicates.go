package cloudapi

import (
	"errors"
	"net/http"

	"github.com/cloudapi-sdk/cloudapi/internal/exchange"
)

// What a failure means is decided here, for calls, waits, Ensure, Watch,
// teardowns, Resolve and Confirm alike. Whether a call may repeat its request is
// another question; see retry.go.

// isOwn reports whether an answer is the API's own, and not that of a gateway or
// a proxy in front of it: it has the contract's envelope, with a type.
func (e *Error) isOwn() bool { return e.Type != "" }

// isGone reports whether a failure says that the resource does not exist. A
// location that does not exist says nothing about it. A project that the token
// cannot see looks the same as a resource that is gone.
func isGone(err error) bool {
	return errors.Is(err, ErrNotFound) && !errors.Is(err, ErrLocationNotFound)
}

// isVanishing reports how looking at a resource may fail for a moment while it
// is being destroyed: it must not be seen, or a gateway answers in place of the
// API.
func isVanishing(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Method == http.MethodGet &&
		(e.Is(ErrForbidden) || e.StatusCode == http.StatusNotFound && !e.isOwn())
}

// isTransient reports whether a failure may pass by itself, so that the same
// request can succeed later.
func isTransient(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Is(ErrServer) || e.Is(ErrRateLimited) || e.StatusCode == http.StatusRequestTimeout
	}
	if e, ok := errors.AsType[*DecodeError](err); ok {
		return e.truncated
	}
	e, ok := errors.AsType[*TransportError](err)
	return ok && !exchange.Misconfigured(e) && (!errors.Is(e, errNotSent) || errors.Is(e, errTokenSource))
}
