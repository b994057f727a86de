package cloudapitest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

func postgresConfigOperations() []operation {
	const config = postgresDatabase + "/config"
	replace := closed(required("pg_config", freeForm), required("pgbouncer_config", freeForm)).named("PostgresConfig")
	update := anyOf(
		closed(required("pg_config", freeForm), optional("pgbouncer_config", freeForm)),
		closed(required("pgbouncer_config", freeForm)),
	).named("PostgresPatchConfig")
	return []operation{
		{name: "Postgres.GetConfig", method: http.MethodGet, route: config, handle: getPostgresConfig},
		{name: "Postgres.ReplaceConfig", method: http.MethodPost, route: config, body: replace, handle: replacePostgresConfig},
		{name: "Postgres.UpdateConfig", method: http.MethodPatch, route: config, body: update, handle: updatePostgresConfig},
	}
}

// postgresConfig is what users have set, as the database holds it and as records
// show it. Values stay what they were sent as: strings or not.
type postgresConfig struct {
	Postgres  fields `json:"pg_config"`
	PgBouncer fields `json:"pgbouncer_config"`
}

// changed returns the configuration with the values of the body. A null there
// removes a value.
func (config postgresConfig) changed(body fields) postgresConfig {
	change := func(values, changes fields) fields {
		changed := fields{}
		maps.Copy(changed, values)
		maps.Copy(changed, changes)
		maps.DeleteFunc(changed, func(_ string, value any) bool { return isNull(value) })
		return changed
	}
	return postgresConfig{
		change(config.Postgres, body.object("pg_config")),
		change(config.PgBouncer, body.object("pgbouncer_config")),
	}
}

func isNull(value any) bool { return string(value.(json.RawMessage)) == "null" }

func getPostgresConfig(c *call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	return p.config.changed(nil), nil
}

func replacePostgresConfig(c *call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	return p.configure(postgresConfig{c.body.object("pg_config"), c.body.object("pgbouncer_config")})
}

func updatePostgresConfig(c *call) (any, error) {
	p, err := findPostgres(c)
	if err != nil {
		return nil, err
	}
	return p.configure(p.config.changed(c.body))
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
		return nil, invalidFields(problems...)
	}
	p.config = config
	return config, nil
}

// settingProblems says what is wrong with the values. The error is the real
// server's failure at a value that its check cannot handle.
func settingProblems(field string, known settings, values fields) ([]problem, error) {
	var problems []problem
	for _, name := range slices.Sorted(maps.Keys(values)) {
		raw := values[name].(json.RawMessage)
		rule, ok := known[name]
		key := field + "." + name
		switch {
		case string(raw) == "null", string(raw) == `""`:
			problems = append(problems, problem{key, "Value cannot be empty"})
		case ok:
			what, err := rule(raw)
			if err != nil {
				return nil, err
			}
			if what != "" {
				problems = append(problems, problem{key, []string{what}})
			}
		case !isCustomSetting(name):
			problems = append(problems, problem{key, "Unknown configuration parameter"})
		}
	}
	return problems, nil
}

// isCustomSetting reports whether a name may be that of an extension's setting,
// of which nothing is known.
func isCustomSetting(name string) bool {
	_, setting, ok := strings.Cut(name, ".")
	return ok && setting != "" && !strings.Contains(setting, ".")
}
