package families

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func postgresDestinationOperations() []api.Operation {
	const (
		metrics = postgresDatabase + "/metric-destination"
		logs    = postgresDatabase + "/log-destination"
	)
	options := schema.MapOf(schema.Any)
	createMetric := schema.Closed(schema.Required("url", schema.Text),
		schema.Required("username", schema.Text).Only(version.Contract),
		schema.Required("password", schema.Text).Only(version.Contract),
		schema.Optional("username", schema.Text.OrNull()).Only(version.Service),
		schema.Optional("password", schema.Text.OrNull()).Only(version.Service),
		schema.Optional("options", options.OrNull()).Only(version.Service))
	createLog := schema.Closed(schema.Required("name", schema.Text), schema.Required("type", schema.OneOf("otlp", "syslog")),
		schema.Required("url", schema.Text), schema.Optional("options", options))
	return []api.Operation{
		api.POST("Postgres.CreateMetricDestination", metrics, createMetric, api.On(findPostgres, (*postgres).createMetricDestination)),
		api.DELETE("Postgres.DeleteMetricDestination", metrics+"/{metric_destination_id}", deleteMetricDestination).Needs("Postgres:edit"),
		api.POST("Postgres.CreateLogDestination", logs, createLog, api.On(findPostgres, (*postgres).createLogDestination)).Only(version.Service),
		api.DELETE("Postgres.DeleteLogDestination", logs+"/{log_destination_id}", deleteLogDestination).Needs("Postgres:edit").Only(version.Service),
	}
}

// postgresMetricDestination is a metric destination without its secrets, which
// the test server doesn't store.
type postgresMetricDestination struct {
	ID          string   `json:"id"`
	Username    *string  `json:"username"`
	URL         string   `json:"url"`
	AuthMethods []string `json:"auth_methods,omitempty"` // not in the contract
}

// postgresLogDestination is a log destination without its options, which the
// test server doesn't store.
type postgresLogDestination struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"`
	URL  string `json:"url"`
}

func (p *postgres) createMetricDestination(c *api.Call) (any, error) {
	d := postgresMetricDestination{ID: api.NewID(cloudapi.KindPostgresMetricDestination).String()}
	credentials := d.setPassword
	if c.Config.Version == version.Service {
		credentials = d.setCredentials
	}
	err := c.Run(api.SetText(&d.URL, "url"), credentials, func(*api.Call) error {
		_, err := destinationURL(d.URL, "https", "Invalid URL scheme. Only https URLs are supported.")
		return err
	})
	if err != nil {
		return nil, err
	}
	p.destinations = append(p.destinations, d)
	c.Log("create", d.ID, p.ID)
	return p.details(c.Moment), nil
}

func (d *postgresMetricDestination) setPassword(c *api.Call) error {
	var username, password string
	d.Username = &username
	return c.Run(api.SetText(&username, "username"), api.SetText(&password, "password"))
}

// destinationOptions are the options in a body. The API description leaves them
// open, so a value can be any JSON. A null is like an absent option.
type destinationOptions map[string]any

func (options destinationOptions) read(name string, into any) bool {
	raw, ok := options[name].(json.RawMessage)
	return !ok || json.Unmarshal(raw, into) == nil
}

// only checks that there are no other options than the named ones.
func (options destinationOptions) only(problem string, names ...string) error {
	for name := range options {
		if !slices.Contains(names, name) {
			return invalidOptions(problem)
		}
	}
	return nil
}

// headers returns the texts in the option of that name.
func (options destinationOptions) headers() (headers map[string]*string, err error) {
	if !options.read("headers", &headers) || hasNull(headers) {
		return nil, invalidOptions("options.headers must be a flat object with string values")
	}
	return headers, nil
}

func hasNull(texts map[string]*string) bool {
	return slices.Contains(slices.Collect(maps.Values(texts)), nil)
}

func invalidOptions(what string) error { return reply.InvalidField("options", "%s", what) }

