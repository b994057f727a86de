package wire_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
)

func TestInferenceAPIKeysWire(t *testing.T) {
	t.Parallel()
	const (
		base = projectPath + "/inference-api-key"
		id   = "akxwe35ezv1y7nhwwjasd540nk"
		key  = "hX3f0a9LQm7Tz5Vb2Kc8Rw1Ny6Dp4Sj0"
		full = `{"id":"` + id + `","key":"` + key + `"}`
	)
	record := &cloudapi.InferenceAPIKey{ID: id, Key: cloudapi.NewSecret(key)}
	runWireCases(t, "InferenceAPIKeys", []wireCase{
		{
			method: "GET", target: base, reply: `{"items":[` + full + `]}`,
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) { return c.InferenceAPIKeys.List(ctx, nil) },
			want: &cloudapi.Page[cloudapi.InferenceAPIKey]{Items: []*cloudapi.InferenceAPIKey{record}},
		},
		{
			name: "all", method: "GET", target: base, reply: `{"items":[` + full + `]}`,
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) {
				return collect(c.InferenceAPIKeys.All(ctx, nil))
			},
			want: []*cloudapi.InferenceAPIKey{record},
		},
		{
			name: "create", method: "POST", target: base, body: `{}`, reply: full,
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) { return c.InferenceAPIKeys.Create(ctx) },
			want: record,
		},
		{
			method: "GET", target: base + "/" + id, reply: full,
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) { return c.InferenceAPIKeys.Get(ctx, id) },
			want: record,
		},
		{
			method: "DELETE", target: base + "/" + id,
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) {
				return nothing(c.InferenceAPIKeys.Delete(ctx, id))
			},
		},
	})
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, record); strings.Contains(text, key) {
			t.Errorf("%s prints the key: %s", format, text)
		}
	}
}
