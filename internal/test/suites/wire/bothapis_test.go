package wire_test

//lint:file-ignore SA1019 the contract has only Promote

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/recordings"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// A bothCase is a difference between the contract and the service that the SDK
// hides from programs.
type bothCase struct {
	name              string
	call              func(context.Context, *cloudapi.Client) (any, error)
	contract, service []answer // the requests that each server gets, and its responses
	err               error    // the error of the call with both servers, or nil
}

type answer struct {
	method, body string // of the request
	status       int
	reply        string
	contentType  string // JSON by default
}

// recorded returns a recorded response of the service.
func recorded(t *testing.T, story, name string) answer {
	t.Helper()
	exchanges := stub.Must(recordings.Read(recordings.August2026))(t)
	i := slices.IndexFunc(exchanges, func(x recordings.Exchange) bool { return x.Story == story && x.Case == name })
	if i < 0 {
		t.Fatalf("nothing is recorded as %s of %s", name, story)
	}
	x := exchanges[i]
	return answer{x.Request.Method, "", x.Response.Status, x.Response.Body, x.Response.Headers["content-type"]}
}

func (a answer) to(body string) answer {
	a.body = body
	return a
}

// TestBothAPIs: one client works with the contract and the service where
// their requests or responses differ.
func TestBothAPIs(t *testing.T) {
	t.Parallel()
	get := func(reply string) answer { return answer{"GET", "", 200, reply, ""} }
	post := func(body, reply string) answer { return answer{"POST", body, 200, reply, ""} }
	refusal := func(kind, message string) string {
		return string(stub.JSON(map[string]any{"error": map[string]any{"code": 400, "type": kind, "message": message, "details": nil}}))
	}
	after := func(first sdktest.Call, second func(context.Context, *cloudapi.Client, any) (any, error)) func(context.Context, *cloudapi.Client) (any, error) {
		return func(ctx context.Context, c *cloudapi.Client) (any, error) {
			result, err := first.On(ctx, c)
			if err != nil {
				return nil, err
			}
			return second(ctx, c, result)
		}
	}
	const (
		update = `{"algorithm":"hash_based","src_port":443,"dst_port":8443,"health_check_endpoint":"/up","vms":[]`
		memory = `{"pg_config":{"work_mem":"8MB"},"pgbouncer_config":{}}`
		story  = "postgres-create-and-change"
	)
	updatePlain := do("LoadBalancers.Update", location, "plain", &cloudapi.LoadBalancerUpdateRequest{
		Algorithm: "hash_based", SrcPort: 443, DstPort: 8443, HealthCheckEndpoint: "/up", VMs: []string{}}).On
	secured := recorded(t, "load-balancer-certificates", "patch-no-vms") // a load balancer with a certificate
	for _, c := range []bothCase{
		{
			"an update of a load balancer", updatePlain,
			[]answer{{"PATCH", update + `}`, 200, `{"id":"1bgfs3asmxyj2p8r1ccds22pzd"}`, ""}},
			[]answer{recorded(t, "load-balancer-certificates", "patch-without-cert").to(update + `}`), get(secured.reply), secured.to(update + `,"cert_enabled":true}`)}, nil,
		},
		{
			"an update of a load balancer that is refused", updatePlain,
			[]answer{{"PATCH", update + `}`, 400, refusal("InvalidRequest", "no"), ""}},
			[]answer{
				recorded(t, "load-balancer-certificates", "patch-without-cert").to(update + `}`),
				get(`{"id":"1bgfs3asmxyj2p8r1ccds22pzd","cert_enabled":false}`),
				recorded(t, "load-balancer-certificates", "patch-swap-vms-taken").to(update + `,"cert_enabled":false}`),
			}, cloudapi.ErrInvalidRequest,
		},
		{
			"a rule", do("Firewalls.CreateRule", location, "web", &cloudapi.FirewallRuleCreateRequest{CIDR: "back", PortRange: "5432"}).On,
			[]answer{post(`{"cidr":"back","port_range":"5432"}`, `{"id":"frc8fw9aam6e2gmfbp7w9qhmx4"}`)},
			[]answer{recorded(t, "firewall-updates", "rule-by-subnet-name").to(`{"cidr":"back","port_range":"5432"}`)}, nil,
		},
		{
			"a kubeconfig", do("Kubernetes.Kubeconfig", location, "prod").On,
			[]answer{{"GET", "", 200, "apiVersion: v1\nkind: Config\n", "text/plain"}}, []answer{recorded(t, "kubernetes-nodepools", "kubeconfig")}, nil,
		},
		{
			"a firewall rule of a database, by the ID that it has in the list",
			after(do("Postgres.ListFirewallRules", location, "acc"), func(ctx context.Context, c *cloudapi.Client, page any) (any, error) {
				rules := page.(*cloudapi.Page[cloudapi.PostgresFirewallRule])
				return nil, c.Postgres.DeleteFirewallRule(ctx, location, "acc", rules.Items[0].ID)
			}),
			[]answer{get(`{"items":[{"id":"pfkvg0ffxbpj5pkddz9xsn95pc","cidr":"203.0.113.0/24"}],"count":1}`), {"DELETE", "", 204, "", ""}},
			[]answer{recorded(t, "postgres-certificates-and-destinations", "rules-two-more"), recorded(t, "postgres-certificates-and-destinations", "rule-delete")}, nil,
		},
		{
			"a promotion",
			after(do("Postgres.Promote", location, "own-r"), func(ctx context.Context, c *cloudapi.Client, _ any) (any, error) {
				return c.Postgres.WaitPromoted(ctx, location, "own-r", nil)
			}),
			[]answer{post("", `{"id":"`+replicaID+`","state":"running","read_replica":true}`), get(`{"id":"` + replicaID + `","state":"running","read_replica":false}`)},
			[]answer{recorded(t, "postgres-replicas-and-public-certificates", "promote-by-old-name"), recorded(t, "postgres-replicas-and-public-certificates", "promoted-poll-1")}, nil,
		},
		{
			"a restart",
			after(do("Postgres.Restart", location, "db-2"), func(ctx context.Context, c *cloudapi.Client, _ any) (any, error) {
				return c.Postgres.WaitRunning(ctx, location, "db-2", &cloudapi.WaitOptions{Interval: 1, MaxInterval: 1})
			}),
			[]answer{post("", `{"id":"`+pgID+`","state":"running"}`), get(`{"id":"` + pgID + `","state":"running"}`)},
			[]answer{recorded(t, story, "restart"), recorded(t, story, "restarting-poll-1"), recorded(t, story, "restarting-poll-2")}, nil,
		},
		{
			"a configuration that is changed and written back",
			after(do("Postgres.GetConfig", location, "db-2"), func(ctx context.Context, c *cloudapi.Client, config any) (any, error) {
				config.(*cloudapi.PostgresConfig).PGConfig["work_mem"] = cloudapi.NewPostgresSetting("8MB")
				return c.Postgres.ReplaceConfig(ctx, location, "db-2", config.(*cloudapi.PostgresConfig))
			}),
			[]answer{get(`{"pg_config":{},"pgbouncer_config":{}}`), post(memory, memory)},
			[]answer{recorded(t, story, "config-minimal"), recorded(t, story, "config-post").to(memory)}, nil,
		},
		{
			"a rule that exists", do("Firewalls.CreateRule", location, "web", &cloudapi.FirewallRuleCreateRequest{CIDR: "10.1.0.0/16"}).On,
			[]answer{{"POST", `{"cidr":"10.1.0.0/16"}`, 400, refusal("InvalidRequest", "cidr and port_range and firewall_id is already taken"), ""}},
			[]answer{recorded(t, "firewall-updates", "rule-same").to(`{"cidr":"10.1.0.0/16"}`)}, cloudapi.ErrAlreadyExists,
		},
		{
			"an error that nobody expected", do("VMs.List").On,
			[]answer{{"GET", "", 500, `{"error":{"code":500,"type":"UnexceptedError","message":"Sorry","details":null}}`, ""}},
			[]answer{recorded(t, "github", "not-configured")}, cloudapi.ErrServer,
		},
	} {
		c.run(t, "contract", c.contract)
		c.run(t, "service", c.service)
	}
}

