package main

import (
	"context"
	"errors"
	"net/http"
)

// calls are what a client can do. What it has nothing for is nil.
type calls struct {
	vm       call // gets a VM
	database call // gets a database
	create   call // creates a VM
	list     call // gets listLength VMs in pages of largePage
	metrics  call // gets metrics as times and floats
}

// opener makes a client for an address. The transport is nil for its own.
type opener func(base string, transport http.RoundTripper) (*calls, error)

// peer is a contestant.
type peer struct {
	name     string
	replies  *replies
	client   opener
	floor    opener // the same calls by hand
	notFound func(error) bool
}

// peers are all contestants; the first one is the SDK.
var peers = []peer{
	{"cloudapi", &our, openSDK, openFloor, isNotFoundSDK},
	{"oapi-codegen", &our, openGenerated, openGeneratedFloor, func(err error) bool { return errors.Is(err, errGenerated) }},
	{"resty", &our, openResty, openFloor, func(err error) bool { return errors.Is(err, errResty) }},
	{"retryablehttp", &our, openRetryable, openFloor, isErrStatus[ourError]},
	{"godo", &digitalOcean, openGodo, openGodoFloor, isNotFoundGodo},
	{"hcloud-go", &hetzner, openHcloud, openHcloudFloor, isNotFoundHcloud},
}

func isErrStatus[E any](err error) bool {
	_, ok := errors.AsType[*errStatus[E]](err)
	return ok
}

// missing makes a call that gets a VM one that does not find it.
func (p *peer) missing(get call) call {
	return func(ctx context.Context) error {
		if err := get(ctx); !p.notFound(err) {
			return errors.Join(errors.New("the error is lost"), err)
		}
		return nil
	}
}
