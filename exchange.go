package cloudapi

import (
	"context"
	"net/http"
	"sync/atomic"
)

// Exchange is the request and the response of one attempt, without the
// request's headers. It shows no secrets when printed or encoded: the header
// masks Set-Cookie and values that repeat the client's credentials.
type Exchange struct {
	Operation  string      // the operation's name, such as "VMs.Get"
	Method     string      // the HTTP method
	Path       string      // the path as it is sent, without the query
	Sent       Secret      // the body of the request; empty if it has none
	Attempt    int         // the number of the attempt in its call, from 1
	StatusCode int         // the HTTP status; 0 if there was no response
	Header     http.Header // of the response
	Received   Secret      // the body of the response, as far as the SDK has read it
}

// CaptureExchange returns a context, and a function that returns the last
// attempt of the calls with this context, or nil.
//
//	ctx, last := cloudapi.CaptureExchange(ctx)
//	vm, err := client.VMs.Get(ctx, location, "web-1")
//	if exchange := last(); exchange != nil {
//		fmt.Println(exchange.StatusCode, exchange.Header.Get("X-Request-Id"))
//	}
//
// Several goroutines may use the context. If CaptureExchange is called again
// with it, both functions return the attempts. A response's body is copied up
// to the limit of [WithResponseLimit], an error's up to 1 MiB, and up to 16 KiB
// where no body is expected.
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
