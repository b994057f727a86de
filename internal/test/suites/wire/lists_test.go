package wire_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestRepositoriesByName: the server sorts by the full name,
// "installation/repository", and the next page begins after a full name.
// Records contain only the repository's part.
func TestRepositoriesByName(t *testing.T) {
	t.Parallel()
	for _, installation := range []string{"acme", "zoo"} {
		names := []string{"Caps_Repo.js", "api", "docs", "web"}
		network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
			after := req.URL.Query().Get("start_after")
			var page []string
			for i, name := range names {
				if installation+"/"+name > after && len(page) < 2 {
					page = append(page, fmt.Sprintf(`{"id":"gp%024d","installation_name":%q,"name":%q}`, i, installation, name))
				}
			}
			return stub.Respond(200, fmt.Sprintf(`{"items":[%s],"count":%d}`, strings.Join(page, ","), len(names))), nil
		}}
		var found []string
		for repository, err := range sdktest.Recorded(t, &network).GitHub.AllRepositories(t.Context(), installation,
			&cloudapi.ListOptions{OrderColumn: cloudapi.OrderByName, PageSize: 2}) {
			if err != nil {
				t.Errorf("%s: %v", installation, err)
				break
			}
			found = append(found, repository.Name)
		}
		if !slices.Equal(found, names) {
			t.Errorf("the repositories of %s are %q", installation, found)
		}
	}
}

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

// TestResolvePostgresServer finds the database of a server, even if other
// databases are invisible or were just deleted.
func TestResolvePostgresServer(t *testing.T) {
	t.Parallel()
	const serverID = "pvdcnv0pp6wj4jnx1dytre5yj4"
	network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
		switch req.URL.Path {
		case projectPath + "/postgres":
			return stub.Respond(200, `{"items":[{"id":"`+replicaID+`","name":"gone","location":"eu-central-h1"},{"id":"`+pgID+`","name":"orders-db","location":"eu-central-h1"}],"count":2}`), nil
		case locationPath + "/postgres/" + pgID + "/servers":
			return stub.Respond(200, `{"items":[{"id":"pv00000000000000000000000z"},{"id":"`+serverID+`","role":"standby"}],"count":2}`), nil
		}
		return stub.Respond(404, stub.Envelope(404)), nil
	}}
	client := sdktest.Recorded(t, &network)
	found, err := client.Resolve(t.Context(), serverID)
	if err != nil || found.Kind != cloudapi.KindPostgresServer || found.ID != serverID || found.Parent == nil || found.Parent.ID != pgID {
		t.Errorf("the server is %v, %v", found, err)
	}
	server, err := cloudapi.Lookup[cloudapi.PostgresServer](t.Context(), client, serverID)
	if err != nil || server.Role != cloudapi.PostgresServerRoleStandby {
		t.Errorf("the server is %+v, %v", server, err)
	}
	if found, err := client.Resolve(t.Context(), "pvjey6g253fa4n1dbgbsps0nk8"); !errors.Is(err, cloudapi.ErrNotFound) {
		t.Errorf("another server is %v, %v", found, err)
	}
}
