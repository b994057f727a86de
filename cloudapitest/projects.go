package cloudapitest

import (
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// projectRoute is the route of a project; those of nearly everything else are
// below it.
const projectRoute = "/project/{project_id}"

// locationRoute is the route of a location in a project.
const locationRoute = projectRoute + "/location/{location}"

func projectOperations() []operation {
	return []operation{
		{name: "Projects.List", method: http.MethodGet, route: "/project", list: pagedDeclared, handle: listProjects},
		{name: "Projects.Create", method: http.MethodPost, route: "/project", body: closed(required("name", text)), handle: createProject},
		{name: "Projects.Get", method: http.MethodGet, route: projectRoute, guarded: true, handle: getProject},
		{name: "Projects.Delete", method: http.MethodDelete, route: projectRoute, handle: deleteProject},
		{name: "Projects.ObjectInfo", method: http.MethodGet, route: projectRoute + "/object-info/{object_id}", handle: getObjectInfo},
	}
}

// project holds its account's other resources. A token acts in it only as a
// member.
type project struct {
	object
	account *account
	members map[*token]bool
	vcpus   int // of its VMs, also of those that are being deleted
}

func newProject(id, name string, a *account, now time.Time) *project {
	return &project{
		object:  object{id: id, name: name, created: now},
		account: a,
		members: map[*token]bool{},
	}
}

type projectRecord struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	Credit   dollars `json:"credit"`
	Discount int     `json:"discount"`
}

// dollars always has a fraction in JSON.
type dollars float64

func (d dollars) MarshalJSON() ([]byte, error) { return []byte(rubyFloat(float64(d))), nil }

func recordProject(p *project) projectRecord { return projectRecord{ID: p.id, Name: p.name} }

// accountProjects are those of the token's account. The list shows them to every token
// of the account.
func accountProjects(c *call) []stored {
	return slices.DeleteFunc(slices.Clone(c.state.index.byID(scope{kind: cloudapi.KindProject})), func(o stored) bool {
		return o.(*project).account != c.token.account
	})
}

func listProjects(c *call) (any, error) {
	return paginate(c, accountProjects(c), nil, recordProject)
}

var projectNameForm = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)

// createProject gives the token no permission in the new project, as the real
// server does not either.
func createProject(c *call) (any, error) {
	name, err := c.body.nonEmpty("name")
	if err != nil {
		return nil, err
	}
	if limit := c.config.quota.Projects; len(accountProjects(c)) >= limit {
		return nil, invalidRequest("Project limit exceeded. You can create up to %d projects. "+
			"Contact support@ubicloud.com if you need more.", limit)
	}
	if !projectNameForm.MatchString(name) {
		return nil, invalidRequest("name must be less than 64 characters and only include ASCII letters, " +
			"numbers, and dashes, and must start and end with an ASCII letter or number")
	}
	p := newProject(cloudapi.NewID(cloudapi.KindProject).String(), name, c.token.account, c.now)
	c.state.add(p)
	return recordProject(p), nil
}

func getProject(c *call) (any, error) { return recordProject(c.project), nil }

func deleteProject(c *call) (any, error) {
	switch {
	case c.project == nil:
		return noContent{}, nil
	case !c.permitted():
		return nil, forbidden()
	}
	for kind := range objectTypes {
		if len(c.state.index.all(scope{kind, c.project, nil})) > 0 {
			return nil, dependency("'%s' project has some resources. Delete all related resources first.", c.project.name)
		}
	}
	c.remove(c.project, 0, nil)
	return noContent{}, nil
}

// objectTypes are the kinds that object-info knows, by the names it has for them.
// They are also those that keep a project from being deleted.
var objectTypes = map[cloudapi.Kind]string{
	cloudapi.KindFirewall:          "firewall",
	cloudapi.KindKubernetesCluster: "kubernetes cluster",
	cloudapi.KindLoadBalancer:      "load balancer",
	cloudapi.KindPostgres:          "postgres resource",
	cloudapi.KindPrivateSubnet:     "private subnet",
	cloudapi.KindVM:                "vm",
}

type objectInfoRecord struct {
	Type     string `json:"type"`
	Location string `json:"location"`
	Name     string `json:"name"`
}

func getObjectInfo(c *call) (any, error) {
	id := c.params["object_id"]
	kind := cloudapi.ID(id).Kind()
	o, ok := findByID[stored](c, kind, id)
	if !ok || !c.permitted() {
		return nil, notFound()
	}
	return objectInfoRecord{objectTypes[kind], o.core().location.name, o.core().name}, nil
}
