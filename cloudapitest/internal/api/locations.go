package api

import (
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

// Location is a location of resources, public or private.
type Location struct {
	Name   string
	Hidden bool      // readable, but nothing can be created there
	Owner  *Project  // the owner of a private location
	Region string    // the AWS region, such as "us-west-2"; private locations always have one
	InUse  time.Time // until this time the location isn't deleted, even if it has no resources
}

func (l *Location) usableBy(p *Project) bool { return l.Owner == nil || l.Owner == p }

// EnterLocation sets the call's location to the one with the name, or returns
// the error for a location that the project can't use.
func (c *Call) EnterLocation(name string) error {
	for _, l := range c.State.Locations {
		if l.Name == name && l.usableBy(c.Project) {
			c.Location = l
			return nil
		}
	}
	return c.invalidLocation()
}

func (c *Call) invalidLocation() error {
	var names []string
	for _, l := range c.State.Locations {
		if l.usableBy(c.Project) && !l.Hidden {
			names = append(names, l.Name)
		}
	}
	slices.Sort(names)
	return reply.InvalidLocation(slices.Compact(names))
}
