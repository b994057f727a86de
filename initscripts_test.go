package cloudapi

import (
	"context"
	"errors"
	"testing"
)

func TestVMInitScriptsWire(t *testing.T) {
	t.Parallel()
	const (
		base  = projectPath + "/vm-init-script"
		id    = "1ny350r73gma5hpsted9dg8xrf"
		full  = `{"id":"` + id + `","name":"bootstrap","script":"#!/bin/sh\napt-get update\n"}`
		short = `{"id":"` + id + `","name":"bootstrap"}`
	)
	record := &VMInitScript{ID: id, Name: "bootstrap", Script: "#!/bin/sh\napt-get update\n"}
	item := &VMInitScript{ID: id, Name: "bootstrap"}
	runWireCases(t, "VMInitScripts", []wireCase{
		{
			method: "GET", target: base, reply: `{"items":[` + short + `]}`,
			call: func(ctx context.Context, c *Client) (any, error) { return c.VMInitScripts.List(ctx, nil) },
			want: &Page[VMInitScript]{Items: []*VMInitScript{item}},
		},
		{
			name: "all", method: "GET", target: base, reply: `{"items":[` + short + `]}`,
			call: func(ctx context.Context, c *Client) (any, error) { return collect(c.VMInitScripts.All(ctx, nil)) },
			want: []*VMInitScript{item},
		},
		{
			name: "create", method: "POST", target: base, reply: full,
			body: `{"name":"bootstrap","script":"#!/bin/sh\napt-get update\n"}`,
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.VMInitScripts.Create(ctx, &VMInitScriptCreateRequest{Name: "bootstrap", Script: "#!/bin/sh\napt-get update\n"})
			},
			want: record,
		},
		{
			method: "GET", target: base + "/bootstrap", reply: full,
			call: func(ctx context.Context, c *Client) (any, error) { return c.VMInitScripts.Get(ctx, "bootstrap") },
			want: record,
		},
		{
			name: "update the name", method: "POST", target: base + "/" + id, body: `{"name":"bootstrap"}`, reply: full,
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.VMInitScripts.Update(ctx, id, &VMInitScriptUpdateRequest{Name: "bootstrap"})
			},
			want: record,
		},
		{
			name: "update the name by the name", byName: true, method: "POST", target: base + "/startup", body: `{"name":"bootstrap"}`, reply: full,
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.VMInitScripts.Update(ctx, "startup", &VMInitScriptUpdateRequest{Name: "bootstrap"})
			},
			want: record,
		},
		{
			name: "update the script", method: "POST", target: base + "/bootstrap", body: `{"script":"true"}`, reply: full,
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.VMInitScripts.Update(ctx, "bootstrap", &VMInitScriptUpdateRequest{Script: "true"})
			},
			want: record,
		},
		{
			method: "DELETE", target: base + "/bootstrap",
			call: func(ctx context.Context, c *Client) (any, error) {
				return nothing(c.VMInitScripts.Delete(ctx, "bootstrap"))
			},
		},
	})
}

func TestVMInitScriptUpdateOfNothing(t *testing.T) {
	t.Parallel()
	client := sendingNothing(t)
	for _, request := range []*VMInitScriptUpdateRequest{nil, {}} {
		_, err := client.VMInitScripts.Update(t.Context(), "bootstrap", request)
		if !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("Update with %+v: %v", request, err)
		}
	}
}
