package families

import (
	"encoding/json"
	"maps"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func postgresConfigOperations() []api.Operation {
	const config = postgresDatabase + "/config"
	values := schema.MapOf(schema.AnyOf(schema.Text, schema.Number))
	changes := schema.MapOf(schema.Text.OrNull())
	replace := schema.Closed(
		schema.Required("pg_config", values).Only(version.Service), schema.Required("pgbouncer_config", values).Only(version.Service),
		schema.Required("pg_config", configValues).Only(version.Contract), schema.Required("pgbouncer_config", configValues).Only(version.Contract),
		// Read-only fields, which are ignored.
		schema.Optional("default_pg_config", configValues.OrNull()).Only(version.Service),
		schema.Optional("message", schema.Text).Only(version.Service)).Named("PostgresConfig")
	update := schema.AnyOf(
		schema.Closed(schema.Required("pg_config", changes), schema.Optional("pgbouncer_config", changes)),
		schema.Closed(schema.Required("pgbouncer_config", changes)),
	).Named("PostgresPatchConfig")
	return []api.Operation{
		api.GET("Postgres.GetConfig", config, api.On(findPostgres, (*postgres).showConfig)),
		api.POST("Postgres.ReplaceConfig", config, replace, api.On(findPostgres, (*postgres).replaceConfig)),
		api.PATCH("Postgres.UpdateConfig", config, update, api.On(findPostgres, (*postgres).updateConfig)),
	}
}

var configValues = schema.MapOf(schema.Text)

// postgresConfig contains the settings that users have set. A database stores
// it, and responses contain it. Values keep the JSON type that was sent.
type postgresConfig struct {
	Postgres  schema.Fields `json:"pg_config"`
	PgBouncer schema.Fields `json:"pgbouncer_config"`
}

// withChanges returns the configuration with the changes in the body. A null
// removes a value.
func (config postgresConfig) withChanges(body schema.Fields) postgresConfig {
	change := func(values, changes schema.Fields) schema.Fields {
		changed := schema.Fields{}
		maps.Copy(changed, values)
		maps.Copy(changed, changes)
		maps.DeleteFunc(changed, func(_ string, value any) bool { return isNull(value) })
		return changed
	}
	return postgresConfig{
		change(config.Postgres, body.Object("pg_config")),
		change(config.PgBouncer, body.Object("pgbouncer_config")),
	}
}

func isNull(value any) bool { return string(value.(json.RawMessage)) == "null" }

// postgresConfigRecord is the configuration with the fields that only the
// service's records have.
type postgresConfigRecord struct {
	postgresConfig
	Defaults map[string]string `json:"default_pg_config,omitempty"`
	Message  string            `json:"message,omitempty"`
}

func (p *postgres) showConfig(c *api.Call) (any, error) {
	r := postgresConfigRecord{postgresConfig: p.config.withChanges(nil)}
	if c.Config.Version == version.Service {
		r.Defaults = p.current(c.Now).defaults()
	}
	return r, nil
}

func (p *postgres) replaceConfig(c *api.Call) (any, error) {
	return p.reconfigure(c, postgresConfig{c.Body.Object("pg_config"), c.Body.Object("pgbouncer_config")})
}

func (p *postgres) updateConfig(c *api.Call) (any, error) {
	return p.reconfigure(c, p.config.withChanges(c.Body))
}

func (p *postgres) reconfigure(c *api.Call, config postgresConfig) (any, error) {
	r, err := p.configure(c.Moment, config)
	if err == nil {
		c.Log("update_config", p.ID)
	}
	return r, err
}

func (p *postgres) setConfig(c *api.Call) error {
	_, err := p.configure(c.Moment, p.config.withChanges(c.Body))
	return err
}

// configure checks all settings, including unchanged ones.
func (p *postgres) configure(at *api.Moment, config postgresConfig) (any, error) {
	problems := append(settingProblems("pg_config", postgresSettings, config.Postgres),
		settingProblems("pgbouncer_config", pgBouncerSettings, config.PgBouncer)...)
	if at.Config.Version == version.Service && problems == nil {
		problems = append(p.connectionProblems(at, config), config.memoryProblems(p.target)...)
	}
	if problems != nil {
		return nil, reply.InvalidFields(problems...)
	}
	r := postgresConfigRecord{postgresConfig: config}
	if at.Config.Version == version.Service {
		r.Message = restartMessage(p.config.Postgres, config.Postgres)
	}
	p.config = config
	return r, nil
}
