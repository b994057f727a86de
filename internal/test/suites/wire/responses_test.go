package wire_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestUnusableResponses: if a response lacks essential fields, the call returns
// an error and no record.
func TestUnusableResponses(t *testing.T) {
	t.Parallel()
	addUser, removeUser := do("Postgres.AddCertificateUser", location, "orders-db", "app"), do("Postgres.RemoveCertificateUser", location, "orders-db", "app")
	pages := []string{`{}`, `{"items":null}`, `{"logs":null}`, `[]`, `{"items":[null]}`, `{"logs":[{}]}`, `{"items":[{"action":""}]}`, `x`} // none of these is the end of a list
	users := []string{`{"items":[null]}`, `{"items":["app",null]}`, `{"items":[""]}`, `{"items":null}`, `{}`}
	const rule, other = `{"id":"frhgen1ff6864nrqg8etdv647m"}`, `{"id":"fr8sc97tx16t6n0ychazn0zkpq"}`
	for _, tt := range []struct {
		call    sdktest.Call
		replies []string
	}{
		// Other arrays don't show which rules were created.
		{do("Firewalls.CreateRule", location, "edge", &cloudapi.FirewallRuleCreateRequest{CIDR: "backend"}),
			[]string{`[]`, "[" + rule + "]", "[" + rule + ",{}]", "[{}," + rule + "]", "[1,2]"}},
		{do("Firewalls.GetRule", location, "edge", "frhgen1ff6864nrqg8etdv647m"), []string{"[" + rule + "," + other + "]"}},
		{do("Postgres.CreateBackupCredentials", location, "orders-db"), []string{`{"bucket":"b"}`}},
		{do("AuditLog.List"), pages},
		{do("VMs.List", nil), []string{`{"logs":[]}`, `{"items":null,"logs":[` + stub.VM + `]}`}},            // items of another list
		{do("VMs.List", &cloudapi.ListOptions{OrderColumn: cloudapi.OrderByName}), []string{`[{"id":"a"}]`}}, // the next page isn't known
		{do("Postgres.ListLogs", location, "orders-db"), pages},
		{addUser, users},
		{removeUser, users},
		{do("Postgres.GetConfig", location, "orders-db"), []string{`{"pg_config":{}}`, `{"pgbouncer_config":{}}`, `{"pg_config":null,"pgbouncer_config":{}}`,
			`{"pg_config":[],"pgbouncer_config":{}}`, `{"pg_config":{"a":{}},"pgbouncer_config":{}}`, `{"pg_config":{"a":["b"]},"pgbouncer_config":{}}`, `[]`}},
		{do("Postgres.Metrics", location, "orders-db", nil), []string{`{}`, `{"metrics":null}`, `[]`, `{"metrics":[{"series":[{"values":[["1759512000","1"]]}]}]}`}},
		{do("Projects.ObjectInfo", stub.Project, stub.VMID), []string{`{"location":"l","name":"n"}`, `{"type":"vm","location":"l"}`}},
	} {
		for _, reply := range tt.replies {
			result, err := tt.call.On(t.Context(), sdktest.Answering(t, 200, "application/json", reply))
			creates := strings.Contains(tt.call.Name, ".Create")
			if result != nil || !errors.Is(err, cloudapi.ErrInvalidResponse) || errors.Is(err, cloudapi.ErrOutcomeUnknown) != creates {
				t.Errorf("%s of %s: %v, %v", tt.call, reply, result, err)
			}
		}
	}
}

// TestClientKeyPairIsWhole: a truncated file is refused, and the error doesn't
// show its key.
func TestClientKeyPairIsWhole(t *testing.T) {
	t.Parallel()
	const certificate = "-----BEGIN CERTIFICATE-----\nUExBQ0VIT0xERVIx\n-----END CERTIFICATE-----\n"
	const key = "-----BEGIN EC PRIVATE KEY-----\nU0VD\n-----END EC PRIVATE KEY-----\n"
	const keyPair = certificate + key
	contents := []string{"no PEM", key, key + certificate[:10], key + key, keyPair + "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
		strings.Replace(keyPair, "U0VD\n", "", 1)}
	for n := range len(keyPair) - 1 {
		contents = append(contents, keyPair[:n])
	}
	for _, content := range contents {
		file, err := sdktest.Answering(t, 200, "application/x-pem-file", content).Postgres.CreateClientKeyPair(t.Context(), location, "orders-db", "app", time.Hour)
		if file != nil || !errors.Is(err, cloudapi.ErrInvalidResponse) || !errors.Is(err, cloudapi.ErrOutcomeUnknown) || strings.Contains(err.Error(), "U0VD") {
			t.Errorf("of %q CreateClientKeyPair made %v, %v", content, file, err)
		}
	}
}

// TestPostgresConfigValues: settings of every JSON type are decoded, also by Do
// and however many there are, and written back unchanged.
func TestPostgresConfigValues(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"text": "8MB", "quoted": `a"b`, "empty": "", "int": "300", "float": "-1.50e3", "true": "true", "false": "false", "null": "",
	}
	const back = `{"empty":"","false":false,"float":-1.50e3,"int":300,"null":null,"quoted":"a\"b","text":"8MB","true":true}`
	for _, more := range []string{"", strings.Repeat(`"int":300,`, 500_000)} {
		client := sdktest.Answering(t, 200, "application/json", `{"pg_config":{`+more+`"text":"8MB","quoted":"a\"b","empty":"","int":300,
			"float":-1.50e3,"true":true,"false":false,"null":null},"pgbouncer_config":{}}`)
		c, err := client.Postgres.GetConfig(t.Context(), location, "orders-db")
		var done cloudapi.PostgresConfig
		if err == nil {
			err = client.Do(t.Context(), "GET", []string{"config"}, nil, nil, &done)
		}
		if err != nil {
			t.Errorf("with %d bytes more: %v", len(more), err)
			continue
		}
		got := map[string]string{}
		for name, value := range c.PGConfig {
			got[name] = value.String()
		}
		if !maps.Equal(got, want) || !maps.Equal(done.PGConfig, c.PGConfig) || string(stub.JSON(c.PGConfig)) != back {
			t.Errorf("with %d bytes more: decoded %q, and %s", len(more), got, stub.JSON(c.PGConfig))
		}
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

// TestLoadBalancerUpdateWithoutALookup: if the server refuses an update and
// then the lookup, the error wraps both refusals.
func TestLoadBalancerUpdateWithoutALookup(t *testing.T) {
	t.Parallel()
	missing := recorded(t, "load-balancer-certificates", "patch-without-cert")
	network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodGet {
			return stub.Respond(403, stub.Envelope(403)), nil
		}
		return stub.Respond(missing.status, missing.reply), nil
	}}
	updated, err := sdktest.Recorded(t, &network).LoadBalancers.Update(t.Context(), location, "plain", &cloudapi.LoadBalancerUpdateRequest{VMs: []string{}})
	if updated != nil || !errors.Is(err, cloudapi.ErrInvalidRequest) || !errors.Is(err, cloudapi.ErrForbidden) || len(network.Take()) != 2 {
		t.Errorf("%v, %v", updated, err)
	}
}
