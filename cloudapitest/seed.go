package cloudapitest

import (
	"slices"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/families"
)

// AddVMs adds n VMs to the project, without requests and so without the quota,
// faults and log of those: for tests of programs that have to do with many. They
// are of size burstable-1, run already, and are called by the prefix and a
// number, "load-1" and so on; the subnets that they are in, of 59 VMs each,
// "load-net-1" and so on. The IDs are returned.
//
// A location that does not exist and a name that is not possible, or taken, are
// errors of the test.
func (s *Server) AddVMs(location, prefix string, n int) []string {
	var ids []string
	s.service.Do(func(c *api.Call) {
		var err error
		c.Project = c.State.Project(s.config.projectID)
		if ids, err = families.AddVMs(c, location, prefix, n); err != nil {
			s.complain("cloudapitest: AddVMs: %v", err)
		}
	})
	return ids
}

// service returns the part of the configuration that operations depend on.
func (cfg config) service() api.Config {
	return api.Config{
		Locations: cfg.locations,
		PageCap:   cfg.pageCap,
		Delays:    api.Delays(cfg.delays),
		Quota:     api.Quota(cfg.quota),
	}
}

// seed adds the projects and tokens that there are from the start.
func (cfg config) seed(c *api.Call) {
	own, foreign := &api.Account{Name: "own"}, &api.Account{Name: "foreign"}
	main := c.AddProject(cfg.projectID, "main", own)
	other := c.AddProject(cfg.otherProjectID, "other", foreign)
	for _, t := range append(slices.Clip(cfg.tokens), tokenConfig{cfg.token, AccessFull}) {
		switch t.access {
		case AccessFull:
			main.Members[c.State.AddToken(t.value, own)] = true
		case AccessNone:
			c.State.AddToken(t.value, own)
		case AccessForeign:
			other.Members[c.State.AddToken(t.value, foreign)] = true
		case AccessRevoked:
			c.State.RemoveToken(t.value)
		}
	}
}
