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
	"github.com/cloudapi-sdk/cloudapi/internal/recordings"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// A bothCase is a difference between the contract and the service that programs
// need not know about.
type bothCase struct {
	name    string
	call    func(context.Context, *cloudapi.Client) (any, error)
	answers map[string][]answer // by column: the requests that the server gets, and its responses
	err     error               // of the call, with both, or nil
}

// An answer is the response of a server to a request.
type answer struct {
	method, body string // of the request
	status       int
	contentType  string // JSON by default
	reply        string
}

const (
	ofContract = "contract"
	ofService  = "service"
)

// recorded returns the response of the service in a case of a story.
func recorded(t *testing.T, story, name string) answer {
	t.Helper()
	exchanges := stub.Must(recordings.Read(recordings.August2026))(t)
	i := slices.IndexFunc(exchanges, func(x recordings.Exchange) bool { return x.Story == story && x.Case == name })
	if i < 0 {
		t.Fatalf("nothing is recorded as %s of %s", name, story)
	}
	x := exchanges[i]
	return answer{method: x.Request.Method, status: x.Response.Status, contentType: x.Response.Headers["content-type"], reply: x.Response.Body}
}

// to returns the response to a request with another body.
func (a answer) to(body string) answer {
	a.body = body
	return a
}

// TestBothAPIs: one client works with the contract and the service where
// their requests or responses differ.
func TestBothAPIs(t *testing.T) {
	t.Parallel()
	const (
		location = "eu-central-h1"
		update   = `{"algorithm":"hash_based","src_port":443,"dst_port":8443,"health_check_endpoint":"/up","vms":[]`
	)
	conflict := func(kind, message string) string {
		return string(stub.JSON(map[string]any{"error": map[string]any{"code": 400, "type": kind, "message": message, "details": nil}}))
	}
	balancer := recorded(t, "load-balancer-certificates", "patch-no-vms") // which has a certificate
	rules := recorded(t, "firewall-updates", "rule-by-subnet-name")
	for _, c := range []bothCase{
		{
			name: "an update of a load balancer",
			call: calls("LoadBalancers.Update", location, "plain", &cloudapi.LoadBalancerUpdateRequest{
				Algorithm: "hash_based", SrcPort: 443, DstPort: 8443, HealthCheckEndpoint: "/up", VMs: []string{}}),
			answers: map[string][]answer{
				ofContract: {{method: "PATCH", body: update + `}`, status: 200, reply: `{"id":"1bgfs3asmxyj2p8r1ccds22pzd"}`}},
				ofService: {
					recorded(t, "load-balancer-certificates", "patch-without-cert").to(update + `}`),
					{method: "GET", status: 200, reply: balancer.reply},
					balancer.to(update + `,"cert_enabled":true}`),
				},
			},
		},
		{
			name: "an update of a load balancer that is refused",
			call: calls("LoadBalancers.Update", location, "plain", &cloudapi.LoadBalancerUpdateRequest{
				Algorithm: "hash_based", SrcPort: 443, DstPort: 8443, HealthCheckEndpoint: "/up", VMs: []string{}}),
			err: cloudapi.ErrInvalidRequest,
			answers: map[string][]answer{
				ofContract: {{method: "PATCH", body: update + `}`, status: 400, reply: conflict("InvalidRequest", "no")}},
				ofService: {
					recorded(t, "load-balancer-certificates", "patch-without-cert").to(update + `}`),
					{method: "GET", status: 200, reply: `{"id":"1bgfs3asmxyj2p8r1ccds22pzd","cert_enabled":false}`},
					recorded(t, "load-balancer-certificates", "patch-swap-vms-taken").to(update + `,"cert_enabled":false}`),
				},
			},
		},
		{
			name: "a rule",
			call: calls("Firewalls.CreateRule", location, "web", &cloudapi.FirewallRuleCreateRequest{CIDR: "back", PortRange: "5432"}),
			answers: map[string][]answer{
				ofContract: {{method: "POST", body: `{"cidr":"back","port_range":"5432"}`, status: 200, reply: `{"id":"frc8fw9aam6e2gmfbp7w9qhmx4"}`}},
				ofService:  {rules.to(`{"cidr":"back","port_range":"5432"}`)},
			},
		},
		{
			name: "a kubeconfig",
			call: calls("Kubernetes.Kubeconfig", location, "prod"),
			answers: map[string][]answer{
				ofContract: {{method: "GET", status: 200, contentType: "text/plain", reply: testKubeconfig}},
				ofService:  {recorded(t, "kubernetes-nodepools", "kubeconfig")},
			},
		},
		{
			name: "a firewall rule of a database, by the ID that it has in the list",
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) {
				page, err := c.Postgres.ListFirewallRules(ctx, location, "acc", nil)
				if err != nil {
					return nil, err
				}
				return nil, c.Postgres.DeleteFirewallRule(ctx, location, "acc", page.Items[0].ID)
			},
			answers: map[string][]answer{
				ofContract: {{method: "GET", status: 200, reply: `{"items":[` + testRuleJSON + `],"count":1}`}, {method: "DELETE", status: 204}},
				ofService: {
					recorded(t, "postgres-certificates-and-destinations", "rules-two-more"),
					recorded(t, "postgres-certificates-and-destinations", "rule-delete"),
				},
			},
		},
		{
			name: "a promotion",
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) {
				if _, err := c.Postgres.Promote(ctx, location, "own-r"); err != nil {
					return nil, err
				}
				return c.Postgres.WaitPromoted(ctx, location, "own-r", nil)
			},
			answers: map[string][]answer{
				ofContract: {
					{method: "POST", status: 200, reply: `{"id":"` + testReplicaID + `","state":"running","read_replica":true}`},
					{method: "GET", status: 200, reply: `{"id":"` + testReplicaID + `","state":"running","read_replica":false}`},
				},
				ofService: {
					recorded(t, "postgres-replicas-and-public-certificates", "promote-by-old-name"),
					recorded(t, "postgres-replicas-and-public-certificates", "promoted-poll-1"),
				},
			},
		},
		{
			name: "a restart",
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) {
				if _, err := c.Postgres.Restart(ctx, location, "db-2"); err != nil {
					return nil, err
				}
				return c.Postgres.WaitRunning(ctx, location, "db-2", &cloudapi.WaitOptions{Interval: 1, MaxInterval: 1})
			},
			answers: map[string][]answer{
				ofContract: {
					{method: "POST", status: 200, reply: `{"id":"` + testPgID + `","state":"running"}`},
					{method: "GET", status: 200, reply: `{"id":"` + testPgID + `","state":"running"}`},
				},
				ofService: {
					recorded(t, "postgres-create-and-change", "restart"),
					recorded(t, "postgres-create-and-change", "restarting-poll-1"),
					recorded(t, "postgres-create-and-change", "restarting-poll-2"),
				},
			},
		},
		{
			name: "a configuration that is changed and written back",
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) {
				config, err := c.Postgres.GetConfig(ctx, location, "db-2")
				if err != nil {
					return nil, err
				}
				config.PGConfig["work_mem"] = cloudapi.Setting("8MB")
				return c.Postgres.ReplaceConfig(ctx, location, "db-2", config)
			},
			answers: map[string][]answer{
				ofContract: {
					{method: "GET", status: 200, reply: `{"pg_config":{},"pgbouncer_config":{}}`},
					{method: "POST", body: `{"pg_config":{"work_mem":"8MB"},"pgbouncer_config":{}}`, status: 200, reply: `{"pg_config":{"work_mem":"8MB"},"pgbouncer_config":{}}`},
				},
				ofService: {
					recorded(t, "postgres-create-and-change", "config-minimal"),
					recorded(t, "postgres-create-and-change", "config-post").to(`{"pg_config":{"work_mem":"8MB"},"pgbouncer_config":{}}`),
				},
			},
		},
		{
			name: "a name that is taken",
			err:  cloudapi.ErrAlreadyExists,
			call: calls("Firewalls.CreateRule", location, "web", &cloudapi.FirewallRuleCreateRequest{CIDR: "10.1.0.0/16"}),
			answers: map[string][]answer{
				ofContract: {{method: "POST", body: `{"cidr":"10.1.0.0/16"}`, status: 400, reply: conflict("InvalidRequest", "cidr and port_range and firewall_id is already taken")}},
				ofService:  {recorded(t, "firewall-updates", "rule-same").to(`{"cidr":"10.1.0.0/16"}`)},
			},
		},
		{
			name: "an error that nobody expected",
			err:  cloudapi.ErrServer,
			call: calls("VMs.List", nil),
			answers: map[string][]answer{
				ofContract: {{method: "GET", status: 500, reply: `{"error":{"code":500,"type":"UnexceptedError","message":"Sorry","details":null}}`}},
				ofService:  {recorded(t, "github", "not-configured")},
			},
		},
	} {
		for version := range c.answers {
			t.Run(c.name+", "+version, func(t *testing.T) {
				t.Parallel()
				c.run(t, version)
			})
		}
	}
}

