// Package sets_test checks what the methods promise that set rules, firewalls and
// members, and how they compare ranges of addresses and ports.
package sets_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/cidr"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func changedRules(changes *cloudapi.SetChanges[cloudapi.FirewallRule]) string {
	list := func(sign string, rules []*cloudapi.FirewallRule) (texts []string) {
		for _, rule := range rules {
			texts = append(texts, sign+rule.CIDR+" "+rule.PortRange)
		}
		return texts
	}
	return strings.Join(slices.Concat(list("=", changes.Kept), list("+", changes.Added), list("-", changes.Removed)), ", ")
}

func TestSetRules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service))
		client := srv.Client()
		ctx := t.Context()
		edge := stub.Must(client.Firewalls.Create(ctx, sdktest.Somewhere, "edge", nil))(t)
		for _, request := range []*cloudapi.FirewallRuleCreateRequest{
			{CIDR: "10.1.0.0/16", PortRange: "80"}, {CIDR: "10.2.0.0/16", PortRange: "443"}, {CIDR: "::/0"},
		} {
			stub.Must(client.Firewalls.CreateRule(ctx, sdktest.Somewhere, "edge", request))(t)
		}
		wanted := []cloudapi.FirewallRuleCreateRequest{
			{CIDR: "10.1.2.3/16", PortRange: "80..80"},          // exists, in another spelling
			{CIDR: "10.4.0.0/16", PortRange: "22..22"},          // missing
			{CIDR: " 010.3.0.0/16", PortRange: "0080..90"},      // missing
			{CIDR: "10.3.0.0 255.255.0.0", PortRange: "80..90"}, // a duplicate
			{CIDR: "::/0", PortRange: "0..65535"},               // exists
		}
		const want = "=10.1.0.0/16 80, =::/0 0..65535, +10.4.0.0/16 22, +10.3.0.0/16 80..90, -10.2.0.0/16 443"

		before := len(srv.Requests())
		changes, err := sdktest.Planning(client, true).Firewalls.SetRules(ctx, sdktest.Somewhere, "edge", wanted)
		if err != nil || changedRules(changes) != want || !changes.Changed() {
			t.Fatalf("a plan is\n%s, %v, want\n%s", changedRules(changes), err, want)
		}
		for _, request := range srv.Requests()[before:] {
			if request.Method != "GET" {
				t.Errorf("a plan sent %s %s", request.Method, request.Path)
			}
		}

		before = len(srv.Requests())
		changes, err = client.Firewalls.SetRules(ctx, sdktest.Somewhere, "edge", wanted)
		if err != nil || changedRules(changes) != want {
			t.Fatalf("it is\n%s, %v, want\n%s", changedRules(changes), err, want)
		}
		var order []string
		for _, request := range srv.Requests()[before:] {
			order = append(order, request.Method)
			if request.Method != "GET" && !strings.Contains(request.Path, "/firewall/"+edge.ID+"/") {
				t.Errorf("%s %s does not go to the firewall that was read, if another one takes its name", request.Method, request.Path)
			}
		}
		if !slices.Equal(order, []string{"GET", "POST", "POST", "DELETE", "GET"}) {
			t.Errorf("requests are %v, want the additions before the deletions", order)
		}

		changes, err = client.Firewalls.SetRules(ctx, sdktest.Somewhere, "edge", wanted)
		if err != nil || changes.Changed() || len(changes.Kept) != 4 {
			t.Errorf("the second time it is %s, %v", changedRules(changes), err)
		}
		changes, err = client.Firewalls.SetRules(ctx, sdktest.Somewhere, "edge", []cloudapi.FirewallRuleCreateRequest{})
		firewall, _ := client.Firewalls.Get(ctx, sdktest.Somewhere, "edge")
		if err != nil || len(changes.Removed) != 4 || !changes.Changed() || len(firewall.FirewallRules) != 0 {
			t.Errorf("with no rules it is %s, %v, and leaves %v", changedRules(changes), err, firewall.FirewallRules)
		}
		changes, err = client.Firewalls.SetRules(ctx, sdktest.Somewhere, "edge", wanted[:1])
		if err != nil || len(changes.Added) != 1 || !changes.Changed() {
			t.Errorf("with no rules before it is %s, %v", changedRules(changes), err)
		}
	})
}

