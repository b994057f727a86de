package cloudapi

import (
	"context"
	"iter"
	"time"
)

// PostgresBackup is a base backup of a database, from which, with the log that
// follows it, the database can be restored.
type PostgresBackup struct {
	Key          string    `json:"key"` // of the object in the store that marks the end of the backup
	LastModified time.Time `json:"last_modified"`
}

func (b *PostgresBackup) missing() string      { return missingField("key", b.Key) }
func (b *PostgresBackup) cursor(string) string { return b.Key }

// PostgresBackupCredentials let a program read the backups of a database from
// the object store, which speaks the protocol of Amazon S3, until they expire.
type PostgresBackupCredentials struct {
	Bucket          string    `json:"bucket"`
	Endpoint        string    `json:"endpoint"` // the URL of the store
	Region          string    `json:"region"`
	AccessKeyID     Secret    `json:"access_key_id"`
	SecretAccessKey Secret    `json:"secret_access_key"`
	SessionToken    Secret    `json:"session_token"`
	Expiration      time.Time `json:"expiration"`
}

func (c *PostgresBackupCredentials) missing() string {
	return missingField("secret_access_key", c.SecretAccessKey.Reveal())
}

var (
	opPostgresListBackups             = Operation{"Postgres.ListBackups", "GET", postgresRoute + "/backup", safe}
	opPostgresCreateBackupCredentials = Operation{"Postgres.CreateBackupCredentials", "POST", postgresRoute + "/backup-credentials", create}

	listPostgresBackups = listRoutes{project: &opPostgresListBackups, whole: true}
)

// ListBackups returns the base backups of a database, all in one page. The
// server asks the object store for them: what it cannot reach is [ErrServer].
//
// It is an operation of August 2026; a server of October 2025 answers
// [ErrNotFound].
//
//cloudapi:operation GET /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/backup
func (s *PostgresService) ListBackups(ctx context.Context, location, postgres string) (*Page[PostgresBackup], error) {
	return list[PostgresBackup](ctx, s.client, &listPostgresBackups, nil, location, postgres)
}

// AllBackups returns the base backups of a database; see
// [PostgresService.ListBackups].
//
// It is an operation of August 2026; a server of October 2025 answers
// [ErrNotFound].
//
//cloudapi:operation GET /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/backup
func (s *PostgresService) AllBackups(ctx context.Context, location, postgres string) iter.Seq2[*PostgresBackup, error] {
	return all[PostgresBackup](ctx, s.client, &listPostgresBackups, nil, location, postgres)
}

// CreateBackupCredentials returns credentials with which the backups of a
// database can be read, and nothing else. Each call makes others, which expire
// by themselves, so that after [ErrOutcomeUnknown] there is nothing to look for:
// ask again.
//
// It is [ErrInvalidRequest] for read replicas, for databases that are not on
// AWS unless the project has the feature, and for those on GCP.
//
// It is an operation of August 2026; a server of October 2025 answers
// [ErrNotFound].
//
//cloudapi:operation POST /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/backup-credentials
func (s *PostgresService) CreateBackupCredentials(ctx context.Context, location, postgres string) (*PostgresBackupCredentials, error) {
	return fetch[PostgresBackupCredentials](ctx, s.client, &opPostgresCreateBackupCredentials, location, postgres)
}
