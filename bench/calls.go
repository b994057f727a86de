package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
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
	name string
	open opener
}

// clients are compared with [openByHand]. The last two are the same code, with a
// timeout or a transport that retries.
var clients = []contestant{
	{"cloudapi", openSDK},
	{"http.Client.Timeout", openTimed},
	{"retryablehttp", openRetryable},
}

// A workload opens a client, and returns what it does. It returns nil if the client
// can't do it.
type workload struct {
	name    string
	divisor int // of the number of rounds: long calls need fewer rounds
	open    func(opener) (call, error)
}

// sameTransport returns a function for workload.open that opens a client with a
// transport, and picks one of its calls.
func sameTransport(transport http.RoundTripper, pick func(*calls) call) func(opener) (call, error) {
	return func(open opener) (call, error) {
		c, err := open(inProcess, transport)
		if err != nil {
			return nil, err
		}
		return pick(c), nil
	}
}

func getVM(c *calls) call { return c.vm }

func workloads(server *httptest.Server) []workload {
	vm := byhand.Fixed{Status: http.StatusOK, Body: byhand.VM}
	return []workload{
		{"GET a VM", 1, sameTransport(vm, getVM)},
		{"POST create", 1, sameTransport(vm, func(c *calls) call { return c.create })},
		{"404 with an envelope", 1, sameTransport(byhand.Fixed{Status: http.StatusNotFound, Body: byhand.NotFound}, func(c *calls) call {
			return func(ctx context.Context) error {
				if err := c.vm(ctx); !isNotFound(err) {
					return errors.Join(errors.New("the error is lost"), err)
				}
				return nil
			}
		})},
		{"a client and one GET", 1, func(open opener) (call, error) {
			return func(ctx context.Context) error {
				c, err := open(inProcess, vm)
				if err != nil {
					return err
				}
				return c.vm(ctx)
			}, nil
		}},
		{"GET over loopback", 1, func(open opener) (call, error) {
			c, err := open(server.URL, nil)
			if err != nil {
				return nil, err
			}
			return c.vm, nil
		}},
		{"10,000 VMs by 1,000", 7, sameTransport(&list{pages: map[int]string{}}, func(c *calls) call { return c.list })},
		{"metrics, 7 MB", 50, sameTransport(byhand.Fixed{Status: http.StatusOK, Body: byhand.Metrics(20)}, func(c *calls) call { return c.metrics })},
	}
}

// list is a transport that returns the pages of a list.
type list struct {
	pages map[int]string // by the index of the first item
}

func (l *list) RoundTrip(req *http.Request) (*http.Response, error) {
	first := 0
	if after := req.URL.Query().Get("start_after"); after != "" {
		last, err := strconv.Atoi(strings.TrimPrefix(after, "vm"))
		if err != nil {
			return nil, err
		}
		first = last + 1
	}
	if l.pages[first] == "" {
		l.pages[first] = byhand.VMs(first, min(pageSize, listLength-first), listLength)
	}
	return byhand.Respond(req, http.StatusOK, l.pages[first])
}

// newServer returns a server whose every response is a VM.
func newServer() *httptest.Server {
	return httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(byhand.VM))
	}))
}

type row struct {
	Workload string
	Samples  map[string]sample // by client
}

func measureCalls(ctx context.Context, clients []contestant, rounds int, selected *regexp.Regexp) (rows []row, err error) {
	server := newServer()
	server.Start()
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
	byHand, err := w.open(openByHand)
	if err != nil {
		return r, err
	}
	duels := map[string]*duel{}
	var names []string
	for _, c := range clients {
		client, err := w.open(c.open)
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
		if r.Samples[name], err = duels[name].result(ctx); err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
	}
	return r, nil
}
