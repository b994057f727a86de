package wire_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func postgresConfigCases() []wireCase {
	const (
		location = "eu-central-h1"
		target   = postgresPath + "/orders-db/config"
		reply    = `{"pg_config":{"max_connections":250,"random_page_cost":1.1,"work_mem":"32MB"},"pgbouncer_config":{"pool_mode":"transaction"}}`
	)
	config := &cloudapi.PostgresConfig{
		PGConfig:        map[string]cloudapi.PostgresSetting{"max_connections": cloudapi.Setting(250), "work_mem": cloudapi.Setting("32MB"), "random_page_cost": cloudapi.Setting(1.1)},
		PgBouncerConfig: map[string]cloudapi.PostgresSetting{"pool_mode": cloudapi.Setting("transaction")},
	}
	replaceWith := func(config *cloudapi.PostgresConfig) func(context.Context, *cloudapi.Client) (any, error) {
		return calls("Postgres.ReplaceConfig", location, "orders-db", config)
	}
	updateWith := func(request *cloudapi.PostgresConfigUpdateRequest) func(context.Context, *cloudapi.Client) (any, error) {
		return calls("Postgres.UpdateConfig", location, "orders-db", request)
	}
	return []wireCase{
		{
			name: "get the configuration", method: "GET", target: target, reply: reply, want: config,
			call: calls("Postgres.GetConfig", location, "orders-db"),
		},
		{
			name: "replace the configuration", method: "POST", target: target, reply: reply, want: config, body: reply,
			call: replaceWith(config),
		},
		{
			name: "get the configuration with defaults", method: "GET", target: target,
			reply: `{"pg_config":{},"pgbouncer_config":{},"default_pg_config":{"listen_addresses":"'*'","port":5432}}`,
			call:  calls("Postgres.GetConfig", location, "orders-db"),
			want: &cloudapi.PostgresConfig{PGConfig: map[string]cloudapi.PostgresSetting{}, PgBouncerConfig: map[string]cloudapi.PostgresSetting{},
				DefaultPGConfig: map[string]string{"listen_addresses": "'*'", "port": "5432"}},
		},
		{
			name: "replace it by what was read", method: "POST", target: target, body: `{"pg_config":{"work_mem":"32MB"},"pgbouncer_config":{}}`,
			reply: `{"pg_config":{"work_mem":"32MB"},"pgbouncer_config":{},"message":"restart"}`,
			call: replaceWith(&cloudapi.PostgresConfig{PGConfig: map[string]cloudapi.PostgresSetting{"work_mem": cloudapi.Setting("32MB")},
				DefaultPGConfig: map[string]string{"port": "5432"}, Message: "x"}),
			want: &cloudapi.PostgresConfig{PGConfig: map[string]cloudapi.PostgresSetting{"work_mem": cloudapi.Setting("32MB")}, PgBouncerConfig: map[string]cloudapi.PostgresSetting{}, Message: "restart"},
		},
		{
			name: "replace one map", method: "POST", target: target, reply: reply, want: config,
			body: `{"pg_config":{},"pgbouncer_config":{"pool_mode":"session"}}`,
			call: replaceWith(&cloudapi.PostgresConfig{PgBouncerConfig: map[string]cloudapi.PostgresSetting{"pool_mode": cloudapi.Setting("session")}}),
		},
		{
			name: "remove the configuration", method: "POST", target: target, reply: `{"pg_config":{},"pgbouncer_config":{}}`,
			body: `{"pg_config":{},"pgbouncer_config":{}}`,
			call: replaceWith(&cloudapi.PostgresConfig{}),
			want: &cloudapi.PostgresConfig{PGConfig: map[string]cloudapi.PostgresSetting{}, PgBouncerConfig: map[string]cloudapi.PostgresSetting{}},
		},
		{
			name: "set, remove and keep", method: "PATCH", target: target, reply: reply, want: config,
			body: `{"pg_config":{"max_connections":null,"search_path":"","work_mem":"64MB"}}`,
			call: updateWith(&cloudapi.PostgresConfigUpdateRequest{PGConfig: map[string]cloudapi.Opt[string]{
				"work_mem": cloudapi.Value("64MB"), "max_connections": cloudapi.Null[string](), "search_path": cloudapi.Value(""), "shared_buffers": {},
			}}),
		},
		{
			name: "update the pooler", method: "PATCH", target: target, reply: reply, want: config,
			body: `{"pgbouncer_config":{"pool_mode":null}}`,
			call: updateWith(&cloudapi.PostgresConfigUpdateRequest{PgBouncerConfig: map[string]cloudapi.Opt[string]{"pool_mode": cloudapi.Null[string]()}}),
		},
		{
			name: "update nothing, explicitly", method: "PATCH", target: target, reply: reply, want: config,
			body: `{"pg_config":{},"pgbouncer_config":{}}`,
			call: updateWith(&cloudapi.PostgresConfigUpdateRequest{
				PGConfig: map[string]cloudapi.Opt[string]{"work_mem": {}}, PgBouncerConfig: map[string]cloudapi.Opt[string]{},
			}),
		},
	}
}

