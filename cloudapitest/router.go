package cloudapitest

import (
	"regexp"
	"strings"
)

// router finds the operation of a request.
type router struct{ routes []route }

type route struct {
	operation *operation
	segments  []string
}

func newRouter(ops []operation) *router {
	r := &router{routes: make([]route, len(ops))}
	for i := range ops {
		r.routes[i] = route{&ops[i], strings.Split(ops[i].route, "/")}
	}
	return r
}

// match returns the operation and its path parameters, or nil. The path is the
// escaped one: like the real server it is compared as it was sent, without
// decoding or cleaning.
func (r *router) match(method, path string) (*operation, map[string]string) {
	segments := strings.Split(path, "/")
	for _, route := range r.routes {
		if route.operation.method == method && route.fits(segments) {
			return route.operation, route.params(segments)
		}
	}
	return nil, nil
}

func (r route) fits(segments []string) bool {
	if len(segments) != len(r.segments) {
		return false
	}
	for i, s := range r.segments {
		if _, isParam := paramName(s); s != segments[i] && !isParam || isParam && segments[i] == "" {
			return false
		}
	}
	return true
}

func (r route) params(segments []string) map[string]string {
	params := map[string]string{}
	for i, s := range r.segments {
		if name, ok := paramName(s); ok {
			params[name] = segments[i]
		}
	}
	return params
}

// paramName returns the name of a template's segment in braces.
func paramName(segment string) (string, bool) {
	name, ok := strings.CutPrefix(segment, "{")
	return strings.TrimSuffix(name, "}"), ok
}

const (
	referencePattern = `^[a-z0-9](?:[a-z0-9\-]{0,61}[a-z0-9])?$`
	idPattern        = `[0-9a-hj-km-np-tv-z]{24}$`
)

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
	"_reference":                referencePattern,
})

func compile(patterns map[string]string) map[string]*regexp.Regexp {
	compiled := map[string]*regexp.Regexp{}
	for name, p := range patterns {
		compiled[name] = regexp.MustCompile(p)
	}
	return compiled
}

// checkParams checks the path parameters, in the order of the path.
func (o *operation) checkParams(params map[string]string) error {
	for segment := range strings.SplitSeq(o.route, "/") {
		name, ok := paramName(segment)
		if !ok {
			continue
		}
		if p := o.paramPattern(name); p != nil && !p.MatchString(params[name]) {
			return badRequest("Parameter %s does not match pattern %s", `"`+params[name]+`"`, p)
		}
	}
	return nil
}

func (o *operation) paramPattern(name string) *regexp.Regexp {
	switch {
	case strings.HasSuffix(name, "_reference"):
		return paramPatterns["_reference"]
	case name == "firewall_rule_id" && strings.Contains(o.route, "/postgres/"):
		return paramPatterns["postgres/firewall_rule_id"]
	}
	return paramPatterns[name]
}
