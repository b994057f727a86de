package families

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func projectOperations() []api.Operation {
	return []api.Operation{
		api.GET("Projects.List", "/project", listProjects).Paged(api.PagedDeclared).Only(version.Contract),
		api.POST("Projects.Create", "/project", nameOnly, createProject).Only(version.Contract),
		api.GET("Projects.Get", api.ProjectRoute, getProject).Guarded(),
		api.DELETE("Projects.Delete", api.ProjectRoute, deleteProject),
		api.GET("Projects.ObjectInfo", api.ProjectRoute+"/object-info/{object_id}", getObjectInfo),
	}
}

type projectRecord struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Only in the contract.
	Credit   json.Number `json:"credit,omitempty"` // has a fraction even if it's 0
	Discount *int        `json:"discount,omitempty"`
}

func recordProject(p *api.Project, at *api.Moment) projectRecord {
	r := projectRecord{ID: p.ID, Name: p.Name}
	if at.Config.Version == version.Contract || at.Config.Both {
		r.Credit, r.Discount = "0.0", new(0)
	}
	return r
}

// accountProjects returns the projects of the token's account. Every token of
// the account can list them.
func accountProjects(c *api.Call) []api.Stored {
	return slices.DeleteFunc(slices.Clone(c.State.Index.SortedByID(api.Scope{Kind: cloudapi.KindProject})), func(o api.Stored) bool {
		return o.(*api.Project).Account != c.Token.Account
	})
}

func listProjects(c *api.Call) (any, error) {
	return api.Paginate(c, accountProjects, nil, recordProject)
}

var projectNameForm = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)

// IsProjectName reports whether the name is valid for a project.
func IsProjectName(name string) bool {
	return projectNameForm.MatchString(name) && api.IDLikeNameProblems(cloudapi.KindProject, name) == nil
}

// createProject gives the token no permission in the new project, as on the
// real server.
func createProject(c *api.Call) (any, error) {
	name, err := c.Body.NonEmpty("name")
	if err != nil {
		return nil, err
	}
	if limit := c.Config.Quota.Projects; len(accountProjects(c)) >= limit {
		return nil, reply.InvalidRequest("Project limit exceeded. You can create up to %d projects. "+
			"Contact support@ubicloud.com if you need more.", limit)
	}
	if !projectNameForm.MatchString(name) {
		return nil, reply.InvalidRequest("name must be less than 64 characters and only include ASCII letters, " +
			"numbers, and dashes, and must start and end with an ASCII letter or number")
	}
	if problems := api.IDLikeNameProblems(cloudapi.KindProject, name); problems != nil {
		return nil, reply.InvalidRecord(problems...)
	}
	c.Project = c.AddProject(api.NewID(cloudapi.KindProject).String(), name, c.Token.Account)
	c.Log("create", c.Project.ID)
	return recordProject(c.Project, c.Moment), nil
}

func getProject(c *api.Call) (any, error) { return recordProject(c.Project, c.Moment), nil }

func deleteProject(c *api.Call) (any, error) {
	switch {
	case c.Project == nil:
		return reply.NoContent{}, nil
	case !c.Permitted():
		return nil, reply.Forbidden()
	}
	for kind := range objectTypes {
		if len(c.State.Index.All(api.Scope{Kind: kind, Project: c.Project, Location: nil})) > 0 {
			return nil, reply.Dependency("'%s' project has some resources. Delete all related resources first.", c.Project.Name)
		}
	}
	c.Remove(c.Project, 0)
	return reply.NoContent{}, nil
}

// objectTypes has the kinds of objects that prevent the deletion of a project,
// and the type that getObjectInfo returns for each kind.
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

func getObjectInfo(c *api.Call) (any, error) {
	id := c.Params["object_id"]
	kind := cloudapi.ID(id).Kind()
	o, ok := api.FindByID[api.Stored](c, kind, id)
	if !ok {
		return nil, reply.NotFound()
	}
	name := objectTypes[kind]
	if kind == cloudapi.KindMachineImage { // objectTypes lacks it, since it doesn't prevent the deletion of a project
		name = "machine image"
	}
	return objectInfoRecord{name, o.Core().Location.Name, o.Core().Name}, nil
}
