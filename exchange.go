package cloudapi

import (
	"context"
	"net/http"
	"sync/atomic"
)

// Exchange is the request and the response of one attempt.
//
// Printed or encoded, it shows no secrets: the bodies are of type [Secret]. In
// the header, Set-Cookie and values that repeat the client's credentials are
// masked. It doesn't have the headers of the request.
type Exchange struct {
	Operation string // the operation's name, such as "VMs.Get"
	Method    string // the HTTP method
	Path      string // the path as it is sent, without the query
	Sent      Secret // the body of the request; empty if it has none
	Attempt   int    // the number of the attempt in its call, from 1

	StatusCode int         // the HTTP status; 0 if there was no response
	Header     http.Header // of the response
	Received   Secret      // the body of the response, as far as the SDK has read it
}

// CaptureExchange returns a context, and a function that returns the last
// exchange of the calls with this context, or nil if there was none:
//
//	ctx, last := cloudapi.CaptureExchange(ctx)
//	vm, err := client.VMs.Get(ctx, location, "web-1")
//	if exchange := last(); exchange != nil {
//		fmt.Println(exchange.StatusCode, exchange.Header.Get("X-Request-Id"))
//	}
//
// It is for what records and errors don't have: fields that the SDK doesn't
// know, and headers. The exchange is that of the attempt that ended last, also
// if it got no response. After a list it is that of the last page, after a wait
// that of the last poll, and after a call with retries that of the last attempt.
//
// Several goroutines may use the context and the function. Give each call a
// context of its own to tell their exchanges apart. A context that is derived
// from one with a capture captures for both.
//
// The body of a response is copied up to the limit of [WithResponseLimit]; that
// of an error up to 1 MiB, and 16 KiB where no body is expected. Calls with other
// contexts copy nothing. CaptureExchange panics if the context is nil.
func CaptureExchange(ctx context.Context) (context.Context, func() *Exchange) {
	c := &capture{outer: captureOf(ctx)}
	return context.WithValue(ctx, captureKey{}, c), c.last.Load
}

// capture keeps the last exchange of the calls with a context.
type capture struct {
	outer *capture // of the context that this one is derived from, or nil
	last  atomic.Pointer[Exchange]
}

type captureKey struct{}

// captureOf returns the innermost capture of a context, or nil.
func captureOf(ctx context.Context) *capture {
	c, _ := ctx.Value(captureKey{}).(*capture)
	return c
}

// keep makes an exchange the last one.
func (c *capture) keep(exchange *Exchange) {
	for ; c != nil; c = c.outer {
		c.last.Store(exchange)
	}
}
