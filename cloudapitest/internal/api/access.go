package api

import (
	"slices"
	"strings"
)

// Access says who sent a request, and in which project and location it acts.
type Access struct {
	Token      *Token
	Project    *Project  // nil if the route has none
	Location   *Location // nil if the route has none
	permission string    // needed by the operation
}

// Permitted reports whether the token may execute the call's operation.
func (a *Access) Permitted() bool { return a.Allowed(a.permission) }

// Allowed reports whether the token has a permission in the call's project.
func (a *Access) Allowed(permission string) bool {
	return a.Project.Permissions[a.Token].allow(permission)
}

// Permissions are a token's permissions in a project, such as "Vm:view". An
// asterisk matches every family or every action: "Vm:*", "*:view", or "*" for
// both.
type Permissions []string

// allow reports whether the permissions include the given one.
func (all Permissions) allow(permission string) bool {
	family, action, _ := strings.Cut(permission, ":")
	return slices.ContainsFunc(all, func(pattern string) bool {
		f, a, ok := strings.Cut(pattern, ":")
		return pattern == "*" || ok && (f == "*" || f == family) && (a == "*" || a == action)
	})
}
