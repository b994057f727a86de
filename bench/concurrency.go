package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	callers     = 64
	callsOfEach = 50
)

// crowd is the result for many concurrent callers.
type crowd struct {
	connections int
	total, p99  time.Duration
}

// measureConcurrency runs many callers over loopback, for each contestant with
// one client and its own transport.
func measureConcurrency(ctx context.Context, r *report, rounds int) error {
	type series struct{ connections, total, p99 []float64 }
	all := make([]series, len(peers))
	for range max(rounds/50, 3) {
		for _, i := range rand.Perm(len(peers)) {
			p := &peers[i]
			client, err := runCrowd(ctx, p, p.client)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			floor, err := runCrowd(ctx, p, p.floor)
			if err != nil {
				return err
			}
			s := &all[i]
			s.connections = append(s.connections, float64(client.connections))
			s.total = append(s.total, float64(client.total)/float64(floor.total))
			s.p99 = append(s.p99, float64(client.p99)/float64(floor.p99))
		}
	}
	c := contest{fmt.Sprintf("%d callers over loopback", callers), map[string]entry{}}
	for i, p := range peers {
		connections, total, p99 := median(all[i].connections), median(all[i].total), median(all[i].p99)
		more := fmt.Sprintf("%.0f connections, p99 %.2f", connections, p99)
		c.entries[p.name] = entry{total, more}
		if p.name == sdk {
			r.targets = append(r.targets, target{c.what, "0.70, 64 connections, p99 1.00", fmt.Sprintf("%.2f, %s", total, more)})
		}
	}
	r.contest = append(r.contest, c)
	return nil
}

func runCrowd(ctx context.Context, p *peer, open opener) (c crowd, err error) {
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(p.replies.vm))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	client, err := open(server.URL, nil)
	if err != nil {
		return c, err
	}

	times := make([]time.Duration, callers*callsOfEach)
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
				times[i*callsOfEach+j] = time.Since(begin)
			}
		})
	}
	group.Wait()
	c.total = time.Since(start)
	for _, err := range errs {
		if err != nil {
			return c, err
		}
	}
	slices.Sort(times)
	c.connections, c.p99 = int(connections.Load()), times[len(times)*99/100]
	return c, nil
}
