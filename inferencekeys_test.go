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
			want: &Page[InferenceAPIKey]{Items: []*InferenceAPIKey{record}, NextStartAfter: id},
		},
		{
			name: "all", method: "GET", target: base + "?page_size=1000", reply: `{"items":[` + full + `]}`,
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

// A whole list is complete with its one reply, however long it is.
func TestWholeListIsOneRequest(t *testing.T) {
	t.Parallel()
	var reply strings.Builder
	reply.WriteString(`{"items":[`)
	for i := range 1500 {
		if i > 0 {
			reply.WriteByte(',')
		}
		fmt.Fprintf(&reply, `{"id":"ak%024d","key":"k"}`, i)
	}
	reply.WriteString(`]}`)
	c := wireCase{
		method: "GET", target: projectPath + "/inference-api-key?page_size=1000", reply: reply.String(),
		call: func(ctx context.Context, c *Client) (any, error) {
			keys, err := Collect(c.InferenceAPIKeys.All(ctx, nil))
			return len(keys), err
		},
		want: 1500,
	}
	c.run(t)
}
