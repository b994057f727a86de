package cloudapi

import "context"

// PostgresCapabilities describes the databases that a project can create.
type PostgresCapabilities struct {
	OptionTree PostgresOptions         `json:"option_tree"` // valid combinations, starting with the flavor
	Metadata   PostgresOptionsMetadata `json:"metadata"`
}

func (c *PostgresCapabilities) lacks() string {
	if c.OptionTree == nil {
		return "option_tree"
	}
	return ""
}

// PostgresOptions maps an option to its values, and each value to its options.
// A flavor has locations and versions, a location has families, a family has
// sizes, a size has storage_sizes (in GiB), and a storage_size has ha_types:
//
//	capabilities, err := client.Postgres.Capabilities(ctx)
//	if err != nil {
//		return err
//	}
//	families := capabilities.OptionTree["flavor"]["standard"]["location"]["hetzner-fsn1"]["family"]
//	for size := range families["standard"]["size"] {
//		fmt.Println(size)
//	}
//
// An option or value that doesn't exist gives a nil map. Locations have the
// provider's names; methods take [PostgresLocationMetadata.DisplayName].
type PostgresOptions map[string]map[string]PostgresOptions

// PostgresOptionsMetadata describes the values of each option.
type PostgresOptionsMetadata struct {
	Flavor   map[string]PostgresFlavorMetadata   `json:"flavor"`
	Location map[string]PostgresLocationMetadata `json:"location"`
	Family   map[string]PostgresFamilyMetadata   `json:"family"`
	Size     map[string]PostgresSizeMetadata     `json:"size"`
	HAType   map[string]PostgresHATypeMetadata   `json:"ha_type"`
}

// PostgresFlavorMetadata describes a flavor.
type PostgresFlavorMetadata struct {
	DisplayName string `json:"display_name"` // for people
}

// PostgresLocationMetadata describes a location.
type PostgresLocationMetadata struct {
	DisplayName string `json:"display_name"` // what the methods take, such as "eu-central-h1"
	UIName      string `json:"ui_name"`      // for people, such as "Germany"
	Provider    string `json:"provider"`     // such as "hetzner" or "aws"
}

// PostgresFamilyMetadata describes a family of sizes.
type PostgresFamilyMetadata struct {
	DisplayName string `json:"display_name"` // for people
	Category    string `json:"category"`     // such as "dedicated", "shared" or "memory-optimized"
}

// PostgresSizeMetadata describes a size.
type PostgresSizeMetadata struct {
	VCPU      int `json:"vcpu"`
	MemoryGiB int `json:"memory_gib"`
}

// PostgresHATypeMetadata describes an ha_type.
type PostgresHATypeMetadata struct {
	DisplayName  string `json:"display_name"` // for people
	StandbyCount int    `json:"standby_count"`
}

var opPostgresCapabilities = Operation{"Postgres.Capabilities", "GET", projectRoute + "/postgres/capabilities", idempotent | serviceOnly}

// Capabilities returns the values that [PostgresService.Create] accepts in this
// project. It returns [ErrForbidden] if the token can't see databases.
//
// † Only the service has this.
func (s *PostgresService) Capabilities(ctx context.Context) (*PostgresCapabilities, error) {
	return fetch[PostgresCapabilities](ctx, s.conn, &opPostgresCapabilities)
}
