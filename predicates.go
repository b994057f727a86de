package cloudapi

import "errors"

// isTransient reports whether a failure of a poll is one that another poll can
// mend.
func isTransient(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Is(ErrServer) || e.Is(ErrRateLimited) || e.StatusCode == 408 // which a call repeats, too
	}
	if e, ok := errors.AsType[*DecodeError](err); ok {
		return e.truncated
	}
	e, ok := errors.AsType[*TransportError](err)
	return ok && !errors.Is(e, errNotSent)
}

// isGone reports whether a poll says that the resource does not exist. A
// location that does not exist says nothing about it, and neither does a 404
// that is not the API's own. A project that the token cannot see looks the
// same as a resource that is gone.
func isGone(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Is(ErrNotFound) && e.Type != "" && !isInvalidLocation(err)
}

// isInvalidLocation reports whether the server knows no such location, or no
// more.
func isInvalidLocation(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Is(ErrNotFound) && e.Type == "InvalidLocation"
}
