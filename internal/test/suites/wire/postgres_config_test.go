package wire_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func postgresConfigCases() []wireCase {
	const (
		config = orders + "/config"
		reply  = `{"pg_config":{"max_connections":250,"random_page_cost":1.1,"work_mem":"32MB"},"pgbouncer_config":{"pool_mode":"transaction"}}`
		none   = `{"pg_config":{},"pgbouncer_config":{}}`
	)
	type settings = cloudapi.PostgresSettings
	replace := func(config cloudapi.PostgresConfig) sdktest.Call {
		return do("Postgres.ReplaceConfig", location, "orders-db", &config)
	}
	update := func(request cloudapi.PostgresConfigUpdateRequest) sdktest.Call {
		return do("Postgres.UpdateConfig", location, "orders-db", &request)
	}
	return []wireCase{
		{do("Postgres.GetConfig", location, "orders-db"), "GET " + config, reply},
		{do("Postgres.GetConfig", location, "orders-db"), "GET " + config,
			`{"pg_config":{},"pgbouncer_config":{},"default_pg_config":{"listen_addresses":"'*'","port":5432}}`},
		{replace(cloudapi.PostgresConfig{
			PGConfig:        settings{"max_connections": cloudapi.NewPostgresSetting(250), "work_mem": cloudapi.NewPostgresSetting("32MB"), "random_page_cost": cloudapi.NewPostgresSetting(1.1)},
			PgBouncerConfig: settings{"pool_mode": cloudapi.NewPostgresSetting("transaction")},
		}), "POST " + config + " " + reply, reply},
		{replace(cloudapi.PostgresConfig{PGConfig: settings{"work_mem": cloudapi.NewPostgresSetting("32MB")}, DefaultPGConfig: settings{"port": cloudapi.NewPostgresSetting("5432")}, Message: "x"}),
			"POST " + config + ` {"pg_config":{"work_mem":"32MB"},"pgbouncer_config":{}}`, // only the settings that were read are written, not the other fields
			`{"pg_config":{"work_mem":"32MB"},"pgbouncer_config":{},"message":"restart"}`},
		{replace(cloudapi.PostgresConfig{PgBouncerConfig: settings{"pool_mode": cloudapi.NewPostgresSetting("session")}}),
			"POST " + config + ` {"pg_config":{},"pgbouncer_config":{"pool_mode":"session"}}`, reply},
		{replace(cloudapi.PostgresConfig{}), "POST " + config + " " + none, none},
		{update(cloudapi.PostgresConfigUpdateRequest{PGConfig: settings{
			"work_mem": cloudapi.NewPostgresSetting("64MB"), "max_connections": {}, "search_path": cloudapi.NewPostgresSetting(""), "port": cloudapi.NewPostgresSetting(5432),
		}}), "PATCH " + config + ` {"pg_config":{"max_connections":null,"port":"5432","search_path":"","work_mem":"64MB"}}`, reply}, // a number is sent as a text
		{update(cloudapi.PostgresConfigUpdateRequest{PgBouncerConfig: settings{"pool_mode": {}}}),
			"PATCH " + config + ` {"pgbouncer_config":{"pool_mode":null}}`, reply},
		{update(cloudapi.PostgresConfigUpdateRequest{PGConfig: settings{}, PgBouncerConfig: settings{}}), "PATCH " + config + " " + none, reply},
	}
}

// TestPostgresConfigValues: settings of every JSON type are decoded, also by Do
// and however many there are, and written back unchanged.
func TestPostgresConfigValues(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"text": "8MB", "quoted": `a"b`, "empty": "", "int": "300", "float": "-1.50e3", "true": "true", "false": "false", "null": "",
	}
	const back = `{"empty":"","false":false,"float":-1.50e3,"int":300,"null":null,"quoted":"a\"b","text":"8MB","true":true}`
	for _, more := range []string{"", strings.Repeat(`"int":300,`, 500_000)} {
		client := sdktest.Answering(t, 200, "application/json", `{"pg_config":{`+more+`"text":"8MB","quoted":"a\"b","empty":"","int":300,
			"float":-1.50e3,"true":true,"false":false,"null":null},"pgbouncer_config":{}}`)
		c, err := client.Postgres.GetConfig(t.Context(), location, "orders-db")
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
