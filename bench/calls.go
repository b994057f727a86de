package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/test/byhand"
)

// calls are the calls of a client. A call is nil if the client doesn't have it.
type calls struct {
	vm      call
	create  call
	list    call // gets listLength VMs in pages of pageSize
	metrics call // gets metrics as times and floats
}

// opener creates a client for an address. If the transport is nil, the client
// uses its own.
type opener func(base string, transport http.RoundTripper) (*calls, error)

type contestant struct {
	name     string
	replies  *replies
	client   opener
	byHand   opener // the same calls by hand
	notFound func(error) bool
}

var clients = []contestant{
	{"cloudapi", &ourReplies, openSDK, openByHand, isNotFoundSDK},
	{"http.Client.Timeout", &ourReplies, openTimed, openByHand, isErrorByHand},
	{"oapi-codegen", &ourReplies, openGenerated, openGeneratedByHand, func(err error) bool { return errors.Is(err, errGenerated) }},
	{"retryablehttp", &ourReplies, openRetryable, openByHand, isErrorByHand},
	{"hcloud-go", &hetzner, openHcloud, openHcloudByHand, func(err error) bool { return errors.Is(err, errHcloud) }},
}

type workload struct {
	name    string
	divisor int // of the number of rounds: long calls need fewer rounds
	duel    func(*contestant) (client, byHand call, err error)
}

// sameTransport returns a function for workload.duel. The client and its calls by hand
// use one transport, which returns the responses of the client's API.
func sameTransport(transport func(*replies) http.RoundTripper, pick func(*calls) call) func(*contestant) (client, byHand call, err error) {
	return func(c *contestant) (client, byHand call, err error) {
		return openBoth(c, inProcess, transport(c.replies), pick)
	}
}

// openBoth opens a client and its calls by hand, and returns the call that pick chooses
// for each. client is nil if the client doesn't have the call.
func openBoth(c *contestant, base string, transport http.RoundTripper, pick func(*calls) call) (client, byHand call, err error) {
	ours, err := c.client(base, transport)
	if err != nil {
		return nil, nil, err
	}
	other, err := c.byHand(base, transport)
	if err != nil {
		return nil, nil, err
	}
	return pick(ours), pick(other), nil
}

func getVM(c *calls) call { return c.vm }

func vmReply(r *replies) http.RoundTripper { return byhand.Fixed{Status: http.StatusOK, Body: r.vm} }

func workloads(server *httptest.Server) []workload {
	return []workload{
		{"GET a VM", 1, sameTransport(vmReply, getVM)},
		{"POST create", 1, sameTransport(
			func(r *replies) http.RoundTripper { return byhand.Fixed{Status: http.StatusOK, Body: r.created} },
			func(c *calls) call { return c.create })},
		{"404 with an envelope", 1, getMissing},
		{"a client and one GET", 1, func(c *contestant) (client, byHand call, err error) {
			once := func(open opener) call {
				transport := vmReply(c.replies)
				return func(ctx context.Context) error {
					c, err := open(inProcess, transport)
					if err != nil {
						return err
					}
					return c.vm(ctx)
				}
			}
			return once(c.client), once(c.byHand), nil
		}},
		{"GET over loopback", 1, func(c *contestant) (client, byHand call, err error) {
			return openBoth(c, server.URL+"/"+c.name, nil, getVM)
		}},
		{"10,000 VMs by 1,000", 7, sameTransport(
			func(r *replies) http.RoundTripper { return &list{replies: r, pages: map[int]string{}} },
			func(c *calls) call { return c.list })},
		{"metrics, 7 MB", 50, sameTransport(
			func(r *replies) http.RoundTripper {
				if r.metrics == nil {
					return nil
				}
				return byhand.Fixed{Status: http.StatusOK, Body: r.metrics()}
			},
			func(c *calls) call { return c.metrics })},
	}
}

// getMissing returns calls that get a VM that doesn't exist. They return nil if
// the client reports that the VM is missing, or if the code by hand returns any error.
func getMissing(c *contestant) (client, byHand call, err error) {
	get, getByHand, err := openBoth(c, inProcess, byhand.Fixed{Status: http.StatusNotFound, Body: c.replies.missing}, getVM)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) error {
			if err := get(ctx); !c.notFound(err) {
				return errors.Join(errors.New("the error is lost"), err)
			}
			return nil
		}, func(ctx context.Context) error {
			if getByHand(ctx) == nil {
				return errors.New("the code by hand found it")
			}
			return nil
		}, nil
}

func newServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, c := range clients {
			if strings.HasPrefix(r.URL.Path, "/"+c.name+"/") {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(c.replies.vm))
				return
			}
		}
		http.NotFound(w, r)
	}))
}

type row struct {
	Workload string
	Samples  map[string]sample // by client
}

func measureCalls(ctx context.Context, clients []contestant, rounds int, selected *regexp.Regexp) (rows []row, err error) {
	server := newServer()
	defer server.Close()
	for _, w := range workloads(server) {
		if !selected.MatchString(w.name) {
			continue
		}
		r, err := w.measure(ctx, clients, max(rounds/w.divisor, 3))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (w *workload) measure(ctx context.Context, clients []contestant, rounds int) (row, error) {
	r := row{w.name, map[string]sample{}}
	duels := map[string]*duel{}
	var names []string
	for _, c := range clients {
		client, byHand, err := w.duel(&c)
		if err == nil && client != nil {
			duels[c.name], err = newDuel(ctx, client, byHand)
			names = append(names, c.name)
		}
		if err != nil {
			return r, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for range rounds {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			if err := duels[name].round(ctx); err != nil {
				return r, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	for _, name := range names {
		var err error
		if r.Samples[name], err = duels[name].result(ctx); err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
	}
	return r, nil
}
