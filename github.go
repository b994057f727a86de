package cloudapi

import (
	"context"
	"iter"
	"time"
)

// GitHubService manages the data of GitHub Actions runners: installations of
// the GitHub app, their repositories, and caches. Refer to them by ID: the
// server refuses capitals, underscores and dots in names. Methods return
// [ErrServer] if the server has no GitHub app. † Only the service has these.
type GitHubService service

// GitHubInstallation is the GitHub app in an account or organization.
type GitHubInstallation struct {
	ID   string `json:"id"`   // prefix g1
	Name string `json:"name"` // the name of the account or organization
}

func (i *GitHubInstallation) Resource() Resource {
	return Resource{Kind: KindGitHubInstallation, ID: i.ID, Name: i.Name}
}

// GitHubRepository is a repository of an installation.
type GitHubRepository struct {
	ID               string `json:"id"` // prefix gp
	InstallationName string `json:"installation_name"`
	Name             string `json:"name"` // without the name of the installation
}

func (r *GitHubRepository) Resource() Resource {
	return Resource{Kind: KindGitHubRepository, ID: r.ID, Name: r.Name}
}

// cursor returns the value that the server sorts by: the ID, or the names of
// the installation and the repository, such as "acme/api".
func (r *GitHubRepository) cursor(column string) string {
	if column == OrderByName {
		return r.InstallationName + "/" + r.Name
	}
	return r.ID
}

// GitHubCacheEntry is what a repository's workflows have stored under a key.
type GitHubCacheEntry struct {
	ID               string    `json:"id"` // prefix ge
	InstallationName string    `json:"installation_name"`
	RepositoryName   string    `json:"repository_name"` // with the name of the installation, such as "acme/api"
	Key              string    `json:"key"`
	Scope            string    `json:"scope"` // the Git branch
	Size             *int64    `json:"size"`  // in bytes; nil until a workflow has uploaded it
	CreatedAt        time.Time `json:"created_at"`
	LastAccessedAt   time.Time `json:"last_accessed_at"` // zero if no workflow has used it
}

func (e *GitHubCacheEntry) Resource() Resource { return Resource{Kind: KindGitHubCacheEntry, ID: e.ID} }

const (
	gitHubRoute             = projectRoute + "/github"
	gitHubInstallationRoute = gitHubRoute + "/{github_installation_reference}"
	gitHubRepositoryRoute   = gitHubInstallationRoute + "/repository/{github_repository_reference}"
	gitHubCacheEntryRoute   = gitHubRepositoryRoute + "/cache/{github_cache_entry_id}"
)

var (
	opGitHubListInstallations     = Operation{"GitHub.ListInstallations", "GET", gitHubRoute, idempotent | serviceOnly}
	opGitHubGetInstallation       = Operation{"GitHub.GetInstallation", "GET", gitHubInstallationRoute, idempotent | serviceOnly}
	opGitHubListRepositories      = Operation{"GitHub.ListRepositories", "GET", gitHubInstallationRoute + "/repository", idempotent | serviceOnly}
	opGitHubGetRepository         = Operation{"GitHub.GetRepository", "GET", gitHubRepositoryRoute, idempotent | serviceOnly}
	opGitHubListCacheEntries      = Operation{"GitHub.ListCacheEntries", "GET", gitHubRepositoryRoute + "/cache", idempotent | serviceOnly}
	opGitHubDeleteAllCacheEntries = Operation{"GitHub.DeleteAllCacheEntries", "DELETE", gitHubRepositoryRoute + "/cache", idempotent | serviceOnly}
	opGitHubGetCacheEntry         = Operation{"GitHub.GetCacheEntry", "GET", gitHubCacheEntryRoute, idempotent | serviceOnly}
	opGitHubDeleteCacheEntry      = Operation{"GitHub.DeleteCacheEntry", "DELETE", gitHubCacheEntryRoute, idempotent | serviceOnly}

	listGitHubInstallations = listRoutes{project: &opGitHubListInstallations}
	listGitHubRepositories  = listRoutes{project: &opGitHubListRepositories}
	listGitHubCacheEntries  = listRoutes{project: &opGitHubListCacheEntries}
)

// ListInstallations returns one page of the project's installations.
func (s *GitHubService) ListInstallations(ctx context.Context, opts *ListOptions) (*Page[GitHubInstallation], error) {
	return list[GitHubInstallation](ctx, s.conn, &listGitHubInstallations, opts)
}

// AllInstallations iterates over the project's installations.
func (s *GitHubService) AllInstallations(ctx context.Context, opts *ListOptions) iter.Seq2[*GitHubInstallation, error] {
	return all[GitHubInstallation](ctx, s.conn, &listGitHubInstallations, opts)
}

// GetInstallation returns an installation.
func (s *GitHubService) GetInstallation(ctx context.Context, installation string) (*GitHubInstallation, error) {
	return perform[GitHubInstallation](ctx, s.conn, &opGitHubGetInstallation, installation)
}

// ListRepositories returns one page of the repositories of an installation. In
// the order by name, capital letters come first. StartAfter must then include
// the name of the installation, as in "acme/api".
func (s *GitHubService) ListRepositories(ctx context.Context, installation string, opts *ListOptions) (*Page[GitHubRepository], error) {
	return list[GitHubRepository](ctx, s.conn, &listGitHubRepositories, opts, installation)
}

// AllRepositories iterates over the repositories of an installation.
func (s *GitHubService) AllRepositories(ctx context.Context, installation string, opts *ListOptions) iter.Seq2[*GitHubRepository, error] {
	return all[GitHubRepository](ctx, s.conn, &listGitHubRepositories, opts, installation)
}

// GetRepository returns a repository by its ID or [GitHubRepository.Name].
func (s *GitHubService) GetRepository(ctx context.Context, installation, repository string) (*GitHubRepository, error) {
	return perform[GitHubRepository](ctx, s.conn, &opGitHubGetRepository, installation, repository)
}

// ListCacheEntries returns one page of a repository's cache, ordered by ID.
func (s *GitHubService) ListCacheEntries(ctx context.Context, installation, repository string, opts *ListOptions) (*Page[GitHubCacheEntry], error) {
	return list[GitHubCacheEntry](ctx, s.conn, &listGitHubCacheEntries, opts, installation, repository)
}

// AllCacheEntries iterates over a repository's cache.
func (s *GitHubService) AllCacheEntries(ctx context.Context, installation, repository string, opts *ListOptions) iter.Seq2[*GitHubCacheEntry, error] {
	return all[GitHubCacheEntry](ctx, s.conn, &listGitHubCacheEntries, opts, installation, repository)
}

// GetCacheEntry returns an entry.
func (s *GitHubService) GetCacheEntry(ctx context.Context, installation, repository, entryID string) (*GitHubCacheEntry, error) {
	return perform[GitHubCacheEntry](ctx, s.conn, &opGitHubGetCacheEntry, installation, repository, entryID)
}

// DeleteCacheEntry deletes an entry, even while a workflow uploads it.
func (s *GitHubService) DeleteCacheEntry(ctx context.Context, installation, repository, entryID string) error {
	return remove(ctx, s.conn, &opGitHubDeleteCacheEntry, installation, repository, entryID)
}

// DeleteAllCacheEntries deletes the entries that a repository's cache has now,
// or returns [ErrNotFound] if the repository doesn't exist. The entries are
// gone once AllCacheEntries no longer yields them.
func (s *GitHubService) DeleteAllCacheEntries(ctx context.Context, installation, repository string) error {
	return remove(ctx, s.conn, &opGitHubDeleteAllCacheEntries, installation, repository)
}
