package cloudapi

import (
	"context"
	"net/http"
	"testing"
)

// TestPanicsReachTheCaller: what a middleware panics with in one of several
// calls at the same time is a panic of the caller, who can recover from it.
func TestPanicsReachTheCaller(t *testing.T) {
	t.Parallel()
	network := recorder{answer: func(*http.Request) (*http.Response, error) { panic("a middleware") }}
	client := network.client(t)
	for name, call := range map[string]func(context.Context) error{
		"Get":          func(ctx context.Context) error { _, err := client.VMs.Get(ctx, "eu-central-h1", "web-1"); return err },
		"Resolve":      func(ctx context.Context) error { _, err := client.Resolve(ctx, "eu-central-h1/web-1"); return err },
		"PlanTeardown": func(ctx context.Context) error { _, err := client.PlanTeardown(ctx, nil); return err },
	} {
		func() {
			defer func() {
				if r := recover(); r != "a middleware" {
					t.Errorf("%s: recovered %v", name, r)
				}
			}()
			t.Errorf("%s returned %v", name, call(t.Context()))
		}()
	}
}
