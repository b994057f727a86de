package cloudapitest

import (
	"slices"

	"github.com/cloudapi-sdk/cloudapi"
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

// SetState makes the VM, database, cluster or subnet with the ID show the state,
// a VM for example "stopped" or "no capacity available", whatever happens to it,
// until another state is set. With "" it shows its own again. An ID that no such
// object has is an error of the test.
func (s *Server) SetState(id, state string) {
	s.service.Do(func(c *api.Call) {
		if !families.SetState(c, id, state) {
			s.complain("cloudapitest: SetState: there is no object %q that shows a state", id)
		}
	})
}

// AddProject adds a project of the account of [Server.Token] in which that token
// has every permission, and returns its ID.
func (s *Server) AddProject(name string) string {
	id := cloudapi.NewID(cloudapi.KindProject).String()
	if !families.IsProjectName(name) {
		s.complain("cloudapitest: AddProject: %q cannot be the name of a project", name)
	}
	s.service.Do(func(c *api.Call) {
		token := c.State.Token(s.config.token)
		c.AddProject(id, name, token.Account).Rights[token] = api.Rights{"*"}
	})
	return id
}

// SetPermissions sets what a token may do in a project, in place of what it could
// do before, until it is set again. Without permissions it may do nothing there:
// lists are empty, and what exists is forbidden.
//
// A permission is the service's name of a family and an action, such as "Vm:view".
// The families are Firewall, InferenceApiKey, KubernetesCluster, LoadBalancer,
// Location (of private ones), Postgres, PrivateSubnet, Project and Vm; the actions
// are view, create, edit and delete, and for subnets connect and disconnect. SSH
// keys and init scripts need "Project:edit". An asterisk stands for all: "Vm:*",
// "*:view", or "*" for every permission. A project, token or permission that does
// not exist is an error of the test.
func (s *Server) SetPermissions(projectID, token string, permissions ...string) {
	for _, p := range permissions {
		if !families.KnowsRight(p) {
			s.complain("cloudapitest: SetPermissions: there is no permission %q; it is one like Vm:view or Vm:*", p)
		}
	}
	s.setProject("SetPermissions", projectID, func(c *api.Call, p *api.Project) {
		t := c.State.Token(token)
		if t == nil {
			s.complain("cloudapitest: SetPermissions: there is no such token")
			return
		}
		p.Rights[t] = permissions
	})
}

// SetBilling sets whether a project has valid billing information, as all have
// unless this says otherwise. VMs, databases and clusters cannot be created
// without it; what there is remains.
func (s *Server) SetBilling(projectID string, valid bool) {
	s.setProject("SetBilling", projectID, func(_ *api.Call, p *api.Project) { p.Unpaid = !valid })
}

// setProject changes a project. It is an error of the test if there is none with
// the ID.
func (s *Server) setProject(method, id string, change func(*api.Call, *api.Project)) {
	s.service.Do(func(c *api.Call) {
		if p := c.State.Project(id); p != nil {
			change(c, p)
			return
		}
		s.complain("cloudapitest: %s: there is no project %q", method, id)
	})
}

// SetDelays sets the delays of the objects of one kind, or of the one that has the
// ID or name, which need not exist yet. They apply to what begins afterwards, in
// place of those of [WithDelays]. The kinds are those of VMs, databases, clusters,
// subnets and load balancers; another one, or a delay that [WithDelays] would
// refuse, is an error of the test.
func (s *Server) SetDelays(kind cloudapi.Kind, ref string, d Delays) {
	if !families.HasDelays(kind) {
		s.complain("cloudapitest: SetDelays: %s has no delays", kind)
	}
	if err := d.check(); err != nil {
		s.complain("cloudapitest: SetDelays: %v", err)
	}
	s.service.Do(func(c *api.Call) { c.State.SetDelays(kind, ref, api.Delays(d)) })
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
	main := c.AddProject(cfg.projectID, cfg.projectName, own)
	other := c.AddProject(cfg.otherProjectID, "other", foreign)
	for _, t := range append(slices.Clip(cfg.tokens), tokenConfig{cfg.token, AccessFull}) {
		switch t.access {
		case AccessFull:
			main.Rights[c.State.AddToken(t.value, own)] = api.Rights{"*"}
		case AccessNone:
			c.State.AddToken(t.value, own)
		case AccessForeign:
			other.Rights[c.State.AddToken(t.value, foreign)] = api.Rights{"*"}
		case AccessRevoked:
			c.State.RemoveToken(t.value)
		}
	}
}
