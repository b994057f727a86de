package cloudapi

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/exchange"
)

// These predicates classify failures, for calls, waits, Ensure, Watch, Resolve
// and Confirm. See retry.go for whether a call may be retried.

// IsGone reports whether an error proves that a resource doesn't exist in the
// location of the request. Unlike a test for [ErrNotFound], it returns false if
// the location doesn't exist, and for searches, which leave out what the token
// can't see: [ProjectsService.ObjectInfo], [Client.ResolveInProjects], and
// [Client.Resolve] and [Lookup] of an ID without a location. A project that the
// token can't see looks like one that is gone.
func IsGone(err error) bool { return isMissing(err) && !isOfSearch(err) }

// isMissing reports whether the server says that a resource doesn't exist, or
// hides it.
func isMissing(err error) bool {
	return errors.Is(err, ErrNotFound) && !errors.Is(err, ErrLocationNotFound)
}

// isOfSearch reports whether an error is the result of a search among what the
// token can see.
func isOfSearch(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Operation == "Projects.ObjectInfo" || errors.Is(err, errNotShown)
}

// errNotShown is the ErrNotFound of a search in lists.
var errNotShown = fmt.Errorf("%w among what the token can see", ErrNotFound)

// isVanishing reports whether an error can occur for a moment while a resource
// is being destroyed: the token may not see it, or a gateway answers in place
// of the API.
func isVanishing(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Method == http.MethodGet &&
		(e.Is(ErrForbidden) || e.StatusCode == http.StatusNotFound && !e.isOwn())
}

// IsTransient reports whether the same call may succeed later: after a 5xx, 429
// or 408, without a response, or after an unusable one, such as a gateway's
// page with status 200. It returns false for [ErrResponseTooLarge], and for a
// [*TransportError] if the server's certificate isn't trusted, the server
// doesn't speak TLS, a proxy refuses the connection, or the error of the
// program's transport isn't of the network, as of a mock.
//
// It doesn't tell whether a create can be sent again: see [ErrOutcomeUnknown].
// A call whose context has ended can also return a transient error.
func IsTransient(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Is(ErrServer) || e.Is(ErrRateLimited) || e.StatusCode == http.StatusRequestTimeout || e.truncated
	}
	if e, ok := errors.AsType[*DecodeError](err); ok {
		return !errors.Is(e.Err, ErrResponseTooLarge)
	}
	e, ok := errors.AsType[*TransportError](err)
	return ok && !exchange.IsLasting(e) && (!errors.Is(e, call.ErrNotSent) || errors.Is(e, errTokenSource))
}
