package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/plain"
)

// PostgresServer is a server of a database: the primary or a standby.
type PostgresServer struct {
	ID                    string `json:"id"`                     // prefix pv
	Role                  string `json:"role"`                   // a constant such as [PostgresServerRolePrimary]
	State                 string `json:"state"`                  // a constant such as [PostgresServerStateRunning], or another value
	SynchronizationStatus string `json:"synchronization_status"` // of a standby: a constant such as [PostgresServerSynchronizationStatusReady]
	VMSize                string `json:"vm_size"`                // such as "standard-2"
	FallbackActive        bool   `json:"fallback_active"`        // whether it has another instance type than requested
}

func (s *PostgresServer) Resource() Resource { return Resource{Kind: KindPostgresServer, ID: s.ID} }

func (s *PostgresServer) stateText() string { return s.State }

// settled reports whether the server is running and, as a standby, up to date.
func (s *PostgresServer) settled() bool {
	return s.State == PostgresServerStateRunning &&
		(s.Role == PostgresServerRolePrimary || s.SynchronizationStatus == PostgresServerSynchronizationStatusReady)
}

// Values of [PostgresServer.Role]. † Only the service has these.
const (
	PostgresServerRolePrimary = "primary"
	PostgresServerRoleStandby = "standby"
)

// Known values of [PostgresServer.State]. † Only the service has these.
const (
	PostgresServerStateUpdating      = "updating" // also the first state, before "creating"
	PostgresServerStateCreating      = "creating"
	PostgresServerStateSynchronizing = "synchronizing" // is copying data for the first time
	PostgresServerStateRunning       = "running"
	PostgresServerStateRestarting    = "restarting"
	PostgresServerStateFailingOver   = "failing_over" // is becoming the primary
	PostgresServerStateUnavailable   = "unavailable"
	PostgresServerStateDeleting      = "deleting"
)

// Values of [PostgresServer.SynchronizationStatus]. † Only the service has
// these.
const (
	PostgresServerSynchronizationStatusReady      = "ready"
	PostgresServerSynchronizationStatusCatchingUp = "catching_up"
)

var (
	opPostgresListServers = Operation{"Postgres.ListServers", "GET", postgresRoute + "/servers", idempotent | serviceOnly}
	opPostgresRecycle     = Operation{"Postgres.Recycle", "POST", postgresRoute + "/recycle", once | serviceOnly}

	listPostgresServers = listRoutes{project: &opPostgresListServers, unpaged: true}
)

// ListServers returns the servers of a database. † Only the service has this.
func (s *PostgresService) ListServers(ctx context.Context, location, postgres string) (*Page[PostgresServer], error) {
	return list[PostgresServer](ctx, s.conn, &listPostgresServers, nil, location, postgres)
}

// AllServers iterates over a database's servers. † Only the service has this.
func (s *PostgresService) AllServers(ctx context.Context, location, postgres string) iter.Seq2[*PostgresServer, error] {
	return all[PostgresServer](ctx, s.conn, &listPostgresServers, nil, location, postgres)
}

// Recycle replaces the primary of a database through a failover; see
// [PostgresService.WaitRecycled]. † Only the service has this.
func (s *PostgresService) Recycle(ctx context.Context, location, postgres string) (*Postgres, error) {
	return perform[Postgres](ctx, s.conn, &opPostgresRecycle, location, postgres)
}

// WaitServers waits until a database has [Postgres.TargetServerCount] servers,
// all running and up to date, and returns it. † Only the service has this.
func (s *PostgresService) WaitServers(ctx context.Context, location, postgres string, opts *WaitOptions) (*Postgres, error) {
	return s.waitServers(ctx, "Postgres.WaitServers", location, postgres, "", opts)
}

