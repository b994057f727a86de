package api

import (
	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

// Call is a request whose operation is being executed, with its sender and the
// state of the service. The state is locked.
type Call struct {
	*Moment
	Input
	Access

	page        int    // the size of a page if the query has none
	beforeCount func() // see [Request.BeforeCount]
}

// Run runs the steps of an operation until one fails.
func (c *Call) Run(steps ...func(*Call) error) error {
	for _, step := range steps {
		if err := step(c); err != nil {
			return err
		}
	}
	return nil
}

// Admit returns a 404 if found is false, and otherwise a 403 if the token may
// not execute the operation on o. found reports whether the path's object
// exists: o itself, or a rule or node pool in o. The real server checks in the
// same order.
func (c *Call) Admit(o Stored, found bool) error {
	switch {
	case !found:
		return reply.NotFound()
	case !c.PermittedOn(o):
		return reply.Forbidden()
	}
	return nil
}

// NewReference returns the path parameter that names a new object of the kind.
// It returns an error if the parameter is an ID, or if the token can't create
// objects in the call's location.
func (c *Call) NewReference(kind cloudapi.Kind, param string) (string, error) {
	name := c.Params[param]
	switch {
	case isIDOf(kind, name):
		return "", reply.NotFound()
	case c.Location.Hidden:
		return "", c.invalidLocation()
	case !c.Permitted():
		return "", reply.Forbidden()
	}
	return name, nil
}

// Rename gives an object a name, unless the object already has that name.
func (c *Call) Rename(o Stored, name string) {
	if o.Core().Name == name {
		return
	}
	c.State.Index.Rename(o, name)
	c.Log("rename", o.Core().ID)
}

// Log adds an action of the token's account to the project's audit log. id is
// the ID of the changed object, and others are the IDs of other objects
// involved.
func (c *Call) Log(verb, id string, others ...string) {
	c.Project.addEntry(c.Moment, c.Token.Account, verb, id, others)
}
