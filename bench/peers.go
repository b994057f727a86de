package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"

	"github.com/cloudapi-sdk/cloudapi/internal/floor"
)

// calls are the calls of a client. A call is nil if the client doesn't have it.
type calls struct {
	vm       call // gets a VM
	database call // gets a database
	create   call // creates a VM
	list     call // gets listLength VMs in pages of largePage
	metrics  call // gets metrics as times and floats
}

// opener creates a client for an address. If the transport is nil, the client
// uses its own.
type opener func(base string, transport http.RoundTripper) (*calls, error)

// sdk is the name of the contestant that is measured.
const sdk = "cloudapi"

// peer is a contestant.
type peer struct {
	name     string
	replies  *replies
	client   opener
	floor    opener // the same calls by hand
	notFound func(error) bool
}

var ourPeer = peer{sdk, &our, openSDK, openFloor, isNotFoundSDK}

// peers are all contestants.
var peers = []peer{
	ourPeer,
	{"oapi-codegen", &our, openGenerated, openGeneratedFloor, func(err error) bool { return errors.Is(err, errGenerated) }},
	{"resty", &our, openResty, openFloor, func(err error) bool { return errors.Is(err, errResty) }},
	{"retryablehttp", &our, openRetryable, openFloor, isFloorError[floor.Envelope]},
	{"godo", &digitalOcean, openGodo, openGodoFloor, isNotFoundGodo},
	{"hcloud-go", &hetzner, openHcloud, openHcloudFloor, isNotFoundHcloud},
}

// selectPeers removes the peers whose names don't match.
func selectPeers(pattern string) error {
	selected, err := regexp.Compile(pattern)
	peers = slices.DeleteFunc(peers, func(p peer) bool { return err == nil && !selected.MatchString(p.name) })
	if err == nil && len(peers) == 0 {
		err = fmt.Errorf("no contestant is called %q", pattern)
	}
	return err
}

func isFloorError[E any](err error) bool {
	_, ok := errors.AsType[*floor.Error[E]](err)
	return ok
}

// missing gets a VM that doesn't exist, and checks the error.
func (p *peer) missing(get call) call {
	return func(ctx context.Context) error {
		if err := get(ctx); !p.notFound(err) {
			return errors.Join(errors.New("the error is lost"), err)
		}
		return nil
	}
}