// TestSetRulesByProtocol: rules for different protocols are different rules.
// The name of a protocol may have capitals, and the default is TCP.
func TestSetRulesByProtocol(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service)).Client()
		stub.Must(client.Firewalls.Create(t.Context(), sdktest.Somewhere, "dns", nil))(t)
		tcp := cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8", PortRange: "53"}
		udp := cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8", PortRange: "53", Protocol: "udp"}
		capitals := udp
		capitals.Protocol = "UDP"
		for i, step := range []struct {
			wanted               []cloudapi.FirewallRuleCreateRequest
			kept, added, deleted int
			protocols            string
		}{
			{[]cloudapi.FirewallRuleCreateRequest{tcp}, 0, 1, 0, "tcp"},
			{[]cloudapi.FirewallRuleCreateRequest{tcp, udp}, 1, 1, 0, "tcp udp"},
			{[]cloudapi.FirewallRuleCreateRequest{tcp, capitals}, 2, 0, 0, "tcp udp"},
			{[]cloudapi.FirewallRuleCreateRequest{udp}, 1, 0, 1, "udp"},
			{[]cloudapi.FirewallRuleCreateRequest{tcp}, 0, 1, 1, "tcp"},
		} {
			changes, err := client.Firewalls.SetRules(t.Context(), sdktest.Somewhere, "dns", step.wanted)
			if err != nil || len(changes.Kept) != step.kept || len(changes.Added) != step.added || len(changes.Removed) != step.deleted {
				t.Fatalf("step %d: %v, %v", i, changes, err)
			}
			firewall := stub.Must(client.Firewalls.Get(t.Context(), sdktest.Somewhere, "dns"))(t)
			var protocols []string
			for _, rule := range firewall.FirewallRules {
				protocols = append(protocols, rule.Protocol)
			}
			slices.Sort(protocols)
			if got := strings.Join(protocols, " "); got != step.protocols {
				t.Errorf("step %d leaves rules for %s, want %s", i, got, step.protocols)
			}
		}
	})
}

// TestSetRulesInOtherSpellings: a rule of the server matches a wanted rule in
// any spelling. A subnet's name, which can't be parsed, matches none.
func TestSetRulesInOtherSpellings(t *testing.T) {
	t.Parallel()
	const firewall = `{"id":"fwm9n10s8q164j473ra7pj9nqz","name":"edge","location":"eu-central-h1","firewall_rules":[` +
		`{"id":"frm9n10s8q164j473ra7pj9nqz","cidr":"2001:DB8:0::1/64","port_range":"0080","protocol":"tcp"},` +
		`{"id":"fr8sc97tx16t6n0ychazn0zkpq","cidr":"net-1","port_range":"all"}]}`
	network := stub.Recorder{Answer: stub.Always(200, firewall)}
	client := sdktest.Recorded(t, &network)
	changes, err := sdktest.Planning(client, true).Firewalls.SetRules(t.Context(), sdktest.Somewhere, "edge",
		[]cloudapi.FirewallRuleCreateRequest{{CIDR: "2001:db8::/64", PortRange: "80..80"}})
	if err != nil || changedRules(changes) != "=2001:DB8:0::1/64 0080, -net-1 all" {
		t.Errorf("it is %s, %v", changedRules(changes), err)
	}
}

