package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
)

// workload is a row of the first table.
type workload struct {
	name   string
	target string // for the SDK
	rounds int    // one in so many of all rounds
	duel   func(*peer) (call, call, error)
}

// same makes a workload of one call, served by a transport for the replies.
func same(transport func(*replies) http.RoundTripper, pick func(*peer, *calls) call) func(*peer) (call, call, error) {
	return func(p *peer) (call, call, error) {
		return both(p, inProcess, transport(p.replies), pick)
	}
}

// both opens a peer and its floor and picks the same call of both; they are nil
// if the peer has none.
func both(p *peer, base string, transport http.RoundTripper, pick func(*peer, *calls) call) (client, floor call, err error) {
	c, err := p.client(base, transport)
	if err != nil {
		return nil, nil, err
	}
	f, err := p.floor(base, transport)
	if err != nil {
		return nil, nil, err
	}
	return pick(p, c), pick(p, f), nil
}

func vmOf(_ *peer, c *calls) call { return c.vm }

func vmReply(r *replies) http.RoundTripper { return fixed{http.StatusOK, r.vm} }

func workloads(server *httptest.Server) []workload {
	return []workload{
		{"GET a VM", "1.05, floor + 5", 1, same(vmReply, vmOf)},
		{"GET a database", "1.05, floor + 5", 1, same(
			func(r *replies) http.RoundTripper { return fixed{http.StatusOK, r.database} },
			func(p *peer, c *calls) call { return c.database })},
		{"POST create", "1.05, floor + 5", 1, same(
			func(r *replies) http.RoundTripper { return fixed{http.StatusOK, r.created} },
			func(_ *peer, c *calls) call { return c.create })},
		{"404 with an envelope", "1.20", 1, func(p *peer) (call, call, error) {
			transport := fixed{http.StatusNotFound, p.replies.missing}
			client, _, err := both(p, inProcess, transport, vmOf)
			if err != nil {
				return nil, nil, err
			}
			floor, err := p.floor(inProcess, transport)
			if err != nil {
				return nil, nil, err
			}
			// Which type the floor's error has does not matter.
			return p.missing(client), func(ctx context.Context) error {
				if floor.vm(ctx) == nil {
					return fmt.Errorf("the floor found it")
				}
				return nil
			}, nil
		}},
		{"a client and one GET", "1.15", 1, func(p *peer) (call, call, error) {
			transport := vmReply(p.replies)
			once := func(open opener) call {
				return func(ctx context.Context) error {
					c, err := open(inProcess, transport)
					if err != nil {
						return err
					}
					return c.vm(ctx)
				}
			}
			return once(p.client), once(p.floor), nil
		}},
		{"GET over loopback", "1.00, floor + 5", 1, func(p *peer) (call, call, error) {
			return both(p, server.URL+"/"+p.name, nil, vmOf)
		}},
		{"10,000 VMs by 1,000", "1.00", 6, same(
			func(r *replies) http.RoundTripper { return newList(r, listLength, 0) },
			func(_ *peer, c *calls) call { return c.list })},
		{"metrics, 7 MB", "0.80, 2,000 in all", 20, same(
			func(r *replies) http.RoundTripper {
				if r.metrics == nil {
					return nil
				}
				return fixed{http.StatusOK, r.metrics()}
			},
			func(_ *peer, c *calls) call { return c.metrics })},
	}
}

// newServer serves each peer's VM below the peer's name.
func newServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, p := range peers {
			if strings.HasPrefix(r.URL.Path, "/"+p.name+"/") {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(p.replies.vm))
				return
			}
		}
		http.NotFound(w, r)
	}))
}

// callResult is a row of the first table, with samples by peer.
type callResult struct {
	workload workload
	samples  map[string]sample
}

func measureCalls(ctx context.Context, rounds int, selected *regexp.Regexp) ([]callResult, error) {
	server := newServer()
	defer server.Close()
	var results []callResult
	for _, w := range workloads(server) {
		if !selected.MatchString(w.name) {
			continue
		}
		samples, err := measureWorkload(ctx, w, max(rounds/w.rounds, 3))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		results = append(results, callResult{w, samples})
	}
	return results, nil
}

func measureWorkload(ctx context.Context, w workload, rounds int) (map[string]sample, error) {
	duels := map[string]*duel{}
	var names []string
	for _, p := range peers {
		client, floor, err := w.duel(&p)
		if err == nil && client != nil {
			duels[p.name], err = newDuel(ctx, client, floor)
			names = append(names, p.name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	for range rounds {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			if err := duels[name].round(ctx); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	samples := map[string]sample{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		var err error
		if samples[name], err = duels[name].result(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return samples, nil
}
