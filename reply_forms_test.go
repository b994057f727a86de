package cloudapi

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

const lbID = "1b28t5cy4tqj4kzpwqac7cn1j2"

// TestIDsAndRecords decodes the two fields whose form differs between the
// public description and the service.
func TestIDsAndRecords(t *testing.T) {
	t.Parallel()
	const other = "vm00000000021g000000000001"
	for name, vms := range map[string]string{
		"IDs":         `["` + stub.VMID + `","` + other + `"]`,
		"records":     `[` + stub.VM + `,{"id":"` + other + `","name":"web-2"}]`,
		"one of each": `[{"id":"` + stub.VMID + `"}, "` + other + `"]`,
	} {
		body := `{"id":"` + lbID + `","name":"web-lb","src_port":443,"vms":` + vms + `,"later":{"vms":[{}]}}`
		client := answering(t, http.StatusOK, "application/json", body)
		want := &LoadBalancer{ID: lbID, Name: "web-lb", SrcPort: 443, VMs: []string{stub.VMID, other}}
		for method, call := range map[string]func() (*LoadBalancer, error){
			"Get": func() (*LoadBalancer, error) { return client.LoadBalancers.Get(t.Context(), "eu-central-h1", "web-lb") },
			"AttachVM": func() (*LoadBalancer, error) {
				return client.LoadBalancers.AttachVM(t.Context(), "eu-central-h1", "web-lb", stub.VMID)
			},
		} {
			if got, err := call(); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s with %s: %+v, %v", method, name, got, err)
			}
		}
		list := answering(t, http.StatusOK, "application/json", `{"items":[{"id":"1b00000000000000000000000a"},`+body+`],"count":2}`)
		page, err := list.LoadBalancers.List(t.Context(), nil)
		if err != nil || len(page.Items) != 2 || !reflect.DeepEqual(page.Items[1], want) || *page.Count != 2 {
			t.Errorf("a list with %s: %+v, %v", name, page, err)
		}
	}

	const subnet, net = "ps6336kqkb6j4qf8813xfx1bw0", `{"id":"ps6336kqkb6j4qf8813xfx1bw0","name":"backend-net","state":"available"}`
	for name, tt := range map[string]struct {
		sent string
		want []PrivateSubnet
	}{
		"records":     {"[" + net + "]", []PrivateSubnet{{ID: subnet, Name: "backend-net", State: "available"}}},
		"IDs":         {`["` + subnet + `"]`, []PrivateSubnet{{ID: subnet}}},
		"one of each": {`["` + subnet + `",` + net + `]`, []PrivateSubnet{{ID: subnet}, {ID: subnet, Name: "backend-net", State: "available"}}},
		"none":        {`[]`, []PrivateSubnet{}},
	} {
		client := answering(t, http.StatusOK, "application/json", `{"id":"fw8ww2xa7brt1qrn9hgzbc7efq","name":"edge","private_subnets":`+tt.sent+`}`)
		for method, call := range map[string]func(context.Context, string, string, string) (*Firewall, error){
			"Get":          func(ctx context.Context, l, f, _ string) (*Firewall, error) { return client.Firewalls.Get(ctx, l, f) },
			"AttachSubnet": client.Firewalls.AttachSubnet,
		} {
			got, err := call(t.Context(), "eu-central-h1", "edge", subnet)
			if err != nil || got.Name != "edge" || !reflect.DeepEqual(got.PrivateSubnets, tt.want) {
				t.Errorf("%s with %s: %+v, %v", method, name, got, err)
			}
		}
	}
}

