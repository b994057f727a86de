package cloudapitest

import (
	"slices"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/families"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// AddVMs adds n running VMs of size burstable-1 to the project, and returns
// their IDs. It sends no requests, so quota, faults and log do not apply. With
// the prefix "load" the VMs are called "load-1", "load-2" and so on. They are
// in subnets of 59 VMs each, "load-net-1" and so on.
//
// If the location does not exist, or a name is invalid or taken, no VM is added
// and the test fails.
func (s *Server) AddVMs(location, prefix string, n int) []string {
	var ids []string
	s.service.Do(func(at *api.Moment) {
		var err error
		if ids, err = families.AddVMs(at, at.State.Project(s.config.projectID), location, prefix, n); err != nil {
			s.complain("cloudapitest: AddVMs: %v", err)
		}
	})
	return ids
}

// SetState sets the state that the VM, database, cluster, subnet or image
// version with the ID shows, such as "stopped" for a VM, until it is set again.
// With "" the object shows its own state again. If there is no such object the
// test fails.
func (s *Server) SetState(id, state string) {
	s.service.Do(func(at *api.Moment) {
		if !families.SetState(at, id, state) {
			s.complain("cloudapitest: SetState: there is no object %q that shows a state", id)
		}
	})
}

// IDs returns the IDs of the project's objects of a kind with a name, or of all
// if the name is "", in the order of creation. It sends no requests.
func (s *Server) IDs(kind cloudapi.Kind, name string) (ids []string) {
	s.service.Do(func(at *api.Moment) {
		for _, o := range at.State.Index.All(api.Scope{Kind: kind, Project: at.State.Project(s.config.projectID)}) {
			if core := o.Core(); name == "" || core.Name == name {
				ids = append(ids, core.ID)
			}
		}
	})
	return ids
}

// SetClusterService sets the ports of the load balancer for the Services of a
// running cluster, whose name is the cluster's ID with "-services", as if
// somebody had created a Service in the cluster. If there is no such cluster, or
// the version of the service has no such load balancer, the test fails.
func (s *Server) SetClusterService(clusterID string, srcPort, dstPort int) {
	s.service.Do(func(at *api.Moment) {
		if min(srcPort, dstPort) < 1 || max(srcPort, dstPort) > 65535 || !families.SetClusterService(at, clusterID, srcPort, dstPort) {
			s.complain("cloudapitest: SetClusterService: there is no running cluster %q, or %d or %d is no port", clusterID, srcPort, dstPort)
		}
	})
}

// AddProject adds a project to the account of [Server.Token], and returns its
// ID. The token has every permission in it.
func (s *Server) AddProject(name string) string {
	id := cloudapi.NewID(cloudapi.KindProject).String()
	if !families.IsProjectName(name) {
		s.complain("cloudapitest: AddProject: %q cannot be the name of a project", name)
	}
	s.service.Do(func(at *api.Moment) {
		token := at.State.Token(s.config.token)
		at.AddProject(id, name, token.Account).Permissions[token] = api.Permissions{"*"}
	})
	return id
}

// SetPermissions replaces the permissions of a token in a project. A token
// without permissions gets empty lists, and a 403 for each existing object.
//
// A permission is the service's name of a family and an action, such as
// "Vm:view". The families are Firewall, InferenceApiKey, KubernetesCluster,
// LoadBalancer, Location (for private ones), MachineImage, Postgres,
// PrivateSubnet, Project and Vm. The actions are view, create, edit and delete,
// and for subnets connect and disconnect. SSH keys and init scripts need
// "Project:edit", GitHub "Project:github", the audit log "Project:auditlog". An
// asterisk matches everything: "Vm:*", "*:view", or "*" for every permission.
// If the project, the token or a permission does not exist the test fails.
func (s *Server) SetPermissions(projectID, token string, permissions ...string) {
	for _, p := range permissions {
		if !families.KnowsPermission(p) {
			s.complain("cloudapitest: SetPermissions: there is no permission %q; it is one like Vm:view or Vm:*", p)
		}
	}
	s.setProject("SetPermissions", projectID, func(at *api.Moment, p *api.Project) {
		t := at.State.Token(token)
		if t == nil {
			s.complain("cloudapitest: SetPermissions: there is no such token")
			return
		}
		p.Permissions[t] = slices.Clone(permissions)
	})
}

// SetBilling sets whether a project has valid billing information, which is the
// default. Without it VMs, databases and clusters cannot be created; existing
// ones remain.
func (s *Server) SetBilling(projectID string, valid bool) {
	s.setProject("SetBilling", projectID, func(_ *api.Moment, p *api.Project) { p.Unpaid = !valid })
}

// Feature is a feature that the service of August 2026 enables for single
// projects.
type Feature string

const (
	// FeatureBackupDownloads allows credentials for the backups of databases
	// outside of private locations, too.
	FeatureBackupDownloads Feature = families.FeatureBackupDownloads
	// FeatureLantern allows databases of the flavor "lantern".
	FeatureLantern Feature = families.FeatureLantern
	// FeatureMaintenanceWindowDays allows days for the maintenance windows of
	// databases, and shows them.
	FeatureMaintenanceWindowDays Feature = families.FeatureMaintenanceWindowDays
)

// SetFeatures replaces the features of a project. By default it has none. If the
// project or a feature does not exist the test fails.
func (s *Server) SetFeatures(projectID string, features ...Feature) {
	names := make([]string, len(features))
	for i, f := range features {
		names[i] = string(f)
		if !families.KnowsFeature(names[i]) {
			s.complain("cloudapitest: SetFeatures: there is no feature %q", f)
		}
	}
	s.setProject("SetFeatures", projectID, func(_ *api.Moment, p *api.Project) { p.Features = names })
}

// setProject changes a project. If there is none with the ID the test fails.
func (s *Server) setProject(method, id string, change func(*api.Moment, *api.Project)) {
	s.service.Do(func(at *api.Moment) {
		if p := at.State.Project(id); p != nil {
			change(at, p)
			return
		}
		s.complain("cloudapitest: %s: there is no project %q", method, id)
	})
}

// SetDelays replaces the delays of [WithDelays] for the object of a kind with
// the ID or name ref, which need not exist yet, or for all objects of the kind
// if ref is "", or for all without delays of their own if both are "". Effects
// that have already begun keep their delay. VMs, databases, clusters, subnets,
// load balancers, private locations and image versions have delays. Another
// kind, or a negative delay, fails the test.
func (s *Server) SetDelays(kind cloudapi.Kind, ref string, d Delays) {
	if !families.HasDelays(kind) && (kind != "" || ref != "") {
		s.complain("cloudapitest: SetDelays: %s has no delays", kind)
	}
	if err := d.check(); err != nil {
		s.complain("cloudapitest: SetDelays: %v", err)
	}
	s.service.Do(func(at *api.Moment) {
		if kind == "" {
			at.Config.Delays = api.Delays(d)
			return
		}
		at.State.SetDelays(kind, ref, api.Delays(d))
	})
}

// SetQuota replaces the quotas of [WithQuota]. What exists remains. A negative
// quota fails the test.
func (s *Server) SetQuota(q Quota) {
	if err := q.check(); err != nil {
		s.complain("cloudapitest: SetQuota: %v", err)
	}
	s.service.Do(func(at *api.Moment) { at.Config.Quota = api.Quota(q) })
}

// Reset returns the server to its beginning: it deletes all objects, and undoes
// what the methods of the server have set. It clears the faults and the log of
// requests. The tokens and the IDs of the first projects remain. The clock goes
// on.
func (s *Server) Reset() {
	s.ClearFaults()
	s.service.Reset(s.config.seed)
	s.ClearRequests()
}

// service returns the part of the configuration that operations depend on.
func (cfg config) service() api.Config {
	return api.Config{
		API:       apis[cfg.api],
		Locations: cfg.locations,
		PageCap:   cfg.pageCap,
		Delays:    api.Delays(cfg.delays),
		Quota:     api.Quota(cfg.quota),
		Now:       cfg.now,

		PortlessBalancers: cfg.portless,
	}
}

// seed adds the first projects and tokens.
func (cfg config) seed(at *api.Moment) {
	own, foreign := api.NewAccount("own"), api.NewAccount("foreign")
	main := at.AddProject(cfg.projectID, cfg.projectName, own)
	if apis[cfg.api].Version >= version.August2026 {
		families.AddGitHub(at, main)
	}
	other := at.AddProject(cfg.otherProjectID, "other", foreign)
	for _, t := range append(slices.Clip(cfg.tokens), tokenConfig{cfg.token, AccessFull}) {
		switch t.access {
		case AccessFull:
			main.Permissions[at.State.AddToken(t.value, own)] = api.Permissions{"*"}
		case AccessNone:
			at.State.AddToken(t.value, own)
		case AccessForeign:
			other.Permissions[at.State.AddToken(t.value, foreign)] = api.Permissions{"*"}
		case AccessRevoked:
			at.State.RemoveToken(t.value)
		}
	}
}
