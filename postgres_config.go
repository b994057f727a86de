package cloudapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
)

// PostgresConfig contains the settings that users have set in a database. It's
// also the body of [PostgresService.ReplaceConfig], without the last two fields.
//
// The service also has "ubicloud.shared_memory_percent" in PGConfig, the part of
// the memory that is shared: 25 (the default) to 75 percent, or to 50 with up to
// 16 GB of memory. A change needs a restart. A smaller size lowers it.
type PostgresConfig struct {
	PGConfig        PostgresSettings `json:"pg_config"`        // of the server
	PgBouncerConfig PostgresSettings `json:"pgbouncer_config"` // of the pooler, such as "pool_mode": NewPostgresSetting("transaction")

	// The server chooses DefaultPGConfig for a database of this size; only
	// GetConfig returns it. Message says what a change still needs to take effect,
	// such as a restart. † Only the service has these.
	DefaultPGConfig PostgresSettings `json:"default_pg_config,omitzero"`
	Message         string           `json:"message,omitzero"`
}

// PostgresSettings are settings by name, such as "work_mem":
// NewPostgresSetting("32MB"). Names are case-sensitive, and depend on the
// database's version.
type PostgresSettings map[string]PostgresSetting

// texts returns the settings with each number as a text: only ReplaceConfig takes
// numbers.
func (s PostgresSettings) texts() PostgresSettings {
	texts := maps.Clone(s)
	for name, setting := range texts {
		if setting.isNumber {
			texts[name] = NewPostgresSetting(setting.text)
		}
	}
	return texts
}

// PostgresSetting is the value of a setting: a text or, only with the service,
// a number. The zero value is null, which resets the setting to its default in
// [PostgresService.UpdateConfig]. The number 200 and the text "200" aren't equal,
// so ReplaceConfig changes the number to the text, which may need a restart.
// Requests other than ReplaceConfig send numbers as texts.
type PostgresSetting struct {
	text             string
	isText, isNumber bool // a number is sent without quotes, and so are true and false; neither is null
}

// NewPostgresSetting returns a setting, of a value such as "32MB" or 200.
func NewPostgresSetting[T string | int | float64](value T) PostgresSetting {
	_, isText := any(value).(string)
	return PostgresSetting{fmt.Sprint(value), isText, !isText}
}

// Equal reports whether two settings are equal (==).
func (s PostgresSetting) Equal(t PostgresSetting) bool { return s == t }

// String returns the text, or the number as it's sent, or "" for null.
func (s PostgresSetting) String() string { return s.text }

func (s PostgresSetting) MarshalJSON() ([]byte, error) {
	switch {
	case s.isNumber:
		return []byte(s.text), nil
	case s.isText:
		return json.Marshal(s.text)
	}
	return []byte("null"), nil
}

func (s *PostgresSetting) UnmarshalJSON(data []byte) error {
	*s = PostgresSetting{}
	switch firstByte(data) {
	case 'n':
		return nil
	case '"':
		s.isText = true
		return json.Unmarshal(data, &s.text)
	case '{', '[':
		return errors.New("the value of a setting must be a text or a number")
	}
	*s = PostgresSetting{text: string(data), isNumber: true}
	return nil
}

func (c *PostgresConfig) lacks() string {
	switch {
	case c.PGConfig == nil:
		return "pg_config"
	case c.PgBouncerConfig == nil:
		return "pgbouncer_config"
	}
	return ""
}

// PostgresConfigUpdateRequest is the body of [PostgresService.UpdateConfig], such
// as {PGConfig: {"work_mem": NewPostgresSetting("64MB"), "max_connections": {}}}.
// At least one map is required. {} resets the setting to its default.
type PostgresConfigUpdateRequest struct {
	PGConfig        PostgresSettings `json:"pg_config,omitzero"`
	PgBouncerConfig PostgresSettings `json:"pgbouncer_config,omitzero"`
}

var (
	opPostgresGetConfig     = Operation{"Postgres.GetConfig", "GET", postgresRoute + "/config", idempotent}
	opPostgresReplaceConfig = Operation{"Postgres.ReplaceConfig", "POST", postgresRoute + "/config", idempotent}
	opPostgresUpdateConfig  = Operation{"Postgres.UpdateConfig", "PATCH", postgresRoute + "/config", idempotent}
)

// GetConfig returns the settings that users have set in a database.
func (s *PostgresService) GetConfig(ctx context.Context, location, postgres string) (*PostgresConfig, error) {
	return perform[PostgresConfig](ctx, s.conn, &opPostgresGetConfig, location, postgres)
}