func TestEmptyPostgresConfigUpdate(t *testing.T) {
	t.Parallel()
	for _, request := range []*cloudapi.PostgresConfigUpdateRequest{nil, {}} {
		_, err := sdktest.SendingNothing(t).Postgres.UpdateConfig(t.Context(), "eu-central-h1", "orders-db", request)
		if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Operation != "Postgres.UpdateConfig" || e.Name != "request" {
			t.Errorf("UpdateConfig with %v: %v", request, err)
		}
	}
}

func TestPostgresConfigRequestsAreNotChanged(t *testing.T) {
	t.Parallel()
	client := sdktest.Answering(t, 200, "application/json", `{"pg_config":{},"pgbouncer_config":{}}`)
	update := cloudapi.PostgresConfigUpdateRequest{PGConfig: map[string]cloudapi.Opt[string]{"work_mem": {}}}
	if _, err := client.Postgres.UpdateConfig(t.Context(), "eu-central-h1", "orders-db", &update); err != nil {
		t.Fatal(err)
	}
	var replacement cloudapi.PostgresConfig
	if _, err := client.Postgres.ReplaceConfig(t.Context(), "eu-central-h1", "orders-db", &replacement); err != nil {
		t.Fatal(err)
	}
	if len(update.PGConfig) != 1 || replacement.PGConfig != nil {
		t.Errorf("the requests became %v and %v", update, replacement)
	}
}

// TestPostgresConfigValues: every scalar is kept as it is sent, however many
// there are, also by Do, and written back unchanged.
func TestPostgresConfigValues(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"text": "8MB", "quoted": `a"b`, "empty": "", "int": "300", "float": "-1.50e3", "true": "true", "false": "false", "null": "",
	}
	const back = `{"empty":"","false":false,"float":-1.50e3,"int":300,"null":"","quoted":"a\"b","text":"8MB","true":true}`
	for _, more := range []string{"", strings.Repeat(`"int":300,`, 500_000)} {
		client := sdktest.Answering(t, 200, "application/json", `{"pg_config":{`+more+`"text":"8MB","quoted":"a\"b","empty":"","int":300,
			"float":-1.50e3,"true":true,"false":false,"null":null},"pgbouncer_config":{}}`)
		c, err := client.Postgres.GetConfig(t.Context(), "eu-central-h1", "orders-db")
		var done cloudapi.PostgresConfig
		if err == nil {
			err = client.Do(t.Context(), "GET", []string{"config"}, nil, nil, &done)
		}
		if err != nil {
			t.Errorf("with %d bytes more: %v", len(more), err)
			continue
		}
		got := map[string]string{}
		for name, value := range c.PGConfig {
			got[name] = value.String()
		}
		if !maps.Equal(got, want) || !maps.Equal(done.PGConfig, c.PGConfig) || string(stub.JSON(c.PGConfig)) != back {
			t.Errorf("with %d bytes more: decoded %q, and %s", len(more), got, stub.JSON(c.PGConfig))
		}
	}
}

func TestInvalidPostgresConfig(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		`{"pg_config":{}}`,
		`{"pgbouncer_config":{}}`,
		`{"pg_config":null,"pgbouncer_config":{}}`,
		`{"pg_config":[],"pgbouncer_config":{}}`,
		`{"pg_config":{"a":{}},"pgbouncer_config":{}}`,
		`{"pg_config":{"a":["b"]},"pgbouncer_config":{}}`,
		`[]`,
	} {
		config, err := sdktest.Answering(t, 200, "application/json", reply).Postgres.GetConfig(t.Context(), "eu-central-h1", "orders-db")
		if config != nil || !errors.Is(err, cloudapi.ErrInvalidResponse) {
			t.Errorf("of %s GetConfig made %v, %v", reply, config, err)
		}
	}
}

func TestReplaceConfigNeedsAConfiguration(t *testing.T) {
	t.Parallel()
	client := sdktest.Answering(t, 200, "application/json", `{"pg_config":{},"pgbouncer_config":{}}`)
	config, err := client.Postgres.ReplaceConfig(t.Context(), "eu-central-h1", "orders-db", nil)
	if config != nil || !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("ReplaceConfig(nil) = %v, %v", config, err)
	}
}