// WaitRecycled waits as [PostgresService.WaitServers] does, and until serverID,
// the primary before the Recycle, is gone. † Only the service has this.
func (s *PostgresService) WaitRecycled(ctx context.Context, location, postgres, serverID string, opts *WaitOptions) (*Postgres, error) {
	const operation = "Postgres.WaitRecycled"
	if err := idOf(KindPostgresServer).check(operation, "server_id", serverID); err != nil {
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
	w.get = get
	w.done = settled
	w.lacks = func(p *Postgres) string { return missing("target_server_count", p.TargetServerCount <= 0) }
	return w.run(ctx, opts)
}

// PostgresBackup is a base backup of a database. Restore uses a base backup and
// the write-ahead log that was written after it.
type PostgresBackup struct {
	Key          string    `json:"key"` // the key, in the object store, of the object that marks the end of the backup
	LastModified time.Time `json:"last_modified"`
}

func (b *PostgresBackup) lacks() string        { return missing("key", b.Key == "") }
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
	return missing("secret_access_key", c.SecretAccessKey.Reveal() == "")
}

var (
	opPostgresListBackups             = Operation{"Postgres.ListBackups", "GET", postgresRoute + "/backup", idempotent | serviceOnly}
	opPostgresCreateBackupCredentials = Operation{"Postgres.CreateBackupCredentials", "POST", postgresRoute + "/backup-credentials", once | serviceOnly}

	listPostgresBackups = listRoutes{project: &opPostgresListBackups, unpaged: true}
)

// ListBackups returns all base backups of a database. It returns [ErrServer] if
// the server can't read the object store. † Only the service has this.
func (s *PostgresService) ListBackups(ctx context.Context, location, postgres string) (*Page[PostgresBackup], error) {
	return list[PostgresBackup](ctx, s.conn, &listPostgresBackups, nil, location, postgres)
}

// AllBackups iterates over the base backups. † Only the service has this.
func (s *PostgresService) AllBackups(ctx context.Context, location, postgres string) iter.Seq2[*PostgresBackup, error] {
	return all[PostgresBackup](ctx, s.conn, &listPostgresBackups, nil, location, postgres)
}

// CreateBackupCredentials returns new credentials to read a database's backups.
// It returns [ErrInvalidRequest] for read replicas, until the store is ready,
// and, in most projects, if the backups aren't on AWS. After
// [ErrOutcomeUnknown], call it again. † Only the service has this.
func (s *PostgresService) CreateBackupCredentials(ctx context.Context, location, postgres string) (*PostgresBackupCredentials, error) {
	return perform[PostgresBackupCredentials](ctx, s.conn, &opPostgresCreateBackupCredentials, location, postgres)
}

// PostgresRestoreRequest is the body of [PostgresService.Restore].
type PostgresRestoreRequest struct {
	RestoreTarget time.Time `json:"restore_target"` // see Postgres.EarliestRestoreTime; required

	// † Only the service has these. By default, the new database has the old one's
	// settings and tags. The maps change single settings; Tags replaces all tags.
	PGConfig        PostgresSettings `json:"pg_config,omitzero"`
	PgBouncerConfig PostgresSettings `json:"pgbouncer_config,omitzero"`
	Tags            []PostgresTag    `json:"tags,omitzero"`
}

// restoreBody is the body of a PostgresRestoreRequest.
type restoreBody struct {
	named
	PostgresRestoreRequest
}

// PostgresReadReplicaCreateRequest is the body of
// [PostgresService.CreateReadReplica]: the settings in which a read replica
// differs from its parent; see [PostgresConfig]. † Only the service has these.
type PostgresReadReplicaCreateRequest struct {
	PGConfig        PostgresSettings `json:"pg_config,omitzero"`
	PgBouncerConfig PostgresSettings `json:"pgbouncer_config,omitzero"`
	Tags            []PostgresTag    `json:"tags,omitzero"` // none by default
}

// readReplicaBody is the body of a PostgresReadReplicaCreateRequest.
type readReplicaBody struct {
	named
	PostgresReadReplicaCreateRequest
}

var (
	opPostgresPromoteReadReplica = Operation{"Postgres.PromoteReadReplica", "POST", postgresRoute + "/promote-read-replica", once | serviceOnly}
	opPostgresPromote            = Operation{"Postgres.Promote", "POST", postgresRoute + "/promote", once}
	opPostgresCreateReadReplica  = Operation{"Postgres.CreateReadReplica", "POST", postgresRoute + "/read-replica", once}
	opPostgresRestore            = Operation{"Postgres.Restore", "POST", postgresRoute + "/restore", once}
)