// ReplaceConfig replaces the configuration of a database, and returns it.
// Settings that config lacks are reset to their defaults. Settings take effect
// after the response, some after a Restart, as [PostgresConfig.Message] says.
// ReplaceConfig returns [ErrInvalidRequest] for an invalid name or value;
// [Error.FieldErrors] has names such as "pg_config.work_mem".
func (s *PostgresService) ReplaceConfig(ctx context.Context, location, postgres string, config *PostgresConfig) (*PostgresConfig, error) {
	if config == nil {
		return nil, &ArgumentError{Operation: opPostgresReplaceConfig.Name, Name: "config", Reason: "must not be nil"}
	}
	body := PostgresConfig{PGConfig: PostgresSettings{}, PgBouncerConfig: PostgresSettings{}}
	maps.Copy(body.PGConfig, config.PGConfig)
	maps.Copy(body.PgBouncerConfig, config.PgBouncerConfig)
	return send[PostgresConfig](ctx, s.conn, &opPostgresReplaceConfig, body, location, postgres)
}

// UpdateConfig changes some settings of a database, and returns all that are
// now set. [PostgresService.ReplaceConfig] says when they take effect.
func (s *PostgresService) UpdateConfig(ctx context.Context, location, postgres string, request *PostgresConfigUpdateRequest) (*PostgresConfig, error) {
	if request == nil || request.PGConfig == nil && request.PgBouncerConfig == nil {
		return nil, &ArgumentError{Operation: opPostgresUpdateConfig.Name, Name: "request", Reason: "must set a map"}
	}
	body := PostgresConfigUpdateRequest{request.PGConfig.texts(), request.PgBouncerConfig.texts()}
	return send[PostgresConfig](ctx, s.conn, &opPostgresUpdateConfig, body, location, postgres)
}

// PostgresCapabilities describes the databases that a project can create.
type PostgresCapabilities struct {
	OptionTree PostgresOptions         `json:"option_tree"` // valid combinations, starting with the flavor
	Metadata   PostgresOptionsMetadata `json:"metadata"`
}

func (c *PostgresCapabilities) lacks() string {
	if c.OptionTree == nil {
		return "option_tree"
	}
	return ""
}

// PostgresOptions maps an option to its values, and each value to its options.
// A flavor has locations and versions, a location has families, a family has
// sizes, a size has storage_sizes (in GiB), and a storage_size has ha_types. So
// options["flavor"]["standard"]["location"] has the locations of a flavor. An
// option or value that doesn't exist gives a nil map. Locations have the
// provider's names; methods take [PostgresLocationMetadata.DisplayName].
type PostgresOptions map[string]map[string]PostgresOptions

// PostgresOptionsMetadata describes the values of each option.
type PostgresOptionsMetadata struct {
	Flavor   map[string]PostgresFlavorMetadata   `json:"flavor"`
	Location map[string]PostgresLocationMetadata `json:"location"`
	Family   map[string]PostgresFamilyMetadata   `json:"family"`
	Size     map[string]PostgresSizeMetadata     `json:"size"`
	HAType   map[string]PostgresHATypeMetadata   `json:"ha_type"`
}

// PostgresFlavorMetadata describes a flavor.
type PostgresFlavorMetadata struct {
	DisplayName string `json:"display_name"` // for people
}

// PostgresLocationMetadata describes a location.
type PostgresLocationMetadata struct {
	DisplayName string `json:"display_name"` // what the methods take, such as "eu-central-h1"
	UIName      string `json:"ui_name"`      // for people, such as "Germany"
	Provider    string `json:"provider"`     // such as "hetzner" or "aws"
}

// PostgresFamilyMetadata describes a family of sizes.
type PostgresFamilyMetadata struct {
	DisplayName string `json:"display_name"` // for people
	Category    string `json:"category"`     // such as "dedicated", "shared" or "memory-optimized"
}

// PostgresSizeMetadata describes a size.
type PostgresSizeMetadata struct {
	VCPU      int `json:"vcpu"`
	MemoryGiB int `json:"memory_gib"`
}

// PostgresHATypeMetadata describes an ha_type.
type PostgresHATypeMetadata struct {
	DisplayName  string `json:"display_name"` // for people
	StandbyCount int    `json:"standby_count"`
}

var opPostgresCapabilities = Operation{"Postgres.Capabilities", "GET", projectRoute + "/postgres/capabilities", idempotent | serviceOnly}

// Capabilities returns the values that [PostgresService.Create] accepts in this
// project. It returns [ErrForbidden] if the token can't see databases. † Only
// the service has this.
func (s *PostgresService) Capabilities(ctx context.Context) (*PostgresCapabilities, error) {
	return perform[PostgresCapabilities](ctx, s.conn, &opPostgresCapabilities)
}
