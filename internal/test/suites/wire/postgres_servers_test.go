package wire_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const serverID = "pvdcnv0pp6wj4jnx1dytre5yj4"

func postgresServerCases() []wireCase {
	const (
		server = `{"id":"` + serverID + `","role":"primary","state":"running","synchronization_status":"ready","vm_size":"standard-2","fallback_active":true}`
		backup = `{"key":"basebackups_005/base_1_stop.json","last_modified":"2026-11-22T03:14:15Z"}`
		load   = `{"metrics":[{"key":"load_average","name":"Load Average","unit":null,"description":"load over time","series":[` +
			`{"labels":{"name":"1 minute"},"values":[[1759512000,"0.42"],[1759512015.5,"0.47"]]},{"labels":{},"values":[]}]},` +
			`{"key":"deadlocks","name":"Deadlocks","unit":"deadlocks/s","description":"deadlock rate","series":[]}]}`
		upgrade      = `{"current_version":"17","target_version":"18","upgrade_status":"failed","upgrade_stage":"upgrade_failed"}`
		capabilities = `{"option_tree":{"flavor":{"standard":{"location":{"hetzner-fsn1":{"family":{"hobby":{"size":{"hobby-1":{"storage_size":` +
			`{"16":{"ha_type":{"none":{},"async":{}}}}}}}}}},"version":{"18":{}}}}},` +
			`"metadata":{"flavor":{"standard":{"display_name":"PostgreSQL Database"}},` +
			`"location":{"hetzner-fsn1":{"display_name":"eu-central-h1","ui_name":"Germany","provider":"hetzner"}},` +
			`"family":{"hobby":{"display_name":"Shared CPU","category":"shared"}},"size":{"hobby-1":{"vcpu":1,"memory_gib":2}},` +
			`"ha_type":{"async":{"display_name":"1 Standby","standby_count":1}}}}`
	)
	start := time.Date(2025, 10, 3, 19, 30, 0, 0, time.FixedZone("", 2*60*60))
	return []wireCase{
		{do("Postgres.ListServers", location, "orders-db"), "GET " + orders + "/servers", list(server)},
		{do("Postgres.AllServers", location, "orders-db"), "GET " + orders + "/servers", list(server)},
		{do("Postgres.Recycle", location, "orders-db"), "POST " + orders + "/recycle", pgFull},
		{do("Postgres.ListBackups", location, "orders-db"), "GET " + orders + "/backup", list(backup)},
		{do("Postgres.AllBackups", location, "orders-db"), "GET " + orders + "/backup", list(backup)},
		{do("Postgres.Capabilities"), "GET " + projectPath + "/postgres/capabilities", capabilities},
		{do("Postgres.Upgrade", location, "orders-db"), "POST " + orders + "/upgrade", upgrade},
		{do("Postgres.UpgradeStatus", location, "orders-db"), "GET " + orders + "/upgrade", upgrade},
		{do("Postgres.Metrics", location, "orders-db", nil), "GET " + orders + "/metrics", load},
		{do("Postgres.Metrics", location, "orders-db", &cloudapi.MetricsOptions{Start: start, End: start.Add(time.Hour + 1), Key: cloudapi.PostgresMetricKeyLoadAverage}),
			"GET " + orders + "/metrics?end=2025-10-03T18%3A30%3A00.000000001Z&key=load_average&start=2025-10-03T17%3A30%3A00Z", load},
	}
}

// TestCapabilitiesOfManyLocations: the options of a project with many features
// are mostly empty objects, which stay below the decoder's limit.
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

// TestResolvePostgresServer finds the database of a server, even if other
// databases are invisible or were just deleted.
func TestResolvePostgresServer(t *testing.T) {
	t.Parallel()
	network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
		switch req.URL.Path {
		case projectPath + "/postgres":
			return stub.Respond(200, `{"items":[{"id":"`+replicaID+`","name":"gone","location":"eu-central-h1"},`+pgItem+`],"count":2}`), nil
		case postgresPath + "/" + pgID + "/servers":
			return stub.Respond(200, `{"items":[{"id":"pv00000000000000000000000z"},{"id":"`+serverID+`","role":"standby"}],"count":2}`), nil
		}
		return stub.Respond(404, stub.Envelope(404)), nil
	}}
	client := sdktest.Recorded(t, &network)
	found, err := client.Resolve(t.Context(), serverID)
	if err != nil || found.Kind != cloudapi.KindPostgresServer || found.ID != serverID || found.Parent == nil || found.Parent.ID != pgID {
		t.Errorf("the server is %v, %v", found, err)
	}
	server, err := cloudapi.Lookup[cloudapi.PostgresServer](t.Context(), client, serverID)
	if err != nil || server.Role != cloudapi.PostgresServerRoleStandby {
		t.Errorf("the server is %+v, %v", server, err)
	}
	if found, err := client.Resolve(t.Context(), "pvjey6g253fa4n1dbgbsps0nk8"); !errors.Is(err, cloudapi.ErrNotFound) {
		t.Errorf("another server is %v, %v", found, err)
	}
}
