package main

import "testing"

// TestWorkloads: every client, and the code by hand, can run every workload.
func TestWorkloads(t *testing.T) {
	server := newServer()
	server.Start()
	defer server.Close()
	for _, w := range workloads(server) {
		for _, c := range append([]contestant{{"by hand", openByHand}}, clients...) {
			call, err := w.open(c.open)
			if err == nil && call != nil {
				err = call(t.Context())
			}
			if err != nil {
				t.Errorf("%s, %s: %v", w.name, c.name, err)
			}
		}
	}
}
