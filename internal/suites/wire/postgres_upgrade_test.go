package wire_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
)

func postgresUpgradeCases() []wireCase {
	const (
		target = postgresPath + "/orders-db/upgrade"
		reply  = `{"current_version":"17","target_version":"18","upgrade_status":"running","upgrade_stage":null}`
	)
	return []wireCase{
		{
			name: "upgrade", method: "POST", target: target, reply: reply,
			call: calls("Postgres.Upgrade", "eu-central-h1", "orders-db"),
			want: &cloudapi.PostgresUpgrade{CurrentVersion: "17", TargetVersion: "18", UpgradeStatus: cloudapi.PostgresUpgradeStatusRunning},
		},
		{
			name: "upgrade status", method: "GET", target: target,
			reply: `{"current_version":"17","target_version":"18","upgrade_status":"failed","upgrade_stage":"upgrade_failed"}`,
			call:  calls("Postgres.UpgradeStatus", "eu-central-h1", "orders-db"),
			want:  &cloudapi.PostgresUpgrade{CurrentVersion: "17", TargetVersion: "18", UpgradeStatus: cloudapi.PostgresUpgradeStatusFailed, UpgradeStage: "upgrade_failed"},
		},
	}
}

// TestPostgresWaitUpgraded follows the recorded upgrades, one of which fails.
func TestPostgresWaitUpgraded(t *testing.T) {
	t.Parallel()
	db := func(version, state string) string {
		return `{"id":"` + testPgID + `","state":"` + state + `","version":"` + version + `","target_version":"18"}`
	}
	status := func(status string) string {
		return `{"current_version":"17","target_version":"18","upgrade_status":"` + status + `","upgrade_stage":null}`
	}
	const none = `{"error":{"code":400,"type":"InvalidRequest","message":"Database is not upgrading","details":null}}`
	for name, tt := range map[string]struct {
		polls [][2]string
		err   error
	}{
		"upgraded": {[][2]string{
			{db("17", "running"), status("running")},
			{db("17", "unavailable"), status("running")},
			{db("18", "running"), status("running")}, // until the last server is replaced
			{db("18", "unavailable"), none},
			{db("18", "running"), none},
		}, nil},
		"nothing to wait for": {[][2]string{{db("18", "running"), none}}, nil},
		"failed":              {[][2]string{{db("17", "running"), status("running")}, {db("17", "running"), status("failed")}}, cloudapi.ErrWaitFailed},
		"deleted meanwhile":   {[][2]string{{db("17", "running"), status("running")}, {db("17", "deleting"), none}}, cloudapi.ErrWaitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := pollingTwo(t, "/upgrade", tt.polls, func(ctx context.Context, s *cloudapi.PostgresService) (*cloudapi.Postgres, error) {
				return s.WaitUpgraded(ctx, "eu-central-h1", "orders-db", nil)
			})
			if !errors.Is(err, tt.err) || (err == nil) != (got != nil && got.Version == "18") {
				t.Errorf("the wait returned %v, %v", got, err)
			}
		})
	}
}
