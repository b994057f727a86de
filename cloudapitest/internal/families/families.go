// Package families implements the resources of the API: the operations, what
// they accept, and what they do. The name of a file begins with its family, or
// with "shared" if several families use it.
package families

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// New returns a service with the operations of all families.
func New(cfg api.Config) *api.Service {
	cfg.Families, cfg.Operations, cfg.Pattern = familyNames, operations(), patternsOf(cfg.Version)
	cfg.Hidden = []string{"eu-central-a1", "github-runners", "hetzner-ai", "latitude-ai"}
	if cfg.Version == version.Service {
		cfg.Hidden = append(cfg.Hidden, "us-east-1", "us-west-2", "us-east4", "europe-west3")
	}
	return api.New(cfg)
}

// operations returns the operations of all families and versions, in the order
// of the contract.
func operations() []api.Operation {
	return slices.Concat(
		api.Guard("Project", projectOperations()),
		api.Guard(familyNames[cloudapi.KindFirewall], firewallOperations()),
		api.Guard(familyNames[cloudapi.KindInferenceAPIKey], inferenceAPIKeyOperations()),
		api.Guard(familyNames[cloudapi.KindKubernetesCluster], kubernetesOperations()),
		api.Guard(familyNames[cloudapi.KindLoadBalancer], loadBalancerOperations()),
		api.Guard(familyNames[cloudapi.KindPostgres], postgresOperations()),
		api.Guard(familyNames[cloudapi.KindPrivateSubnet], privateSubnetOperations()),
		api.Guard(familyNames[cloudapi.KindVM], vmOperations()),
		api.Guard("Location", privateLocationOperations()),
		textOperations(),
		api.Guard(familyNames[cloudapi.KindMachineImage], machineImageOperations()),
		privateLinkServiceOperations(),
		githubOperations(),
		inferenceEndpointOperations(),
		auditLogOperations(),
	)
}

var nameOnly = schema.Closed(schema.Required("name", schema.Text))

// familyNames maps each kind that has its own permissions to their first word,
// such as "Vm" in "Vm:view".
var familyNames = map[cloudapi.Kind]string{
	cloudapi.KindFirewall:           "Firewall",
	cloudapi.KindInferenceAPIKey:    "InferenceApiKey",
	cloudapi.KindKubernetesCluster:  "KubernetesCluster",
	cloudapi.KindLoadBalancer:       "LoadBalancer",
	cloudapi.KindMachineImage:       "MachineImage",
	cloudapi.KindPostgres:           "Postgres",
	cloudapi.KindPrivateLinkService: "PrivateLinkService",
	cloudapi.KindPrivateSubnet:      "PrivateSubnet",
	cloudapi.KindVM:                 "Vm",
}

// KnowsPermission reports whether a permission exists, such as "Vm:view" or,
// with an asterisk as in [api.Permissions], "Vm:*".
func KnowsPermission(permission string) bool {
	names := append(slices.Collect(maps.Values(familyNames)), "Project", "Location", "*")
	family, action, ok := strings.Cut(permission, ":")
	if slices.Contains([]string{"Project:auditlog", "Project:github"}, permission) {
		return true
	}
	return permission == "*" || ok && slices.Contains(names, family) &&
		slices.Contains([]string{"view", "create", "edit", "delete", "connect", "disconnect", "*"}, action)
}

const idPattern = `[0-9a-hj-km-np-tv-z]{24}$`

// paramPatterns are the patterns of path parameters. All parameters that end
// with "_reference" share one. Parameters that aren't listed accept any value.
var paramPatterns = map[string]string{
	"project_id":            `^pj` + idPattern,
	"object_id":             `^(fw|kc|1b|pg|ps|vm)` + idPattern,
	"firewall_rule_id":      `^fr` + idPattern,
	"inference_api_key_id":  `^ak` + idPattern,
	"metric_destination_id": `^(et|md)` + idPattern,
	"private_subnet_id":     `^ps` + idPattern,

	"postgres/firewall_rule_id": `^pf` + idPattern,
	"_reference":                api.NameForm.String(),
}

// servicePatterns replace or extend paramPatterns in the service.
var servicePatterns = map[string]string{
	"object_id":                 `^(fw|kc|1b|m1|pg|ps|vm)` + idPattern,
	"github_cache_entry_id":     api.NameForm.String(),
	"kubernetes_node_name":      api.NameForm.String(),
	"version":                   versionForm.String(),
	"log_destination_id":        `^1d` + idPattern,
	"postgres/firewall_rule_id": `^fr` + idPattern,
}

// patternsOf returns a function that returns the pattern of a path parameter, or
// nil for a parameter without one.
func patternsOf(v version.Version) func(o *api.Operation, name string) *regexp.Regexp {
	patterns := maps.Clone(paramPatterns)
	if v == version.Service {
		maps.Copy(patterns, servicePatterns)
	}
	compiled := map[string]*regexp.Regexp{}
	for name, p := range patterns {
		compiled[name] = regexp.MustCompile(p)
	}
	return func(o *api.Operation, name string) *regexp.Regexp {
		switch {
		case strings.HasSuffix(name, "_reference"):
			name = "_reference"
		case name == "firewall_rule_id" && strings.Contains(o.Route, "/postgres/"):
			name = "postgres/firewall_rule_id"
		}
		return compiled[name]
	}
}
