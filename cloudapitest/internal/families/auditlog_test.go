package families_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestAuditLogRecordsOperations looks for the actions of a program in the audit log,
// in pages, with filters, and months later.
func TestAuditLogRecordsOperations(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client) {
		ctx := t.Context()
		firewall := must(client.Firewalls.Create(ctx, here, "web", &cloudapi.FirewallCreateRequest{}))
		must(client.Firewalls.Rename(ctx, here, "web", "front"))
		must(client.Firewalls.Rename(ctx, here, "front", "front")) // no action
		rule := must(client.Firewalls.CreateRule(ctx, here, "front", &cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8"}))
		subnet := must(client.PrivateSubnets.Create(ctx, here, "net", nil))
		must(client.Firewalls.AttachSubnet(ctx, here, "front", subnet.ID))
		if err := client.Firewalls.Delete(ctx, here, "none"); err != nil {
			t.Fatal(err)
		}
		both := must(client.Firewalls.CreateRule(ctx, here, "front", &cloudapi.FirewallRuleCreateRequest{CIDR: subnet.Name})) // two actions at once
		log := func(options cloudapi.AuditLogOptions) []string {
			var actions []string
			for e, err := range client.AuditLog.All(ctx, &options) {
				if err != nil {
					t.Error(err)
					break
				}
				actions = append(actions, fmt.Sprint(e.Action, e.ObjectIDs))
			}
			return actions
		}
		want := []string{
			fmt.Sprint("fw/associate", []string{firewall.ID, subnet.ID}),
			fmt.Sprint("ps/create", []string{subnet.ID}),
			fmt.Sprint("fr/create", []string{rule.ID, firewall.ID}),
			fmt.Sprint("fw/rename", []string{firewall.ID}),
			fmt.Sprint("fw/create", []string{firewall.ID}),
		}
		want = slices.Concat(want[:0:0], log(cloudapi.AuditLogOptions{})[:2], want)
		for _, r := range []*cloudapi.FirewallRule{both, both.IPv6Rule} {
			if entry := fmt.Sprint("fr/create", []string{r.ID, firewall.ID}); !slices.Contains(want[:2], entry) {
				t.Errorf("the log has no %s, but %q", entry, want[:2])
			}
		}
		stub.Elapse(time.Hour)
		for _, limit := range []int{0, 1, 2, 5} {
			if got := log(cloudapi.AuditLogOptions{PageSize: limit}); !slices.Equal(got, want) {
				t.Errorf("in pages of %d: %q\nwant %q", limit, got, want)
			}
		}
		for _, tt := range []struct {
			options cloudapi.AuditLogOptions
			want    []string
		}{
			{cloudapi.AuditLogOptions{Action: "fw", PageSize: 1}, []string{want[2], want[5], want[6]}},
			{cloudapi.AuditLogOptions{Action: "create"}, []string{want[0], want[1], want[3], want[4], want[6]}},
			{cloudapi.AuditLogOptions{Action: "fw/create"}, []string{want[6]}},
			{cloudapi.AuditLogOptions{Object: subnet.ID}, []string{want[2], want[3]}},
			{cloudapi.AuditLogOptions{Object: "net"}, nil},
			{cloudapi.AuditLogOptions{Subject: "own@example.com", Action: "fr", PageSize: 1}, []string{want[0], want[1], want[4]}},
			{cloudapi.AuditLogOptions{Subject: "foreign"}, nil},
			{cloudapi.AuditLogOptions{End: time.Now().AddDate(0, 0, -1)}, nil},
			{cloudapi.AuditLogOptions{End: time.Now().AddDate(0, 4, 0)}, nil},
		} {
			if got := log(tt.options); !slices.Equal(got, tt.want) {
				t.Errorf("%+v: %q\nwant %q", tt.options, got, tt.want)
			}
		}
		stub.Elapse(100 * 24 * time.Hour)
		if got := log(cloudapi.AuditLogOptions{}); got != nil {
			t.Errorf("after three months: %q", got)
		}
		srv.SetPermissions(srv.ProjectID(), srv.Token(), "Firewall:*")
		if _, err := client.AuditLog.List(ctx, nil); err == nil {
			t.Error("the log is shown to a token without the permission")
		}
	}, cloudapitest.WithAPI(cloudapitest.Service))
}
