package api

import (
	"net/http"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// ProjectRoute is the route of a project; those of nearly everything else are
// below it.
const ProjectRoute = "/project/{project_id}"

// LocationRoute is the route of a location in a project.
const LocationRoute = ProjectRoute + "/location/{location}"

// Operation is one row of the API: what is sent where, and what answers it.
type Operation struct {
	Name       string // the SDK's, cloudapi.Operation.Name
	Method     string
	Route      string // the contract's template of the path
	Body       schema.Schema
	Permission string // that a token needs, such as "Vm:view"; see [Guard]

	handle       Handler
	span         version.Span
	paging       Paging         // for lists: what becomes of the page parameters
	query        []schema.Field // the other parameters
	bodyOptional bool           // with its content type
	guarded      bool           // see [Operation.Guarded]
}

// NoBody is the body of operations for which the contract has none.
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

// Paged returns the operation as one that lists.
func (o Operation) Paged(p Paging) Operation { o.paging = p; return o }

// Takes returns the operation as one with query parameters, in the order of the
// description of the API.
func (o Operation) Takes(query ...schema.Field) Operation { o.query = query; return o }

// BodyOptional returns the operation as one whose body, together with its content
// type, may be left out.
func (o Operation) BodyOptional() Operation { o.bodyOptional = true; return o }

// Needs returns the operation as one that needs another permission than [Guard]
// gives it.
func (o Operation) Needs(permission string) Operation { o.Permission = permission; return o }

// Guarded returns the operation as one that refuses a token without the permission
// before it looks at anything. The others refuse it for objects that exist.
func (o Operation) Guarded() Operation { o.guarded = true; return o }

// Since returns the operation as one that versions before v do not have.
func (o Operation) Since(v version.Version) Operation { o.span = o.span.Since(v); return o }

// Until returns the operation as one that versions after v do not have.
func (o Operation) Until(v version.Version) Operation { o.span = o.span.Until(v); return o }

// In returns the operations that a version has, with the fields that it has.
func In(v version.Version, operations []Operation) []Operation {
	var rows []Operation
	for _, o := range operations {
		if o.span.Has(v) {
			o.Body = o.Body.In(v)
			rows = append(rows, o)
		}
	}
	return rows
}

// AllSince returns operations that versions before v do not have.
func AllSince(v version.Version, operations ...Operation) []Operation {
	for i := range operations {
		operations[i] = operations[i].Since(v)
	}
	return operations
}

// Guard gives the operations of a family their permissions as far as they have
// none: to view for GET, to delete for DELETE, to create for what is called so,
// and to edit for the rest.
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

// Target is what the operation is called in the contract.
func (o *Operation) Target() string { return o.Method + " " + o.Route }

// refers reports whether the path names an object.
func (o *Operation) refers() bool {
	return strings.Contains(o.Route, "_reference}") || strings.Contains(o.Route, "_name}")
}

// bodyPointer is what messages call the schema of the body.
func (o *Operation) bodyPointer() string {
	return o.pointer() + "/requestBody/content/application~1json/schema"
}

// pointer is what messages call the operation.
func (o *Operation) pointer() string {
	return "#/paths/" + strings.ReplaceAll(o.Route, "/", "~1") + "/" + strings.ToLower(o.Method)
}
