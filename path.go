package cloudapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// A pathParam is the rule for a placeholder of a route.
type pathParam struct {
	// kinds are the kinds of resources that the placeholder can stand for.
	kinds kindSet

	// idOnly is set if the placeholder accepts only an ID and no name.
	idOnly bool
}

// takesIDs reports whether the placeholder accepts IDs. A private location and a
// version of a machine image are known by their names only.
func (p pathParam) takesIDs() bool {
	return p.kinds != "" && p.kinds != kindSet(KindPrivateLocation) && p.kinds != kindSet(KindMachineImageVersion)
}

// id returns the ID that a value of the placeholder stands for, in its canonical
// spelling. It reports false if the value is a name.
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

// param returns the rule for a placeholder of the route.
func (op *Operation) param(name string) pathParam {
	switch name {
	case "project_id":
		return pathParam{kinds: kindSet(KindProject), idOnly: true}
	case "object_id":
		return pathParam{kinds: kindSet(KindFirewall + KindKubernetesCluster + KindLoadBalancer + KindMachineImage + KindPostgres + KindPrivateSubnet + KindVM), idOnly: true}
	case "github_cache_entry_id":
		return pathParam{kinds: kindSet(KindGitHubCacheEntry), idOnly: true}
	case "firewall_rule_id":
		// The contract has one name for two kinds.
		if strings.Contains(op.Route, "/postgres/") {
			return pathParam{kinds: kindSet(KindPostgresFirewallRule), idOnly: true}
		}
		return pathParam{kinds: kindSet(KindFirewallRule), idOnly: true}
	case "inference_api_key_id":
		return pathParam{kinds: kindSet(KindInferenceAPIKey), idOnly: true}
	case "log_destination_id":
		return pathParam{kinds: kindSet(KindPostgresLogDestination), idOnly: true}
	case "metric_destination_id":
		return pathParam{kinds: kindSet(KindPostgresMetricDestination), idOnly: true}
	case "private_subnet_id":
		return pathParam{kinds: kindSet(KindPrivateSubnet), idOnly: true}

	case "firewall_reference":
		return pathParam{kinds: kindSet(KindFirewall)}
	case "github_installation_reference":
		return pathParam{kinds: kindSet(KindGitHubInstallation)}
	case "github_repository_reference":
		return pathParam{kinds: kindSet(KindGitHubRepository)}
	case "kubernetes_cluster_reference":
		return pathParam{kinds: kindSet(KindKubernetesCluster)}
	case "kubernetes_nodepool_reference":
		return pathParam{kinds: kindSet(KindKubernetesNodePool)}
	case "load_balancer_reference":
		return pathParam{kinds: kindSet(KindLoadBalancer)}
	case "machine_image_reference":
		return pathParam{kinds: kindSet(KindMachineImage)}
	case "postgres_database_reference":
		return pathParam{kinds: kindSet(KindPostgres)}
	case "private_subnet_reference":
		return pathParam{kinds: kindSet(KindPrivateSubnet)}
	case "ssh_public_key_reference":
		return pathParam{kinds: kindSet(KindSSHPublicKey)}
	case "vm_init_script_reference":
		return pathParam{kinds: kindSet(KindVMInitScript)}
	case "vm_reference":
		return pathParam{kinds: kindSet(KindVM)}

	case "private_location_name":
		return pathParam{kinds: kindSet(KindPrivateLocation)}
	case "version":
		return pathParam{kinds: kindSet(KindMachineImageVersion)}

	default: // location, kubernetes_node_name
		return pathParam{}
	}
}

// check returns why the value is invalid in the path, or "".
func (p pathParam) check(value string) string {
	if !p.idOnly {
		return checkSegment(value)
	}
	if p.kinds.hasID(value) {
		return ""
	}
	return fmt.Sprintf("must be an ID: %s and %d characters of %s", p.kinds, ubid.Length-ubid.PrefixLength, ubid.Alphabet)
}

// checkDeletion returns why no resource can have this reference, or "". Other
// operations leave that to the server. To a deletion of what does not exist it
// answers 204, which looks like success.
//
// An ID that the placeholder does not accept is refused although it could be a
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

const maxSegment = 255

// checkSegment returns why s cannot be a path segment, or "". A valid segment
// needs no percent-encoding, which the server would not decode, and cannot lead
// to another route.
func checkSegment(s string) string {
	switch {
	case s == "":
		return "must not be empty"
	case s == "." || s == "..":
		return "must not be a relative path"
	case len(s) > maxSegment:
		return fmt.Sprintf("has %d characters, at most %d are possible", len(s), maxSegment)
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', 'A' <= c && c <= 'Z',
			c == '-', c == '.', c == '_', c == '~':
		default:
			return "may only contain letters, digits, and the characters - . _ ~"
		}
	}
	return ""
}

// checkArgs returns the error with which the operation refuses args, or nil.
func (op *Operation) checkArgs(project string, args ...string) error {
	_, _, err := op.path(project, args)
	return err
}

// path fills the placeholders of the route with args, in order. If the route
// has one placeholder more than there are args, the first is the project of the
// client.
//
// byID reports whether the last placeholder is filled with an ID, which names
// the same resource even after a rename.
func (op *Operation) path(project string, args []string) (path string, byID bool, err error) {
	projectFirst := strings.Count(op.Route, "{") == len(args)+1
	if projectFirst && project == "" {
		return "", false, fmt.Errorf("cloudapi: %s: %w", op.Name, ErrNoProject)
	}
	var b strings.Builder
	size := len(op.Route) + len(project)
	for _, arg := range args {
		size += len(arg)
	}
	b.Grow(size)
	for rest := op.Route; ; {
		literal, placeholder, found := strings.Cut(rest, "{")
		b.WriteString(literal)
		if !found {
			break
		}
		var name, value string
		name, rest, _ = strings.Cut(placeholder, "}")
		if projectFirst {
			value, projectFirst = project, false
		} else {
			value, args = args[0], args[1:]
		}
		param := op.param(name)
		reason := param.check(value)
		if reason == "" && op.Method == http.MethodDelete && len(args) == 0 { // the last placeholder
			reason = param.checkDeletion(value)
		}
		if reason != "" {
			return "", false, argumentError(op.Name, name, value, reason)
		}
		_, byID = param.id(value)
		b.WriteString(value)
	}
	return b.String(), byID, nil
}
