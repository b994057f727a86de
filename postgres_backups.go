package cloudapi

import (
	"context"
	"iter"
	"time"
)

// PostgresBackup is a base backup of a database. The server restores from it
// and from the write-ahead log that follows it.
type PostgresBackup struct {
	Key          string    `json:"key"` // of the object that marks its end in the object store
	LastModified time.Time `json:"last_modified"`
}

func (b *PostgresBackup) lacks() string        { return lacksField("key", b.Key) }
func (b *PostgresBackup) cursor(string) string { return b.Key }

// PostgresBackupCredentials can read the backups of a database from an
// S3-compatible object store. They expire.
type PostgresBackupCredentials struct {
	Bucket          string    `json:"bucket"`
	Endpoint        string    `json:"endpoint"` // the URL of the store
	Region          string    `json:"region"`
	AccessKeyID     Secret    `json:"access_key_id"`
	SecretAccessKey Secret    `json:"secret_access_key"`
	SessionToken    Secret    `json:"session_token"`
	Expiration      time.Time `json:"expiration"`
}

func (c *PostgresBackupCredentials) lacks() string {
	return lacksField("secret_access_key", c.SecretAccessKey.Reveal())
}

var (
	opPostgresListBackups             = Operation{"Postgres.ListBackups", "GET", postgresRoute + "/backup", idempotent | serviceOnly}
	opPostgresCreateBackupCredentials = Operation{"Postgres.CreateBackupCredentials", "POST", postgresRoute + "/backup-credentials", once | serviceOnly}

	listPostgresBackups = listRoutes{project: &opPostgresListBackups, unpaged: true}
)

// ListBackups returns the base backups of a database, all in one page. It
// returns [ErrServer] if the server can't read the object store.
//
// † Only the service has this.
func (s *PostgresService) ListBackups(ctx context.Context, location, postgres string) (*Page[PostgresBackup], error) {
	return list[PostgresBackup](ctx, s.conn, &listPostgresBackups, nil, location, postgres)
}

// AllBackups iterates over the base backups of a database.
//
// † Only the service has this.
func (s *PostgresService) AllBackups(ctx context.Context, location, postgres string) iter.Seq2[*PostgresBackup, error] {
	return all[PostgresBackup](ctx, s.conn, &listPostgresBackups, nil, location, postgres)
}

// CreateBackupCredentials returns new read-only credentials for the backups of
// a database. After [ErrOutcomeUnknown], it's safe to call again. It returns
// [ErrInvalidRequest] for read replicas, for databases on GCP or, unless the
// project has the feature, outside AWS, and until the store is ready.
//
// † Only the service has this.
func (s *PostgresService) CreateBackupCredentials(ctx context.Context, location, postgres string) (*PostgresBackupCredentials, error) {
	return fetch[PostgresBackupCredentials](ctx, s.conn, &opPostgresCreateBackupCredentials, location, postgres)
}
