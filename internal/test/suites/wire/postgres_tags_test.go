package wire_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestPostgresByTags: the result is the same whether or not the server filters
// by tags.
func TestPostgresByTags(t *testing.T) {
	t.Parallel()
	const (
		prod  = `{"id":"pgaaaaaaaaaaaaaaaaaaaaaaaa","tags":[{"key":"env","value":"prod"},{"key":"url","value":"a:b"}]}`
		other = `{"id":"pgbbbbbbbbbbbbbbbbbbbbbbbb","tags":[{"key":"env","value":"prod"},{"key":"url","value":"c"}]}`
		test  = `{"id":"pgcccccccccccccccccccccccc","tags":[{"key":"env","value":"test"}]}`
		space = `{"id":"pgdddddddddddddddddddddddd","tags":[{"key":"team","value":" b"}]}`
		all   = `{"items":[` + prod + `,` + other + `,` + test + `],"count":3}`
	)
	env, url := cloudapi.PostgresTag{Key: "env", Value: "prod"}, cloudapi.PostgresTag{Key: "url", Value: "a:b"}
	for name, tt := range map[string]struct {
		opts  cloudapi.ListOptions
		query string
		reply string
		want  []string
		count bool
	}{
		"selected by the server":     {cloudapi.ListOptions{Tags: []cloudapi.PostgresTag{env}}, "tags=env%3Aprod", `{"items":[` + prod + `],"count":1}`, []string{"a"}, true},
		"contract":                   {cloudapi.ListOptions{Tags: []cloudapi.PostgresTag{env}}, "tags=env%3Aprod", all, []string{"a", "b"}, false},
		"of a location":              {cloudapi.ListOptions{Tags: []cloudapi.PostgresTag{env}, Location: location}, "", all, []string{"a", "b"}, false},
		"what cannot be asked for":   {cloudapi.ListOptions{Tags: []cloudapi.PostgresTag{url}}, "", all, []string{"a"}, false},
		"what the server would trim": {cloudapi.ListOptions{Tags: []cloudapi.PostgresTag{{Key: "team", Value: " b"}}}, "", `{"items":[` + space + `,` + test + `],"count":2}`, []string{"d"}, false},
		"several":                    {cloudapi.ListOptions{Tags: []cloudapi.PostgresTag{env, {Key: "team", Value: "x"}}}, "tags=env%3Aprod%2Cteam%3Ax", all, nil, false},
		"none":                       {cloudapi.ListOptions{}, "", all, []string{"a", "b", "c"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				query := req.URL.Query()
				query.Del("page_size")
				query.Del("start_after")
				if got := query.Encode(); got != tt.query {
					t.Errorf("asked for %q, want %q", got, tt.query)
				}
				if req.URL.Query().Has("start_after") {
					return stub.Respond(200, `{"items":[],"count":3}`), nil
				}
				return stub.Respond(200, tt.reply), nil
			}))
			letters := func(items []*cloudapi.Postgres) (letters []string) {
				for _, p := range items {
					letters = append(letters, p.ID[2:3])
				}
				return letters
			}
			page, err := client.Postgres.List(t.Context(), &tt.opts)
			if err != nil || !slices.Equal(letters(page.Items), tt.want) || (page.Count != nil) != tt.count {
				t.Errorf("List returned %v, %v", page, err)
			}
			items, err := cloudapi.Collect(client.Postgres.All(t.Context(), &tt.opts))
			if err != nil || !slices.Equal(letters(items), tt.want) {
				t.Errorf("All returned %v, %v", letters(items), err)
			}
		})
	}
	_, err := sdktest.SendingNothing(t).VMs.List(t.Context(), &cloudapi.ListOptions{Tags: []cloudapi.PostgresTag{env}})
	if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != "Tags" || e.Operation != "VMs.List" {
		t.Errorf("VMs by tags: %v", err)
	}
}