// TestTimesThatAreNone: a time that is not in RFC 3339 does not make a record
// fail.
func TestTimesThatAreNone(t *testing.T) {
	t.Parallel()
	latest := time.Date(2025, 10, 3, 17, 40, 0, 0, time.UTC)
	for _, sent := range []string{`"2025-10-01 02:15:09 UTC"`, `""`, `"soon"`, `1759285509`, `{"time":1}`, `null`, `"+12025-01-01T00:00:00Z"`} {
		body := `{"id":"pgn30gjk1d1e2jj34v9x0dq4rp","name":"orders-db","connection_string":"postgres://","earliest_restore_time":` + sent +
			`,"latest_restore_time":"2025-10-03T17:40:00Z","firewall_rules":[{"id":"pf00000000000000000000000a","cidr":"0.0.0.0/0"}],"tags":[{"key":"a","value":"<b>"}]}`
		want := &Postgres{ID: "pgn30gjk1d1e2jj34v9x0dq4rp", Name: "orders-db", ConnectionString: NewSecret("postgres://"), LatestRestoreTime: latest,
			FirewallRules: []PostgresFirewallRule{{ID: "pf00000000000000000000000a", CIDR: "0.0.0.0/0"}}, Tags: []PostgresTag{{"a", "<b>"}}}
		check := func(got *Postgres, err error) {
			t.Helper()
			if err != nil || got.ConnectionString.Reveal() != "postgres://" {
				t.Errorf("%s: %+v, %v", sent, got, err)
				return
			}
			got.ConnectionString = want.ConnectionString
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, want %+v", sent, got, want)
			}
		}
		client := answering(t, http.StatusOK, "application/json", body)
		check(client.Postgres.Get(t.Context(), "eu-central-h1", "orders-db"))
		check(client.Postgres.Restore(t.Context(), "eu-central-h1", "orders-db", &PostgresRestoreRequest{Name: "orders-db", RestoreTarget: latest}))
		for _, list := range []string{`{"items":[` + body + `],"count":1}`, `[` + body + `]`} {
			page, err := answering(t, http.StatusOK, "application/json", list).Postgres.List(t.Context(), nil)
			if err == nil {
				check(page.Items[0], nil)
			} else {
				t.Errorf("%s in a list: %v", sent, err)
			}
		}
	}
}

// TestFormsThatAreNone: other forms are errors.
func TestFormsThatAreNone(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a text":                       `"` + lbID + `"`,
		"an ID that is a record":       `{"id":{"id":"` + lbID + `"}}`,
		"a name that is a record":      `{"id":"` + lbID + `","name":{"id":"x"}}`,
		"VMs that are no array":        `{"id":"` + lbID + `","vms":{"id":"` + stub.VMID + `"}}`,
		"a VM that is a number":        `{"id":"` + lbID + `","vms":[1]}`,
		"a VM without ID":              `{"id":"` + lbID + `","vms":[{"name":"web-1"}]}`,
		"a VM whose ID is a number":    `{"id":"` + lbID + `","vms":[{"id":1}]}`,
		"a port that is a text":        `{"id":"` + lbID + `","src_port":"443","vms":[{"id":"` + stub.VMID + `"}]}`,
		"JSON that ends in the middle": `{"id":"` + lbID + `","vms":[{"id":"` + stub.VMID + `"}`,
	} {
		client := answering(t, http.StatusOK, "application/json", body)
		if l, err := client.LoadBalancers.Get(t.Context(), "eu-central-h1", "web-lb"); l != nil || !errors.Is(err, ErrInvalidResponse) {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
	client := answering(t, http.StatusOK, "application/json", `{"items":["`+lbID+`"],"count":1}`)
	if page, err := client.LoadBalancers.List(t.Context(), nil); page != nil || !errors.Is(err, ErrInvalidResponse) {
		t.Errorf("a list of IDs: %+v, %v", page, err)
	}
}

// TestDeepForms: the forms are converted level by level, so a response that
// nests records a thousand times would take minutes.
func TestDeepForms(t *testing.T) {
	t.Parallel()
	nested := func(times int) string {
		return `{"id":"fw8ww2xa7brt1qrn9hgzbc7efq","name":"edge"` + strings.Repeat(`,"private_subnets":[{"firewalls":[{"id":"fw"`, times) +
			`,"private_subnets":["ps6336kqkb6j4qf8813xfx1bw0"]` + strings.Repeat(`}]}]`, times) + `}`
	}
	for times, invalid := range map[int]bool{0: false, 2: false, 1000: true} {
		firewall, err := answering(t, http.StatusOK, "application/json", nested(times)).Firewalls.Get(t.Context(), "eu-central-h1", "edge")
		if errors.Is(err, ErrInvalidResponse) != invalid || firewall == nil != invalid {
			t.Errorf("nested %d times: %v, %v", times, firewall, err)
		}
	}
}
