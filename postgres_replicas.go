package cloudapi

import (
	"context"
	"time"
)

// PostgresRestoreRequest is the body of [PostgresService.Restore].
type PostgresRestoreRequest struct {
	Name string `json:"name"` // of the new database; required

	// RestoreTarget is the time to restore to, from
	// [Postgres.EarliestRestoreTime] to [Postgres.LatestRestoreTime]. The new
	// database has the data of this time. Required.
	RestoreTarget time.Time `json:"restore_target"`

	// The remaining fields are of August 2026. A server of October 2025 answers
	// [ErrInvalidRequest] if one of them is set.
	//
	// PGConfig and PgBouncerConfig change settings of the configuration, which
	// is copied from the other database; see [PostgresConfig].
	PGConfig        map[string]string `json:"pg_config,omitzero"`
	PgBouncerConfig map[string]string `json:"pgbouncer_config,omitzero"`

	// Tags replace the tags, which are copied from the other database by
	// default.
	Tags []PostgresTag `json:"tags,omitzero"`
}

func (r PostgresRestoreRequest) newName() string { return r.Name }

// PostgresReadReplicaOptions are the settings of a read replica that differ
// from its parent. They are of August 2026: a server of October 2025 answers
// [ErrInvalidRequest] if one of them is set.
type PostgresReadReplicaOptions struct {
	// PGConfig and PgBouncerConfig change settings of the configuration, which
	// is copied from the parent; see [PostgresConfig].
	PGConfig        map[string]string `json:"pg_config,omitzero"`
	PgBouncerConfig map[string]string `json:"pgbouncer_config,omitzero"`

	Tags []PostgresTag `json:"tags,omitzero"` // none by default
}

// readReplicaRequest is the body of making a read replica.
type readReplicaRequest struct {
	Name string `json:"name"`
	PostgresReadReplicaOptions
}

func (r readReplicaRequest) newName() string { return r.Name }

var (
	opPostgresPromoteReadReplica = Operation{"Postgres.PromoteReadReplica", "POST", postgresRoute + "/promote-read-replica", once | august2026}
	opPostgresPromote            = Operation{"Postgres.Promote", "POST", postgresRoute + "/promote", once}
	opPostgresCreateReadReplica  = Operation{"Postgres.CreateReadReplica", "POST", postgresRoute + "/read-replica", once}
	opPostgresRestore            = Operation{"Postgres.Restore", "POST", postgresRoute + "/restore", once}
)

// Promote starts to make a read replica an independent database, and returns
// the short form of the record; [PostgresService.WaitPromoted] waits for the
// end. If the database is not a replica, or no longer one, the error is
// [ErrInvalidRequest]. A retry would fail in the same way, so a lost response
// is [ErrOutcomeUnknown].
//
// Deprecated: Use [PostgresService.PromoteReadReplica], which requires the August
// 2026 API. An older service has only Promote.
func (s *PostgresService) Promote(ctx context.Context, location, postgres string) (*Postgres, error) {
	return fetch[Postgres](ctx, s.conn, &opPostgresPromote, location, postgres)
}

// PromoteReadReplica starts to make a read replica an independent database, and
// returns the short form of the record, which already shows no replica;
// [PostgresService.WaitPromoted] waits for the end. It returns
// [ErrInvalidRequest] if the database is not a replica, or no longer one. A retry
// would fail in the same way, so it returns [ErrOutcomeUnknown] after a lost
// response.
//
// Requires the August 2026 API.
func (s *PostgresService) PromoteReadReplica(ctx context.Context, location, postgres string) (*Postgres, error) {
	return fetch[Postgres](ctx, s.conn, &opPostgresPromoteReadReplica, location, postgres)
}

// CreateReadReplica starts to make a read replica of a database, with the given
// name, and returns the replica; [PostgresService.WaitRunning] waits for it, up
// to hours. It has the same size and no standby. At most one element of opts
// may be given. Before the first backup, see [Postgres.EarliestRestoreTime],
// the error is [ErrInvalidRequest]. If the name is taken it is
// [ErrAlreadyExists]. If the response is lost it is [ErrOutcomeUnknown]: look
// the name up with Get.
func (s *PostgresService) CreateReadReplica(ctx context.Context, location, postgres, name string, opts ...PostgresReadReplicaOptions) (*Postgres, error) {
	request := readReplicaRequest{Name: name}
	switch len(opts) {
	case 0:
	case 1:
		request.PostgresReadReplicaOptions = opts[0]
	default:
		return nil, &ArgumentError{Operation: opPostgresCreateReadReplica.Name, Name: "opts", Reason: "must be one at most"}
	}
	return send[Postgres](ctx, s.conn, &opPostgresCreateReadReplica, request, location, postgres)
}

// Restore starts to make another database with the data that this one had at a
// time in the past, and returns the new one; [PostgresService.WaitRunning]
// waits for it, up to hours. It has the same size and password, and no standby.
// If the time is not possible the error is [ErrInvalidRequest]. If the name is
// taken it is [ErrAlreadyExists]. If the response is lost it is
// [ErrOutcomeUnknown]: look the name up with Get.
func (s *PostgresService) Restore(ctx context.Context, location, postgres string, request *PostgresRestoreRequest) (*Postgres, error) {
	var body PostgresRestoreRequest
	if request != nil {
		body = *request
	}
	body.RestoreTarget = body.RestoreTarget.UTC()
	return send[Postgres](ctx, s.conn, &opPostgresRestore, body, location, postgres)
}

// WaitPromoted waits until a promoted database is no longer a replica and is
// running, and returns it. Its server takes writes within half a minute after
// that, as [Postgres.Primary] shows. It fails if the database is being deleted
// or is gone. The error is a [*WaitError].
func (s *PostgresService) WaitPromoted(ctx context.Context, location, postgres string, opts ...WaitOption) (*Postgres, error) {
	promoted := func(p *Postgres) (bool, error) {
		running, err := postgresRunning(p)
		return running && !p.ReadReplica, err
	}
	w := postgresFamily.waiter(s.conn, "Postgres.WaitPromoted", location, postgres)
	w.done = promoted
	return w.run(ctx, opts)
}