// TestSetRulesLooksUpLostResponses: SetRules looks up a rule whose create got
// no response, and creates it only if it's missing.
func TestSetRulesLooksUpLostResponses(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]cloudapitest.Fault{
		"executed, response lost": cloudapitest.DropAfter(),
		"not executed":            cloudapitest.DropBefore(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract))
				client := srv.Client()
				stub.Must(client.Firewalls.Create(t.Context(), sdktest.Somewhere, "edge", nil))(t)
				wanted := []cloudapi.FirewallRuleCreateRequest{{CIDR: "10.0.0.0/8", PortRange: "21"}}
				stub.Must(client.Firewalls.SetRules(t.Context(), sdktest.Somewhere, "edge", wanted))(t)
				wanted = append(wanted, cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8", PortRange: "22"})
				srv.Fail(cloudapitest.Match{Operation: "Firewalls.CreateRule"}, fault)
				changes, err := client.Firewalls.SetRules(t.Context(), sdktest.Somewhere, "edge", wanted)
				if err != nil || changedRules(changes) != "=10.0.0.0/8 21..21, +10.0.0.0/8 22..22" || changes.Added[0].ID == "" {
					t.Fatalf("%v, %v", changes, err)
				}
				firewall, err := client.Firewalls.Get(t.Context(), sdktest.Somewhere, "edge")
				if err != nil || len(firewall.FirewallRules) != 2 {
					t.Errorf("it has the rules %v, %v", firewall.FirewallRules, err)
				}
			})
		})
	}
}

// TestSetRulesAtOnce: if somebody else sets rules after a call of SetRules has
// read them, and before it changes one, the call returns an error unless the
// wanted rules are set in the end.
func TestSetRulesAtOnce(t *testing.T) {
	t.Parallel()
	request := func(port string) cloudapi.FirewallRuleCreateRequest {
		return cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8", PortRange: port}
	}
	rules := func(ports ...string) []cloudapi.FirewallRuleCreateRequest {
		requests := []cloudapi.FirewallRuleCreateRequest{}
		for _, port := range ports {
			requests = append(requests, request(port))
		}
		return requests
	}
	for _, tt := range []struct {
		name               string
		before, own, other []cloudapi.FirewallRuleCreateRequest
		want, err          string
	}{
		{"another set", nil, rules("80"), rules("443"), "", "ended with 1 of 1 added and 0 of 0 removed: another program made changes: 0 wanted are missing, and there are 1 others"},
		{"the same set", rules("22"), rules("80", "81"), rules("80", "81"), "=10.0.0.0/8 80..80, =10.0.0.0/8 81..81, -10.0.0.0/8 22..22", ""},
		{"a part", rules("22"), rules("22", "80"), rules("80"), "", "ended with 0 of 1 added and 0 of 0 removed: another program made changes: 1 wanted are missing, and there are 0 others"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract))
				other := srv.Client()
				stub.Must(other.Firewalls.Create(t.Context(), sdktest.Somewhere, "edge", nil))(t)
				for _, rule := range tt.before {
					stub.Must(other.Firewalls.CreateRule(t.Context(), sdktest.Somewhere, "edge", &rule))(t)
				}
				begun := false
				client := srv.Client(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
					return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
						if !begun && req.Method != http.MethodGet {
							begun = true
							stub.Must(other.Firewalls.SetRules(t.Context(), sdktest.Somewhere, "edge", tt.other))(t)
						}
						return next.RoundTrip(req)
					})
				}))
				changes, err := client.Firewalls.SetRules(t.Context(), sdktest.Somewhere, "edge", tt.own)
				if tt.err != "" {
					if changes != nil || err == nil || !strings.HasSuffix(err.Error(), tt.err) {
						t.Errorf("%v, %v", changes, err)
					}
					return
				}
				if err != nil || changedRules(changes) != tt.want {
					t.Errorf("%v, %v", changedRules(changes), err)
				}
			})
		})
	}
}

