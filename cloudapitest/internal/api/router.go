package api

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

type router struct{ routes []route }

type route struct {
	operation *Operation
	segments  []string
}

func newRouter(ops []Operation) *router {
	r := &router{routes: make([]route, len(ops))}
	for i := range ops {
		r.routes[i] = route{&ops[i], strings.Split(ops[i].Route, "/")}
	}
	return r
}

// match compares the escaped path without decoding or cleaning it, as the real
// server does.
func (r *router) match(method, path string) (*Operation, map[string]string) {
	segments := strings.Split(path, "/")
	for _, route := range r.routes {
		if route.operation.Method == method && route.fits(segments) {
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
		if _, isParam := ParamName(s); s != segments[i] && !isParam || isParam && segments[i] == "" {
			return false
		}
	}
	return true
}

func (r route) params(segments []string) map[string]string {
	params := map[string]string{}
	for i, s := range r.segments {
		if name, ok := ParamName(s); ok {
			params[name] = segments[i]
		}
	}
	return params
}

// ParamName returns the name of the path parameter in a segment of a route,
// such as "{location}", and false for other segments.
func ParamName(segment string) (string, bool) {
	name, ok := strings.CutPrefix(segment, "{")
	return strings.TrimSuffix(name, "}"), ok
}

// checkParams checks the path parameters, the last one first, as the real server
// does.
func (o *Operation) checkParams(params map[string]string, pattern func(*Operation, string) *regexp.Regexp) error {
	for _, segment := range slices.Backward(strings.Split(o.Route, "/")) {
		name, ok := ParamName(segment)
		if !ok {
			continue
		}
		if p := pattern(o, name); p != nil && !p.MatchString(params[name]) {
			return reply.BadRequest("Parameter %s does not match pattern %s", `"`+params[name]+`"`, p)
		}
	}
	return nil
}
