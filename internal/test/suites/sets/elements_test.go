package sets_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestSetRulesOfSubnets: a private subnet stands for its two ranges, also with
// the contract, whose single rules take no subnet.
func TestSetRulesOfSubnets(t *testing.T) {
	t.Parallel()
	for _, api := range []cloudapitest.API{cloudapitest.Service, cloudapitest.Contract} {
		synctest.Test(t, func(t *testing.T) {
			srv := cloudapitest.New(t, cloudapitest.WithAPI(api))
			client, ctx := srv.Client(), t.Context()
			stub.Must(client.Firewalls.Create(ctx, sdktest.Somewhere, "edge", nil))(t)
			web := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "web", nil))(t)
			set := func(dry bool, source string) string {
				t.Helper()
				rules := []cloudapi.FirewallRuleCreateRequest{{CIDR: source, PortRange: "5432"}}
				changes, err := sdktest.Planning(client, dry).Firewalls.SetRules(ctx, sdktest.Somewhere, "edge", rules)
				if err != nil {
					return err.Error()
				}
				return changes.String()
			}
			want := fmt.Sprintf("+ 5432 from %s\n+ 5432 from %s", web.Net4, web.Net6)
			if got := set(true, "web"); got != want {
				t.Errorf("a plan prints\n%s, want\n%s", got, want)
			}
			if got := set(false, web.ID); got != want {
				t.Errorf("it prints\n%s, want\n%s", got, want)
			}
			if got := set(false, "web"); got != "" {
				t.Errorf("the second time it prints %q", got)
			}
			// One of the two is there.
			edge := stub.Must(client.Firewalls.Get(ctx, sdktest.Somewhere, "edge"))(t)
			for _, rule := range edge.FirewallRules {
				if rule.CIDR == web.Net6 {
					if err := client.Firewalls.DeleteRule(ctx, sdktest.Somewhere, edge.ID, rule.ID); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := set(false, "web"); got != "+ 5432 from "+web.Net6 {
				t.Errorf("with one of the two it prints %q", got)
			}
			for source, want := range map[string]string{
				"none":                            "rules[0] is wrong: cidr \"none\" is neither a range",
				cloudapitest.NewID("ps").String(): "is neither a range",
				"10.0.0.256":                      "must be an IPv4 or IPv6 range",
				"web/24":                          "must be an IPv4 or IPv6 range",
				"":                                "must be an IPv4 or IPv6 range",
			} {
				if got := set(false, source); !strings.Contains(got, want) {
					t.Errorf("%q: %s", source, got)
				}
			}
		})
	}
}

// TestSetRulesDescriptions: a description is changed if the request has
// another one, and otherwise kept.
func TestSetRulesDescriptions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service))
		client, ctx := srv.Client(), t.Context()
		edge := stub.Must(client.Firewalls.Create(ctx, sdktest.Somewhere, "edge", nil))(t)
		db := stub.Must(client.Postgres.Create(ctx, sdktest.Somewhere, "orders", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, RestrictByDefault: new(true)}))(t)
		for i, step := range []struct{ description, firewall, database string }{
			{"office", `+ 22 from 10.0.0.0/8 "office"`, `+ from 10.0.0.0/8 "office"`},
			{"", "", ""},
			{" office ", "", ""},
			{"old\noffice", `~ 22 from 10.0.0.0/8 "old office"`, `~ from 10.0.0.0/8 "old office"`},
			{"office", `~ 22 from 10.0.0.0/8 "office"`, `~ from 10.0.0.0/8 "office"`},
		} {
			for _, dry := range []bool{true, false} {
				rules, err := sdktest.Planning(client, dry).Firewalls.SetRules(ctx, sdktest.Somewhere, edge.ID,
					[]cloudapi.FirewallRuleCreateRequest{{CIDR: "10.0.0.0/8", PortRange: "22", Description: step.description}})
				if err != nil || rules.String() != step.firewall {
					t.Errorf("step %d, plan %v: %q, %v, want %q", i, dry, rules, err, step.firewall)
				}
				ranges, err := sdktest.Planning(client, dry).Postgres.SetFirewallRules(ctx, sdktest.Somewhere, db.ID,
					[]cloudapi.PostgresFirewallRuleCreateRequest{{CIDR: "10.0.0.0/8", Description: step.description}})
				if err != nil || ranges.String() != step.database {
					t.Errorf("step %d, plan %v: %q, %v, want %q", i, dry, ranges, err, step.database)
				}
			}
		}
		rules := stub.Must(client.Postgres.ListFirewallRules(ctx, sdktest.Somewhere, db.ID, nil))(t).Items
		if len(rules) != 2 || rules[0].Description != "office" || rules[1].Description != "office" {
			t.Errorf("the database has the rules %v", rules)
		}
		// Half of a pair keeps its description when it's added again.
		if err := client.Postgres.DeleteFirewallRule(ctx, sdktest.Somewhere, db.ID, rules[1].ID); err != nil {
			t.Fatal(err)
		}
		stub.Must(client.Postgres.SetFirewallRules(ctx, sdktest.Somewhere, db.ID, []cloudapi.PostgresFirewallRuleCreateRequest{{CIDR: "10.0.0.0/8"}}))(t)
		if rules := stub.Must(client.Postgres.ListFirewallRules(ctx, sdktest.Somewhere, db.ID, nil))(t).Items; len(rules) != 2 || rules[0].Description != "office" {
			t.Errorf("after the repair the database has the rules %v", rules)
		}
	})
}