// TestSetFirewallRulesRepairsPairs: the service has two rules for each range,
// one per port. SetFirewallRules creates the missing one of a pair.
func TestSetFirewallRulesRepairsPairs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service))
		client := srv.Client()
		ctx := t.Context()
		db := stub.Must(client.Postgres.Create(ctx, sdktest.Somewhere, "orders", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
		list := func() map[int]*cloudapi.PostgresFirewallRule {
			ports := map[int]*cloudapi.PostgresFirewallRule{}
			for _, rule := range stub.Must(cloudapi.Collect(client.Postgres.AllFirewallRules(ctx, sdktest.Somewhere, db.ID, nil)))(t) {
				ports[rule.Port] = rule
			}
			return ports
		}
		wanted := []cloudapi.PostgresFirewallRuleCreateRequest{{CIDR: "203.0.113.0/24"}}
		// The database has rules for two ranges, which are deleted, and gets rules
		// for another. Changes count ranges, not the two rules of each.
		for _, dry := range []bool{true, false} {
			changes, err := sdktest.Planning(client, dry).Postgres.SetFirewallRules(ctx, sdktest.Somewhere, db.ID, wanted)
			if err != nil || len(changes.Kept) != 0 || len(changes.Added) != 1 || len(changes.Removed) != 2 || changes.Removed[0].CIDR == changes.Removed[1].CIDR {
				t.Errorf("at first, plan %v: %+v, %v", dry, changes, err)
			}
		}
		if rules := list(); len(rules) != 2 || rules[5432].CIDR != "203.0.113.0/24" || rules[6432].CIDR != "203.0.113.0/24" {
			t.Errorf("it has the rules %+v", rules)
		}
		for _, port := range []int{5432, 6432} {
			whole := list()
			if err := client.Postgres.DeleteFirewallRule(ctx, sdktest.Somewhere, db.ID, whole[port].ID); err != nil {
				t.Fatal(err)
			}
			half := list()
			srv.Fail(cloudapitest.Match{Operation: "Postgres.DeleteFirewallRule"}, cloudapitest.Reply(403, nil, `{"error":{"code":403,"type":"Forbidden","message":"no"}}`))
			if _, err := client.Postgres.SetFirewallRules(ctx, sdktest.Somewhere, db.ID, wanted); !errors.Is(err, cloudapi.ErrForbidden) {
				t.Errorf("without port %d, if the other can't be deleted: %v", port, err)
			}
			for _, dry := range []bool{true, false} {
				changes, err := sdktest.Planning(client, dry).Postgres.SetFirewallRules(ctx, sdktest.Somewhere, db.ID, wanted)
				if err != nil || len(changes.Kept) != 0 || len(changes.Added) != 1 || len(changes.Removed) != 1 || half[changes.Removed[0].Port] == nil {
					t.Errorf("without port %d, plan %v: %+v, %v", port, dry, changes, err)
				}
				if n := len(list()); dry && n != 1 || !dry && n != 2 {
					t.Errorf("without port %d, plan %v: %d rules are left", port, dry, n)
				}
			}
			if changes, err := client.Postgres.SetFirewallRules(ctx, sdktest.Somewhere, db.ID, wanted); err != nil || changes.Changed() || len(changes.Kept) != 1 {
				t.Errorf("after the repair: %+v, %v", changes, err)
			}
		}
	})
}

func TestSetRulesErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		stub.Must(client.Firewalls.Create(t.Context(), sdktest.Somewhere, "edge", nil))(t)
		// set returns the numbers of requests and of creates, and the error.
		set := func(firewall string, rules ...cloudapi.FirewallRuleCreateRequest) (requests, creates int, err error) {
			before := len(srv.Requests())
			_, err = client.Firewalls.SetRules(t.Context(), sdktest.Somewhere, firewall, rules)
			for _, request := range srv.Requests()[before:] {
				if request.Method == http.MethodPost {
					creates++
				}
			}
			return len(srv.Requests()) - before, creates, err
		}
		rule := func(cidr string) cloudapi.FirewallRuleCreateRequest {
			return cloudapi.FirewallRuleCreateRequest{CIDR: cidr}
		}
		for name, rules := range map[string][]cloudapi.FirewallRuleCreateRequest{
			"rules":    nil,
			"rules[1]": {rule("10.0.0.0/8"), rule("10.0.0.0/33")},
			"rules[0]": {{CIDR: "10.0.0.0/8", PortRange: "90..80"}},
		} {
			requests, _, err := set("edge", rules...)
			if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != name || requests != 0 {
				t.Errorf("%s: %v, after %d requests", name, err, requests)
			}
		}
		if _, _, err := set("none", []cloudapi.FirewallRuleCreateRequest{}...); !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("a firewall that does not exist: %v", err)
		}
		forbidden := cloudapitest.Reply(403, nil, `{"error":{"code":403,"type":"Forbidden","message":"no"}}`)
		srv.Fail(cloudapitest.Match{Operation: "Firewalls.CreateRule", Nth: 2}, forbidden)
		if _, _, err := set("edge", rule("10.0.0.0/8"), rule("11.0.0.0/8")); !errors.Is(err, cloudapi.ErrForbidden) || !strings.Contains(fmt.Sprint(err), "ended with 1 of 2 added and 0 of 0 removed") {
			t.Errorf("an addition that fails: %v", err)
		}
		srv.Fail(cloudapitest.Match{Operation: "Firewalls.DeleteRule"}, forbidden)
		if _, _, err := set("edge", rule("11.0.0.0/8")); !errors.Is(err, cloudapi.ErrForbidden) || !strings.Contains(fmt.Sprint(err), "ended with 1 of 1 added and 0 of 1 removed") {
			t.Errorf("a deletion that fails: %v", err)
		}
		// After a lost create, SetRules first reads the rules. If it can't, it
		// creates no others.
		srv.Fail(cloudapitest.Match{Operation: "Firewalls.CreateRule"}, cloudapitest.DropAfter())
		srv.Fail(cloudapitest.Match{Operation: "Firewalls.Get", Nth: 2}, forbidden)
		if _, creates, err := set("edge", rule("10.0.0.0/8"), rule("11.0.0.0/8"), rule("12.0.0.0/8")); !errors.Is(err, cloudapi.ErrForbidden) || !errors.Is(err, cloudapi.ErrOutcomeUnknown) || creates != 1 {
			t.Errorf("a lost create and no look: %v after %d creates", err, creates)
		}
		// The server may take a rule for one that exists, and never show it.
		srv.Fail(cloudapitest.Match{Operation: "Firewalls.CreateRule"}, cloudapitest.Reply(400, http.Header{"Content-Type": {"application/json"}},
			`{"error":{"code":400,"type":"InvalidRequest","message":"the rule is already taken","details":null}}`).Repeating())
		if _, creates, err := set("edge", rule("13.0.0.0/8")); !errors.Is(err, cloudapi.ErrAlreadyExists) || creates != 4 {
			t.Errorf("a rule that exists unseen: %v after %d creates", err, creates)
		}
	})
}

func TestSetFirewallRulesOfDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract))
		client := srv.Client()
		ctx := t.Context()
		db := stub.Must(client.Postgres.Create(ctx, sdktest.Somewhere, "orders", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
		wanted := []cloudapi.PostgresFirewallRuleCreateRequest{{CIDR: "203.0.113.7/24", Description: "office"}}
		before := len(srv.Requests())
		changes, err := client.Postgres.SetFirewallRules(ctx, sdktest.Somewhere, "orders", wanted)
		if err != nil || len(changes.Added) != 1 || changes.Added[0].Description != "office" {
			t.Fatalf("%+v, %v", changes, err)
		}
		for _, request := range srv.Requests()[before:] {
			if request.Method != "GET" && !strings.Contains(request.Path, "/postgres/"+db.ID+"/") {
				t.Errorf("%s %s does not go to the database that was read, if another one takes its name", request.Method, request.Path)
			}
		}
		before = len(srv.Requests())
		_, err = client.Postgres.SetFirewallRules(ctx, sdktest.Somewhere, "orders", []cloudapi.PostgresFirewallRuleCreateRequest{{CIDR: "203.0.113.7/33"}})
		if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != "rules[0]" || len(srv.Requests()) != before {
			t.Errorf("a rule that cannot be read: %v, after %d requests", err, len(srv.Requests())-before)
		}
		rules, err := cloudapi.Collect(client.Postgres.AllFirewallRules(ctx, sdktest.Somewhere, db.ID, nil))
		if err != nil || len(rules) != 1 || rules[0].CIDR != "203.0.113.0/24" {
			t.Errorf("rules are %v, %v", rules, err)
		}
	})
}

