package cloudapitest

import (
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/families"
)

// AddVMs adds n running VMs of size burstable-1 to the project, and returns
// their IDs. It sends no requests, so quota, faults and the log of requests
// don't apply. With the prefix "load" the VMs are called "load-1", "load-2" and
// so on. They are in the subnets "load-net-1" and so on, with 59 VMs each.
//
// If the location doesn't exist, or a name is invalid or taken, AddVMs adds no
// VM and the test fails.
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

// SetState sets the state that a VM, database, server of a database, cluster,
// subnet, private link service or image version shows, such as "stopped" for a VM or "failing_over"
// for a server, until it's set again. With the state "" the object shows its
// own state again. The only state of a GitHub cache entry is "uploading", in
// which its size is null. The test fails if there's no such object.
func (s *Server) SetState(id, state string) {
	s.service.Do(func(at *api.Moment) {
		if !families.SetState(at, id, state) {
			s.complain("cloudapitest: SetState: there is no object %q that shows a state", id)
		}
	})
}

// IDs returns the IDs of the project's objects with the given kind and name, in
// the order of creation. With the name "" it returns the IDs of all objects of
// the kind. It sends no requests.
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
// running cluster, as if somebody had created a Service in the cluster. The
// name of the load balancer is the cluster's ID followed by "-services". The
// test fails if there's no such cluster, or if the server's API has no such
// load balancer.
func (s *Server) SetClusterService(clusterID string, srcPort, dstPort int) {
	s.service.Do(func(at *api.Moment) {
		if min(srcPort, dstPort) < 1 || max(srcPort, dstPort) > 65535 || !families.SetClusterService(at, clusterID, srcPort, dstPort) {
			s.complain("cloudapitest: SetClusterService: there is no running cluster %q, or %d or %d isn't a port number", clusterID, srcPort, dstPort)
		}
	})
}

// AddLogLine adds a line to the logs of the database with the ID, as if the
// service received it now. The line's Timestamp defaults to now; an older time
// means that the line arrived late. The severity level defaults to "INFO", the
// stream to "postgres", and the server to the primary. The service sorts and
// selects lines by the time at which it received them.
//
// A running database still writes its own lines, one per server every 10
// seconds. The test fails if there's no such database, if the database has no
// such server, or if the API has no logs.
func (s *Server) AddLogLine(databaseID string, line cloudapi.PostgresLogEntry) {
	s.service.Do(func(at *api.Moment) {
		if err := families.AddLogLine(at, databaseID, line); err != nil {
			s.complain("cloudapitest: AddLogLine: %v", err)
		}
	})
}

// SetSerialLog sets the text of a VM's serial log, which later fetches return.
// A response contains at most the last 64 KiB. The test fails if there's no
// such VM.
func (s *Server) SetSerialLog(vmID, output string) {
	s.setSerialLog("SetSerialLog", vmID, output, false)
}

// FailSerialLog causes each fetch of a VM's serial log to fail until
// [Server.SetSerialLog] is called. The test fails if there's no such VM.
func (s *Server) FailSerialLog(vmID string) { s.setSerialLog("FailSerialLog", vmID, "", true) }

func (s *Server) setSerialLog(method, vmID, output string, fails bool) {
	s.service.Do(func(at *api.Moment) {
		if !families.SetSerialLog(at, vmID, output, fails) {
			s.complain("cloudapitest: %s: there is no VM %q", method, vmID)
		}
	})
}

