package cloudapi

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
)

// PostgresConfig is what users have set of the configuration of a database;
// what they have not is at its default and not in it. Names are those of the
// Postgres version and of PgBouncer, in their case. It is a record and the body
// of [PostgresService.ReplaceConfig].
type PostgresConfig struct {
	PGConfig        map[string]string `json:"pg_config"`        // of the server, such as "work_mem": "32MB"
	PgBouncerConfig map[string]string `json:"pgbouncer_config"` // of the connection pooler, such as "pool_mode": "transaction"

	// The rest is what a server of August 2026 says, and never part of a request.
	//
	// DefaultPGConfig, which [PostgresService.GetConfig] returns, has what the
	// server sets itself, for this size of database.
	DefaultPGConfig map[string]string `json:"default_pg_config,omitzero"`

	// Message, which a change returns, is for people: that a restart is needed
	// for example. It is "" if there is nothing to do.
	Message string `json:"message,omitzero"`
}

func (c *PostgresConfig) missing() string {
	switch {
	case c.PGConfig == nil:
		return "pg_config"
	case c.PgBouncerConfig == nil:
		return "pgbouncer_config"
	}
	return ""
}

// UnmarshalJSON reads a configuration. The real server returns numbers and
// booleans if a client has set such: they become their JSON text.
func (c *PostgresConfig) UnmarshalJSON(data []byte) error {
	var lenient struct {
		PGConfig        map[string]configValue `json:"pg_config"`
		PgBouncerConfig map[string]configValue `json:"pgbouncer_config"`
		DefaultPGConfig map[string]configValue `json:"default_pg_config"`
		Message         string                 `json:"message"`
	}
	if err := json.Unmarshal(data, &lenient); err != nil {
		return err
	}
	c.PGConfig = configStrings(lenient.PGConfig)
	c.PgBouncerConfig = configStrings(lenient.PgBouncerConfig)
	c.DefaultPGConfig = configStrings(lenient.DefaultPGConfig)
	c.Message = lenient.Message
	return nil
}

// configValue is a value of a configuration, of any scalar JSON type.
type configValue string

func (v *configValue) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '{', '[':
		return errors.New("a configuration value is not a scalar")
	case '"', 'n':
		return json.Unmarshal(data, (*string)(v))
	}
	*v = configValue(data)
	return nil
}

func configStrings(values map[string]configValue) map[string]string {
	if values == nil {
		return nil
	}
	m := make(map[string]string, len(values))
	for name, value := range values {
		m[name] = string(value)
	}
	return m
}

// PostgresConfigUpdateRequest is the body of [PostgresService.UpdateConfig]. At
// least one map must be set. [Value] sets a name, [Null] removes it, so that it
// gets its default; others are left as they are.
//
//	request := &cloudapi.PostgresConfigUpdateRequest{
//		PGConfig: map[string]cloudapi.Opt[string]{
//			"work_mem":        cloudapi.Value("64MB"),
//			"max_connections": cloudapi.Null[string](),
//		},
//	}
type PostgresConfigUpdateRequest struct {
	PGConfig        map[string]Opt[string] `json:"pg_config,omitzero"`
	PgBouncerConfig map[string]Opt[string] `json:"pgbouncer_config,omitzero"`
}

var (
	opPostgresGetConfig     = Operation{"Postgres.GetConfig", "GET", postgresRoute + "/config", safe}
	opPostgresReplaceConfig = Operation{"Postgres.ReplaceConfig", "POST", postgresRoute + "/config", safe}
	opPostgresUpdateConfig  = Operation{"Postgres.UpdateConfig", "PATCH", postgresRoute + "/config", safe}
)

// GetConfig returns what was set of the configuration of a database.
//
//cloudapi:operation GET /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/config
func (s *PostgresService) GetConfig(ctx context.Context, location, postgres string) (*PostgresConfig, error) {
	return fetch[PostgresConfig](ctx, s.client, &opPostgresGetConfig, location, postgres)
}

// ReplaceConfig sets the whole configuration of a database: what is not in it
// gets its default. A nil map is an empty one; no configuration at all is an
// [*ArgumentError], so that a forgotten one does not reset a database. It
// returns what is set now, which takes effect moments later; some settings need a
// Restart, and only a server of August 2026 tells, in [PostgresConfig.Message].
// Names and values that are
// not possible are [ErrInvalidRequest], in [Error.FieldErrors] under names such
// as "pg_config.work_mem".
//
//cloudapi:operation POST /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/config
func (s *PostgresService) ReplaceConfig(ctx context.Context, location, postgres string, config *PostgresConfig) (*PostgresConfig, error) {
	if config == nil {
		return nil, &ArgumentError{Operation: opPostgresReplaceConfig.Name, Name: "config", Reason: "must not be nil"}
	}
	body := PostgresConfig{PGConfig: map[string]string{}, PgBouncerConfig: map[string]string{}}
	maps.Copy(body.PGConfig, config.PGConfig)
	maps.Copy(body.PgBouncerConfig, config.PgBouncerConfig)
	return send[PostgresConfig](ctx, s.client, &opPostgresReplaceConfig, body, location, postgres)
}

// UpdateConfig changes some of the configuration of a database and returns all
// that is set now. A request without a map is an [*ArgumentError]; for the rest
// see [PostgresService.ReplaceConfig].
//
//cloudapi:operation PATCH /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/config
func (s *PostgresService) UpdateConfig(ctx context.Context, location, postgres string, request *PostgresConfigUpdateRequest) (*PostgresConfig, error) {
	if request == nil || request.PGConfig == nil && request.PgBouncerConfig == nil {
		return nil, &ArgumentError{Operation: opPostgresUpdateConfig.Name, Name: "request", Reason: "must set a map"}
	}
	body := PostgresConfigUpdateRequest{withoutAbsent(request.PGConfig), withoutAbsent(request.PgBouncerConfig)}
	return send[PostgresConfig](ctx, s.client, &opPostgresUpdateConfig, body, location, postgres)
}

// withoutAbsent returns a copy without the values that are absent, which would
// be encoded as null, and null removes a setting.
func withoutAbsent(settings map[string]Opt[string]) map[string]Opt[string] {
	settings = maps.Clone(settings)
	maps.DeleteFunc(settings, func(_ string, value Opt[string]) bool { return value.IsZero() })
	return settings
}
