package call

import (
	"errors"
	"net/http"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/envelope"
	"github.com/cloudapi-sdk/cloudapi/internal/exchange"
)

// Outcome says what a failed call may have done, and why it wasn't retried. The
// errors of all failed calls contain it.
type Outcome struct {
	Truncated  bool  // whether the body of the response seems to break off
	MayHaveRun bool  // whether the server may have executed a request that changes something
	Unknown    bool  // whether the result is unknown: Earlier is set, or MayHaveRun is set and the request isn't idempotent
	Earlier    bool  // whether the API refused a retry, and the server may have executed an attempt before it
	NotRetried error // why a failure of class Soon wasn't retried, such as the context's error; nil after the last attempt
	IsJSON     bool  // whether the body of a response that the decoder didn't accept is JSON
	Ended      bool  // whether the caller's context has ended
}

// Failure says how a call ended without an accepted response: what ended its
// last attempt, and why no retry followed. A Failure's texts show no secrets.
//
// There are three kinds. Without a Status there was no complete response. With
// a Status of 300 or above the server refused the request. With a lower Status
// the decoder didn't accept the response.
type Failure struct {
	Outcome
	Attempts  int
	RequestID string // the server's ID for the last attempt, or ""

	// Cause is why no complete response arrived, or why the response wasn't
	// accepted. It's nil for a refusal.
	Cause error

	Status      int
	ContentType string // of a response that the decoder didn't accept
	Body        string // the beginning of a body that isn't an envelope

	Envelope      envelope.Envelope // of a refusal
	RetryAfter    time.Duration     // of a refusal: the delay in its Retry-After header, or 0
	Pause         time.Duration     // of a refusal: RetryAfter, but at most MaxRetryAfter
	HasRetryAfter bool              // whether the response had a valid Retry-After header

	// Previous is an earlier failure of the call. It's set if the context or the
	// timeout of an attempt cut the last attempt, which then doesn't say why the
	// call failed.
	Previous *Failure

	before       *Failure // of the attempt before, or nil
	sent         bool     // without a Status: whether the request may have reached the server
	isCut        bool     // without a Status: whether the context or the timeout cut the attempt
	noRetryOn500 bool     // whether it's a 500 after which [Request.NoRetryOn500] forbids a retry
}

// isOwn reports whether a refusal comes from the API, and not from a gateway or
// a proxy in front of it: it has the envelope, with a type.
func (f *Failure) isOwn() bool { return f.Envelope.Type != "" }

// Class says whether trying again can help after a failure. A call retries only
// failures of class Soon. While the context hasn't ended, IsTransient is true
// for Unreadable, Later and Soon. Waits, watches and FollowLogs each say how
// many failures of a class may follow each other; docs/errors.md has the table.
type Class int

const (
	Final      Class = iota // another try would fail for the same reason
	Stray                   // a gateway's 404: either it's temporary, or the base URL is wrong
	Unreadable              // the server may always respond like this: JSON that the SDK can't read, a 501 or a 505
	Later                   // a later call can succeed
	Soon                    // another attempt of the call can succeed
)

// Class returns the class of the failure.
func (f *Failure) Class() Class {
	switch status := f.Status; {
	case status == 0:
		if exchange.IsLasting(f.Cause) || errors.Is(f.Cause, ErrNotSent) && !errors.Is(f.Cause, ErrTokenSource) {
			return Final
		}
		return Soon
	case f.Truncated: // a truncated refusal may not be the API's, whatever its status
		return Soon
	case errors.Is(f.Cause, exchange.ErrTooLarge):
		return Final
	case f.IsJSON, status == http.StatusNotImplemented, status == http.StatusHTTPVersionNotSupported:
		return Unreadable
	case status < 300, f.noRetryOn500:
		return Later
	case status == http.StatusNotFound && !f.isOwn():
		return Stray
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status == http.StatusInternalServerError,
		status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		return Soon
	case status >= 500:
		return Later
	}
	return Final
}

// mayHaveRun reports whether the server may have executed the request despite
// the failure. It certainly didn't if it got nothing, or by these responses:
//
//   - a 301, 307 or 308, which asks for the same request at another address;
//   - a 501, or a status of 400 to 499 but 408;
//   - a 429 or 503 that is the API's own, or has a Retry-After header. Some gateways
//     send any other one after passing the request on.
//
// A response whose body breaks off may be a gateway's.
func (f *Failure) mayHaveRun() bool {
	switch status := f.Status; status {
	case 0:
		return f.sent
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return !f.isOwn() && !f.HasRetryAfter
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect, http.StatusNotImplemented:
		return f.Truncated
	default:
		return f.Truncated || status < 400 || status >= 500 || status == http.StatusRequestTimeout
	}
}
