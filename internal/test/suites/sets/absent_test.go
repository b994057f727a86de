package sets_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestSetsOfAbsentFields: a record that lacks the list, or has null, decides
// nothing. The method fails, and changes nothing.
func TestSetsOfAbsentFields(t *testing.T) {
	t.Parallel()
	const here = sdktest.Somewhere
	id := func(kind cloudapi.Kind) string { return cloudapitest.NewID(kind).String() }
	firewall, vm := id(cloudapi.KindFirewall), id(cloudapi.KindVM)
	open := []cloudapi.FirewallRule{{CIDR: "0.0.0.0/0", PortRange: "443..443", Protocol: "tcp"}}
	for _, tt := range []struct {
		method string
		set    any
		record any
		list   string
	}{
		{"Firewalls.SetRules", []cloudapi.FirewallRuleCreateRequest{}, &cloudapi.Firewall{ID: firewall, Name: "a", Location: here, FirewallRules: []cloudapi.FirewallRule{}}, "firewall_rules"},
		{"Firewalls.SetRules", []cloudapi.FirewallRuleCreateRequest{{CIDR: "0.0.0.0/0", PortRange: "443"}}, &cloudapi.Firewall{ID: firewall, Name: "a", Location: here, FirewallRules: open}, "firewall_rules"},
		{"Postgres.SetFirewallRules", []cloudapi.PostgresFirewallRuleCreateRequest{{CIDR: "10.0.0.0/8"}},
			&cloudapi.Postgres{ID: id(cloudapi.KindPostgres), Name: "a", Location: here, FirewallRules: []cloudapi.PostgresFirewallRule{{CIDR: "10.0.0.0/8"}}}, "firewall_rules"},
		{"PrivateSubnets.SetFirewalls", []string{firewall}, &cloudapi.PrivateSubnet{ID: id(cloudapi.KindPrivateSubnet), Name: "a", Location: here, Firewalls: []cloudapi.Firewall{{ID: firewall}}}, "firewalls"},
		{"LoadBalancers.SetVMs", []string{vm}, &cloudapi.LoadBalancer{ID: id(cloudapi.KindLoadBalancer), Name: "a", Location: here, VMs: []string{vm}}, "vms"},
	} {
		for _, form := range []string{"full", "absent", "null"} {
			var record map[string]any
			stub.Must(0, json.Unmarshal(stub.JSON(tt.record), &record))(t)
			switch form {
			case "absent":
				delete(record, tt.list)
			case "null":
				record[tt.list] = nil
			}
			network := stub.Recorder{Answer: stub.Always(http.StatusOK, string(stub.JSON(record)))}
			_, err := sdktest.Do(tt.method, here, "a", tt.set).On(t.Context(), sdktest.Recorded(t, &network))
			writes := 0
			for _, sent := range network.Take() {
				if sent.Method != http.MethodGet {
					writes++
				}
			}
			if errors.Is(err, cloudapi.ErrInvalidResponse) != (form != "full") || form != "full" && writes > 0 {
				t.Errorf("%s, %s %s: %v, after %d changes", tt.method, form, tt.list, err, writes)
			}
		}
	}
}
