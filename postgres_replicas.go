package cloudapi

import (
	"context"
	"time"
)

// PostgresRestoreRequest is the body of [PostgresService.Restore]. The last
// three fields replace single settings, and the copied tags; † only the service
// has them.
type PostgresRestoreRequest struct {
	Name            string            `json:"name"`           // of the new database; required
	RestoreTarget   time.Time         `json:"restore_target"` // see Postgres.EarliestRestoreTime; required
	PGConfig        map[string]string `json:"pg_config,omitzero"`
	PgBouncerConfig map[string]string `json:"pgbouncer_config,omitzero"`
	Tags            []PostgresTag     `json:"tags,omitzero"`
}

func (r PostgresRestoreRequest) newName() string { return r.Name }

// PostgresReadReplicaOptions are the settings of a read replica that differ
// from its parent; see [PostgresConfig].
//
// † Only the service has these.
type PostgresReadReplicaOptions struct {
	PGConfig        map[string]string `json:"pg_config,omitzero"`
	PgBouncerConfig map[string]string `json:"pgbouncer_config,omitzero"`
	Tags            []PostgresTag     `json:"tags,omitzero"` // none by default
}

// readReplicaRequest is the body of CreateReadReplica.
type readReplicaRequest struct {
	Name string `json:"name"`
	PostgresReadReplicaOptions
}

func (r readReplicaRequest) newName() string { return r.Name }

var (
	opPostgresPromoteReadReplica = Operation{"Postgres.PromoteReadReplica", "POST", postgresRoute + "/promote-read-replica", once | serviceOnly}
	opPostgresPromote            = Operation{"Postgres.Promote", "POST", postgresRoute + "/promote", once}
	opPostgresCreateReadReplica  = Operation{"Postgres.CreateReadReplica", "POST", postgresRoute + "/read-replica", once}
	opPostgresRestore            = Operation{"Postgres.Restore", "POST", postgresRoute + "/restore", once}
)

// Promote promotes a read replica like [PostgresService.PromoteReadReplica],
// but the returned record may still be a replica.
//
// Deprecated: Use [PostgresService.PromoteReadReplica], which only the service
// has; the contract has only Promote.
func (s *PostgresService) Promote(ctx context.Context, location, postgres string) (*Postgres, error) {
	return fetch[Postgres](ctx, s.conn, &opPostgresPromote, location, postgres)
}

// PromoteReadReplica turns a read replica into an independent database. It
// returns the short form before the promotion is complete;
// [PostgresService.WaitPromoted] waits. It returns [ErrInvalidRequest] if the
// database isn't a replica, as does a retry after [ErrOutcomeUnknown].
//
// † Only the service has this.
func (s *PostgresService) PromoteReadReplica(ctx context.Context, location, postgres string) (*Postgres, error) {
	return fetch[Postgres](ctx, s.conn, &opPostgresPromoteReadReplica, location, postgres)
}

// CreateReadReplica creates a read replica of a database, with the same size
// and no standby; [PostgresService.WaitRunning] waits, which can take hours. It
// returns [ErrInvalidRequest] before the first backup (see
// [Postgres.EarliestRestoreTime]).
func (s *PostgresService) CreateReadReplica(ctx context.Context, location, postgres, name string, opts *PostgresReadReplicaOptions) (*Postgres, error) {
	return send[Postgres](ctx, s.conn, &opPostgresCreateReadReplica, readReplicaRequest{name, orZero(opts)}, location, postgres)
}

// Restore creates a database with the data that another one had at an earlier
// time, with its size and password, and no standby;
// [PostgresService.WaitRunning] waits, which can take hours. It returns
// [ErrInvalidRequest] if the time isn't possible.
func (s *PostgresService) Restore(ctx context.Context, location, postgres string, request *PostgresRestoreRequest) (*Postgres, error) {
	body := orZero(request)
	body.RestoreTarget = body.RestoreTarget.UTC()
	return send[Postgres](ctx, s.conn, &opPostgresRestore, body, location, postgres)
}

// promotedPostgres is a database's record that shows whether it has the field
// that WaitPromoted depends on.
type promotedPostgres struct {
	Postgres
	ReadReplica *bool `json:"read_replica"`
}

// WaitPromoted waits until a promoted database is running and no longer a
// replica, and returns it. It accepts writes within the next 30 seconds;
// [Postgres.Primary] is then true.
func (s *PostgresService) WaitPromoted(ctx context.Context, location, postgres string, opts *WaitOptions) (*Postgres, error) {
	promoted := func(p *Postgres) (bool, error) {
		running, err := postgresRunning(p)
		return running && !p.ReadReplica, err
	}
	w := postgresFamily.waiter(s.conn, "Postgres.WaitPromoted", location, postgres)
	tells := false // whether the record has read_replica
	w.fetch = func(ctx context.Context) (*Postgres, error) {
		p, err := fetch[promotedPostgres](ctx, s.conn, &opPostgresGet, location, postgres)
		if err != nil {
			return nil, err
		}
		tells = p.ReadReplica != nil
		p.Postgres.ReadReplica = orZero(p.ReadReplica)
		return &p.Postgres, nil
	}
	w.done = promoted
	w.lacks = func(*Postgres) string { return unless(tells, "read_replica") }
	return w.run(ctx, opts)
}
