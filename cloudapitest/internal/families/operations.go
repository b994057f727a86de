// Package families describes how the resources of the API behave, one family a
// file: which operations there are, what they accept, and what they do.
package families

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
)

// New returns the service of all families.
func New(cfg api.Config) *api.Service {
	cfg.Operations, cfg.Pattern = operations(), paramPattern
	cfg.Hidden = []string{"eu-central-a1", "github-runners", "hetzner-ai", "latitude-ai"}
	return api.New(cfg)
}

// operations returns the rows of all families, in the order of the contract.
func operations() []api.Operation {
	return slices.Concat(
		projectOperations(),
		firewallOperations(),
		inferenceAPIKeyOperations(),
		kubernetesOperations(),
		loadBalancerOperations(),
		postgresOperations(),
		privateSubnetOperations(),
		vmOperations(),
		privateLocationOperations(),
		sshPublicKeyOperations(),
		vmInitScriptOperations(),
	)
}

const idPattern = `[0-9a-hj-km-np-tv-z]{24}$`

// paramPatterns are those of path parameters that are IDs. References have one
// of their own; all else is free.
var paramPatterns = compile(map[string]string{
	"project_id":            `^pj` + idPattern,
	"object_id":             `^(fw|kc|1b|pg|ps|vm)` + idPattern,
	"firewall_rule_id":      `^fr` + idPattern,
	"inference_api_key_id":  `^ak` + idPattern,
	"metric_destination_id": `^(et|md)` + idPattern,
	"private_subnet_id":     `^ps` + idPattern,

	"postgres/firewall_rule_id": `^pf` + idPattern,
	"_reference":                api.NameForm.String(),
})

func compile(patterns map[string]string) map[string]*regexp.Regexp {
	compiled := map[string]*regexp.Regexp{}
	for name, p := range patterns {
		compiled[name] = regexp.MustCompile(p)
	}
	return compiled
}

// paramPattern returns what a path parameter has to match, or nil.
func paramPattern(o *api.Operation, name string) *regexp.Regexp {
	switch {
	case strings.HasSuffix(name, "_reference"):
		return paramPatterns["_reference"]
	case name == "firewall_rule_id" && strings.Contains(o.Route, "/postgres/"):
		return paramPatterns["postgres/firewall_rule_id"]
	}
	return paramPatterns[name]
}