func (c *bothCase) run(t *testing.T, version string, answers []answer) {
	t.Run(c.name+", "+version, func(t *testing.T) {
		t.Parallel()
		asked := 0
		network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
			if asked++; asked > len(answers) {
				t.Fatalf("there is a request %d", asked)
			}
			a := answers[asked-1]
			resp := stub.Respond(a.status, a.reply)
			if a.contentType != "" {
				resp.Header.Set("Content-Type", a.contentType)
			}
			return resp, nil
		}}
		result, err := c.call(t.Context(), sdktest.Recorded(t, &network))
		if asked != len(answers) || !errors.Is(err, c.err) || errors.Is(err, cloudapi.ErrOutcomeUnknown) {
			t.Errorf("%v, %v after %d requests; want %v after %d", result, err, asked, c.err, len(answers))
		}
		for i, sent := range network.Take() {
			if a := answers[i]; sent.Method != a.method || sent.Body != a.body {
				t.Errorf("request %d is %s %s, want %s %s", i+1, sent.Method, sent.Body, a.method, a.body)
			}
		}
	})
}

// TestRefusalsOfTheService: the recorded refusals match the documented errors.
func TestRefusalsOfTheService(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		story, name string
		call        sdktest.Call
		err         error
	}{
		{"kubernetes-nodepools", "kubeconfig-too-early", do("Kubernetes.Kubeconfig", location, "prod"), cloudapi.ErrInvalidRequest},
		{"kubernetes-nodepools", "pool-name-taken", do("Kubernetes.CreateNodePool", location, "prod", "prod-np", &cloudapi.KubernetesNodePoolCreateRequest{}), cloudapi.ErrAlreadyExists},
		{"kubernetes-nodepools", "pool-quota", do("Kubernetes.CreateNodePool", location, "prod", "workers", &cloudapi.KubernetesNodePoolCreateRequest{}), cloudapi.ErrQuotaExceeded},
		{"machine-images", "create-again", do("MachineImages.Create", location, "golden", &cloudapi.MachineImageCreateRequest{VMID: stub.VMID}), cloudapi.ErrAlreadyExists},
		{"machine-images", "version-exists", do("MachineImages.CreateVersion", location, "golden", "v1", &cloudapi.MachineImageVersionCreateRequest{VMID: stub.VMID}), cloudapi.ErrAlreadyExists},
		{"machine-images", "delete-version-again", do("MachineImages.DeleteVersion", location, "golden", "v1"), cloudapi.ErrNotFound},
		{"postgres-logs", "store-fails", do("Postgres.ListLogs", location, "logged", nil), cloudapi.ErrServer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := recorded(t, tt.story, tt.name)
			network := stub.Recorder{Answer: stub.Always(a.status, a.reply)}
			_, err := tt.call.On(t.Context(), sdktest.Recorded(t, &network))
			if !errors.Is(err, tt.err) || errors.Is(err, cloudapi.ErrOutcomeUnknown) {
				t.Errorf("the error is %v, want %v", err, tt.err)
			}
		})
	}
}