// TestParseCIDR: the spellings come from recordings and measurements of the
// real server.
func TestParseCIDR(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"10.1.2.3/16":                         "10.1.0.0/16",
		"192.168.1.1":                         "192.168.1.1/32",
		"0.0.0.0":                             "0.0.0.0/32",
		"0.0.0.0/0":                           "0.0.0.0/0",
		"010.0.0.1":                           "10.0.0.1/32",
		" 10.0.0.0/8 ":                        "10.0.0.0/8",
		"10.0.0.0 255.0.0.0":                  "10.0.0.0/8",
		"10.0.0.0/255.255.0.0":                "10.0.0.0/16",
		"10.0.0.0   255.255.0.0":              "10.0.0.0/16",
		"10.00.000.1/32":                      "10.0.0.1/32",
		"0:0:0:0:0:0:0:1/128":                 "::1/128",
		"10.0.0.0 0.0.0.0":                    "0.0.0.0/0",
		"fd00::/8":                            "fd00::/8",
		"2001:DB8::1":                         "2001:db8::/64",
		"::":                                  "::/128",
		"::/0":                                "::/0",
		"::ffff:0:0/96":                       "::ffff:0:0/96",
		"::ffff:102:304/128":                  "::ffff:102:304/128",
		"2001:db8:0:0:0:0:0:1/128":            "2001:db8::1/128",
		"fd4c:91aa:7be0:12d:8c62:0:0:0002/64": "fd4c:91aa:7be0:12d::/64",
	} {
		prefix, err := cloudapi.ParseCIDR(in)
		if err != nil || cidr.Format(prefix) != want {
			t.Errorf("ParseCIDR(%q) is %v, %v, want %s", in, prefix, err, want)
		}
		again, err := cloudapi.ParseCIDR(want)
		if err != nil || again != prefix {
			t.Errorf("ParseCIDR(%q) is %v, %v, want the same as for %q", want, again, err, in)
		}
	}
	for _, in := range []string{
		"10.0.0.0/010", "2001:db8::/032", "10.0.0.0/+8", "10.0.0.0/-0", "2001:db8:: 64",
		"", " ", "banana", "10.0.0.300/8", "10.1.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "fd00::/129", "::ffff:1.2.3.4/128",
		"10.0.0.0 255.0.255.0", "10.0.0.0 255.0.0.x", "10.0.0.0/ff.0", "fd00::/255.0.0.0", "10..0.1/8", "10.0.0.0/99999999999999999999", "10.0.0/8", "fe80::1%eth0/64", "10.0.0.0/8/8", "1.5", "...",
	} {
		if prefix, err := cloudapi.ParseCIDR(in); !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("ParseCIDR(%q) is %v, %v, want ErrInvalidArgument", in, prefix, err)
		}
	}
}

// TestParsePortRange: ParsePortRange returns the range, or ErrInvalidArgument.
// Package cidr tests which ranges are valid.
func TestParsePortRange(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "0..65535", "80": "80", "80..80": "80", "0080": "80", "53..54": "53..54", "0": "0", "90..80": "", "+80": "", "8 0": ""} {
		ports, err := cloudapi.ParsePortRange(in)
		if errors.Is(err, cloudapi.ErrInvalidArgument) != (want == "") || err == nil && ports.String() != want {
			t.Errorf("ParsePortRange(%q) is %v, %v, want %s", in, ports, err, want)
		}
	}
}
