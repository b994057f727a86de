package wire_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func gitHubCases() []wireCase {
	const (
		installationID = "g1bb13th3gve6phz1nwvjpeg1n"
		repositoryID   = "gpsp2s9x14re1krpry05e658eg"
		entryID        = "ge5vpka2heqp4n5bt9hddan0xv"
		base           = projectPath + "/github"
		repositories   = base + "/" + installationID + "/repository"
		cache          = repositories + "/" + repositoryID + "/cache"

		installation = `{"id":"` + installationID + `","name":"acme"}`
		repository   = `{"id":"` + repositoryID + `","installation_name":"acme","name":"api"}`
		entry        = `{"id":"` + entryID + `","installation_name":"acme","repository_name":"acme/api","key":"go-mod-1","scope":"main",` +
			`"size":12345678901,"created_at":"2026-11-22T02:56:57Z","last_accessed_at":"2026-11-22T03:00:00Z"}`
	)
	return []wireCase{
		{do("GitHub.ListInstallations", &cloudapi.ListOptions{PageSize: 1, OrderColumn: cloudapi.OrderByName}),
			"GET " + base + "?order_column=name&page_size=1", list(installation)},
		{do("GitHub.AllInstallations", nil), "GET " + base + "?page_size=1000", list(installation)},
		{do("GitHub.GetInstallation", "acme"), "GET " + base + "/acme", installation},
		{do("GitHub.ListRepositories", installationID, nil), "GET " + repositories, list(repository)},
		{do("GitHub.AllRepositories", installationID, nil), "GET " + repositories + "?page_size=1000", list(repository)},
		{do("GitHub.GetRepository", "acme", "api"), "GET " + base + "/acme/repository/api", repository},
		{do("GitHub.ListCacheEntries", installationID, repositoryID, &cloudapi.ListOptions{PageSize: 2}), "GET " + cache + "?page_size=2", list(entry)},
		{do("GitHub.AllCacheEntries", installationID, repositoryID, nil), "GET " + cache + "?page_size=1000", list(entry)},
		{do("GitHub.GetCacheEntry", installationID, repositoryID, entryID), "GET " + cache + "/" + entryID, entry},
		{do("GitHub.GetCacheEntry", installationID, repositoryID, entryID), "GET " + cache + "/" + entryID, // during its upload
			`{"id":"` + entryID + `","key":"go-mod-1","size":null,"last_accessed_at":null}`},
		{do("GitHub.DeleteCacheEntry", installationID, repositoryID, entryID), "DELETE " + cache + "/" + entryID, nil},
		{do("GitHub.DeleteAllCacheEntries", installationID, repositoryID), "DELETE " + cache, nil},
	}
}

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
