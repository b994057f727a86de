package families

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func postgresCapabilityOperations() []api.Operation {
	return []api.Operation{
		api.GET("Postgres.Capabilities", api.ProjectRoute+"/postgres/capabilities", showPostgresCapabilities).Guarded().Only(version.Service),
	}
}

type object map[string]any

// providers describes the public locations that offer databases, by name.
var providers = map[string]struct{ providerName, uiName, provider string }{
	"eu-central-h1": {"hetzner-fsn1", "Germany", "hetzner"},
	"us-east-a2":    {"leaseweb-wdc02", "Virginia, US", "leaseweb"},
}

var postgresFamilies = map[string]object{
	"standard": {"display_name": "Dedicated CPU", "category": "dedicated"},
	"hobby":    {"display_name": "Shared CPU", "category": "shared"},
	"m8gd":     {"display_name": "General Purpose, Graviton4", "category": "general-purpose"},
	"i8g":      {"display_name": "Storage Optimized, Graviton4", "category": "storage-optimized"},
}

// family returns the first word of the name, such as "standard" or "m8gd".
func (s postgresSize) family() string {
	return s.name[:strings.IndexAny(s.name, "-.")]
}

// showPostgresCapabilities returns what can be created in the project: a tree
// of options and their values, and descriptions of the values.
func showPostgresCapabilities(c *api.Call) (any, error) {
	terms := postgresTermsOf(c.Moment)
	flavors := object{}
	known := map[string]object{"flavor": {}, "location": {}, "family": {}, "size": {}, "ha_type": {}}
	for _, flavor := range postgresFlavors(c) {
		known["flavor"][flavor] = object{"display_name": flavorNames[flavor]}
		locations, versions := object{}, object{}
		for _, v := range terms.versionsOf(flavor) {
			versions[v] = object{}
		}
		for _, l := range postgresLocations(c, flavor) {
			p := providers[l.Name]
			key := cmp.Or(p.providerName, l.Name)
			locations[key] = object{"family": postgresFamilyTree(c.Moment, l, known)}
			known["location"][key] = object{
				"display_name": l.Name, "ui_name": cmp.Or(p.uiName, l.Name), "provider": cmp.Or(p.provider, "aws"),
			}
		}
		flavors[flavor] = object{"location": locations, "version": versions}
	}
	for standbys, name := range postgresHATypes {
		known["ha_type"][name] = object{"display_name": haNames[standbys], "standby_count": standbys}
	}
	return object{
		"option_tree": object{"flavor": flavors, "restrict_by_default": object{"1": object{}}},
		"metadata":    known,
	}, nil
}

var flavorNames = map[string]string{"standard": "PostgreSQL Database", lantern: "Lantern PostgreSQL Database"}

var haNames = []string{"No Standbys", "1 Standby", "2 Standbys"}

// postgresFamilyTree returns the options for a location, and adds descriptions
// of the families and sizes to known.
func postgresFamilyTree(at *api.Moment, l *api.Location, known map[string]object) object {
	haTypes := object{}
	for _, name := range postgresHATypes {
		haTypes[name] = object{}
	}
	tree := object{}
	for _, size := range postgresSizes {
		if size.aws != (l.Owner != nil) || !size.offered(at) {
			continue
		}
		family := size.family()
		known["family"][family] = postgresFamilies[family]
		known["size"][size.name] = object{"vcpu": size.vcpus, "memory_gib": size.memory}
		if tree[family] == nil {
			tree[family] = object{"size": object{}}
		}
		storage := object{}
		for _, gib := range size.storage {
			storage[fmt.Sprint(gib)] = object{"ha_type": haTypes}
		}
		tree[family].(object)["size"].(object)[size.name] = object{"storage_size": storage}
	}
	return tree
}
