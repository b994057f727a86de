package cloudapi

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

func TestInferenceAPIKeysWire(t *testing.T) {
	t.Parallel()
	const (
		base = projectPath + "/inference-api-key"
		id   = "akxwe35ezv1y7nhwwjasd540nk"
		key  = "hX3f0a9LQm7Tz5Vb2Kc8Rw1Ny6Dp4Sj0"
		full = `{"id":"` + id + `","key":"` + key + `"}`
	)
	record := &InferenceAPIKey{ID: id, Key: NewSecret(key)}
	runWireCases(t, "InferenceAPIKeys", []wireCase{
		{
			method: "GET", target: base, reply: `{"items":[` + full + `]}`,
			call: func(ctx context.Context, c *Client) (any, error) { return c.InferenceAPIKeys.List(ctx, nil) },
			want: &Page[InferenceAPIKey]{Items: []*InferenceAPIKey{record}},
		},
		{
			name: "all", method: "GET", target: base, reply: `{"items":[` + full + `]}`,
			call: func(ctx context.Context, c *Client) (any, error) { return collect(c.InferenceAPIKeys.All(ctx, nil)) },
			want: []*InferenceAPIKey{record},
		},
		{
			name: "create", method: "POST", target: base, body: `{}`, reply: full,
			call: func(ctx context.Context, c *Client) (any, error) { return c.InferenceAPIKeys.Create(ctx) },
			want: record,
		},
		{
			method: "GET", target: base + "/" + id, reply: full,
			call: func(ctx context.Context, c *Client) (any, error) { return c.InferenceAPIKeys.Get(ctx, id) },
			want: record,
		},
		{
			method: "DELETE", target: base + "/" + id,
			call: func(ctx context.Context, c *Client) (any, error) { return nothing(c.InferenceAPIKeys.Delete(ctx, id)) },
		},
	})
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, record); strings.Contains(text, key) {
			t.Errorf("%s prints the key: %s", format, text)
		}
	}
}
