package main

import (
	"encoding/json"
	"testing"
)

// Every contestant and its calls by hand can run every workload, and responses have the
// same size for all.
func TestWorkloads(t *testing.T) {
	server := newServer()
	defer server.Close()
	for _, w := range workloads(server) {
		for _, p := range clients {
			client, byHand, err := w.duel(&p)
			if err != nil {
				t.Fatalf("%s, %s: %v", w.name, p.name, err)
			}
			if client == nil {
				continue
			}
			if err := client(t.Context()); err != nil {
				t.Errorf("%s, %s: %v", w.name, p.name, err)
			}
			if err := byHand(t.Context()); err != nil {
				t.Errorf("%s, by hand, of %s: %v", w.name, p.name, err)
			}
		}
	}
}

func TestResponses(t *testing.T) {
	for _, p := range clients {
		for name, reply := range map[string][2]string{
			"vm":      {p.replies.vm, ourReplies.vm},
			"missing": {p.replies.missing, ourReplies.missing},
			"page":    {p.replies.page(0, pageSize, listLength), ourReplies.page(0, pageSize, listLength)},
		} {
			got, want := reply[0], reply[1]
			if !json.Valid([]byte(got)) {
				t.Errorf("%s: %s is not JSON", p.name, name)
			}
			if difference := float64(len(got))/float64(len(want)) - 1; difference < -0.1 || difference > 0.1 {
				t.Errorf("%s: %s has %d bytes, the SDK's has %d", p.name, name, len(got), len(want))
			}
		}
	}
}