// setCredentials accepts, as the service does, a user name and password, an
// authorization, or headers.
func (d *postgresMetricDestination) setCredentials(c *api.Call) error {
	options := destinationOptions(c.Body.Object("options"))
	none := invalidOptions("no credentials given, set username and password, options.authorization, or options.headers")
	if err := options.only("options may only contain 'authorization' and 'headers'", "authorization", "headers"); err != nil {
		return err
	}
	switch {
	case c.Body.Has("username") != c.Body.Has("password"):
		return reply.InvalidField("username", "must be set together with password")
	case c.Body.Has("username") && c.Body.Text("username")+c.Body.Text("password") == "":
		return none
	case c.Body.Has("username"):
		if err := d.setPassword(c); err != nil {
			return err
		}
		d.AuthMethods = append(d.AuthMethods, "basic_auth")
	}
	var authorization map[string]*string
	valid := options.read("authorization", &authorization)
	if !valid || authorization != nil {
		credentials, kind, others := authorization["credentials"], authorization["type"], maps.Clone(authorization)
		delete(others, "credentials")
		delete(others, "type")
		switch {
		case !valid || hasNull(authorization) || credentials == nil || *credentials == "" || len(others) > 0:
			return invalidOptions("options.authorization must be an object with a non-empty string 'credentials' and an optional string 'type'")
		case kind != nil && strings.TrimSpace(*kind) == "":
			return invalidOptions("options.authorization.type must be a non-empty string")
		case kind != nil && strings.EqualFold(strings.TrimSpace(*kind), "basic"):
			return invalidOptions("options.authorization.type cannot be basic, set username and password instead")
		case c.Body.Has("username"):
			return invalidOptions("options.authorization cannot be combined with username and password")
		}
		d.AuthMethods = append(d.AuthMethods, "authorization")
	}
	headers, err := options.headers()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if slices.Contains(reservedHeaders, strings.ToLower(name)) {
			return invalidOptions("options.headers cannot set " + name)
		}
	}
	if len(headers) > 0 {
		d.AuthMethods = append(d.AuthMethods, "headers")
	}
	if d.AuthMethods == nil {
		return none
	}
	return nil
}

// reservedHeaders are the headers that a destination can't set, since
// Prometheus doesn't allow that.
var reservedHeaders = []string{
	"accept-encoding", "authorization", "connection", "content-encoding", "content-length", "content-type", "host", "keep-alive",
	"proxy-authenticate", "proxy-authorization", "user-agent", "www-authenticate", "x-amz-content-sha256", "x-amz-date",
	"x-amz-security-token", "x-prometheus-remote-read-version", "x-prometheus-remote-write-version",
}

func deleteMetricDestination(c *api.Call) (any, error) {
	p, id, err := findDestination(c, "metric_destination_id")
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(p.destinations, func(d postgresMetricDestination) bool { return d.ID == id }); i >= 0 {
		p.destinations = slices.Delete(p.destinations, i, i+1)
		c.Log("destroy", id)
	}
	return reply.NoContent{}, nil
}

func (p *postgres) createLogDestination(c *api.Call) (any, error) {
	d := postgresLogDestination{ID: api.NewID(cloudapi.KindPostgresLogDestination).String(), Type: c.Body.Text("type")}
	if err := c.Run(api.SetText(&d.Name, "name"), api.SetText(&d.URL, "url"), d.check); err != nil {
		return nil, err
	}
	p.logs = append(p.logs, d)
	c.Log("create", d.ID, p.ID)
	return d, nil
}

func (d *postgresLogDestination) check(c *api.Call) error {
	options := destinationOptions(c.Body.Object("options"))
	if d.Type == "otlp" {
		if _, err := destinationURL(d.URL, "https", "Invalid URL scheme. Only https URLs are supported."); err != nil {
			return err
		}
		if err := options.only("options may only contain 'headers' for otlp", "headers"); err != nil {
			return err
		}
		_, err := options.headers()
		return err
	}
	u, err := destinationURL(d.URL, "tcp", "Invalid URL scheme. Only tcp URLs are supported for syslog.")
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(u.Port())
	switch {
	case err != nil:
		return reply.InvalidField("url", "Invalid URL")
	case port < 1 || port > maxPort:
		return reply.InvalidField("url", "port must be between 1 and 65535")
	}
	if err := options.only("options may only contain 'structured_data' for syslog", "structured_data"); err != nil {
		return err
	}
	var data map[string]map[string]*string
	if !options.read("structured_data", &data) || slices.ContainsFunc(slices.Collect(maps.Values(data)), func(texts map[string]*string) bool {
		return texts == nil || hasNull(texts)
	}) {
		return invalidOptions("options.structured_data must be an object mapping SD-IDs to key/value objects")
	}
	return nil
}

func deleteLogDestination(c *api.Call) (any, error) {
	p, id, err := findDestination(c, "log_destination_id")
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(p.logs, func(d postgresLogDestination) bool { return d.ID == id }); i >= 0 {
		p.logs = slices.Delete(p.logs, i, i+1)
		c.Log("destroy", id)
	}
	return reply.NoContent{}, nil
}

// findDestination returns the database and the destination's ID from the path.
// It doesn't check that the destination exists.
func findDestination(c *api.Call, param string) (*postgres, string, error) {
	id := c.Params[param]
	p, err := findPostgres(c)
	if err == nil && !api.ValidID(id) {
		err = reply.NotFound()
	}
	return p, id, err
}

func destinationURL(text, scheme, schemeProblem string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || strings.Contains(text, " "):
		return nil, reply.InvalidField("url", "Invalid URL")
	case u.Scheme != scheme:
		return nil, reply.InvalidField("url", "%s", schemeProblem)
	case u.Host == "":
		return nil, reply.InvalidField("url", "Invalid URL")
	}
	return u, nil
}
