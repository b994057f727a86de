package cloudapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/syntax"
	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// A pathParam is the rule for a placeholder of a route.
type pathParam struct {
	kinds    kinds // the kinds of resources that it can stand for
	idOnly   bool  // it accepts only an ID and no name
	nameOnly bool  // it accepts only a name and no ID
}

// pathParams are the rules for the placeholders that stand for resources. Any
// other, such as the location, accepts any segment.
var pathParams = map[string]pathParam{
	"project_id":            projectParam,
	"object_id":             {kinds: kinds(KindFirewall + KindKubernetesCluster + KindLoadBalancer + KindMachineImage + KindPostgres + KindPrivateSubnet + KindVM), idOnly: true},
	"firewall_rule_id":      {kinds: kinds(KindFirewallRule), idOnly: true},
	"github_cache_entry_id": {kinds: kinds(KindGitHubCacheEntry), idOnly: true},
	"inference_api_key_id":  {kinds: kinds(KindInferenceAPIKey), idOnly: true},
	"log_destination_id":    {kinds: kinds(KindPostgresLogDestination), idOnly: true},
	"metric_destination_id": {kinds: kinds(KindPostgresMetricDestination), idOnly: true},
	"private_subnet_id":     {kinds: kinds(KindPrivateSubnet), idOnly: true},

	"firewall_reference":            {kinds: kinds(KindFirewall)},
	"github_installation_reference": {kinds: kinds(KindGitHubInstallation)},
	"github_repository_reference":   {kinds: kinds(KindGitHubRepository)},
	"kubernetes_cluster_reference":  {kinds: kinds(KindKubernetesCluster)},
	"kubernetes_nodepool_reference": {kinds: kinds(KindKubernetesNodePool)},
	"load_balancer_reference":       {kinds: kinds(KindLoadBalancer)},
	"machine_image_reference":       {kinds: kinds(KindMachineImage)},
	"postgres_database_reference":   {kinds: kinds(KindPostgres)},
	"private_subnet_reference":      {kinds: kinds(KindPrivateSubnet)},
	"ssh_public_key_reference":      {kinds: kinds(KindSSHPublicKey)},
	"vm_init_script_reference":      {kinds: kinds(KindVMInitScript)},
	"vm_reference":                  {kinds: kinds(KindVM)},

	"private_location_name": {kinds: kinds(KindPrivateLocation), nameOnly: true},
	"version":               {kinds: kinds(KindMachineImageVersion), nameOnly: true},
}

var projectParam = pathParam{kinds: kinds(KindProject), idOnly: true}

// postgresFirewallRule is the rule for the firewall_rule_id of a database, since
// the contract has one name for two kinds.
var postgresFirewallRule = pathParam{kinds: kinds(KindPostgresFirewallRule), idOnly: true}

// param returns the rule for a placeholder of the route.
func (op *Operation) param(name string) pathParam {
	if name == "firewall_rule_id" && strings.Contains(op.Route, "/postgres/") {
		return postgresFirewallRule
	}
	return pathParams[name]
}

// lastParam returns the rule for the last placeholder of the route.
func (op *Operation) lastParam() pathParam {
	name, _, _ := strings.Cut(op.Route[strings.LastIndex(op.Route, "{")+1:], "}")
	return op.param(name)
}

// takesIDs reports whether the placeholder accepts IDs.
func (p pathParam) takesIDs() bool { return len(p.kinds) > 0 && !p.nameOnly }

// id returns the ID that a value of the placeholder stands for, in its
// canonical spelling. It returns false if the value is a name.
func (p pathParam) id(value string) (string, bool) {
	switch {
	case !p.takesIDs():
		return "", false
	case p.kinds.hasID(value):
		return value, true
	case p.kinds.reserves(value):
		if id, err := ubid.Parse(value); err == nil {
			return id.String(), true
		}
	}
	return "", false
}

// check returns why the value is invalid in the path, or "".
func (p pathParam) check(value string) string {
	if !p.idOnly {
		return syntax.Segment(value)
	}
	if p.kinds.hasID(value) {
		return ""
	}
	return fmt.Sprintf("must be an ID: %s and %d characters of %s", p.kinds, ubid.Length-ubid.PrefixLength, ubid.Alphabet)
}

// checkDeletion returns why no resource can have this reference, or "". Only
// deletions check it, because the server answers 204 to the deletion of what
// doesn't exist.
//
// It refuses an ID that the placeholder doesn't accept, although it could be a
// name.
func (p pathParam) checkDeletion(value string) string {
	id, err := ubid.Parse(value)
	switch {
	case err != nil && p.takesIDs() && p.kinds.reserves(value):
		return err.Error()
	case err != nil || !IsID(value):
		return ""
	case !p.takesIDs():
		return "must be a name, not an ID"
	case !p.kinds.hasID(value):
		return "is the ID of another kind: " + ID(id.String()).Kind().String()
	}
	return ""
}

// checkArgs returns why the operation refuses args, or nil.
func (op *Operation) checkArgs(project string, args ...string) error {
	_, _, err := op.path(project, args)
	return err
}

// path fills the placeholders of the route with args, in order. If the route
// has one placeholder more than there are args, the first is the client's
// project. The last placeholder names the resource; if the last two are of the
// same kind, the first of them does.
func (op *Operation) path(project string, args []string) (path string, about subject, err error) {
	var b strings.Builder
	size := len(op.Route) + len(project)
	for _, arg := range args {
		size += len(arg)
	}
	b.Grow(size)
	rest := op.Route
	if strings.Count(rest, "{") == len(args)+1 {
		if project == "" {
			return "", subject{}, fmt.Errorf("cloudapi: %s: %w", op.Name, ErrNoProject)
		}
		if reason := projectParam.check(project); reason != "" {
			return "", subject{}, argumentError(op.Name, "project_id", project, reason)
		}
		b.WriteString("/project/")
		b.WriteString(project)
		rest = rest[len(projectRoute):]
		about.kinds, about.id = projectParam.kinds, project
	}
	for {
		literal, placeholder, found := strings.Cut(rest, "{")
		b.WriteString(literal)
		if !found {
			return b.String(), about, nil
		}
		var name string
		name, rest, _ = strings.Cut(placeholder, "}")
		value := args[0]
		args = args[1:]
		param := op.param(name)
		reason := param.check(value)
		if reason == "" && op.Method == http.MethodDelete && len(args) == 0 {
			reason = param.checkDeletion(value)
		}
		if reason != "" {
			return "", subject{}, argumentError(op.Name, name, value, reason)
		}
		b.WriteString(value)
		if name == "location" {
			about.location = value
		} else if param.kinds != "" && param.kinds != about.kinds {
			about.kinds, about.id, about.name = param.kinds, "", value
			if id, ok := param.id(value); ok {
				about.id, about.name = id, ""
			}
		}
	}
}
