package cloudapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudapi-sdk/cloudapi/internal/mask"
)

// PostgresUpgrade is the progress of an upgrade to another major version.
type PostgresUpgrade struct {
	CurrentVersion string `json:"current_version"` // such as "17"
	TargetVersion  string `json:"target_version"`  // such as "18"
	UpgradeStatus  string `json:"upgrade_status"`  // one of the PostgresUpgradeStatus constants
	UpgradeStage   string `json:"upgrade_stage"`   // for people, such as "wait_for_maintenance_window"; "" at first
}

func (u *PostgresUpgrade) lacks() string { return lacksField("upgrade_status", u.UpgradeStatus) }

// Values of [PostgresUpgrade.UpgradeStatus].
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
//
// It returns [ErrInvalidRequest] while another change or upgrade is in
// progress, and for a read replica, a flavor other than "standard", or the
// latest version. [Error.FieldErrors] has the reason under "needs_convergence",
// "read_replica", "flavor" or "version".
//
// † Only the service has this.
func (s *PostgresService) Upgrade(ctx context.Context, location, postgres string) (*PostgresUpgrade, error) {
	return fetch[PostgresUpgrade](ctx, s.conn, &opPostgresUpgrade, location, postgres)
}

// UpgradeStatus returns the progress of an upgrade. It returns
// [ErrInvalidRequest] if there's none to report, as after one has succeeded.
//
// † Only the service has this.
func (s *PostgresService) UpgradeStatus(ctx context.Context, location, postgres string) (*PostgresUpgrade, error) {
	return fetch[PostgresUpgrade](ctx, s.conn, &opPostgresUpgradeStatus, location, postgres)
}

// WaitUpgraded waits until an upgrade is complete, and returns the database.
// The wait can last until the next maintenance window, and hours if there's
// much data. It fails with [ErrWaitFailed] if the upgrade failed or the
// database is being deleted, and with [ErrNotFound] if the database is gone.
//
// † Only the service has this.
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
			err = fmt.Errorf("%w: the upgrade to version %s failed", ErrWaitFailed, mask.Name(status.TargetVersion))
		}
		upgrading := status != nil && status.UpgradeStatus == PostgresUpgradeStatusRunning
		return running && !upgrading && p.Version == p.TargetVersion, err
	}
	w := postgresFamily.waiter(s.conn, "Postgres.WaitUpgraded", location, postgres)
	w.fetch = get
	w.done = upgraded
	w.lacks = func(p *Postgres) string { return lacksField("target_version", p.TargetVersion) }
	return w.run(ctx, opts)
}