func (c *bothCase) run(t *testing.T, version string) {
	answers := c.answers[version]
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
	if !errors.Is(err, c.err) || errors.Is(err, cloudapi.ErrOutcomeUnknown) {
		t.Errorf("%v, %v; want %v", result, err, c.err)
	}
	for i, sent := range network.Take() {
		if a := answers[i]; sent.Method != a.method || sent.Body != a.body {
			t.Errorf("request %d is %s %s, want %s %s", i+1, sent.Method, sent.Body, a.method, a.body)
		}
	}
	if asked != len(answers) {
		t.Errorf("%d requests, want %d", asked, len(answers))
	}
}

// TestRefusalsOfTheService: the kind of the error is the documented one.
func TestRefusalsOfTheService(t *testing.T) {
	t.Parallel()
	const location = "eu-central-h1"
	for _, tt := range []struct {
		story, name string
		call        func(context.Context, *cloudapi.Client) (any, error)
		err         error
	}{
		{"kubernetes-nodepools", "kubeconfig-too-early", calls("Kubernetes.Kubeconfig", location, "prod"), cloudapi.ErrInvalidRequest},
		{"kubernetes-nodepools", "resize-while-busy", calls("Kubernetes.ResizeNodePool", location, "prod", "prod-np", 3), cloudapi.ErrInvalidRequest},
		{"kubernetes-nodepools", "pool-name-taken", calls("Kubernetes.CreateNodePool", location, "prod", &cloudapi.KubernetesNodePoolCreateRequest{Name: "prod-np"}), cloudapi.ErrAlreadyExists},
		{"kubernetes-nodepools", "pool-quota", calls("Kubernetes.CreateNodePool", location, "prod", &cloudapi.KubernetesNodePoolCreateRequest{Name: "workers"}), cloudapi.ErrQuotaExceeded},
		{"machine-images", "create-again", calls("MachineImages.Create", location, "golden", &cloudapi.MachineImageCreateRequest{VM: stub.VMID}), cloudapi.ErrAlreadyExists},
		{"machine-images", "version-exists", calls("MachineImages.CreateVersion", location, "golden", "v1", &cloudapi.MachineImageVersionCreateRequest{VM: stub.VMID}), cloudapi.ErrAlreadyExists},
		{"machine-images", "delete-version-again", func(ctx context.Context, c *cloudapi.Client) (any, error) {
			return nil, c.MachineImages.DeleteVersion(ctx, location, "golden", "v1")
		}, cloudapi.ErrNotFound},
		{"vm-start-stop", "restart-when-stopped", calls("VMs.Restart", location, "web-1"), cloudapi.ErrInvalidRequest},
		{"vm-start-stop", "create-unknown-init-script-args", calls("VMs.Create", location, "web-1", &cloudapi.VMCreateRequest{PublicKey: "laptop", InitScript: "x"}), cloudapi.ErrInvalidRequest},
		{"postgres-servers-and-upgrade", "replica-patch", calls("Postgres.Update", location, "core-r", &cloudapi.PostgresUpdateRequest{StorageSize: 128}), cloudapi.ErrInvalidRequest},
		{"postgres-servers-and-upgrade", "upgrade-again", calls("Postgres.Upgrade", location, "core"), cloudapi.ErrInvalidRequest},
		{"postgres-servers-and-upgrade", "not-upgrading", calls("Postgres.UpgradeStatus", location, "core"), cloudapi.ErrInvalidRequest},
		{"postgres-certificates-and-destinations", "rule-without-firewall", calls("Postgres.CreateFirewallRule", location, "acc", &cloudapi.PostgresFirewallRuleCreateRequest{CIDR: "192.0.2.0/24"}), cloudapi.ErrInvalidRequest},
		{"postgres-create-and-change", "window-days-without-feature", calls("Postgres.SetMaintenanceWindow", location, "main-db", new(3), "mon"), cloudapi.ErrInvalidRequest},
		{"postgres-logs", "no-log-store", calls("Postgres.Logs", location, "logged", nil), cloudapi.ErrInvalidRequest},
		{"postgres-logs", "store-fails", calls("Postgres.Logs", location, "logged", nil), cloudapi.ErrServer},
		{"rules-for-all", "connect-elsewhere", calls("PrivateSubnets.Connect", location, "a", "pscdeenawfyp5qskdhx7qkd8x4"), cloudapi.ErrInvalidRequest},
		{"rules-for-all", "disconnect-elsewhere", calls("PrivateSubnets.Disconnect", location, "a", "pscdeenawfyp5qskdhx7qkd8x4"), cloudapi.ErrInvalidRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := recorded(t, tt.story, tt.name)
			network := stub.Recorder{Answer: stub.Always(a.status, a.reply)}
			_, err := tt.call(t.Context(), sdktest.Recorded(t, &network))
			if !errors.Is(err, tt.err) || errors.Is(err, cloudapi.ErrOutcomeUnknown) {
				t.Errorf("the error is %v, want %v", err, tt.err)
			}
		})
	}
}

// TestRecordsOfTheContract: records of the contract, encoded again, don't have
// fields that only the service sends, nor the service's those of the contract.
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
