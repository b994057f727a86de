package wire_test

import (
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
			call: calls("InferenceAPIKeys.List", nil),
			want: &cloudapi.Page[cloudapi.InferenceAPIKey]{Items: []*cloudapi.InferenceAPIKey{record}},
		},
		{
			name: "all", method: "GET", target: base, reply: `{"items":[` + full + `]}`,
			call: calls("InferenceAPIKeys.All", nil),
			want: []*cloudapi.InferenceAPIKey{record},
		},
		{
			name: "create", method: "POST", target: base, body: `{}`, reply: full,
			call: calls("InferenceAPIKeys.Create"),
			want: record,
		},
		{
			method: "GET", target: base + "/" + id, reply: full,
			call: calls("InferenceAPIKeys.Get", id),
			want: record,
		},
		{
			method: "DELETE", target: base + "/" + id,
			call: calls("InferenceAPIKeys.Delete", id),
		},
	})
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, record); strings.Contains(text, key) {
			t.Errorf("%s prints the key: %s", format, text)
		}
	}
}
