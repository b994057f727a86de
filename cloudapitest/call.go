package cloudapitest

import (
	"encoding/json"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// call is a request while its operation executes, with the server's state
// locked.
type call struct {
	config  *config
	state   *state
	request *http.Request
	raw     []byte // the body as it arrived
	params  map[string]string
	now     time.Time

	token    *token
	query    url.Values
	body     fields
	project  *project  // nil if the route has none
	location *location // nil if the route has none

	unknown []string // what the client sent and the API does not know
}

// execute checks the request and runs its operation. The checks come in the
// order of the real server; those of objects and values are the operation's.
func (c *call) execute(op *operation) (any, error) {
	var err error
	if c.token, err = c.state.authenticate(c.request.Header); err != nil {
		return nil, err
	}
	if op == nil {
		return nil, notFound()
	}
	for _, check := range []func(*operation) error{
		c.checkPath, c.checkQuery, c.checkBody, c.resolveProject, c.resolveLocation,
	} {
		if err := check(op); err != nil {
			return nil, err
		}
	}
	if op.guarded && !c.permitted() {
		return nil, forbidden()
	}
	return op.handle(c)
}

func (c *call) checkPath(op *operation) error { return op.checkParams(c.params) }

func (c *call) checkQuery(op *operation) error {
	var err error
	if c.query, err = parseQuery(c.request.URL.RawQuery); err != nil {
		return unexpected()
	}
	known := slices.Concat(op.query, op.list.parameters())
	for _, name := range slices.Sorted(maps.Keys(c.query)) {
		if !slices.Contains(known, name) {
			c.unknown = append(c.unknown, "query parameter "+name)
		}
	}
	return op.list.check(c.query)
}

// run takes the steps of an operation until one fails.
func (c *call) run(steps ...func(*call) error) error {
	for _, step := range steps {
		if err := step(c); err != nil {
			return err
		}
	}
	return nil
}

// parseQuery differs from url.ParseQuery in that a semicolon is a character
// like any other, as it is for the real server.
func parseQuery(raw string) (url.Values, error) {
	return url.ParseQuery(strings.ReplaceAll(raw, ";", "%3B"))
}

// checkBody decodes the body as far as the operation has one. A GET may have
// any.
func (c *call) checkBody(op *operation) error {
	raw := c.raw
	switch {
	case op.method == http.MethodGet:
		return nil
	case op.body.typ == "" && len(op.body.anyOf) == 0, op.bare && len(raw) == 0:
		if len(raw) > 0 && !isJSONObject(raw) {
			return errNotJSONObject()
		}
		return nil
	}
	mediaType, _, _ := mime.ParseMediaType(c.request.Header.Get("Content-Type"))
	if mediaType != "application/json" {
		return badRequest(`"Content-Type" request header must be set to "application/json".`)
	}
	// The real server takes a differently spelled media type for JSON too, but
	// does not read the body then.
	if len(raw) == 0 || !strings.HasPrefix(c.request.Header.Get("Content-Type"), "application/json") {
		raw = []byte("{}")
	}
	if !isJSONObject(raw) {
		return errNotJSONObject()
	}
	value, err := op.body.check(op.bodyPointer(), raw)
	c.unknown = append(c.unknown, op.body.unknownFields(raw)...)
	if err != nil {
		return err
	}
	c.body = value.(map[string]any)
	if containsNUL(value) {
		return invalidRequest("string parameter contains null byte")
	}
	return nil
}

// errNotJSONObject is the answer to any body that is not a JSON object. Where
// the body is JSON all the same (null, an array, a string) the real server
// fails with a 500 without a body.
func errNotJSONObject() error { return badBody("Request body isn't a valid JSON object.") }

func isJSONObject(raw []byte) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}

// resolveProject finds the project of the path, or answers for the token that
// cannot see it.
func (c *call) resolveProject(op *operation) error {
	id, ok := c.params["project_id"]
	if !ok {
		return nil
	}
	p, ok := c.state.byID[id].(*project)
	switch {
	case ok && p.account == c.token.account:
		c.project = p
		return nil
	case op.method == http.MethodDelete && op.route == projectRoute && validID(id):
		return nil // deleting it does nothing and succeeds
	}
	return notFound()
}

func validID(id string) bool {
	_, err := cloudapi.ParseID(id)
	return err == nil
}

func (c *call) resolveLocation(*operation) error {
	name, ok := c.params["location"]
	if !ok {
		return nil
	}
	for _, l := range c.state.locations {
		if l.name == name && l.usableBy(c.project) {
			c.location = l
			return nil
		}
	}
	return c.invalidLocation()
}

func (c *call) invalidLocation() error {
	var names []string
	for _, l := range c.state.locations {
		if l.usableBy(c.project) && !l.hidden {
			names = append(names, l.name)
		}
	}
	slices.Sort(names)
	return invalidLocation(slices.Compact(names))
}

// permitted reports whether the token has permissions in the call's project.
func (c *call) permitted() bool { return c.project.members[c.token] }
