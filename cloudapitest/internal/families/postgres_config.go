package families

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

func postgresConfigOperations() []api.Operation {
	const config = postgresDatabase + "/config"
	replace := schema.Closed(schema.Required("pg_config", schema.FreeForm), schema.Required("pgbouncer_config", schema.FreeForm)).Named("PostgresConfig")
	update := schema.AnyOf(
		schema.Closed(schema.Required("pg_config", schema.FreeForm), schema.Optional("pgbouncer_config", schema.FreeForm)),
		schema.Closed(schema.Required("pgbouncer_config", schema.FreeForm)),
	).Named("PostgresPatchConfig")
	return []api.Operation{
		api.GET("Postgres.GetConfig", config, api.On(findPostgres, (*postgres).showConfig)),
		api.POST("Postgres.ReplaceConfig", config, replace, api.On(findPostgres, (*postgres).replaceConfig)),
		api.PATCH("Postgres.UpdateConfig", config, update, api.On(findPostgres, (*postgres).updateConfig)),
	}
}

// postgresConfig is what users have set, as the database holds it and as records
// show it. Values stay what they were sent as: strings or not.
type postgresConfig struct {
	Postgres  schema.Fields `json:"pg_config"`
	PgBouncer schema.Fields `json:"pgbouncer_config"`
}

// changed returns the configuration with the values of the body. A null there
// removes a value.
func (config postgresConfig) changed(body schema.Fields) postgresConfig {
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

func (p *postgres) showConfig(c *api.Call) (any, error) {
	return p.config.changed(nil), nil
}

func (p *postgres) replaceConfig(c *api.Call) (any, error) {
	return p.configure(postgresConfig{c.Body.Object("pg_config"), c.Body.Object("pgbouncer_config")})
}

func (p *postgres) updateConfig(c *api.Call) (any, error) {
	return p.configure(p.config.changed(c.Body))
}

// configure checks all values, those that stay the same too.
func (p *postgres) configure(config postgresConfig) (any, error) {
	problems, err := settingProblems("pg_config", postgresSettings(p.version), config.Postgres)
	if err != nil {
		return nil, err
	}
	more, err := settingProblems("pgbouncer_config", pgBouncerSettings, config.PgBouncer)
	if err != nil {
		return nil, err
	}
	if problems = append(problems, more...); problems != nil {
		return nil, reply.InvalidFields(problems...)
	}
	p.config = config
	return config, nil
}

// settingProblems says what is wrong with the values. The error is the real
// server's failure at a value that its check cannot handle.
func settingProblems(field string, known settings, values schema.Fields) ([]reply.Problem, error) {
	var problems []reply.Problem
	for _, name := range slices.Sorted(maps.Keys(values)) {
		raw := values[name].(json.RawMessage)
		rule, ok := known[name]
		key := field + "." + name
		switch {
		case string(raw) == "null", string(raw) == `""`:
			problems = append(problems, reply.Problem{Field: key, What: "Value cannot be empty"})
		case ok:
			what, err := rule(raw)
			if err != nil {
				return nil, err
			}
			if what != "" {
				problems = append(problems, reply.Problem{Field: key, What: []string{what}})
			}
		case !isCustomSetting(name):
			problems = append(problems, reply.Problem{Field: key, What: "Unknown configuration parameter"})
		}
	}
	return problems, nil
}

// isCustomSetting reports whether a name may be that of an extension's setting, of
// which nothing is known.
func isCustomSetting(name string) bool {
	_, setting, ok := strings.Cut(name, ".")
	return ok && setting != "" && !strings.Contains(setting, ".")
}
