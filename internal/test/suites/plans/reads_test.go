// Package plans_test tests plans: a plan's client only reads, and the plan is
// what a run does.
package plans_test

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
)

// TestOnlyReads: no method of a client that plans sends anything but a GET,
// whether the resources exist on the server, in the plan, or nowhere.
func TestOnlyReads(t *testing.T) {
	t.Parallel()
	methods, calls := sdktest.Methods(t), 0
	for _, api := range []cloudapitest.API{cloudapitest.Contract, cloudapitest.Service} {
		synctest.Test(t, func(t *testing.T) {
			p := sdktest.NewEverything(t)
			if api == cloudapitest.Service {
				snapshot, err := cloudapitest.TakeSnapshot(t.Context(), p.Client, nil)
				if err != nil {
					t.Fatal(err)
				}
				p.Server = cloudapitest.New(t, cloudapitest.WithSnapshot(snapshot), cloudapitest.WithAPI(api))
				p.Client = p.Server.Client()
			}
			existing := map[cloudapi.Kind]string{
				cloudapi.KindVM: p.VM.ID, cloudapi.KindPrivateSubnet: p.Subnet.ID, cloudapi.KindFirewall: p.Firewall.ID, cloudapi.KindFirewallRule: p.Rule.ID,
				cloudapi.KindLoadBalancer: p.Balancer.ID, cloudapi.KindPostgres: p.Postgres.ID, cloudapi.KindKubernetesCluster: p.Cluster.ID,
				cloudapi.KindSSHPublicKey: p.Key.ID, cloudapi.KindInferenceAPIKey: p.Inference.ID, cloudapi.KindKubernetesNodePool: p.Cluster.NodePools[0].ID,
				cloudapi.KindPostgresFirewallRule: p.Postgres.FirewallRules[0].ID, cloudapi.KindProject: p.Client.Project(),
			}
			before := len(p.Server.Requests())
			for _, m := range methods {
				for _, exist := range []bool{true, false} {
					plan := cloudapi.NewPlan(p.Client)
					args := slices.Clone(m.Args)
					var names []string
					for segment := range strings.SplitSeq(m.Operation.Route, "/") {
						if name, ok := strings.CutPrefix(segment, "{"); ok {
							names = append(names, strings.TrimSuffix(name, "}"))
						}
					}
					names = names[max(0, len(names)-len(m.Strings)):]
					for i, arg := range m.Strings {
						kind := arg.Kind
						if kind == "" {
							kind = sdktest.References[names[i]]
						}
						switch {
						case names[i] == "location":
							args[arg.Index] = reflect.ValueOf(sdktest.Somewhere)
						case exist && existing[kind] != "":
							args[arg.Index] = reflect.ValueOf(existing[kind])
						}
					}
					calls++
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // a Watch doesn't end
					_, err := m.Call(ctx, plan.Client(), args)
					cancel()
					if err == nil && m.Operation.Method != http.MethodGet && len(plan.Changes()) == 0 &&
						!slices.ContainsFunc([]string{"Delete", "Detach", "Set", "Wait"}, func(s string) bool { return strings.Contains(m.Name, s) }) {
						t.Errorf("%v: %s succeeds, and isn't in the plan", api, m.Name)
					}
				}
			}
			client := cloudapi.NewPlan(p.Client).Client()
			ctx := t.Context()
			for service := range reflect.TypeFor[cloudapi.Client]().Fields() {
				ensure, ok := service.Type.MethodByName("Ensure")
				if !ok {
					continue
				}
				args := []any{"new", reflect.New(ensure.Type.In(ensure.Type.NumIn() - 2).Elem()).Interface(), &cloudapi.EnsureOptions{Update: true}}
				if ensure.Type.NumIn() == 6 {
					args = append([]any{sdktest.Somewhere}, args...)
				}
				calls++
				sdktest.Do(service.Name+".Ensure", args...).On(ctx, client)
			}
			for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "HEAD"} {
				if err := client.Do(ctx, method, []string{"project", client.Project(), "vm"}, url.Values{}, nil, nil); err == nil {
					t.Errorf("Do %s succeeds", method)
				}
			}
			for _, r := range []cloudapi.Resource{p.VM.Resource(), p.Subnet.Resource(), p.Postgres.Resource(), p.Location.Resource(), p.Key.Resource()} {
				calls += 2
				if err := client.Delete(ctx, r); err != nil {
					t.Errorf("Delete: %v", err)
				}
				if err := client.WaitDeleted(ctx, r, nil); err != nil {
					t.Errorf("WaitDeleted: %v", err)
				}
			}
			for _, r := range p.Server.Requests()[before:] {
				if r.Method != http.MethodGet {
					t.Errorf("%v: a plan's client sends %s %s", api, r.Method, r.Path)
				}
			}
		})
	}
	if calls < 400 {
		t.Errorf("only %d calls were tested", calls)
	}
}
