package api

import (
	"net/http"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

// ProjectRoute is the route of a project; those of nearly everything else are
// below it.
const ProjectRoute = "/project/{project_id}"

// LocationRoute is the route of a location in a project.
const LocationRoute = ProjectRoute + "/location/{location}"

// Operation is one row of the API: what is sent where, and what answers it.
type Operation struct {
	Name   string // the SDK's, cloudapi.Operation.Name
	Method string
	Route  string // the contract's template of the path
	List   Paging // for lists: what becomes of the page parameters
	Query  []string
	Body   schema.Schema // the zero value where the contract has no body
	Bare   bool          // the body and its content type may be left out
	// Guarded operations refuse a token without permissions before they look
	// at anything; the others do it for objects that exist.
	Guarded bool
	Handle  func(*Call) (any, error)

	// Permission is what a token needs, such as "Vm:view". See [Guard].
	Permission string
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
	path := strings.ReplaceAll(o.Route, "/", "~1")
	return "#/paths/" + path + "/" + strings.ToLower(o.Method) + "/requestBody/content/application~1json/schema"
}
