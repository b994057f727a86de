package cloudapi

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/exchange"
)

// These predicates classify failures, for calls, waits, Ensure, Watch, Resolve
// and Confirm. See internal/call for whether a call may be retried.

// IsGone reports whether an error proves that a resource doesn't exist in the
// location of the request; [Client.CheckAccess] also looks in others. Unlike a
// test for [ErrNotFound], it returns false if the location doesn't exist, for
// operations that the service lacks (‡), and for searches among what the token
// can see: [ProjectsService.ObjectInfo], and [Client.Resolve] and [Lookup] of an
// ID without a location. A project that the token can't see looks gone. So does
// everything to an operation with a † on a server without such operations: test
// for [ErrMaybeUnsupported] first if your program runs on one.
func IsGone(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return isMissing(err) && !isOfSearch(err) && !(ok && e.class.has(contractOnly))
}

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

// isPartial reports whether an error at the end of a list names the resources
// that are missing from the list, which has all others.
func isPartial(err error) bool {
	_, ok := errors.AsType[interface {
		error
		isPartial()
	}](err)
	return ok
}

// isStray reports whether a gateway answers a GET with a 404 in place of the
// API. That can be over soon, or the base URL is wrong.
func isStray(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Method == http.MethodGet && e.StatusCode == http.StatusNotFound && !e.isOwn()
}

// isVanishing reports whether an error can occur for a moment while a resource
// is being destroyed: the token may not see it, or a gateway answers.
func isVanishing(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Method == http.MethodGet && e.Is(ErrForbidden) || isStray(err)
}

// IsTransient reports whether the same call may succeed later: after a 5xx, 429
// or 408, if there was no response, or after an unusable one, such as a
// gateway's page with status 200. It returns false for [ErrResponseTooLarge], a
// certificate that isn't trusted, a server without TLS, a proxy that refuses,
// and errors of your own transport that aren't of the network. For whether a
// create can be sent again, see [ErrOutcomeUnknown].
func IsTransient(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Is(ErrServer) || e.Is(ErrRateLimited) || e.StatusCode == http.StatusRequestTimeout || e.outcome.Truncated
	}
	if e, ok := errors.AsType[*DecodeError](err); ok {
		return !errors.Is(e.Err, ErrResponseTooLarge)
	}
	e, ok := errors.AsType[*TransportError](err)
	return ok && !exchange.IsLasting(e) && (!errors.Is(e, call.ErrNotSent) || errors.Is(e, errTokenSource))
}
