package api

import (
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

// Account is the owner of projects and tokens.
type Account struct{ ID, Name, Email string }

// NewAccount returns an account with an ID and an address.
func NewAccount(name string) *Account {
	return &Account{cloudapi.NewID("ac").String(), name, name + "@example.com"}
}

// Token is a personal access token.
type Token struct {
	Account *Account
}

// Project contains the other resources of its account.
type Project struct {
	Object
	Account     *Account
	Permissions map[*Token]Permissions // a missing token has none
	Unpaid      bool                   // if there is no valid billing information
	// Features that the service has enabled for the project.
	Features []string
	log      []LogEntry
}

// Permissions are those of a token in a project, such as "Vm:view". An
// asterisk matches every family or every action: "Vm:*", "*:view", or "*" for
// both.
type Permissions []string

// allow reports whether a permission is among them.
func (all Permissions) allow(permission string) bool {
	family, action, _ := strings.Cut(permission, ":")
	return slices.ContainsFunc(all, func(pattern string) bool {
		f, a, ok := strings.Cut(pattern, ":")
		return pattern == "*" || ok && (f == "*" || f == family) && (a == "*" || a == action)
	})
}

// AddProject adds a project in which no token has permissions.
func (c *Call) AddProject(id, name string, a *Account) *Project {
	p := &Project{Object: Object{ID: id, Name: name}, Account: a, Permissions: map[*Token]Permissions{}}
	c.State.Add(p)
	return p
}

// Project returns the project with the ID, or nil.
func (s *State) Project(id string) *Project {
	p, _ := s.ByID[id].(*Project)
	return p
}
