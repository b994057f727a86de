package cloudapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Ensure creates a database unless one with the name exists. It compares
// flavor, ha_type, tags in any order, the settings in pg_config and
// pgbouncer_config, and size, storage_size and version, or their new values
// while a change is in progress. A read replica is always a difference; if
// restrict_by_default is true, so is a firewall rule for all IPv4 or all IPv6
// addresses. Ensure can update size, storage_size, ha_type, tags and settings,
// and delete such rules. [PostgresService.WaitResized] waits for the new size,
// and [PostgresService.WaitServers] for the new ha_type.
func (s *PostgresService) Ensure(ctx context.Context, location, name string, request *PostgresCreateRequest, opts *EnsureOptions) (postgres *Postgres, outcome EnsureOutcome, err error) {
	return postgresFamily.ensure(ctx, s.conn, location, name, ensureSpec[Postgres]{
		request: request,
		create:  func(ctx context.Context) (*Postgres, error) { return s.Create(ctx, location, name, request) },
		compare: func(ctx context.Context, p *Postgres) (d drift, err error) {
			if p.ReadReplica {
				d = drift{{Field: "read_replica", Wanted: false, Found: true}}
			}
			if request == nil {
				return d, nil
			}
			if size := cmp.Or(p.TargetVMSize, p.VMSize); contractSize(request.Size) != contractSize(size) {
				wantsUpdatable(&d, "size", request.Size, size)
			}
			wantsUpdatable(&d, "storage_size", request.StorageSize, cmp.Or(p.TargetStorageSizeGiB, p.StorageSizeGiB))
			wantsUpdatable(&d, "ha_type", request.HAType, p.HAType)
			wants(&d, "flavor", request.Flavor, p.Flavor)
			wants(&d, "version", request.Version, cmp.Or(p.TargetVersion, p.Version))
			if request.Tags != nil && !slices.Equal(sortedTags(request.Tags), sortedTags(p.Tags)) {
				d = append(d, Drift{Field: "tags", Wanted: request.Tags, Found: p.Tags, Updatable: true})
			}
			if orZero(request.RestrictByDefault) && p.FirewallRules == nil {
				return nil, fmt.Errorf("cloudapi: Postgres.Ensure: %w: the record has no firewall_rules", ErrInvalidResponse)
			}
			if open := openRules(p); orZero(request.RestrictByDefault) && len(open) > 0 {
				ranges := []string{}
				for _, rule := range open {
					ranges = append(ranges, rule.CIDR)
				}
				d = append(d, Drift{Field: "restrict_by_default", Wanted: true, Found: slices.Compact(ranges), Updatable: true})
			}
			if len(request.PGConfig)+len(request.PgBouncerConfig) == 0 {
				return d, nil
			}
			config, err := s.GetConfig(ctx, p.Location, p.ID)
			if err != nil {
				return nil, err
			}
			wantsSettings(&d, "pg_config", request.PGConfig, config.PGConfig)
			wantsSettings(&d, "pgbouncer_config", request.PgBouncerConfig, config.PgBouncerConfig)
			return d, nil
		},
		update: func(ctx context.Context, p *Postgres, d drift) (*Postgres, error) {
			if d.has("restrict_by_default") {
				for _, rule := range openRules(p) {
					if err := s.DeleteFirewallRule(ctx, location, p.ID, rule.ID); err != nil {
						return nil, err
					}
				}
			}
			var update PostgresUpdateRequest
			if d.has("size", "storage_size") { // each limits the other
				update.Size, update.StorageSize = request.Size, request.StorageSize
			}
			if d.has("ha_type") {
				update.HAType = request.HAType
			}
			if d.has("tags") {
				update.Tags = request.Tags
			}
			if d.has("pg_config", "pgbouncer_config") {
				config := PostgresConfigUpdateRequest{settings(request.PGConfig), settings(request.PgBouncerConfig)}
				if _, err := s.UpdateConfig(ctx, location, p.ID, &config); err != nil {
					return nil, err
				}
			}
			if !d.has("size", "storage_size", "ha_type", "tags") {
				return s.Get(ctx, location, p.ID)
			}
			return s.Update(ctx, location, p.ID, &update)
		},
	}, opts)
}

// openRules returns the firewall rules that allow all IPv4 or IPv6 addresses.
func openRules(p *Postgres) (open []PostgresFirewallRule) {
	for _, rule := range p.FirewallRules {
		if prefix, err := ParseCIDR(rule.CIDR); err == nil && prefix.Bits() == 0 {
			open = append(open, rule)
		}
	}
	return open
}

// contractSize returns the contract's name for a size. The service still
// accepts "burstable", but shows "hobby".
func contractSize(size string) string {
	if cpus, found := strings.CutPrefix(size, "hobby-"); found {
		return "burstable-" + cpus
	}
	return size
}

// wantsSettings adds a difference to d unless all wanted settings are found.
func wantsSettings(d *drift, field string, wanted map[string]string, found map[string]PostgresSetting) {
	for name, value := range wanted {
		if other, ok := found[name]; !ok || other.String() != value {
			*d = append(*d, Drift{Field: field, Wanted: wanted, Found: found, Updatable: true})
			return
		}
	}
}

func settings(values map[string]string) map[string]*string {
	if len(values) == 0 {
		return nil
	}
	update := make(map[string]*string, len(values))
	for name, value := range values {
		update[name] = &value
	}
	return update
}
