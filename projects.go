package cloudapi

import (
	"context"
	"iter"
)

// ProjectsService works with projects, which contain all other resources. Its
// methods take the project's ID; the client need not be bound to a project.
type ProjectsService service

// Project is a container of resources, with its own billing and permissions.
type Project struct {
	ID       string  `json:"id"`       // prefix pj
	Name     string  `json:"name"`     // not unique; may hold upper case
	Credit   float64 `json:"credit"`   // the remaining credit, in US dollars
	Discount int     `json:"discount"` // percent, 0 to 100
}

func (p *Project) lacks() string        { return lacksID(p.ID) }
func (p *Project) cursor(string) string { return p.ID }
func (p *Project) identity() Resource   { return Resource{Kind: KindProject, ID: p.ID, Name: p.Name} }

// ProjectCreateRequest is the body of [ProjectsService.Create].
type ProjectCreateRequest struct {
	// Name is 1 to 63 ASCII letters, digits and hyphens, with no hyphen at
	// either end. Required.
	Name string `json:"name"`
}

// ObjectInfo describes the object with an ID.
type ObjectInfo struct {
	Type     string `json:"type"` // one of the ObjectType constants, or another
	Location string `json:"location"`
	Name     string `json:"name"`
}

func (o *ObjectInfo) lacks() string {
	switch {
	case o.Type == "":
		return "type"
	case o.Name == "":
		return "name"
	}
	return ""
}

// Known values of [ObjectInfo.Type].
const (
	ObjectTypeFirewall          = "firewall"
	ObjectTypeKubernetesCluster = "kubernetes cluster"
	ObjectTypeLoadBalancer      = "load balancer"
	ObjectTypeMachineImage      = "machine image" // of August 2026
	ObjectTypePostgres          = "postgres resource"
	ObjectTypePrivateSubnet     = "private subnet"
	ObjectTypeVM                = "vm"
)

var (
	opProjectsList       = Operation{"Projects.List", "GET", "/project", idempotent}
	opProjectsCreate     = Operation{"Projects.Create", "POST", "/project", once}
	opProjectsGet        = Operation{"Projects.Get", "GET", projectRoute, idempotent}
	opProjectsDelete     = Operation{"Projects.Delete", "DELETE", projectRoute, idempotent}
	opProjectsObjectInfo = Operation{"Projects.ObjectInfo", "GET", projectRoute + "/object-info/{object_id}", idempotent}

	listProjects  = listRoutes{project: &opProjectsList}
	projectFamily = family[Project, *Project]{lists: &listProjects, get: &opProjectsGet, del: &opProjectsDelete}
)

// List returns one page of the account's projects, including those in which the
// token has no rights. The order is by ID only.
func (s *ProjectsService) List(ctx context.Context, opts *ListOptions) (*Page[Project], error) {
	return list[Project](ctx, s.conn, &listProjects, opts)
}

// All returns the account's projects, page by page.
func (s *ProjectsService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*Project, error] {
	return all[Project](ctx, s.conn, &listProjects, opts)
}

// Watch yields the account's projects, and then their changes, including those
// of the credit, until the context ends.
func (s *ProjectsService) Watch(ctx context.Context, opts *WatchOptions) iter.Seq2[Event[Project], error] {
	return projectFamily.watch(ctx, s.conn, opts)
}

// Create makes a project. Names need not be unique: each call makes another
// project. After a lost response the error is [ErrOutcomeUnknown]. An account
// can have 10 projects; one more is [ErrInvalidRequest].
//
// On the real server the token gets no rights in the new project: further calls
// with it are [ErrForbidden] until an administrator grants them.
func (s *ProjectsService) Create(ctx context.Context, request *ProjectCreateRequest) (*Project, error) {
	return send[Project](ctx, s.conn, &opProjectsCreate, request)
}

// Get returns a project. If it does not exist, or the token has no role in it,
// the error is [ErrNotFound] or [ErrForbidden].
func (s *ProjectsService) Get(ctx context.Context, projectID string) (*Project, error) {
	return fetch[Project](ctx, s.conn, &opProjectsGet, projectID)
}

// Delete deletes an empty project, at once. If it still has resources the error
// is [ErrConflict]. Note that the default subnet and firewall of a VM stay when
// the VM is deleted. Deleting a project that does not exist is not an error.
func (s *ProjectsService) Delete(ctx context.Context, projectID string) error {
	return remove(ctx, s.conn, &opProjectsDelete, projectID)
}

// ObjectInfo returns the type, location and name of the object with the given
// ID: a firewall, Kubernetes cluster, load balancer, database, subnet or VM,
// or, in August 2026, a machine image. If it does not exist, is in another
// project, or is not visible to the token, the error is [ErrNotFound].
func (s *ProjectsService) ObjectInfo(ctx context.Context, projectID, objectID string) (*ObjectInfo, error) {
	return fetch[ObjectInfo](ctx, s.conn, &opProjectsObjectInfo, projectID, objectID)
}
