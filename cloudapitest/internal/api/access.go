package api

import (
	"slices"
	"strings"
)

// Access says who sent a request, and in which project and location it acts.
type Access struct {
	Token    *Token
	Project  *Project  // nil if the route has none
	Location *Location // nil if the route has none
	needed   string    // the operation's permission
}

// Permitted reports whether the token may execute the call's operation in the
// whole project.
func (a *Access) Permitted() bool { return a.Allowed(a.needed) }

// PermittedOn reports whether the token may execute the call's operation on an
// object.
func (a *Access) PermittedOn(o Stored) bool { return a.AllowedOn(o, a.needed) }

// Allowed reports whether the token has a permission in the whole project of
// the call.
func (a *Access) Allowed(permission string) bool {
	return a.Project.Permissions[a.Token].allow(permission, "")
}

// AllowedOn reports whether the token has a permission for an object.
func (a *Access) AllowedOn(o Stored, permission string) bool {
	return a.Project.Permissions[a.Token].allow(permission, o.Core().ID)
}

// Permissions are a token's permissions in a project, such as "Vm:view". An
// asterisk matches every family or every action: "Vm:*", "*:view", or "*" for
// both. A permission followed by "@" and an ID is for that object only.
type Permissions []string

// allow checks a permission for the object with the ID, or for the whole project
// if the ID is "".
func (all Permissions) allow(permission, id string) bool {
	family, action, _ := strings.Cut(permission, ":")
	return slices.ContainsFunc(all, func(entry string) bool {
		pattern, object, single := strings.Cut(entry, "@")
		f, a, ok := strings.Cut(pattern, ":")
		return (!single || object == id) && (pattern == "*" || ok && (f == "*" || f == family) && (a == "*" || a == action))
	})
}
