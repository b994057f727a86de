package cloudapi

import (
	"context"
	"time"
)

// PostgresRestoreRequest is the body of [PostgresService.Restore].
type PostgresRestoreRequest struct {
	Name string `json:"name"` // of the new database; required

	// RestoreTarget is the time whose data the new database shall have, from
	// [Postgres.EarliestRestoreTime] to [Postgres.LatestRestoreTime]. Required.
	RestoreTarget time.Time `json:"restore_target"`

	// The rest is of August 2026: a server of October 2025 refuses a request in
	// which one of these is set, with [ErrInvalidRequest].
	//
	// PGConfig and PgBouncerConfig are set over the configuration of the other
	// database; see [PostgresConfig].
	PGConfig        map[string]string `json:"pg_config,omitzero"`
	PgBouncerConfig map[string]string `json:"pgbouncer_config,omitzero"`

	// Tags take the place of the other database's, which are the default.
	Tags []PostgresTag `json:"tags,omitzero"`
}

// PostgresReadReplicaOptions say in what a read replica differs from the
// database that it follows. They are of August 2026: a server of October 2025
// refuses any that is set, with [ErrInvalidRequest].
type PostgresReadReplicaOptions struct {
	// PGConfig and PgBouncerConfig are set over the configuration of the other
	// database; see [PostgresConfig].
	PGConfig        map[string]string `json:"pg_config,omitzero"`
	PgBouncerConfig map[string]string `json:"pgbouncer_config,omitzero"`

	Tags []PostgresTag `json:"tags,omitzero"` // none by default
}

// readReplicaRequest is the body of making a read replica.
type readReplicaRequest struct {
	Name string `json:"name"`
	PostgresReadReplicaOptions
}

var (
	opPostgresPromoteReadReplica = Operation{"Postgres.PromoteReadReplica", "POST", postgresRoute + "/promote-read-replica", create}
	opPostgresPromote            = Operation{"Postgres.Promote", "POST", postgresRoute + "/promote", create}
	opPostgresCreateReadReplica  = Operation{"Postgres.CreateReadReplica", "POST", postgresRoute + "/read-replica", create}
	opPostgresRestore            = Operation{"Postgres.Restore", "POST", postgresRoute + "/restore", create}
)

// Promote starts to make a read replica a database of its own and returns the
// short form of the record; [PostgresService.WaitPromoted] waits for the end.
// What is not a replica, or not any more, is [ErrInvalidRequest], which is why
// it is not retried after a lost response.
//
// The service of August 2026 still has it, under a newer name as well:
// [PostgresService.PromoteReadReplica].
//
//cloudapi:operation POST /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/promote
func (s *PostgresService) Promote(ctx context.Context, location, postgres string) (*Postgres, error) {
	return fetch[Postgres](ctx, s.client, &opPostgresPromote, location, postgres)
}

// PromoteReadReplica does what [PostgresService.Promote] does, by the newer of
// the two names that the service of August 2026 has for it. There the record is
// that of a database of its own at once.
//
// It is an operation of August 2026; a server of October 2025 answers
// [ErrNotFound].
//
//cloudapi:operation POST /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/promote-read-replica
func (s *PostgresService) PromoteReadReplica(ctx context.Context, location, postgres string) (*Postgres, error) {
	return fetch[Postgres](ctx, s.client, &opPostgresPromoteReadReplica, location, postgres)
}

// CreateReadReplica starts to make a database with the given name that follows
// this one, and returns the new one; [PostgresService.WaitRunning] waits for
// it, up to hours. It has the same size and no standby, and differs in what the
// options say, of which there may be one. Before the first backup, which
// [Postgres.EarliestRestoreTime] shows, it is [ErrInvalidRequest]; a name that
// is taken is [ErrAlreadyExists].
//
//cloudapi:operation POST /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/read-replica
func (s *PostgresService) CreateReadReplica(ctx context.Context, location, postgres, name string, opts ...PostgresReadReplicaOptions) (*Postgres, error) {
	request := readReplicaRequest{Name: name}
	switch len(opts) {
	case 0:
	case 1:
		request.PostgresReadReplicaOptions = opts[0]
	default:
		return nil, &ArgumentError{Operation: opPostgresCreateReadReplica.Name, Name: "opts", Reason: "must be one at most"}
	}
	return send[Postgres](ctx, s.client, &opPostgresCreateReadReplica, request, location, postgres)
}

// Restore starts to make another database with the data that this one had at
// a time in the past, and returns the new one; [PostgresService.WaitRunning]
// waits for it, up to hours. It has the same size and password and no standby.
// A time that is not possible is [ErrInvalidRequest], a name that is taken
// [ErrAlreadyExists].
//
//cloudapi:operation POST /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/restore
func (s *PostgresService) Restore(ctx context.Context, location, postgres string, request *PostgresRestoreRequest) (*Postgres, error) {
	var body PostgresRestoreRequest
	if request != nil {
		body = *request
	}
	body.RestoreTarget = body.RestoreTarget.UTC()
	return send[Postgres](ctx, s.client, &opPostgresRestore, body, location, postgres)
}

// WaitPromoted waits until a database that was promoted is no replica any more
// and is running, and returns it. Its server takes writes, as [Postgres.Primary]
// shows, within half a minute after that. A database that is being deleted or is
// gone ends it. The error is a [*WaitError].
func (s *PostgresService) WaitPromoted(ctx context.Context, location, postgres string, opts ...WaitOption) (*Postgres, error) {
	promoted := func(p *Postgres) (bool, error) {
		running, err := postgresRunning(p)
		return running && !p.ReadReplica, err
	}
	return waitState(ctx, "Postgres.WaitPromoted", location, postgres, waitSlow, s.Get, promoted, opts)
}
