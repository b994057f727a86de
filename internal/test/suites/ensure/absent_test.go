package ensure_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestAbsentFields: a record that lacks a field, or has null, decides nothing.
// Nothing is written, and Compare doesn't compare the field.
func TestAbsentFields(t *testing.T) {
	t.Parallel()
	const here = sdktest.Somewhere
	id := func(kind cloudapi.Kind) string { return cloudapitest.NewID(kind).String() }
	subnet, firewall, vm := id(cloudapi.KindPrivateSubnet), id(cloudapi.KindFirewall), id(cloudapi.KindVM)
	update := &cloudapi.EnsureOptions{Update: true}
	setting := cloudapi.PostgresSettings{"work_mem": cloudapi.NewPostgresSetting("8MB")}

	vmRequest := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, Size: "standard-4", UnixUser: "me", StorageSize: 80, BootImage: "debian-12", PrivateSubnetID: subnet}
	dbRequest := &cloudapi.PostgresCreateRequest{Size: "standard-4", StorageSize: 128, HAType: "sync", Flavor: "lantern", Version: "18",
		Tags: []cloudapi.PostgresTag{{Key: "k"}}, RestrictByDefault: new(true)}
	lbRequest := &cloudapi.LoadBalancerCreateRequest{PrivateSubnetID: subnet, Algorithm: "hash_based", Stack: "ipv4", SrcPort: 443, DstPort: 8443,
		HealthCheckEndpoint: "/health", HealthCheckProtocol: "tcp"}
	clusterRequest := &cloudapi.KubernetesClusterCreateRequest{Version: "v1.37", WorkerSize: "standard-4", CPNodeCount: 3, WorkerNodeCount: 2}
	linkRequest := &cloudapi.PrivateLinkServiceCreateRequest{PrivateSubnetID: subnet, Ports: []int{5432}, TargetPorts: []int{5432}, IPAddressType: "dualstack",
		AWS: cloudapi.PrivateLinkServiceAWSCreateRequest{AllowedPrincipals: []string{"*"}, AllowedVPCEndpoints: []cloudapi.PrivateLinkServiceVPCEndpoint{},
			SupportedRegions: []string{"us-east-1"}}}
	locationRequest := &cloudapi.PrivateLocationCreateRequest{ProviderLocationName: "us-west-2", AccessKey: cloudapi.NewSecret("a"), SecretKey: cloudapi.NewSecret("s")}
	keyRequest := &cloudapi.SSHPublicKeyCreateRequest{PublicKey: stub.PublicKey}
	subnetRequest := &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall}

	for _, tt := range []struct {
		name    string
		record  any
		fields  []string // each is spoiled; fields with a comma are spoiled together
		call    func(context.Context, *cloudapi.Client) error
		compare func(record []byte) ([]cloudapi.Drift, []string) // Compare, or nil
	}{
		{"VMs.Ensure", &cloudapi.VM{ID: vm, Name: "a", Location: here, State: "running", Size: "standard-4", UnixUser: "me", Subnet: "net", StorageSizeGiB: 80, BootImage: "debian-12"},
			[]string{"size", "unix_user", "subnet"},
			func(ctx context.Context, c *cloudapi.Client) error {
				_, _, err := c.VMs.Ensure(ctx, here, "a", vmRequest, update)
				return err
			}, comparing(vmRequest.Compare)},
		{"VMs.Compare", &cloudapi.VM{ID: vm, Size: "standard-4", UnixUser: "me", StorageSizeGiB: 80, BootImage: "debian-12"},
			[]string{"size", "unix_user", "storage_size_gib", "boot_image"}, nil, comparing(vmRequest.Compare)},
		{"Postgres.Ensure", &cloudapi.Postgres{ID: id(cloudapi.KindPostgres), Name: "a", Location: here, State: "running", VMSize: "standard-4", TargetVMSize: "standard-4",
			StorageSizeGiB: 128, TargetStorageSizeGiB: 128, HAType: "sync", Flavor: "lantern", Version: "18", Tags: []cloudapi.PostgresTag{{Key: "k"}},
			FirewallRules: []cloudapi.PostgresFirewallRule{}},
			[]string{"vm_size,target_vm_size", "storage_size_gib,target_storage_size_gib", "ha_type", "flavor", "version", "tags", "firewall_rules"},
			func(ctx context.Context, c *cloudapi.Client) error {
				_, _, err := c.Postgres.Ensure(ctx, here, "a", dbRequest, update)
				return err
			}, comparing(dbRequest.Compare)},
		{"LoadBalancers.Ensure", &cloudapi.LoadBalancer{ID: id(cloudapi.KindLoadBalancer), Name: "a", Location: here, Subnet: "net", Algorithm: "hash_based", Stack: "ipv4",
			SrcPort: 443, DstPort: 8443, HealthCheckEndpoint: "/health", HealthCheckProtocol: "tcp", VMs: []string{}},
			[]string{"algorithm", "stack", "src_port", "dst_port", "health_check_endpoint", "health_check_protocol", "subnet"},
			func(ctx context.Context, c *cloudapi.Client) error {
				_, _, err := c.LoadBalancers.Ensure(ctx, here, "a", lbRequest, update)
				return err
			}, comparing(lbRequest.Compare)},
		{"LoadBalancers.Ensure of another port", &cloudapi.LoadBalancer{ID: id(cloudapi.KindLoadBalancer), Name: "a", Location: here, Subnet: "net", Algorithm: "hash_based", Stack: "ipv4",
			SrcPort: 443, DstPort: 80, HealthCheckEndpoint: "/health", HealthCheckProtocol: "tcp", VMs: []string{vm}},
			[]string{"algorithm", "src_port", "health_check_endpoint", "vms"},
			func(ctx context.Context, c *cloudapi.Client) error {
				_, _, err := c.LoadBalancers.Ensure(ctx, here, "a", &cloudapi.LoadBalancerCreateRequest{PrivateSubnetID: subnet, DstPort: 8443}, update)
				return err
			}, nil},
		{"Kubernetes.Ensure", &cloudapi.KubernetesCluster{ID: id(cloudapi.KindKubernetesCluster), Name: "a", Location: here, DisplayState: "running", Version: "v1.37", CPNodeCount: 3,
			NodePools: []cloudapi.KubernetesNodePool{{ID: id(cloudapi.KindKubernetesNodePool), Name: "a-np", NodeSize: "standard-4", NodeCount: 2}}},
			[]string{"version", "cp_node_count", "nodepools", "nodepools.node_size", "nodepools.node_count"},
			func(ctx context.Context, c *cloudapi.Client) error {
				_, _, err := c.Kubernetes.Ensure(ctx, here, "a", clusterRequest, update)
				return err
			}, comparing(clusterRequest.Compare)},
		{"PrivateLinkServices.Ensure", &cloudapi.PrivateLinkService{ID: id(cloudapi.KindPrivateLinkService), Name: "a", Location: here, PrivateSubnet: "net", State: "available",
			Ports: []cloudapi.PrivateLinkServicePort{{Port: 5432, TargetPort: 5432}}, AllowedPrincipals: []string{"*"}, IPAddressType: "dualstack",
			AWS: &cloudapi.PrivateLinkServiceAWS{ServiceName: "com.amazonaws.vpce.us-west-2.x", AllowedVPCEndpoints: []cloudapi.PrivateLinkServiceVPCEndpoint{}, SupportedRegions: []string{"us-east-1"}}},
			[]string{"private_subnet", "ports", "allowed_principals", "ip_address_type", "aws", "aws.allowed_vpc_endpoints", "aws.supported_regions"},
			func(ctx context.Context, c *cloudapi.Client) error {
				_, _, err := c.PrivateLinkServices.Ensure(ctx, here, "a", linkRequest, update)
				return err
			}, comparing(linkRequest.Compare)},
		{"PrivateLocations.Ensure", &cloudapi.PrivateLocation{ID: id(cloudapi.KindPrivateLocation), UIName: "a", Name: "us-west-2"}, []string{"name"},
			func(ctx context.Context, c *cloudapi.Client) error {
				_, _, err := c.PrivateLocations.Ensure(ctx, "a", locationRequest, update)
				return err
			}, comparing(locationRequest.Compare)},
		{"SSHPublicKeys.Ensure", &cloudapi.SSHPublicKey{ID: id(cloudapi.KindSSHPublicKey), Name: "a", PublicKey: stub.PublicKey}, []string{"public_key"},
			func(ctx context.Context, c *cloudapi.Client) error {
				_, _, err := c.SSHPublicKeys.Ensure(ctx, "a", keyRequest, update)
				return err
			}, comparing(keyRequest.Compare)},
		{"PrivateSubnets.Ensure", &cloudapi.PrivateSubnet{ID: subnet, Name: "a", Location: here, State: "available", Firewalls: []cloudapi.Firewall{{ID: firewall}}}, []string{"firewalls"},
			func(ctx context.Context, c *cloudapi.Client) error {
				_, _, err := c.PrivateSubnets.Ensure(ctx, here, "a", subnetRequest, update)
				return err
			}, comparing(subnetRequest.Compare)},
		{"Postgres.Ensure of settings", map[string]any{"id": id(cloudapi.KindPostgres), "name": "a", "location": here, "state": "running",
			"pg_config": map[string]string{"work_mem": "8MB"}, "pgbouncer_config": map[string]string{"work_mem": "8MB"}}, []string{"pg_config", "pgbouncer_config"},
			func(ctx context.Context, c *cloudapi.Client) error {
				_, _, err := c.Postgres.Ensure(ctx, here, "a", &cloudapi.PostgresCreateRequest{PGConfig: setting, PgBouncerConfig: setting}, update)
				return err
			}, nil},
		{"Firewalls.SetRules of none", &cloudapi.Firewall{ID: firewall, Name: "a", Location: here, FirewallRules: []cloudapi.FirewallRule{}}, []string{"firewall_rules"},
			func(ctx context.Context, c *cloudapi.Client) error {
				_, err := c.Firewalls.SetRules(ctx, here, "a", []cloudapi.FirewallRuleCreateRequest{})
				return err
			}, nil},
		{"Firewalls.SetRules", &cloudapi.Firewall{ID: firewall, Name: "a", Location: here, FirewallRules: []cloudapi.FirewallRule{{CIDR: "0.0.0.0/0", PortRange: "443..443", Protocol: "tcp"}}}, []string{"firewall_rules"},
			func(ctx context.Context, c *cloudapi.Client) error {
				_, err := c.Firewalls.SetRules(ctx, here, "a", []cloudapi.FirewallRuleCreateRequest{{CIDR: "0.0.0.0/0", PortRange: "443"}})
				return err
			}, nil},
		{"Postgres.SetFirewallRules", &cloudapi.Postgres{ID: id(cloudapi.KindPostgres), Name: "a", Location: here, FirewallRules: []cloudapi.PostgresFirewallRule{{CIDR: "10.0.0.0/8"}}}, []string{"firewall_rules"},
			func(ctx context.Context, c *cloudapi.Client) error {
				_, err := c.Postgres.SetFirewallRules(ctx, here, "a", []cloudapi.PostgresFirewallRuleCreateRequest{{CIDR: "10.0.0.0/8"}})
				return err
			}, nil},
		{"PrivateSubnets.SetFirewalls", &cloudapi.PrivateSubnet{ID: subnet, Name: "a", Location: here, Firewalls: []cloudapi.Firewall{{ID: firewall}}}, []string{"firewalls"},
			func(ctx context.Context, c *cloudapi.Client) error {
				_, err := c.PrivateSubnets.SetFirewalls(ctx, here, "a", []string{firewall})
				return err
			}, nil},
		{"LoadBalancers.SetVMs", &cloudapi.LoadBalancer{ID: id(cloudapi.KindLoadBalancer), Name: "a", Location: here, VMs: []string{vm}}, []string{"vms"},
			func(ctx context.Context, c *cloudapi.Client) error {
				_, err := c.LoadBalancers.SetVMs(ctx, here, "a", []string{vm})
				return err
			}, nil},
	} {
		var full map[string]any
		if err := json.Unmarshal(stub.JSON(tt.record), &full); err != nil {
			t.Fatal(err)
		}
		full["type"] = "ps" // of the subnet that an ID means
		check := func(spoiled string, record []byte) {
			if tt.compare != nil && !strings.Contains(spoiled, "subnet") {
				if d, uncompared := tt.compare(record); spoiled != "" && len(d) > 0 {
					t.Errorf("%s: without %q, Compare finds %v, and doesn't compare %q", tt.name, spoiled, d, uncompared)
				}
			}
			if tt.call == nil {
				return
			}
			var writes atomic.Int32
			client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				answer := string(record)
				switch {
				case req.Method != http.MethodGet:
					writes.Add(1)
				case strings.Contains(req.URL.Path, "/object-info/"):
					answer = fmt.Sprintf(`{"type":"PrivateSubnet","id":%q,"name":"net","location":%q}`, subnet, here)
				}
				resp := stub.Respond(http.StatusOK, answer)
				resp.Header.Set("Content-Type", "application/json")
				return resp, nil
			}))
			err := tt.call(t.Context(), client)
			isInvalid := errors.Is(err, cloudapi.ErrInvalidResponse)
			if spoiled != "" && writes.Load() != 0 || isInvalid != (spoiled != "") {
				t.Errorf("%s: without %q: %v, after %d changes", tt.name, spoiled, err, writes.Load())
			}
		}
		for _, fields := range slices.Concat([]string{""}, tt.fields) {
			for _, isNull := range []bool{false, true} {
				var record map[string]any
				json.Unmarshal(stub.JSON(full), &record)
				for field := range strings.SplitSeq(fields, ",") {
					spoil(record, field, isNull)
				}
				check(fields, stub.JSON(record))
			}
		}
	}
}

// spoil deletes a field of a record, or sets it to null. "nodepools.node_size" is
// in an object or in each object of a list.
func spoil(record map[string]any, field string, isNull bool) {
	name, inner, isNested := strings.Cut(field, ".")
	switch value := record[name].(type) {
	case map[string]any:
		if isNested {
			spoil(value, inner, isNull)
			return
		}
	case []any:
		if isNested {
			for _, element := range value {
				spoil(element.(map[string]any), inner, isNull)
			}
			return
		}
	}
	if delete(record, name); isNull {
		record[name] = nil
	}
}

// comparing decodes a record for a Compare method.
func comparing[T any](compare func(*T) ([]cloudapi.Drift, []string)) func([]byte) ([]cloudapi.Drift, []string) {
	return func(text []byte) ([]cloudapi.Drift, []string) {
		var record T
		if err := json.Unmarshal(text, &record); err != nil {
			panic(err)
		}
		return compare(&record)
	}
}