// TestRecordsOfTheContract: fields that only the service or only the contract
// sends are left out if a record without them is encoded.
func TestRecordsOfTheContract(t *testing.T) {
	t.Parallel()
	for record, added := range map[any][]string{
		&cloudapi.VM{}:                        {"boot_image", "maintenance_window_start_at"},
		&cloudapi.Project{}:                   {"credit", "discount"},
		&cloudapi.LoadBalancer{}:              {"cert_enabled"},
		&cloudapi.FirewallRule{}:              {"protocol", "description"},
		&cloudapi.KubernetesNodePool{}:        {"version"},
		&cloudapi.PostgresFirewallRule{}:      {"port"},
		&cloudapi.PostgresMetricDestination{}: {"auth_methods"},
		&cloudapi.Postgres{}: {"target_version", "target_server_count", "fallback_active", "created_at", "maintenance_window_days",
			"private_connection_string", "hostname", "username", "password", "log_destinations", "earliest_restore_time", "latest_restore_time"},
	} {
		var encoded map[string]any
		if err := json.Unmarshal(stub.JSON(record), &encoded); err != nil || encoded["id"] != "" {
			t.Fatal(encoded, err)
		}
		for _, field := range added {
			if value, ok := encoded[field]; ok {
				t.Errorf("%T has %s: %v", record, field, value)
			}
		}
	}
	body := stub.JSON(cloudapi.LoadBalancer{CertEnabled: true})
	if !strings.Contains(string(body), `"cert_enabled":true`) {
		t.Errorf("a field that is set is left out: %s", body)
	}
}
