package api

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// Call is a request in execution. The server's state is locked.
type Call struct {
	Config  *Config
	State   *State
	request Request
	Params  map[string]string
	Now     time.Time
	locked  *sync.Mutex

	Token    *Token
	Query    url.Values
	Body     schema.Fields
	Project  *Project  // nil if the route has none
	Location *Location // nil if the route has none

	permission string   // needed by the operation
	unknown    []string // fields and parameters that the API does not know
}

// execute checks the request and runs its operation. The checks are in the
// order of the real server; the operation itself checks objects and values.
func (c *Call) execute() (any, error) {
	op := c.request.Operation
	var err error
	if c.Token, err = c.authenticate(); err != nil {
		return nil, err
	}
	if op == nil {
		return nil, reply.NotFound()
	}
	c.permission = op.Permission
	for _, check := range []func(*Operation) error{
		c.checkPath, c.checkQuery, c.checkBody, c.resolveProject,
	} {
		if err := check(op); err != nil {
			return nil, err
		}
	}
	if name, ok := c.Params["location"]; ok {
		if err := c.EnterLocation(name); err != nil {
			return nil, err
		}
	}
	if op.guarded && !c.Permitted() {
		return nil, reply.Forbidden()
	}
	if !op.refers() {
		if err := c.CheckText(); err != nil {
			return nil, err
		}
	}
	return op.handle(c)
}

// CheckText refuses a body with a null byte in a string. The real server does
// so only after it has found the object of the path.
func (c *Call) CheckText() error {
	if schema.ContainsNUL(map[string]any(c.Body)) {
		return reply.InvalidRequest("string parameter contains null byte")
	}
	return nil
}

func (c *Call) checkPath(op *Operation) error { return op.checkParams(c.Params, c.Config.Pattern) }

// checkBody checks and decodes the body if the operation has one. A GET may
// have any body.
func (c *Call) checkBody(op *Operation) error {
	raw := c.request.Body
	switch {
	case op.Method == http.MethodGet:
		return nil
	case op.Body.Type == "" && len(op.Body.AnyOf) == 0, op.bodyOptional && len(raw) == 0:
		if len(raw) > 0 && !isJSONObject(raw) {
			return reply.NotJSONObject()
		}
		return nil
	}
	mediaType, _, _ := mime.ParseMediaType(c.request.Header.Get("Content-Type"))
	if mediaType != "application/json" {
		return reply.BadRequest(`"Content-Type" request header must be set to "application/json".`)
	}
	// The real server also accepts JSON media types in another spelling, but
	// then does not read the body.
	if len(raw) == 0 || !strings.HasPrefix(c.request.Header.Get("Content-Type"), "application/json") {
		raw = []byte("{}")
	}
	if !isJSONObject(raw) {
		return reply.NotJSONObject()
	}
	value, err := op.Body.Check(op.bodyPointer(), raw)
	c.unknown = append(c.unknown, op.Body.UnknownFields(raw)...)
	if err != nil {
		return err
	}
	c.Body = value.(map[string]any)
	return nil
}

func isJSONObject(raw []byte) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}

// resolveProject finds the project of the path, or returns the error for a
// token that cannot see it.
func (c *Call) resolveProject(op *Operation) error {
	id, ok := c.Params["project_id"]
	if !ok {
		return nil
	}
	p := c.State.Project(id)
	switch {
	case p != nil && p.Account == c.Token.Account:
		c.Project = p
		return nil
	case op.Method == http.MethodDelete && op.Route == ProjectRoute && ValidID(id):
		return nil // deleting a missing project succeeds
	}
	return reply.NotFound()
}

func ValidID(id string) bool {
	_, err := cloudapi.ParseID(id)
	return err == nil
}

// EnterLocation makes the location with the name that of the call, or returns
// the error for one that the project cannot use.
func (c *Call) EnterLocation(name string) error {
	for _, l := range c.State.Locations {
		if l.Name == name && l.usableBy(c.Project) {
			c.Location = l
			return nil
		}
	}
	return c.invalidLocation()
}

func (c *Call) invalidLocation() error {
	var names []string
	for _, l := range c.State.Locations {
		if l.usableBy(c.Project) && !l.Hidden {
			names = append(names, l.Name)
		}
	}
	slices.Sort(names)
	return reply.InvalidLocation(slices.Compact(names))
}

// Permitted reports whether the token may execute the call's operation.
func (c *Call) Permitted() bool { return c.Allowed(c.permission) }

// Allowed reports whether the token has a permission in the call's project.
func (c *Call) Allowed(permission string) bool {
	return c.Project.Permissions[c.Token].allow(permission)
}

// Since returns a field that records have since version v, and nil for earlier
// versions.
func Since[T any](c *Call, v version.Version, value T) *T {
	if c.Config.Version < v {
		return nil
	}
	return &value
}

// Header returns a header of the request.
func (c *Call) Header(name string) string { return c.request.Header.Get(name) }

// unlocked calls f while other requests can be executed.
func (c *Call) unlocked(f func()) {
	c.locked.Unlock()
	defer c.locked.Lock()
	f()
}
