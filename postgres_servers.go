package cloudapi

import (
	"context"
	"iter"
	"slices"
	"time"
)

// PostgresServer is one of the servers of a database: the primary, which
// accepts writes, or a standby. In a read replica, the primary's
// SynchronizationStatus is meaningless.
type PostgresServer struct {
	ID                    string `json:"id"`                     // prefix pv
	Role                  string `json:"role"`                   // one of the PostgresServerRole constants
	State                 string `json:"state"`                  // one of the PostgresServerState constants, or another
	SynchronizationStatus string `json:"synchronization_status"` // "ready" or "catching_up"
	VMSize                string `json:"vm_size"`                // such as "standard-2"
	FallbackActive        bool   `json:"fallback_active"`        // whether it has another instance type than requested
}

func (s *PostgresServer) lacks() string        { return lacksID(s.ID) }
func (s *PostgresServer) cursor(string) string { return s.ID }

// Resource identifies the server.
func (s *PostgresServer) Resource() Resource { return Resource{Kind: KindPostgresServer, ID: s.ID} }

func (s *PostgresServer) stateText() string { return s.State }

// settled reports whether the server is running and, if it's a standby, has
// caught up with the primary.
func (s *PostgresServer) settled() bool {
	return s.State == PostgresServerStateRunning &&
		(s.Role == PostgresServerRolePrimary || s.SynchronizationStatus == PostgresServerReady)
}

// Values of [PostgresServer.Role].
const (
	PostgresServerRolePrimary = "primary"
	PostgresServerRoleStandby = "standby"
)

// Known values of [PostgresServer.State].
const (
	PostgresServerStateUpdating      = "updating" // also at first, before "creating"
	PostgresServerStateCreating      = "creating"
	PostgresServerStateSynchronizing = "synchronizing" // is copying data for the first time
	PostgresServerStateRunning       = "running"
	PostgresServerStateRestarting    = "restarting"
	PostgresServerStateFailingOver   = "failing_over" // is becoming the primary
	PostgresServerStateUnavailable   = "unavailable"
	PostgresServerStateDeleting      = "deleting"
)

// Values of [PostgresServer.SynchronizationStatus].
const (
	PostgresServerReady      = "ready"
	PostgresServerCatchingUp = "catching_up"
)

var (
	opPostgresListServers = Operation{"Postgres.ListServers", "GET", postgresRoute + "/servers", idempotent | serviceOnly}
	opPostgresRecycle     = Operation{"Postgres.Recycle", "POST", postgresRoute + "/recycle", once | serviceOnly}

	listPostgresServers = listRoutes{project: &opPostgresListServers, unpaged: true}
)

// ListServers returns the servers of a database.
//
// † Only the service has this.
func (s *PostgresService) ListServers(ctx context.Context, location, postgres string) (*Page[PostgresServer], error) {
	return list[PostgresServer](ctx, s.conn, &listPostgresServers, nil, location, postgres)
}

// AllServers iterates over the servers of a database.
//
// † Only the service has this.
func (s *PostgresService) AllServers(ctx context.Context, location, postgres string) iter.Seq2[*PostgresServer, error] {
	return all[PostgresServer](ctx, s.conn, &listPostgresServers, nil, location, postgres)
}

// Recycle replaces the primary server of a database by means of a failover. To
// wait, pass the old primary's ID to [PostgresService.WaitRecycled]. After
// [ErrOutcomeUnknown], a retry could replace the new server as well.
//
// † Only the service has this.
func (s *PostgresService) Recycle(ctx context.Context, location, postgres string) (*Postgres, error) {
	return fetch[Postgres](ctx, s.conn, &opPostgresRecycle, location, postgres)
}

// WaitServers waits until a database has [Postgres.TargetServerCount] servers,
// all running and the standbys up to date, and returns it.
//
// † Only the service has this.
func (s *PostgresService) WaitServers(ctx context.Context, location, postgres string, opts *WaitOptions) (*Postgres, error) {
	return s.waitServers(ctx, "Postgres.WaitServers", location, postgres, "", opts)
}

// WaitRecycled waits like [PostgresService.WaitServers], and until the server
// with the given ID is gone: the primary before [PostgresService.Recycle].
//
// † Only the service has this.
func (s *PostgresService) WaitRecycled(ctx context.Context, location, postgres, serverID string, opts *WaitOptions) (*Postgres, error) {
	const operation = "Postgres.WaitRecycled"
	if err := checkIDOf(KindPostgresServer, operation, "server_id", serverID); err != nil {
		return nil, err
	}
	return s.waitServers(ctx, operation, location, postgres, serverID, opts)
}

func (s *PostgresService) waitServers(ctx context.Context, operation, location, postgres, without string, opts *WaitOptions) (*Postgres, error) {
	var servers []*PostgresServer
	get := func(ctx context.Context) (*Postgres, error) {
		p, err := s.Get(ctx, location, postgres)
		if err != nil {
			return nil, err
		}
		page, err := s.ListServers(ctx, location, postgres)
		if err != nil {
			return nil, err
		}
		servers = page.Items
		return p, nil
	}
	settled := func(p *Postgres) (bool, error) {
		running, err := postgresRunning(p)
		return running && len(servers) == p.TargetServerCount && !slices.ContainsFunc(servers, func(server *PostgresServer) bool {
			return server.ID == without || !server.settled()
		}), err
	}
	w := postgresFamily.waiter(s.conn, operation, location, postgres)
	w.fetch = get
	w.done = settled
	w.lacks = func(p *Postgres) string { return unless(p.TargetServerCount > 0, "target_server_count") }
	return w.run(ctx, opts)
}

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
