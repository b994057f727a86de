package wire_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
)

func postgresBackupCases() []wireCase {
	const (
		target = postgresPath + "/orders-db/backup"
		reply  = `{"items":[{"key":"basebackups_005/base_1_stop.json","last_modified":"2026-11-22T03:14:15Z"}],"count":1}`
	)
	items := []*cloudapi.PostgresBackup{{Key: "basebackups_005/base_1_stop.json", LastModified: time.Date(2026, 11, 22, 3, 14, 15, 0, time.UTC)}}
	return []wireCase{
		{
			name: "list backups", method: "GET", target: target, reply: reply,
			call: calls("Postgres.ListBackups", "eu-central-h1", "orders-db"),
			want: &cloudapi.Page[cloudapi.PostgresBackup]{Items: items, Count: new(1)},
		},
		{
			name: "all backups", method: "GET", target: target, reply: reply, want: items,
			call: calls("Postgres.AllBackups", "eu-central-h1", "orders-db"),
		},
		{
			name: "create backup credentials", method: "POST", target: postgresPath + "/orders-db/backup-credentials",
			reply: `{"bucket":"ptzhm2","endpoint":"https://blob.example.com:9000","region":"us-east-1","access_key_id":"a",` +
				`"secret_access_key":"s","session_token":"t","expiration":"2026-11-23T15:30:39Z"}`,
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) {
				credentials, err := c.Postgres.CreateBackupCredentials(ctx, "eu-central-h1", "orders-db")
				if err != nil {
					return nil, err
				}
				return [3]string{credentials.AccessKeyID.Reveal(), credentials.SecretAccessKey.Reveal(), credentials.SessionToken.Reveal()}, nil
			},
			want: [3]string{"a", "s", "t"},
		},
	}
}

// TestResponseWithoutCredentials: a response without a secret is refused.
func TestResponseWithoutCredentials(t *testing.T) {
	t.Parallel()
	credentials, err := sdktest.Answering(t, 200, "application/json", `{"bucket":"b"}`).Postgres.CreateBackupCredentials(t.Context(), "eu-central-h1", "orders-db")
	if _, ok := errors.AsType[*cloudapi.DecodeError](err); !ok || credentials != nil {
		t.Errorf("CreateBackupCredentials made %v, %v", credentials, err)
	}
}