// Promote promotes a read replica, with the contract; with the service, use
// [PostgresService.PromoteReadReplica]. The returned record may still be a
// replica; [PostgresService.WaitPromoted] waits until it isn't.
func (s *PostgresService) Promote(ctx context.Context, location, postgres string) (*Postgres, error) {
	return perform[Postgres](ctx, s.conn, &opPostgresPromote, location, postgres)
}

// PromoteReadReplica turns a read replica into an independent database. It
// returns before the promotion is complete; [PostgresService.WaitPromoted]
// waits. PromoteReadReplica returns [ErrInvalidRequest] if the database isn't a
// replica. † Only the service has this.
func (s *PostgresService) PromoteReadReplica(ctx context.Context, location, postgres string) (*Postgres, error) {
	return perform[Postgres](ctx, s.conn, &opPostgresPromoteReadReplica, location, postgres)
}

// CreateReadReplica creates a read replica of a database, with the same version,
// size, settings and password. It doesn't inherit the firewall rules: it's open to
// 0.0.0.0/0 and ::/0 until [PostgresService.SetFirewallRules] is called, which is
// possible at once. Nor does it inherit standbys, the maintenance window,
// destinations of metrics and logs, or tags.
//
// The request may be nil. CreateReadReplica returns [ErrInvalidRequest] before the
// first backup. [PostgresService.WaitRunning] waits until the replica runs, maybe
// for hours.
func (s *PostgresService) CreateReadReplica(ctx context.Context, location, postgres, name string, request *PostgresReadReplicaCreateRequest) (*Postgres, error) {
	body := orZero(request)
	body.PGConfig, body.PgBouncerConfig = body.PGConfig.texts(), body.PgBouncerConfig.texts()
	return send[Postgres](ctx, s.conn, &opPostgresCreateReadReplica, readReplicaBody{named{name}, body}, location, postgres)
}

// Restore creates a copy of a database as it was at an earlier time, with the
// same version, size, settings, tags and password. The copy doesn't inherit the
// firewall rules: it's open to 0.0.0.0/0 and ::/0 until
// [PostgresService.SetFirewallRules] is called, which is possible at once. Nor
// does it inherit standbys, the maintenance window, or destinations of metrics
// and logs.
//
// Restore returns [ErrInvalidRequest] if the server can't restore that time.
// [PostgresService.WaitRunning] waits until the copy runs, maybe for hours.
func (s *PostgresService) Restore(ctx context.Context, location, postgres, name string, request *PostgresRestoreRequest) (*Postgres, error) {
	body := orZero(request)
	body.RestoreTarget = body.RestoreTarget.UTC()
	body.PGConfig, body.PgBouncerConfig = body.PGConfig.texts(), body.PgBouncerConfig.texts()
	return send[Postgres](ctx, s.conn, &opPostgresRestore, restoreBody{named{name}, body}, location, postgres)
}

// promotedPostgres is a [Postgres] whose ReadReplica is nil if the response has
// no read_replica. WaitPromoted must not take that for false.
type promotedPostgres struct {
	Postgres
	ReadReplica *bool `json:"read_replica"`
}

// WaitPromoted waits until a promoted database is running and no longer a
// replica, and returns it. Writes may fail for another 30 seconds.
func (s *PostgresService) WaitPromoted(ctx context.Context, location, postgres string, opts *WaitOptions) (*Postgres, error) {
	promoted := func(p *Postgres) (bool, error) {
		running, err := postgresRunning(p)
		return running && !p.ReadReplica, err
	}
	w := postgresFamily.waiter(s.conn, "Postgres.WaitPromoted", location, postgres)
	tells := false // whether the record has read_replica
	w.get = func(ctx context.Context) (*Postgres, error) {
		p, err := perform[promotedPostgres](ctx, s.conn, &opPostgresGet, location, postgres)
		if err != nil {
			return nil, err
		}
		tells = p.ReadReplica != nil
		p.Postgres.ReadReplica = orZero(p.ReadReplica)
		return &p.Postgres, nil
	}
	w.done = promoted
	w.lacks = func(*Postgres) string { return missing("read_replica", !tells) }
	return w.run(ctx, opts)
}

