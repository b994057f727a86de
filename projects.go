package cloudapi

import (
	"context"
	"iter"
)

// ProjectsService manages projects. Its methods take IDs. With the service, a
// token belongs to one project; see [WithProject].
type ProjectsService service

// Project is a container of resources, with its own billing and permissions.
type Project struct {
	ID   string `json:"id"`   // prefix pj
	Name string `json:"name"` // not unique; may contain upper-case letters

	// ‡ Only the contract has these: with the service, they're nil.
	Credit   *float64 `json:"credit,omitzero"`   // the remaining credit, in US dollars
	Discount *int     `json:"discount,omitzero"` // percent, 0 to 100
}

func (p *Project) cursor(string) string { return p.ID }

func (p *Project) Resource() Resource { return Resource{Kind: KindProject, ID: p.ID, Name: p.Name} }

// ObjectInfo says what an ID stands for.
type ObjectInfo struct {
	Type     string `json:"type"` // a constant such as [ObjectInfoTypeVM], or another value
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
	ObjectInfoTypeFirewall          = "firewall"
	ObjectInfoTypeKubernetesCluster = "kubernetes cluster"
	ObjectInfoTypeLoadBalancer      = "load balancer"
	ObjectInfoTypeMachineImage      = "machine image" // † only the service
	ObjectInfoTypePostgres          = "postgres resource"
	ObjectInfoTypePrivateSubnet     = "private subnet"
	ObjectInfoTypeVM                = "vm"
)

var (
	opProjectsList   = Operation{"Projects.List", "GET", "/project", idempotent | contractOnly}
	opProjectsCreate = Operation{"Projects.Create", "POST", "/project", once | contractOnly}
	opProjectsGet    = Operation{"Projects.Get", "GET", projectRoute, idempotent}
	opProjectsDelete = Operation{"Projects.Delete", "DELETE", projectRoute, idempotent}

	listProjects         = listRoutes{project: &opProjectsList}
	projectFamily        = family[Project]{lists: &listProjects, get: &opProjectsGet, del: &opProjectsDelete, hidden: true}
	opProjectsObjectInfo = Operation{"Projects.ObjectInfo", "GET", projectRoute + "/object-info/{object_id}", idempotent}
)

// List returns one page of the account's projects, whatever rights the token
// has in them. The order is always by ID. ‡ Only the contract has this.
func (s *ProjectsService) List(ctx context.Context, opts *ListOptions) (*Page[Project], error) {
	return list[Project](ctx, s.conn, &listProjects, opts)
}

// All iterates over the items of List. ‡ Only the contract has this.
func (s *ProjectsService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*Project, error] {
	return all[Project](ctx, s.conn, &listProjects, opts)
}

// Watch yields projects and then their changes. ‡ Only the contract has this.
func (s *ProjectsService) Watch(ctx context.Context, opts *WatchOptions, known ...*Project) iter.Seq2[Event[Project], error] {
	return projectFamily.watch(ctx, s.conn, opts, known)
}

// Create creates a project, even if the name is taken. The name may have
// upper-case letters. It returns [ErrQuotaExceeded] if the account has 10
// projects. The token gets no rights in it: calls return [ErrForbidden] until
// an administrator grants them. With the service, create projects in the
// console. ‡ Only the contract has this.
func (s *ProjectsService) Create(ctx context.Context, name string) (*Project, error) {
	return send[Project](ctx, s.conn, &opProjectsCreate, named{name})
}

// Get returns a project. It returns [ErrNotFound] or [ErrForbidden] if the
// project doesn't exist or the token has no role in it.
func (s *ProjectsService) Get(ctx context.Context, projectID string) (*Project, error) {
	return perform[Project](ctx, s.conn, &opProjectsGet, projectID)
}

// Delete deletes an empty project. It returns [ErrConflict] if the project has
// resources, such as the default subnet and firewall that a VM leaves behind.
func (s *ProjectsService) Delete(ctx context.Context, projectID string) error {
	return remove(ctx, s.conn, &opProjectsDelete, projectID)
}

// ObjectInfo returns the type, location and name of a firewall, Kubernetes
// cluster, load balancer, database, subnet, VM or, with the service, machine
// image. It returns [ErrNotFound] if the object doesn't exist, is in another
// project, or isn't visible to the token.
func (s *ProjectsService) ObjectInfo(ctx context.Context, projectID, objectID string) (*ObjectInfo, error) {
	return perform[ObjectInfo](ctx, s.conn, &opProjectsObjectInfo, projectID, objectID)
}

// resolveID returns the resource with an ID, in any location of the project. The
// operation must take IDs of the kind; see [family.resolve].
func resolveID(ctx context.Context, c *conn, kind Kind, id string) (*Resource, error) {
	info, err := perform[ObjectInfo](ctx, c, &opProjectsObjectInfo, id)
	if err != nil {
		return nil, err
	}
	return &Resource{Kind: kind, ID: id, Location: info.Location, Name: info.Name}, nil
}
