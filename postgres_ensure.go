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
		compare: func(ctx context.Context, p *Postgres) (drift, error) {
			d, uncompared := request.Compare(p)
			if request == nil {
				return d, nil
			}
			if slices.Contains(uncompared, "restrict_by_default") && *request.RestrictByDefault {
				return nil, fmt.Errorf("cloudapi: Postgres.Ensure: %w: the record has no firewall_rules", ErrInvalidResponse)
			}
			if len(request.PGConfig)+len(request.PgBouncerConfig) == 0 {
				return d, nil
			}
			config, err := s.GetConfig(ctx, p.Location, p.ID)
			if err != nil {
				return nil, err
			}
			all := drift(d)
			wantsSettings(&all, "pg_config", request.PGConfig, config.PGConfig)
			wantsSettings(&all, "pgbouncer_config", request.PgBouncerConfig, config.PgBouncerConfig)
			return all, nil
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

// Compare returns the differences between a database and the request. An update
// removes most of them, Upgrade those of an older version, PromoteReadReplica
// makes a replica a database of its own, and others need a replacement. Compare
// can't compare pg_config, pgbouncer_config and private_subnet_name, and in an
// item of a list restrict_by_default.
func (r *PostgresCreateRequest) Compare(p *Postgres) (differences []Drift, uncompared []string) {
	var c comparison
	if p.ReadReplica {
		c.drift = drift{{Field: "read_replica", Wanted: false, Found: true, Remedy: "Postgres.PromoteReadReplica"}}
	}
	if r == nil {
		return c.result()
	}
	if size := cmp.Or(p.TargetVMSize, p.VMSize); CanonicalPostgresSize(r.Size) != CanonicalPostgresSize(size) {
		wantsUpdatable(&c.drift, "size", r.Size, size)
	}
	wantsUpdatable(&c.drift, "storage_size", r.StorageSize, cmp.Or(p.TargetStorageSizeGiB, p.StorageSizeGiB))
	wantsUpdatable(&c.drift, "ha_type", r.HAType, p.HAType)
	wants(&c.drift, "flavor", r.Flavor, p.Flavor)
	version := cmp.Or(p.TargetVersion, p.Version)
	wantsBy(&c.drift, upgradeOr("Postgres.Upgrade", r.Version, version), "version", r.Version, version)
	if r.Tags != nil && !slices.Equal(sortedTags(r.Tags), sortedTags(p.Tags)) {
		c.drift = append(c.drift, Drift{Field: "tags", Wanted: r.Tags, Found: p.Tags, Remedy: RemedyUpdate})
	}
	isRestricted := orZero(r.RestrictByDefault)
	if open := openRules(p); isRestricted && len(open) > 0 {
		ranges := []string{}
		for _, rule := range open {
			ranges = append(ranges, rule.CIDR)
		}
		c.drift = append(c.drift, Drift{Field: "restrict_by_default", Wanted: true, Found: slices.Compact(ranges), Remedy: RemedyUpdate})
	}
	c.skip("restrict_by_default", r.RestrictByDefault != nil && (!isRestricted || p.FirewallRules == nil))
	c.skip("pg_config", len(r.PGConfig) > 0)
	c.skip("pgbouncer_config", len(r.PgBouncerConfig) > 0)
	c.skip("private_subnet_name", r.PrivateSubnetName != "")
	return c.result()
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

// CanonicalPostgresSize returns the name that requests use for a size: the
// service accepts "burstable-1" as well as "hobby-1", and shows "hobby-1", and
// the contract has only "burstable-1".
func CanonicalPostgresSize(size string) string {
	if cpus, found := strings.CutPrefix(size, "hobby-"); found {
		return "burstable-" + cpus
	}
	return size
}

// wantsSettings adds a difference to d unless all wanted settings are found.
func wantsSettings(d *drift, field string, wanted map[string]string, found map[string]PostgresSetting) {
	for name, value := range wanted {
		if other, ok := found[name]; !ok || other.String() != value {
			*d = append(*d, Drift{Field: field, Wanted: wanted, Found: found, Remedy: RemedyUpdate})
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
