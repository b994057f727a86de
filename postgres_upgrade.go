package cloudapi

import (
	"context"
	"errors"
	"fmt"
)

// PostgresUpgrade says how far the upgrade of a database to another major
// version has come.
type PostgresUpgrade struct {
	CurrentVersion string `json:"current_version"` // such as "17"
	TargetVersion  string `json:"target_version"`  // such as "18"
	UpgradeStatus  string `json:"upgrade_status"`  // one of the PostgresUpgradeStatus constants

	// UpgradeStage is a label of the server's own, for people, such as
	// "wait_for_maintenance_window"; "" before the first.
	UpgradeStage string `json:"upgrade_stage"`
}

func (u *PostgresUpgrade) missing() string { return missingField("upgrade_status", u.UpgradeStatus) }

// Values of [PostgresUpgrade.UpgradeStatus].
const (
	PostgresUpgradeStatusRunning    = "running"
	PostgresUpgradeStatusFailed     = "failed" // for good: the database keeps its version
	PostgresUpgradeStatusNotRunning = "not_running"
)

var (
	opPostgresUpgrade       = Operation{"Postgres.Upgrade", "POST", postgresRoute + "/upgrade", create}
	opPostgresUpgradeStatus = Operation{"Postgres.UpgradeStatus", "GET", postgresRoute + "/upgrade", safe}
)

// Upgrade starts to upgrade a database, and its read replicas, to the next major
// version, in the maintenance window if it has one;
// [PostgresService.WaitUpgraded] waits for the end. [Postgres.TargetVersion] has
// the new version at once.
//
// It is [ErrInvalidRequest] for a database that something else is being done
// to, another upgrade for example, for a read replica, for a flavor other than
// "standard" and for the latest version; [Error.FieldErrors] has the reason
// under "needs_convergence", "read_replica", "flavor" or "version". As a
// repetition is one of these, a lost response is [ErrOutcomeUnknown]: look with
// UpgradeStatus.
//
// It is an operation of August 2026; a server of October 2025 answers
// [ErrNotFound].
//
//cloudapi:operation POST /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/upgrade
func (s *PostgresService) Upgrade(ctx context.Context, location, postgres string) (*PostgresUpgrade, error) {
	return fetch[PostgresUpgrade](ctx, s.client, &opPostgresUpgrade, location, postgres)
}

// UpgradeStatus returns how far an upgrade has come. It is [ErrInvalidRequest]
// for a database that is not being upgraded, also when it has been.
//
// It is an operation of August 2026; a server of October 2025 answers
// [ErrNotFound].
//
//cloudapi:operation GET /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/upgrade
func (s *PostgresService) UpgradeStatus(ctx context.Context, location, postgres string) (*PostgresUpgrade, error) {
	return fetch[PostgresUpgrade](ctx, s.client, &opPostgresUpgradeStatus, location, postgres)
}

// WaitUpgraded waits until an upgrade has ended, and returns the database, which
// is running with the version that was asked for. An upgrade that fails ends it
// with [ErrWaitFailed], and so does a database that is being deleted or is gone.
// With a maintenance window it can take until the next one, and with much data
// hours. The error is a [*WaitError].
//
// It needs a server of August 2026.
func (s *PostgresService) WaitUpgraded(ctx context.Context, location, postgres string, opts ...WaitOption) (*Postgres, error) {
	var status *PostgresUpgrade // nil if there is no upgrade
	get := func(ctx context.Context, location, postgres string) (*Postgres, error) {
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
			err = fmt.Errorf("%w: the upgrade to version %s failed", ErrWaitFailed, status.TargetVersion)
		}
		upgrading := status != nil && status.UpgradeStatus == PostgresUpgradeStatusRunning
		return running && !upgrading && p.Version == p.TargetVersion, err
	}
	return waitState(ctx, "Postgres.WaitUpgraded", location, postgres, waitSlow, get, upgraded, opts)
}
