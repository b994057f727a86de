package api

import (
	"net/http"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// ProjectRoute is the route of a project. Nearly all other routes begin with
// it.
const ProjectRoute = "/project/{project_id}"

// LocationRoute is the route of a location in a project.
const LocationRoute = ProjectRoute + "/location/{location}"

// Operation is one operation of the API: its method and route, its request and
// its handler.
type Operation struct {
	Name       string // the SDK's name, as in cloudapi.Operation
	Method     string
	Route      string // the contract's template of the path
	Body       schema.Schema
	Permission string // the permission that the token needs, such as "Vm:view"; see [Guard]

	handle       Handler
	only         version.Version
	paging       Paging
	query        []schema.Field // the other query parameters
	bodyOptional bool
	guarded      bool
}

// NoBody is the schema of an operation that has no body.
var NoBody schema.Schema

// GET returns an operation without a body.
func GET(name, route string, h Handler) Operation {
	return Operation{Name: name, Method: http.MethodGet, Route: route, handle: h}
}

// DELETE returns an operation without a body.
func DELETE(name, route string, h Handler) Operation {
	return Operation{Name: name, Method: http.MethodDelete, Route: route, handle: h}
}

// POST returns an operation with a body, or with [NoBody].
func POST(name, route string, body schema.Schema, h Handler) Operation {
	return Operation{Name: name, Method: http.MethodPost, Route: route, Body: body, handle: h}
}

// PATCH returns an operation with a body.
func PATCH(name, route string, body schema.Schema, h Handler) Operation {
	return Operation{Name: name, Method: http.MethodPatch, Route: route, Body: body, handle: h}
}

// Paged returns the operation as a list with this paging.
func (o Operation) Paged(p Paging) Operation { o.paging = p; return o }

// Takes returns the operation with query parameters, in the order of the API
// description.
func (o Operation) Takes(query ...schema.Field) Operation { o.query = query; return o }

// BodyOptional returns the operation with an optional body. A request without a
// body needs no content type.
func (o Operation) BodyOptional() Operation { o.bodyOptional = true; return o }

// Needs returns the operation with a permission other than the one that [Guard]
// would set.
func (o Operation) Needs(permission string) Operation { o.Permission = permission; return o }

// Guarded returns the operation with a check of the permission before the
// handler runs. Without Guarded the handler itself checks the permission, for
// the object that it finds, so a missing object is a 404 for every token.
func (o Operation) Guarded() Operation { o.guarded = true; return o }

// Only returns the operation for one version of the API.
func (o Operation) Only(v version.Version) Operation { o.only = v; return o }

// AllOnly returns the operations for one version of the API.
func AllOnly(v version.Version, operations ...Operation) []Operation {
	for i := range operations {
		operations[i].only = v
	}
	return operations
}

// In returns the operations that the API v has, with the body fields that v
// has.
func In(v version.API, operations []Operation) []Operation {
	rows := version.Select(v, operations, func(o *Operation) (version.Version, string) { return o.only, o.Target() })
	for i := range rows {
		rows[i].Body = rows[i].Body.In(v)
	}
	return rows
}

// Guard sets the permissions of a family's operations that have none: view for
// GET, delete for DELETE, create for operations named Create, and edit for all
// others.
func Guard(family string, operations []Operation) []Operation {
	for i := range operations {
		o := &operations[i]
		action := "edit"
		switch {
		case o.Permission != "":
			continue
		case o.Method == http.MethodGet:
			action = "view"
		case o.Method == http.MethodDelete:
			action = "delete"
		case strings.HasSuffix(o.Name, ".Create"):
			action = "create"
		}
		o.Permission = family + ":" + action
	}
	return operations
}

// Target returns the method and the route.
func (o *Operation) Target() string { return o.Method + " " + o.Route }

func (o *Operation) bodyPointer() string {
	return o.pointer() + "/requestBody/content/application~1json/schema"
}

func (o *Operation) pointer() string {
	return "#/paths/" + strings.ReplaceAll(o.Route, "/", "~1") + "/" + strings.ToLower(o.Method)
}
