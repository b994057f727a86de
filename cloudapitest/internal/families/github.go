package families

import (
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func githubOperations() []api.Operation {
	const (
		all          = api.ProjectRoute + "/github"
		one          = all + "/{github_installation_reference}"
		repositories = one + "/repository"
		repository   = repositories + "/{github_repository_reference}"
		cache        = repository + "/cache"
		entry        = cache + "/{github_cache_entry_id}"
	)
	rows := api.AllOnly(version.Service,
		api.GET("GitHub.ListInstallations", all, api.List(cloudapi.KindGitHubInstallation, (*githubInstallation).record)).Paged(api.PagedUndeclared),
		api.GET("GitHub.GetInstallation", one, api.Show(findInstallation, (*githubInstallation).record)),
		api.GET("GitHub.ListRepositories", repositories, api.On(findInstallation, (*githubInstallation).list)).Paged(api.PagedUndeclared),
		api.GET("GitHub.GetRepository", repository, api.Show(findRepository, (*githubRepository).record)),
		api.GET("GitHub.ListCacheEntries", cache, api.On(findRepository, (*githubRepository).list)).Paged(api.PagedUndeclared),
		api.DELETE("GitHub.DeleteAllCacheEntries", cache, api.On(findRepository, (*githubRepository).clear)),
		api.GET("GitHub.GetCacheEntry", entry, api.On(findRepository, (*githubRepository).show)),
		api.DELETE("GitHub.DeleteCacheEntry", entry, api.On(findRepository, (*githubRepository).drop)),
	)
	for i := range rows {
		rows[i] = rows[i].Needs("Project:github").Guarded()
	}
	return rows
}

// githubInstallation is created on GitHub, like its repositories. No operation
// changes or deletes either.
type githubInstallation struct{ api.Object }

type githubRepository struct {
	api.Object
	installation *githubInstallation
}

// githubCacheEntry is created by a workflow run.
type githubCacheEntry struct {
	api.Object // without a name
	repository *githubRepository
	key, scope string
	size       int64 // in bytes
	uploading  bool  // whether the size isn't known yet
	created    time.Time
	accessed   time.Time // zero if never
}

type githubInstallationRecord struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type githubRepositoryRecord struct {
	ID               string `json:"id"`
	InstallationName string `json:"installation_name"`
	Name             string `json:"name"`
}

type githubCacheEntryRecord struct {
	ID               string     `json:"id"`
	InstallationName string     `json:"installation_name"`
	RepositoryName   string     `json:"repository_name"`
	Key              string     `json:"key"`
	Scope            string     `json:"scope"`
	Size             *int64     `json:"size"`
	CreatedAt        time.Time  `json:"created_at"`
	LastAccessedAt   *time.Time `json:"last_accessed_at"`
}

func (g *githubInstallation) record(*api.Moment) githubInstallationRecord {
	return githubInstallationRecord{g.ID, g.Name}
}

func (g *githubRepository) record(*api.Moment) githubRepositoryRecord {
	return githubRepositoryRecord{g.ID, g.installation.Name, g.Name}
}

// record returns a record with the full name of the repository, such as
// "acme/app". The repository's own record has only "app".
func (e *githubCacheEntry) record(*api.Moment) githubCacheEntryRecord {
	installation := e.repository.installation.Name
	r := githubCacheEntryRecord{
		ID: e.ID, InstallationName: installation, RepositoryName: installation + "/" + e.repository.Name,
		Key: e.key, Scope: e.scope, CreatedAt: e.created.UTC().Truncate(time.Second),
	}
	if !e.uploading {
		r.Size = &e.size
	}
	if !e.accessed.IsZero() {
		r.LastAccessedAt = new(e.accessed.UTC().Truncate(time.Second))
	}
	return r
}

type githubInstallationCopy struct {
	githubInstallationRecord
	Repositories []githubRepositoryCopy `json:"repositories"`
}

type githubRepositoryCopy struct {
	githubRepositoryRecord
	Entries []githubCacheEntryRecord `json:"entries"`
}

func (r *githubInstallationCopy) load(l *loader) error {
	o, err := l.object(r.ID, r.Name)
	if err != nil {
		return err
	}
	g := &githubInstallation{o}
	l.State.Add(g)
	for _, rr := range r.Repositories {
		_, name, ok := strings.Cut(rr.Name, "/")
		if !ok {
			name = rr.Name
		}
		if o, err = l.object(rr.ID, name); err != nil {
			return err
		}
		repository := &githubRepository{o, g}
		l.State.Add(repository)
		for _, re := range rr.Entries {
			if o, err = l.object(re.ID, ""); err != nil {
				return err
			}
			e := &githubCacheEntry{Object: o, repository: repository, key: re.Key, scope: re.Scope, uploading: re.Size == nil, created: re.CreatedAt}
			if re.Size != nil {
				e.size = *re.Size
			}
			if re.LastAccessedAt != nil {
				e.accessed = *re.LastAccessedAt
			}
			l.State.Add(e)
		}
	}
	return nil
}

// AddGitHub adds example objects to a project: an installation with two
// repositories, one of which has a cache entry.
func AddGitHub(at *api.Moment, p *api.Project) {
	c := &api.Call{Moment: at, Access: api.Access{Project: p}}
	acme := &githubInstallation{c.NewObject(cloudapi.KindGitHubInstallation, "acme")}
	app := &githubRepository{c.NewObject(cloudapi.KindGitHubRepository, "app"), acme}
	c.State.Add(acme)
	c.State.Add(app)
	c.State.Add(&githubRepository{c.NewObject(cloudapi.KindGitHubRepository, "docs"), acme})
	c.State.Add(&githubCacheEntry{
		Object:     c.NewObject(cloudapi.KindGitHubCacheEntry, ""),
		repository: app, key: "go-mod-1", scope: "main", size: 1 << 20, created: c.Now,
	})
}

func findInstallation(c *api.Call) (*githubInstallation, error) {
	return api.Find[*githubInstallation](c, cloudapi.KindGitHubInstallation, "github_installation_reference")
}

func findRepository(c *api.Call) (*githubRepository, error) {
	g, err := findInstallation(c)
	if err != nil {
		return nil, err
	}
	ref := c.Params["github_repository_reference"]
	for _, o := range g.repositories(c) {
		if o.Core().ID == ref || o.Core().Name == ref {
			return o.(*githubRepository), nil
		}
	}
	return nil, reply.NotFound()
}

func (g *githubInstallation) repositories(c *api.Call) []api.Stored {
	return api.Only(api.Listed(cloudapi.KindGitHubRepository), func(r *githubRepository) bool { return r.installation == g })(c)
}

func (g *githubRepository) entries(c *api.Call) []api.Stored {
	return api.Only(api.Listed(cloudapi.KindGitHubCacheEntry), func(e *githubCacheEntry) bool { return e.repository == g })(c)
}

func (g *githubInstallation) list(c *api.Call) (any, error) {
	name := func(r *githubRepository) string { return g.Name + "/" + r.Name }
	return api.Paginate(c, g.repositories, name, (*githubRepository).record)
}

func (g *githubRepository) list(c *api.Call) (any, error) {
	return api.Paginate(c, g.entries, nil, (*githubCacheEntry).record)
}

func (g *githubRepository) clear(c *api.Call) (any, error) {
	entries := g.entries(c)
	for _, o := range entries {
		c.Remove(o, c.Delays(o.Core()).Delete)
	}
	if len(entries) > 0 {
		c.Log("delete_all_cache_entries", g.ID)
	}
	return reply.NoContent{}, nil
}

func (g *githubRepository) entry(c *api.Call) *githubCacheEntry {
	for _, o := range g.entries(c) {
		if o.Core().ID == c.Params["github_cache_entry_id"] {
			return o.(*githubCacheEntry)
		}
	}
	return nil
}

func (g *githubRepository) show(c *api.Call) (any, error) {
	e := g.entry(c)
	if e == nil {
		return nil, reply.NotFound()
	}
	return e.record(c.Moment), nil
}

func (g *githubRepository) drop(c *api.Call) (any, error) {
	if !cloudapi.IsID(c.Params["github_cache_entry_id"], cloudapi.KindGitHubCacheEntry) {
		return nil, reply.NotFound()
	}
	if e := g.entry(c); e != nil {
		c.Remove(e, 0)
		c.Log("destroy", e.ID)
	}
	return reply.NoContent{}, nil
}
