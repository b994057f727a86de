package cloudapi

import (
	"context"
	"iter"
	"slices"
)

// PostgresServer is one of the servers of a database: the primary, which takes
// writes, or a standby.
type PostgresServer struct {
	ID    string `json:"id"`    // prefix pv
	Role  string `json:"role"`  // one of the PostgresServerRole constants
	State string `json:"state"` // one of the PostgresServerState constants, or another

	// SynchronizationStatus is "ready" or "catching_up". It has no meaning for
	// the primary of a read replica.
	SynchronizationStatus string `json:"synchronization_status"`

	VMSize         string `json:"vm_size"`         // such as "standard-2"
	FallbackActive bool   `json:"fallback_active"` // whether it has another instance type than requested
}

func (s *PostgresServer) lacks() string        { return lacksID(s.ID) }
func (s *PostgresServer) cursor(string) string { return s.ID }

func (s *PostgresServer) identity() Resource { return Resource{Kind: KindPostgresServer, ID: s.ID} }

func (s *PostgresServer) stateText() string { return s.State }

// settled reports whether the server is running and, if it is a standby, has
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

// Known values of [PostgresServer.State]. A new server is "updating" before it
// is "creating".
const (
	PostgresServerStateUpdating      = "updating"
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
	opPostgresListServers = Operation{"Postgres.ListServers", "GET", postgresRoute + "/servers", idempotent | august2026}
	opPostgresRecycle     = Operation{"Postgres.Recycle", "POST", postgresRoute + "/recycle", once | august2026}

	listPostgresServers = listRoutes{project: &opPostgresListServers, unpaged: true}
)

// ListServers returns the servers of a database, all in one page. During a
// failover the server of August 2026 always answers [ErrServer].
//
// Requires the August 2026 API.
func (s *PostgresService) ListServers(ctx context.Context, location, postgres string) (*Page[PostgresServer], error) {
	return list[PostgresServer](ctx, s.conn, &listPostgresServers, nil, location, postgres)
}

// AllServers returns the servers of a database; see
// [PostgresService.ListServers].
//
// Requires the August 2026 API.
func (s *PostgresService) AllServers(ctx context.Context, location, postgres string) iter.Seq2[*PostgresServer, error] {
	return all[PostgresServer](ctx, s.conn, &listPostgresServers, nil, location, postgres)
}

// Recycle starts to replace the primary server of a database by a new one, and
// to fail over to it. It returns the database. Only the list of servers shows
// the progress: get the ID of the primary from [PostgresService.ListServers]
// before, and call [PostgresService.WaitRecycled] afterwards. A retry could
// replace the new server as well, so a lost response is [ErrOutcomeUnknown].
//
// Requires the August 2026 API.
func (s *PostgresService) Recycle(ctx context.Context, location, postgres string) (*Postgres, error) {
	return fetch[Postgres](ctx, s.conn, &opPostgresRecycle, location, postgres)
}

// failoverTolerance is the tolerance of waits that include a failover, during
// which the list of servers fails.
const failoverTolerance = 20

// WaitServers waits until a database has [Postgres.TargetServerCount] servers,
// all of them running and the standbys up to date, and returns it. Use it after
// a change of the HAType, for example. It fails if the database is being
// deleted or is gone. The error is a [*WaitError].
//
// It needs a server of August 2026; with one of October 2025, where
// TargetServerCount is 0, the wait fails with [ErrNotFound].
func (s *PostgresService) WaitServers(ctx context.Context, location, postgres string, opts ...WaitOption) (*Postgres, error) {
	return s.waitServers(ctx, "Postgres.WaitServers", location, postgres, "", opts)
}

// WaitRecycled waits as [PostgresService.WaitServers] does, and until the
// server with the given ID, the primary before [PostgresService.Recycle], is
// gone. The error is a [*WaitError], or an [*ArgumentError] if serverID is not a
// server's ID.
//
// It needs a server of August 2026.
func (s *PostgresService) WaitRecycled(ctx context.Context, location, postgres, serverID string, opts ...WaitOption) (*Postgres, error) {
	const operation = "Postgres.WaitRecycled"
	if err := checkIDOf(KindPostgresServer, operation, "server_id", serverID); err != nil {
		return nil, err
	}
	return s.waitServers(ctx, operation, location, postgres, serverID, opts)
}

func (s *PostgresService) waitServers(ctx context.Context, operation, location, postgres, without string, opts []WaitOption) (*Postgres, error) {
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
	w.config.tolerance = failoverTolerance
	w.done = settled
	return w.run(ctx, opts)
}
