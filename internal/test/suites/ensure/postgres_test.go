package ensure_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestEnsureClosesADatabase: an update that restricts a database deletes the
// rules that allow all addresses, and no others.
func TestEnsureClosesADatabase(t *testing.T) {
	t.Parallel()
	client, ctx := cloudapitest.New(t).Client(), t.Context()
	request := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}
	stub.Must(client.Postgres.Create(ctx, sdktest.Somewhere, "db-1", request))(t)
	stub.Must(client.Postgres.CreateFirewallRule(ctx, sdktest.Somewhere, "db-1", &cloudapi.PostgresFirewallRuleCreateRequest{CIDR: "203.0.113.0/24"}))(t)
	request.RestrictByDefault = new(true)
	for _, update := range []bool{false, true, false} {
		db, outcome, err := client.Postgres.Ensure(ctx, sdktest.Somewhere, "db-1", request, &cloudapi.EnsureOptions{Update: update})
		if outcome == "" {
			if update || !strings.HasSuffix(fmt.Sprint(err), "restrict_by_default is [0.0.0.0/0 ::/0], wanted true") {
				t.Error(err)
			}
		} else if len(db.FirewallRules) == 0 || slices.ContainsFunc(db.FirewallRules, func(r cloudapi.PostgresFirewallRule) bool { return r.CIDR != "203.0.113.0/24" }) {
			t.Errorf("%s: the rules are %v", outcome, db.FirewallRules)
		}
	}
}

// TestEnsureWithoutRules: a record that lacks its firewall rules doesn't show
// that a database is restricted.
func TestEnsureWithoutRules(t *testing.T) {
	t.Parallel()
	client := sdktest.Answering(t, http.StatusOK, "application/json", `{"id":"pgn30gjk1d1e2jj34v9x0dq4rp","name":"db-1"}`)
	for restrict, want := range map[bool]error{true: cloudapi.ErrInvalidResponse, false: nil} {
		db, outcome, err := client.Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-1", &cloudapi.PostgresCreateRequest{RestrictByDefault: &restrict}, nil)
		if (db == nil) != restrict || (outcome == "") != restrict || !errors.Is(err, want) {
			t.Errorf("%v: %v, %q, %v", restrict, db, outcome, err)
		}
	}
}

// TestEnsurePostgresOfALaterServer: a size matches even if the server shows it
// under its later name.
func TestEnsurePostgresOfALaterServer(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	client := srv.Client(changed(func(record map[string]any) {
		for _, field := range []string{"vm_size", "target_vm_size"} {
			record[field] = strings.Replace(record[field].(string), "burstable", "hobby", 1)
		}
	}))
	runSteps(t, srv, func(size string, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
		return outcomeOf(client.Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-1", &cloudapi.PostgresCreateRequest{Size: size, StorageSize: 16}, opts))
	},
		step[string]{"burstable-1", true, "created", "Postgres.Create"},
		step[string]{"burstable-1", true, "unchanged", ""},
		step[string]{"hobby-1", true, "unchanged", ""},
		step[string]{"burstable-2", false, `size is "hobby-1", wanted "burstable-2"`, ""})
}

// TestEnsurePostgresSettings: Ensure compares the settings in the request one
// by one. An update changes them, and keeps the others.
func TestEnsurePostgresSettings(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	client := srv.Client()
	request := cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}
	stub.Must(client.Postgres.Create(t.Context(), sdktest.Somewhere, "db-1", &request))(t)
	stub.Must(client.Postgres.ReplaceConfig(t.Context(), sdktest.Somewhere, "db-1", &cloudapi.PostgresConfig{
		PGConfig: cloudapi.PostgresSettings{"work_mem": cloudapi.NewPostgresSetting("4MB"), "max_connections": cloudapi.NewPostgresSetting(250)}}))(t)
	request.PGConfig = cloudapi.PostgresSettings{"work_mem": cloudapi.NewPostgresSetting("8MB"), "max_connections": cloudapi.NewPostgresSetting("250")} // the same as the number 250
	request.PgBouncerConfig = cloudapi.PostgresSettings{"pool_mode": cloudapi.NewPostgresSetting("session")}
	empty := request
	empty.PGConfig = cloudapi.PostgresSettings{"search_path": cloudapi.NewPostgresSetting("")}
	runSteps(t, srv, func(request cloudapi.PostgresCreateRequest, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
		return outcomeOf(client.Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-1", &request, opts))
	},
		step[cloudapi.PostgresCreateRequest]{request, false, "pg_config is map[max_connections:250 work_mem:4MB], wanted map[max_connections:250 work_mem:8MB], " +
			"pgbouncer_config is map[], wanted map[pool_mode:session]", ""},
		step[cloudapi.PostgresCreateRequest]{request, true, "updated", "Postgres.UpdateConfig"},
		step[cloudapi.PostgresCreateRequest]{request, true, "unchanged", ""},
		step[cloudapi.PostgresCreateRequest]{empty, false, "pg_config is map[max_connections:250 work_mem:8MB], wanted map[search_path:]", ""})
	config := stub.Must(client.Postgres.GetConfig(t.Context(), sdktest.Somewhere, "db-1"))(t)
	if fmt.Sprint(config.PGConfig, config.PgBouncerConfig) != "map[max_connections:250 work_mem:8MB] map[pool_mode:session]" {
		t.Errorf("the settings are %v", config)
	}
}

// TestEnsureIsNoReplica: Ensure doesn't accept a read replica in place of the
// database, even if that is the only difference.
func TestEnsureIsNoReplica(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewEverything(t)
		const want = "read_replica is true, wanted false (which Postgres.PromoteReadReplica changes)"
		runSteps(t, p.Server, func(request *cloudapi.PostgresCreateRequest, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
			return outcomeOf(p.Client.Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-2", request, opts))
		}, step[*cloudapi.PostgresCreateRequest]{nil, true, want, ""}, step[*cloudapi.PostgresCreateRequest]{&cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}, true, want, ""})
	})
}
