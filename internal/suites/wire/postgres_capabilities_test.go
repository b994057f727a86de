package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
)

func postgresCapabilityCases() []wireCase {
	return []wireCase{{
		name: "capabilities", method: "GET", target: projectPath + "/postgres/capabilities",
		reply: `{"option_tree":{"flavor":{"standard":{"location":{"hetzner-fsn1":{"family":{"hobby":{"size":{"hobby-1":{"storage_size":` +
			`{"16":{"ha_type":{"none":{},"async":{}}}}}}}}}},"version":{"18":{}}}}},` +
			`"metadata":{"flavor":{"standard":{"display_name":"PostgreSQL Database"}},` +
			`"location":{"hetzner-fsn1":{"display_name":"eu-central-h1","ui_name":"Germany","provider":"hetzner"}},` +
			`"family":{"hobby":{"display_name":"Shared CPU","category":"shared"}},"size":{"hobby-1":{"vcpu":1,"memory_gib":2}},` +
			`"ha_type":{"async":{"display_name":"1 Standby","standby_count":1}}}}`,
		call: calls("Postgres.Capabilities"),
		want: &cloudapi.PostgresCapabilities{
			OptionTree: cloudapi.PostgresOptions{"flavor": {"standard": {
				"location": {"hetzner-fsn1": {"family": {"hobby": {"size": {"hobby-1": {"storage_size": {"16": {"ha_type": {"none": {}, "async": {}}}}}}}}}},
				"version":  {"18": {}},
			}}},
			Metadata: cloudapi.PostgresOptionsMetadata{
				Flavor:   map[string]cloudapi.PostgresFlavorMetadata{"standard": {DisplayName: "PostgreSQL Database"}},
				Location: map[string]cloudapi.PostgresLocationMetadata{"hetzner-fsn1": {DisplayName: "eu-central-h1", UIName: "Germany", Provider: "hetzner"}},
				Family:   map[string]cloudapi.PostgresFamilyMetadata{"hobby": {DisplayName: "Shared CPU", Category: "shared"}},
				Size:     map[string]cloudapi.PostgresSizeMetadata{"hobby-1": {VCPU: 1, MemoryGiB: 2}},
				HAType:   map[string]cloudapi.PostgresHATypeMetadata{"async": {DisplayName: "1 Standby", StandbyCount: 1}},
			},
		},
	}}
}

// TestCapabilitiesOfManyLocations: the options of a project with many features
// are mostly empty objects, and must not exceed the limit for empty objects.
func TestCapabilitiesOfManyLocations(t *testing.T) {
	t.Parallel()
	var locations strings.Builder
	for i := range 40 {
		fmt.Fprintf(&locations, `,"l-%d":{"family":{"c6gd":{"size":{`, i)
		for size := range 8 {
			fmt.Fprintf(&locations, `%s"c6gd.%dxl":{"storage_size":{"118":{"ha_type":{"none":{},"async":{},"sync":{}}}}}`, ","[:min(size, 1)], size)
		}
		locations.WriteString(`}}}}`)
	}
	body := `{"option_tree":{"flavor":{"standard":{"location":{` + locations.String()[1:] + `}}}},"metadata":{}}`
	c, err := sdktest.Answering(t, 200, "application/json", body).Postgres.Capabilities(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sizes := c.OptionTree["flavor"]["standard"]["location"]["l-39"]["family"]["c6gd"]["size"]
	if len(sizes) != 8 || len(c.OptionTree["flavor"]["lantern"]["location"]) != 0 {
		t.Errorf("the options are %v", c.OptionTree)
	}
}
