package wire_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func TestGitHubWire(t *testing.T) {
	t.Parallel()
	const (
		installationID = "g1bb13th3gve6phz1nwvjpeg1n"
		repositoryID   = "gpsp2s9x14re1krpry05e658eg"
		entryID        = "ge5vpka2heqp4n5bt9hddan0xv"
		base           = projectPath + "/github"
		repositories   = base + "/" + installationID + "/repository"
		cache          = repositories + "/" + repositoryID + "/cache"

		installationJSON = `{"id":"` + installationID + `","name":"acme"}`
		repositoryJSON   = `{"id":"` + repositoryID + `","installation_name":"acme","name":"api"}`
		entryJSON        = `{"id":"` + entryID + `","installation_name":"acme","repository_name":"acme/api","key":"go-mod-1","scope":"main",` +
			`"size":12345678901,"created_at":"2026-11-22T02:56:57Z","last_accessed_at":null}`
	)
	installation := &cloudapi.GitHubInstallation{ID: installationID, Name: "acme"}
	repository := &cloudapi.GitHubRepository{ID: repositoryID, InstallationName: "acme", Name: "api"}
	entry := &cloudapi.GitHubCacheEntry{ID: entryID, InstallationName: "acme", RepositoryName: "acme/api", Key: "go-mod-1", Scope: "main",
		Size: new(int64(12345678901)), CreatedAt: time.Date(2026, 11, 22, 2, 56, 57, 0, time.UTC)}
	runWireCases(t, "GitHub", []wireCase{
		{
			method: "GET", target: base + "?order_column=name&page_size=1", reply: `{"items":[` + installationJSON + `],"count":2}`,
			call: calls("GitHub.ListInstallations", &cloudapi.ListOptions{PageSize: 1, OrderColumn: cloudapi.OrderByName}),
			want: &cloudapi.Page[cloudapi.GitHubInstallation]{Items: []*cloudapi.GitHubInstallation{installation}, Count: new(2), Next: "acme"},
		},
		{
			name: "all installations", method: "GET", target: base + "?page_size=1000", reply: `{"items":[` + installationJSON + `],"count":1}`,
			call: calls("GitHub.AllInstallations", nil),
			want: []*cloudapi.GitHubInstallation{installation},
		},
		{
			name: "installation", method: "GET", target: base + "/acme", reply: installationJSON,
			call: calls("GitHub.GetInstallation", "acme"),
			want: installation,
		},
		{
			name: "repositories", method: "GET", target: repositories, reply: `{"items":[` + repositoryJSON + `],"count":1}`,
			call: calls("GitHub.ListRepositories", installationID, nil),
			want: &cloudapi.Page[cloudapi.GitHubRepository]{Items: []*cloudapi.GitHubRepository{repository}, Count: new(1), Next: repositoryID},
		},
		{
			name: "all repositories", method: "GET", target: repositories + "?page_size=1000", reply: `{"items":[` + repositoryJSON + `],"count":1}`,
			call: calls("GitHub.AllRepositories", installationID, nil),
			want: []*cloudapi.GitHubRepository{repository},
		},
		{
			name: "repository", method: "GET", target: base + "/acme/repository/api", reply: repositoryJSON,
			call: calls("GitHub.GetRepository", "acme", "api"),
			want: repository,
		},
		{
			name: "cache entries", method: "GET", target: cache + "?page_size=2", reply: `{"items":[` + entryJSON + `],"count":3}`,
			call: calls("GitHub.ListCacheEntries", installationID, repositoryID, &cloudapi.ListOptions{PageSize: 2}),
			want: &cloudapi.Page[cloudapi.GitHubCacheEntry]{Items: []*cloudapi.GitHubCacheEntry{entry}, Count: new(3), Next: entryID},
		},
		{
			name: "all cache entries", method: "GET", target: cache + "?page_size=1000", reply: `{"items":[` + entryJSON + `],"count":1}`,
			call: calls("GitHub.AllCacheEntries", installationID, repositoryID, nil),
			want: []*cloudapi.GitHubCacheEntry{entry},
		},
		{
			name: "cache entry", method: "GET", target: cache + "/" + entryID, reply: entryJSON,
			call: calls("GitHub.GetCacheEntry", installationID, repositoryID, entryID),
			want: entry,
		},
		{
			name: "cache entry during its upload", method: "GET", target: cache + "/" + entryID, reply: `{"id":"` + entryID + `","key":"go-mod-1","size":null}`,
			call: calls("GitHub.GetCacheEntry", installationID, repositoryID, entryID),
			want: &cloudapi.GitHubCacheEntry{ID: entryID, Key: "go-mod-1"},
		},
		{
			name: "delete a cache entry", method: "DELETE", target: cache + "/" + entryID,
			call: calls("GitHub.DeleteCacheEntry", installationID, repositoryID, entryID),
		},
		{
			name: "delete all cache entries", method: "DELETE", target: cache,
			call: calls("GitHub.DeleteAllCacheEntries", installationID, repositoryID),
		},
	})
}

// TestRepositoriesByName: the server sorts and continues by the full name,
// "installation/repository", of which records contain only the second part.
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