// AddProject adds a project to the account of [Server.Token], and returns its
// ID. The token has every permission in the project.
func (s *Server) AddProject(name string) string {
	id := NewID(cloudapi.KindProject).String()
	if !families.IsProjectName(name) {
		s.complain("cloudapitest: AddProject: %q can't be the name of a project", name)
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
// A permission consists of the real server's name for a family and an action:
// "Vm:view". The families are Firewall, InferenceApiKey, KubernetesCluster,
// LoadBalancer, Location (for private locations), MachineImage, Postgres,
// PrivateLinkService, PrivateSubnet, Project and Vm. The actions are view, create, edit and delete,
// and for subnets also connect and disconnect. SSH keys and init scripts need
// "Project:edit", GitHub needs "Project:github", and the audit log needs
// "Project:auditlog". An asterisk matches everything: "Vm:*", "*:view", or "*"
// for every permission.
//
// A permission followed by "@" and an ID is for a single object and what it
// contains, such as "Firewall:view@"+firewall.ID for a firewall and its rules.
// A token with only such permissions sees these objects in lists, and gets a
// 403 for every other object.
//
// The test fails if the project, the token, a permission or an object doesn't
// exist.
func (s *Server) SetPermissions(projectID, token string, permissions ...string) {
	s.setProject("SetPermissions", projectID, func(at *api.Moment, project *api.Project) {
		for _, p := range permissions {
			permission, id, single := strings.Cut(p, "@")
			if !families.KnowsPermission(permission) {
				s.complain("cloudapitest: SetPermissions: there is no permission %q; it is one like Vm:view or Vm:*", permission)
			}
			if o := at.State.ByID[id]; single && (o == nil || o.Core().Project != project) {
				s.complain("cloudapitest: SetPermissions: the project has no object %q", id)
			}
		}
		t := at.State.Token(token)
		if t == nil {
			s.complain("cloudapitest: SetPermissions: there is no such token")
			return
		}
		project.Permissions[t] = slices.Clone(permissions)
	})
}

// SetBilling sets whether a project has valid billing information. The default
// is true. Without billing information, VMs, databases and clusters can't be
// created, but existing ones remain.
func (s *Server) SetBilling(projectID string, valid bool) {
	s.setProject("SetBilling", projectID, func(_ *api.Moment, p *api.Project) { p.Unpaid = !valid })
}

// Feature is a feature that the real service enables for individual projects.
// There are none with [Contract].
type Feature string

const (
	// FeatureBackupDownloads allows credentials for the backups of any database,
	// not only of databases in private locations.
	FeatureBackupDownloads Feature = families.FeatureBackupDownloads
	// FeatureLantern allows databases of the flavor "lantern".
	FeatureLantern Feature = families.FeatureLantern
	// FeatureMaintenanceWindowDays lets a database's maintenance window open only
	// on certain weekdays. Records of databases show the weekdays.
	FeatureMaintenanceWindowDays Feature = families.FeatureMaintenanceWindowDays
	// FeaturePrivateLinkServices allows private link services in the project's
	// private locations. Without it, their paths don't exist.
	FeaturePrivateLinkServices Feature = families.FeaturePrivateLinkServices
)

// SetFeatures replaces the features of a project, which has none by default.
// The test fails if the project or a feature doesn't exist.
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

func (s *Server) setProject(method, id string, change func(*api.Moment, *api.Project)) {
	s.service.Do(func(at *api.Moment) {
		if p := at.State.Project(id); p != nil {
			change(at, p)
			return
		}
		s.complain("cloudapitest: %s: there is no project %q", method, id)
	})
}

// SetDelays replaces the delays of one object of the kind; ref is its ID or
// name. The object need not exist yet. If ref is "", SetDelays replaces the
// delays of all objects of the kind that have no delays of their own. If kind
// is also "", it replaces the delays of [WithDelays], which all other objects
// have. Effects that have already begun keep their delay. VMs, databases,
// clusters, subnets, load balancers, private link services, private locations
// and image versions have delays. The test fails for another kind, and for a negative delay except
// Backup.
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

// SetQuota replaces the quotas of [WithQuota]. Existing objects remain. The
// test fails for a negative quota.
func (s *Server) SetQuota(q Quota) {
	if err := q.check(); err != nil {
		s.complain("cloudapitest: SetQuota: %v", err)
	}
	s.service.Do(func(at *api.Moment) { at.Config.Quota = api.Quota(q) })
}

// Reset returns the server to its initial state: it deletes all objects, undoes
// what the server's methods have set, and clears the faults and the log of
// requests. The tokens and the IDs of the initial projects remain, and so does
// the copy of [WithSnapshot]. It doesn't set back the clock.
func (s *Server) Reset() {
	s.ClearFaults()
	s.service.Reset(s.begin)
	s.ClearRequests()
}

func (cfg config) service() api.Config {
	return api.Config{
		API:       cfg.implemented(),
		Locations: cfg.locations,
		PageCap:   cfg.pageCap,
		Delays:    api.Delays(cfg.delays),
		Quota:     api.Quota(cfg.quota),
		Now:       cfg.now,

		PortlessBalancers: cfg.portless,
	}
}

func (cfg config) seed(at *api.Moment) {
	own, foreign := api.NewAccount("own"), api.NewAccount("foreign")
	main := at.AddProject(cfg.projectID, cfg.projectName, own)
	switch {
	case cfg.snapshot != nil:
		cfg.snapshot.Load(at, main)
	case cfg.api != Contract:
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
