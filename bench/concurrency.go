package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	callers     = 64
	callsOfEach = 50
)

// crowd has the results of many concurrent callers: the number of connections,
// the time of all calls, and the 99th percentile of the time of one call. The
// times are in seconds.
type crowd struct{ connections, total, p99 float64 }

// measureConcurrency returns the medians of all rounds, by client. The times are
// relative to that of the calls by hand.
func measureConcurrency(ctx context.Context, rounds int) (map[string]crowd, error) {
	rest := map[string][3][]float64{}
	for range rounds {
		for _, i := range rand.Perm(len(clients)) {
			c := &clients[i]
			client, err := runCrowd(ctx, c.open)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			byHand, err := runCrowd(ctx, openByHand)
			if err != nil {
				return nil, err
			}
			s := rest[c.name]
			s[0], s[1], s[2] = append(s[0], client.connections), append(s[1], client.total/byHand.total), append(s[2], client.p99/byHand.p99)
			rest[c.name] = s
		}
	}
	crowds := map[string]crowd{}
	for name, s := range rest {
		crowds[name] = crowd{median(s[0]), median(s[1]), median(s[2])}
	}
	return crowds, nil
}

func runCrowd(ctx context.Context, open opener) (crowd, error) {
	var connections atomic.Int64
	server := newServer()
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	client, err := open(server.URL, nil)
	if err != nil {
		return crowd{}, err
	}

	times := make([]float64, callers*callsOfEach)
	errs := make([]error, callers)
	var group sync.WaitGroup
	start := time.Now()
	for i := range callers {
		group.Go(func() {
			for j := range callsOfEach {
				begin := time.Now()
				if errs[i] = client.vm(ctx); errs[i] != nil {
					return
				}
				times[i*callsOfEach+j] = time.Since(begin).Seconds()
			}
		})
	}
	group.Wait()
	total := time.Since(start).Seconds()
	for _, err := range errs {
		if err != nil {
			return crowd{}, err
		}
	}
	slices.Sort(times)
	return crowd{float64(connections.Load()), total, times[len(times)*99/100]}, nil
}
