package cloudapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// pathRules are the rules for the placeholders that stand for resources. Any
// other placeholder, such as the location, accepts any segment.
var pathRules = map[string]referenceRule{
	"project_id":            projectRule,
	"object_id":             {kinds: kinds{KindFirewall, KindKubernetesCluster, KindLoadBalancer, KindMachineImage, KindPostgres, KindPrivateSubnet, KindVM}, idOnly: true},
	"firewall_rule_id":      {kinds: kinds{KindFirewallRule}, idOnly: true},
	"github_cache_entry_id": {kinds: kinds{KindGitHubCacheEntry}, idOnly: true},
	"inference_api_key_id":  {kinds: kinds{KindInferenceAPIKey}, idOnly: true},
	"log_destination_id":    {kinds: kinds{KindPostgresLogDestination}, idOnly: true},
	"metric_destination_id": {kinds: kinds{KindPostgresMetricDestination}, idOnly: true},
	"private_subnet_id":     {kinds: kinds{KindPrivateSubnet}, idOnly: true},

	"firewall_reference":             {kinds: kinds{KindFirewall}},
	"github_installation_reference":  {kinds: kinds{KindGitHubInstallation}},
	"github_repository_reference":    {kinds: kinds{KindGitHubRepository}},
	"kubernetes_cluster_reference":   {kinds: kinds{KindKubernetesCluster}},
	"kubernetes_nodepool_reference":  {kinds: kinds{KindKubernetesNodePool}},
	"load_balancer_reference":        {kinds: kinds{KindLoadBalancer}},
	"machine_image_reference":        {kinds: kinds{KindMachineImage}},
	"postgres_database_reference":    {kinds: kinds{KindPostgres}},
	"private_link_service_reference": {kinds: kinds{KindPrivateLinkService}},
	"private_subnet_reference":       {kinds: kinds{KindPrivateSubnet}},
	"ssh_public_key_reference":       {kinds: kinds{KindSSHPublicKey}},
	"vm_init_script_reference":       {kinds: kinds{KindVMInitScript}},
	"vm_reference":                   {kinds: kinds{KindVM}},

	"private_location_name": {kinds: kinds{KindPrivateLocation}, nameOnly: true},
	"version":               {kinds: kinds{KindMachineImageVersion}, nameOnly: true},
}

var projectRule = referenceRule{kinds: kinds{KindProject}, idOnly: true}

// postgresFirewallRule is the rule for firewall_rule_id in a database's routes.
// The routes of firewalls have a placeholder with the same name.
var postgresFirewallRule = referenceRule{kinds: kinds{KindPostgresFirewallRule}, idOnly: true}

func (op *Operation) rule(name string) referenceRule {
	if name == "firewall_rule_id" && strings.Contains(op.Route, "/postgres/") {
		return postgresFirewallRule
	}
	return pathRules[name]
}

func (op *Operation) lastRule() referenceRule {
	rule, _ := op.last()
	return rule
}

// last returns the last placeholder of the route, and its rule.
func (op *Operation) last() (rule referenceRule, placeholder string) {
	placeholder, _, _ = strings.Cut(op.Route[strings.LastIndex(op.Route, "{")+1:], "}")
	return op.rule(placeholder), placeholder
}

// checkArgs returns why the operation refuses args, or nil.
func (op *Operation) checkArgs(project string, args ...string) error {
	_, _, err := op.path(project, args)
	return err
}

// path fills the placeholders of the route with args, in order. If the route
// has one placeholder more than there are args, project fills the first one.
// want is the resource that the last placeholder stands for. If the last two
// stand for resources of the same kind, want is the first of the two.
func (op *Operation) path(project string, args []string) (path string, want expected, err error) {
	var b strings.Builder
	size := len(op.Route) + len(project)
	for _, arg := range args {
		size += len(arg)
	}
	b.Grow(size)
	rest := op.Route
	if strings.Count(rest, "{") == len(args)+1 {
		if project == "" {
			return "", expected{}, fmt.Errorf("cloudapi: %s: %w", op.Name, ErrNoProject)
		}
		if err := projectRule.check(op.Name, "project_id", project); err != nil {
			return "", expected{}, err
		}
		b.WriteString("/project/")
		b.WriteString(project)
		rest = rest[len(projectRoute):]
		want.kinds, want.id = projectRule.kinds, project
	}
	for {
		literal, placeholder, found := strings.Cut(rest, "{")
		b.WriteString(literal)
		if !found {
			return b.String(), want, nil
		}
		var name string
		name, rest, _ = strings.Cut(placeholder, "}")
		value := args[0]
		args = args[1:]
		rule := op.rule(name)
		id, reason := rule.parse(value)
		if reason == "" && op.Method == http.MethodDelete && len(args) == 0 {
			reason = rule.impossible(value) // see checkCertain
		}
		if reason != "" {
			return "", expected{}, argumentError(op.Name, name, value, reason)
		}
		b.WriteString(value)
		if name == "location" {
			want.location = value
		} else if len(rule.kinds) > 0 && !slices.Equal(rule.kinds, want.kinds) {
			want.kinds, want.id, want.name = rule.kinds, id, ""
			if id == "" {
				want.name = value
			}
		}
	}
}