// TestSetRulesTwice: a rule that is there twice has the description that one of
// them has, but not two.
func TestSetRulesTwice(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service))
	client, ctx := srv.Client(), t.Context()
	edge := stub.Must(client.Firewalls.Create(ctx, sdktest.Somewhere, "edge", nil))(t)
	for _, test := range []struct{ first, second, want string }{
		{"", "", "+ 53/icmp from 10.0.0.1/32"},
		{"a", "", `+ 53/icmp from 10.0.0.1/32 "a"`},
		{"", "a", `+ 53/icmp from 10.0.0.1/32 "a"`},
		{"a", "a", `+ 53/icmp from 10.0.0.1/32 "a"`},
		{"a", "b", ""},
	} {
		changes, err := sdktest.Planning(client, true).Firewalls.SetRules(ctx, sdktest.Somewhere, edge.ID, []cloudapi.FirewallRuleCreateRequest{
			{CIDR: "10.0.0.1", PortRange: "53", Protocol: "icmp", Description: test.first},
			{CIDR: "10.0.0.1/32", PortRange: "53..53", Protocol: "icmp", Description: test.second},
		})
		if test.want == "" {
			if !errors.Is(err, cloudapi.ErrInvalidArgument) || !strings.Contains(err.Error(), "rules[1]") {
				t.Errorf("%+v: %v", test, err)
			}
			continue
		}
		if err != nil || changes.String() != test.want {
			t.Errorf("%+v: %q, %v", test, changes, err)
		}
	}
}

// TestSetFirewalls sets each set of firewalls after each other one, also with a
// lost response to each request.
func TestSetFirewalls(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"", "lost before", "lost after"} {
		for first := range 8 {
			t.Run(fmt.Sprint(fault, " ", first), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					srv := cloudapitest.New(t)
					client, ctx := srv.Client(), t.Context()
					var ids []string
					for i := range 3 {
						ids = append(ids, stub.Must(client.Firewalls.Create(ctx, sdktest.Somewhere, fmt.Sprint("fw-", i), nil))(t).ID)
					}
					subset := func(set int) []string {
						chosen := []string{}
						for i, id := range ids {
							if set>>i&1 == 1 {
								chosen = append(chosen, id)
							}
						}
						return chosen
					}
					net := stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "net", nil))(t)
					attached := func() (found []string) {
						for _, f := range stub.Must(client.PrivateSubnets.Get(ctx, sdktest.Somewhere, net.ID))(t).Firewalls {
							found = append(found, f.ID)
						}
						return found
					}
					for second := range 8 {
						stub.Must(client.PrivateSubnets.SetFirewalls(ctx, sdktest.Somewhere, "net", subset(first)))(t)
						before := attached()
						plan := stub.Must(sdktest.Planning(client, true).PrivateSubnets.SetFirewalls(ctx, sdktest.Somewhere, net.ID, subset(second)))(t)
						if !sameElements(before, attached()) {
							t.Fatalf("a plan changes %v to %v", before, attached())
						}
						for _, method := range []string{"POST", "GET"} {
							switch fault {
							case "lost before":
								srv.Fail(cloudapitest.Match{Method: method, Nth: 2}, cloudapitest.DropBefore().Optional())
							case "lost after":
								srv.Fail(cloudapitest.Match{Method: method}, cloudapitest.DropAfter().Optional())
							}
						}
						sent := len(srv.Requests())
						done, err := client.PrivateSubnets.SetFirewalls(ctx, sdktest.Somewhere, "net", subset(second))
						if err != nil || !sameElements(attached(), subset(second)) {
							t.Fatalf("from %03b to %03b: %v, %v, leaves %v", first, second, done, err, attached())
						}
						if fault == "" && done.String() != plan.String() {
							t.Errorf("the plan is\n%s, and the changes are\n%s", plan, done)
						}
						detached := false
						for _, request := range srv.Requests()[sent:] {
							detached = detached || strings.HasSuffix(request.Path, "/detach-subnet")
							if detached && strings.HasSuffix(request.Path, "/attach-subnet") {
								t.Error("it attached a firewall after it had detached another")
							}
						}
					}
				})
			})
		}
	}
}

func sameElements(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func TestSetFirewallsErrors(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	client, ctx := srv.Client(), t.Context()
	stub.Must(client.PrivateSubnets.Create(ctx, sdktest.Somewhere, "net", nil))(t)
	far := stub.Must(client.Firewalls.Create(ctx, "us-east-a2", "far", nil))(t).ID
	for _, dry := range []bool{true, false} {
		client := sdktest.Planning(client, dry)
		for _, ids := range [][]string{{far}, {"net-default"}, {""}, {cloudapitest.NewID(cloudapi.KindVM).String()}, nil} {
			before := sdktest.Changes(srv)
			changes, err := client.PrivateSubnets.SetFirewalls(ctx, sdktest.Somewhere, "net", ids)
			if _, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || changes != nil || cloudapi.IsGone(err) {
				t.Errorf("%q, plan %v: %v, %v", ids, dry, changes, err)
			}
			if changes := sdktest.Changes(srv) - before; changes > 1 || dry && changes > 0 { // one attach is refused
				t.Errorf("%q, plan %v: %d changes were sent", ids, dry, changes)
			}
		}
		if _, err := client.PrivateSubnets.SetFirewalls(ctx, sdktest.Somewhere, "none", []string{}); !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("a subnet that doesn't exist: %v", err)
		}
		if _, err := client.PrivateSubnets.SetFirewalls(context.Context(nil), sdktest.Somewhere, "net", []string{}); !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("without a context: %v", err)
		}
	}
	if firewalls := stub.Must(client.PrivateSubnets.Get(ctx, sdktest.Somewhere, "net"))(t).Firewalls; len(firewalls) != 1 {
		t.Errorf("it has the firewalls %v", firewalls)
	}
}