// PostgresUpgrade is the progress of an upgrade to another major version.
type PostgresUpgrade struct {
	CurrentVersion string `json:"current_version"` // such as "17"
	TargetVersion  string `json:"target_version"`  // such as "18"
	UpgradeStatus  string `json:"upgrade_status"`  // a constant such as [PostgresUpgradeStatusRunning]
	UpgradeStage   string `json:"upgrade_stage"`   // to show to people, such as "wait_for_maintenance_window"; "" at first
}

func (u *PostgresUpgrade) lacks() string { return missing("upgrade_status", u.UpgradeStatus == "") }

// Values of [PostgresUpgrade.UpgradeStatus]. † Only the service has these.
const (
	PostgresUpgradeStatusRunning    = "running"
	PostgresUpgradeStatusFailed     = "failed" // final: the database keeps its version
	PostgresUpgradeStatusNotRunning = "not_running"
)

var (
	opPostgresUpgrade       = Operation{"Postgres.Upgrade", "POST", postgresRoute + "/upgrade", once | serviceOnly}
	opPostgresUpgradeStatus = Operation{"Postgres.UpgradeStatus", "GET", postgresRoute + "/upgrade", idempotent | serviceOnly}
)

// Upgrade upgrades a database and its read replicas to the next major version,
// in the maintenance window if it has one; [PostgresService.WaitUpgraded]
// waits. After [ErrOutcomeUnknown], see [PostgresService.UpgradeStatus].
// Upgrade returns [ErrInvalidRequest] during another change or upgrade, and for
// a read replica, a flavor other than "standard", or the latest version.
// [Error.FieldErrors] has the reason. † Only the service has this.
func (s *PostgresService) Upgrade(ctx context.Context, location, postgres string) (*PostgresUpgrade, error) {
	return perform[PostgresUpgrade](ctx, s.conn, &opPostgresUpgrade, location, postgres)
}

// UpgradeStatus returns the progress of an upgrade, or [ErrInvalidRequest] if
// there's none or it has succeeded. † Only the service has this.
func (s *PostgresService) UpgradeStatus(ctx context.Context, location, postgres string) (*PostgresUpgrade, error) {
	return perform[PostgresUpgrade](ctx, s.conn, &opPostgresUpgradeStatus, location, postgres)
}

// WaitUpgraded waits until an upgrade is complete, and returns the database, or
// [ErrWaitFailed] if the upgrade fails. An upgrade can wait for the maintenance
// window, and then take hours. † Only the service has this.
func (s *PostgresService) WaitUpgraded(ctx context.Context, location, postgres string, opts *WaitOptions) (*Postgres, error) {
	var status *PostgresUpgrade // nil if there's no upgrade
	get := func(ctx context.Context) (*Postgres, error) {
		p, err := s.Get(ctx, location, postgres)
		if err != nil {
			return nil, err
		}
		status, err = s.UpgradeStatus(ctx, location, postgres)
		if err != nil && !errors.Is(err, ErrInvalidRequest) {
			return nil, err
		}
		return p, nil
	}
	upgraded := func(p *Postgres) (bool, error) {
		running, err := postgresRunning(p)
		if err == nil && status != nil && status.UpgradeStatus == PostgresUpgradeStatusFailed {
			err = fmt.Errorf("%w: the upgrade to version %s failed", ErrWaitFailed, plain.Name(status.TargetVersion))
		}
		upgrading := status != nil && status.UpgradeStatus == PostgresUpgradeStatusRunning
		return running && !upgrading && p.Version == p.TargetVersion, err
	}
	w := postgresFamily.waiter(s.conn, "Postgres.WaitUpgraded", location, postgres)
	w.get = get
	w.done = upgraded
	w.lacks = func(p *Postgres) string { return missing("target_version", p.TargetVersion == "") }
	return w.run(ctx, opts)
}
