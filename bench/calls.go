package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/floor"
)

// workload is a call that all contestants make.
type workload struct {
	name   string
	target string // for the SDK
	rounds int    // measured in one of this many rounds
	duel   func(*peer) (call, call, error)
}

// same returns a workload of one call, with a transport that serves the
// responses.
func same(transport func(*replies) http.RoundTripper, pick func(*peer, *calls) call) func(*peer) (call, call, error) {
	return func(p *peer) (call, call, error) {
		return both(p, inProcess, transport(p.replies), pick)
	}
}

// both opens a peer and its floor and returns the same call of each; they are
// nil if the peer has none.
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

func vmReply(r *replies) http.RoundTripper { return floor.Fixed{Status: http.StatusOK, Body: r.vm} }

func workloads(server *httptest.Server) []workload {
	return []workload{
		{"GET a VM", "1.05, floor + 5 allocations", 1, same(vmReply, vmOf)},
		{"GET a database", "1.05, floor + 5 allocations", 1, same(
			func(r *replies) http.RoundTripper { return floor.Fixed{Status: http.StatusOK, Body: r.database} },
			func(p *peer, c *calls) call { return c.database })},
		{"POST create", "1.05, floor + 5 allocations", 1, same(
			func(r *replies) http.RoundTripper { return floor.Fixed{Status: http.StatusOK, Body: r.created} },
			func(_ *peer, c *calls) call { return c.create })},
		{"404 with an envelope", "1.10", 1, func(p *peer) (call, call, error) {
			transport := floor.Fixed{Status: http.StatusNotFound, Body: p.replies.missing}
			client, _, err := both(p, inProcess, transport, vmOf)
			if err != nil {
				return nil, nil, err
			}
			floor, err := p.floor(inProcess, transport)
			if err != nil {
				return nil, nil, err
			}
			// The type of the floor's error doesn't matter.
			return p.missing(client), func(ctx context.Context) error {
				if floor.vm(ctx) == nil {
					return errors.New("the floor found it")
				}
				return nil
			}, nil
		}},
		{"a client and one GET", "1.10", 1, func(p *peer) (call, call, error) {
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
		{"GET over loopback", "1.02, floor + 5 allocations", 1, func(p *peer) (call, call, error) {
			return both(p, server.URL+"/"+p.name, nil, vmOf)
		}},
		{"GET over loopback, by hand with a time limit too", "1.02", 1, func(p *peer) (call, call, error) {
			if p.name != sdk {
				return nil, nil, nil
			}
			base := server.URL + "/" + p.name
			client, err := p.client(base, nil)
			if err != nil {
				return nil, nil, err
			}
			return client.vm, floorCalls(floor.Client{Base: base, Token: token, HTTP: &http.Client{Timeout: time.Minute}}).vm, nil
		}},
		{"10,000 VMs by 1,000", "1.00, bytes 1.00", 7, same(
			func(r *replies) http.RoundTripper { return newList(r, listLength, 0) },
			func(_ *peer, c *calls) call { return c.list })},
		{"metrics, 7 MB", "1.00, 3,000 allocations", 50, same(
			func(r *replies) http.RoundTripper {
				if r.metrics == nil {
					return nil
				}
				return floor.Fixed{Status: http.StatusOK, Body: r.metrics()}
			},
			func(_ *peer, c *calls) call { return c.metrics })},
	}
}

// newServer serves each peer's VM under a path that begins with the peer's
// name.
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

func measureCalls(ctx context.Context, r *report, rounds int, selected *regexp.Regexp) error {
	server := newServer()
	defer server.Close()
	for _, w := range workloads(server) {
		if !selected.MatchString(w.name) {
			continue
		}
		samples, err := measureWorkload(ctx, w, max(rounds/w.rounds, 3))
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		c := contest{w.name, map[string]entry{}}
		for name, s := range samples {
			c.entries[name] = entry{s.Ratio, thousands(s.Allocs) + " of " + thousands(s.Of)}
		}
		r.contest = append(r.contest, c)
		if s, ok := samples[sdk]; ok {
			r.targets = append(r.targets, target{w.name, w.target, fmt.Sprintf("%.2f, allocations %s of %s, bytes %.2f",
				s.Ratio, thousands(s.Allocs), thousands(s.Of), s.Bytes/s.FloorBytes)})
			r.spread = append(r.spread, spread{w.name, s})
		}
	}
	return nil
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
