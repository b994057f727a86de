package api

import (
	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

// Call is a request whose operation is being executed: the service at that
// time, what the request says, and who sent it. The server's state is locked.
type Call struct {
	*Moment
	Input
	Access

	// between is called after a list has read the items of its page and before
	// it counts all items. It is nil for most calls.
	between func()
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

// Admit checks that the object, or the rule or node pool in it, exists, and that
// the token may execute the operation on the object. The checks are in the order
// of the real server.
func (c *Call) Admit(o Stored, found bool) error {
	switch {
	case !found:
		return reply.NotFound()
	case !c.PermittedOn(o):
		return reply.Forbidden()
	}
	return nil
}

// NewReference returns the name for a new object of the kind, from the path
// parameter, if the token may create the object there.
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

// Rename gives an object another name, unless it already has it.
func (c *Call) Rename(o Stored, name string) {
	if o.Core().Name == name {
		return
	}
	c.State.Index.Rename(o, name)
	c.Log("rename", o.Core().ID)
}

// Log adds to the project's audit log an action of the token's account on the
// object with the ID.
func (c *Call) Log(verb, id string, others ...string) {
	c.Project.addEntry(c.Moment, c.Token.Account, verb, id, others)
}
