package methods_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// mixingUp is a gateway that mixes up responses: a GET whose path ends with a
// key gets the response for the path with the key's value in its place.
func mixingUp(paths map[string]string) cloudapi.Option {
	return cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			for from, to := range paths {
				if path, found := strings.CutSuffix(req.URL.Path, from); found && req.Method == http.MethodGet {
					req = req.Clone(req.Context())
					req.URL.Path = path + to
					break
				}
			}
			return next.RoundTrip(req)
		})
	})
}

// TestMixedUpResponses: a response about another resource is never taken for
// the requested one, and nothing happens to the other resource.
func TestMixedUpResponses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		ctx := t.Context()
		create := func(name string) *cloudapi.VM {
			return stub.Must(client.VMs.Create(ctx, sdktest.Somewhere, name, &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
		}
		a, b := create("a"), create("b")
		other := stub.Must(client.Firewalls.Create(ctx, sdktest.Somewhere, "other", nil))(t)
		edge := stub.Must(client.Firewalls.Create(ctx, sdktest.Somewhere, "edge", nil))(t)
		stub.Must(client.Firewalls.CreateRule(ctx, sdktest.Somewhere, other.ID, &cloudapi.FirewallRuleCreateRequest{CIDR: "192.0.2.0/24"}))(t)
		stub.Must(client.VMs.WaitRunning(ctx, sdktest.Somewhere, b.ID, nil))(t)
		if err := client.VMs.Delete(ctx, sdktest.Somewhere, b.ID); err != nil {
			t.Fatal(err)
		}
		gateway := srv.Client(mixingUp(map[string]string{
			"/vm/" + a.ID: "/vm/" + b.ID, "/vm/a": "/vm/b", "/vm": "/firewall",
			"/firewall/" + edge.ID: "/firewall/" + other.ID, "/firewall/edge": "/firewall/other",
			"/north/vm": "/" + sdktest.Somewhere + "/vm",
		}))
		before := sdktest.Changes(srv)
		once := &cloudapi.WaitOptions{Tolerance: -1}
		for _, call := range []sdktest.Call{
			sdktest.Do("VMs.Get", sdktest.Somewhere, a.ID), sdktest.Do("VMs.Get", sdktest.Somewhere, "a"),
			sdktest.Do("VMs.WaitDeleted", sdktest.Somewhere, a.ID, once), sdktest.Do("VMs.WaitRunning", sdktest.Somewhere, "a", once),
			sdktest.Do("Firewalls.SetRules", sdktest.Somewhere, edge.ID, []cloudapi.FirewallRuleCreateRequest{}),
			sdktest.Do("Firewalls.SetRules", sdktest.Somewhere, "edge", []cloudapi.FirewallRuleCreateRequest{}),
			sdktest.Do("DeleteExisting", sdktest.Somewhere+"/a", cloudapi.KindVM), sdktest.Do("DeleteExisting", sdktest.Somewhere+"/"+a.ID),
		} {
			_, err := call.On(ctx, gateway)
			if e, ok := errors.AsType[*cloudapi.DecodeError](err); !ok || !strings.Contains(e.Err.Error(), "about another resource") || errors.Is(err, cloudapi.ErrOutcomeUnknown) {
				t.Errorf("%s: %v", call, err)
			}
		}
		if n := sdktest.Changes(srv) - before; n != 0 {
			t.Errorf("%d requests that change something", n)
		}
	})
}

// TestRecordsOfAPath: a record must match what the path and the request say
// about it.
func TestRecordsOfAPath(t *testing.T) {
	t.Parallel()
	const id, otherID = "vm064pbm96ba3grq6vbsvjb3ax", stub.VMID
	spelled := strings.NewReplacer("0", "o", "1", "l").Replace // the server reads both spellings alike
	vm := func(id, name, location string) string {
		return `{"id":"` + id + `","name":"` + name + `","location":"` + location + `"}`
	}
	postgres := cloudapitest.NewID(cloudapi.KindPostgres).String()
	location := cloudapitest.NewID(cloudapi.KindPrivateLocation).String()
	get := func(location, reference string) sdktest.Call { return sdktest.Do("VMs.Get", location, reference) }
	rename := func(reference, name string) sdktest.Call { return sdktest.Do("VMs.Rename", "eu", reference, name) }
	list := func(location string) sdktest.Call {
		return sdktest.Do("VMs.List", &cloudapi.ListOptions{Location: location})
	}
	create := sdktest.Do("VMs.Create", "eu", "a", &cloudapi.VMCreateRequest{})
	replica := sdktest.Do("Postgres.CreateReadReplica", "eu", postgres, "copy")
	balancer := sdktest.Do("LoadBalancers.Create", "eu", "a", &cloudapi.LoadBalancerCreateRequest{PrivateSubnetID: "x"})
	key := sdktest.Do("SSHPublicKeys.Update", "old", &cloudapi.SSHPublicKeyUpdateRequest{Name: "new"})
	newKey := sdktest.Do("SSHPublicKeys.Create", &cloudapi.SSHPublicKeyCreateRequest{Name: "mine", PublicKey: "k"})
	script := sdktest.Do("VMInitScripts.Create", &cloudapi.VMInitScriptCreateRequest{Name: "mine", Script: "s"})
	newPlace := sdktest.Do("PrivateLocations.Create", &cloudapi.PrivateLocationCreateRequest{Name: "mine", ProviderLocationName: "us-east-1",
		AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret")})
	place := func(reference string) sdktest.Call { return sdktest.Do("PrivateLocations.Get", reference) }
	version := sdktest.Do("MachineImages.CreateVersion", "eu", "golden", "v1", &cloudapi.MachineImageVersionCreateRequest{VM: "x"})
	access := sdktest.Do("CheckAccess")
	for _, tt := range []struct {
		name     string
		call     sdktest.Call
		response string
		wrong    string // in the error; "" if the record is accepted
		unknown  bool
	}{
		{"the ID", get("eu", id), vm(id, "a", "eu"), "", false},
		{"the ID alone", get("eu", id), `{"id":"` + id + `"}`, "", false},
		{"the ID in another spelling", get("eu", spelled(id)), vm(id, "a", "eu"), "", false},
		{"another ID", get("eu", id), vm(otherID, id, "eu"), "id", false},
		{"another ID in another spelling", get("eu", spelled(otherID)), vm(id, "a", "eu"), "id", false},
		{"the name", get("eu", "a"), vm(id, "a", "eu"), "", false},
		{"no name", get("eu", "a"), `{"id":"` + id + `"}`, "", false},
		{"a name like the ID of another kind", get("eu", postgres), vm(id, postgres, "eu"), "", false},
		{"another name", get("eu", "a"), vm(id, "A", "eu"), "name", false},
		{"another location", get("eu", "a"), vm(id, "a", "us"), "location", false},
		{"a renamed resource", rename("old", "new"), vm(id, "new", "eu"), "", false},
		{"another renamed resource", rename("old", "new"), vm(id, "x", "eu"), "name", true},
		{"a resource renamed by ID", rename(id, "new"), vm(id, "new", "eu"), "", false},
		{"another resource renamed by ID", rename(id, "new"), vm(otherID, "new", "eu"), "id", false},
		{"a renamed key", key, vm(id, "new", ""), "", false},
		{"another renamed key", key, vm(id, "x", ""), "name", true},
		{"a created VM", create, vm(id, "a", "eu"), "", false},
		{"another created VM", create, vm(id, "b", "eu"), "name", true},
		{"a VM created elsewhere", create, vm(id, "a", "us"), "location", true},
		{"another created key", newKey, vm(id, "other", ""), "name", true},
		{"another created script", script, vm(id, "other", ""), "name", true},
		{"another created location", newPlace, `{"id":"` + location + `","name":"us-east-1","ui_name":"other"}`, "name", true},
		{"a load balancer in the location of its subnet", balancer, vm(id, "a", "us"), "", false},
		{"another load balancer", balancer, vm(id, "b", "eu"), "name", true},
		{"a replica", replica, vm(otherID, "copy", "eu"), "", false},
		{"the database of the replica", replica, vm(postgres, "orders", "eu"), "name", true},
		{"a replica elsewhere", replica, vm(otherID, "copy", "us"), "location", true},
		{"a version", version, `{"id":"` + id + `","version":"v1"}`, "", false},
		{"another version", version, `{"id":"` + id + `","version":"v2"}`, "name", true},
		{"a private location", place("own"), `{"id":"` + location + `","name":"us-east-1","ui_name":"own"}`, "", false},
		{"another private location", place("own"), `{"id":"` + location + `","name":"own","ui_name":"x"}`, "name", false},
		{"a private location with a name like its ID", place(location), `{"id":"` + location + `","ui_name":"x"}`, "name", false},
		{"the client's project", access, vm(stub.Project, "p", ""), "", false},
		{"another project", access, vm("pj00000000021g000000000001", "p", ""), "id", false},
		{"a list", list("eu"), `{"items":[` + vm(id, "a", "eu") + `,{"id":"` + otherID + `"}],"count":2}`, "", false},
		{"a list with another location", list("eu"), `[` + vm(id, "a", "eu") + `,` + vm(otherID, "b", "us") + `]`, "item 1 is of another location", false},
		{"a list of all locations", list(""), `[` + vm(id, "a", "eu") + `,` + vm(otherID, "b", "us") + `]`, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) { return stub.Respond(200, tt.response), nil }}
			_, err := tt.call.On(t.Context(), sdktest.Recorded(t, &network))
			if n := len(network.Take()); n != 1 {
				t.Errorf("%d requests", n)
			}
			if tt.wrong == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e, ok := errors.AsType[*cloudapi.DecodeError](err)
			if !ok || !strings.Contains(e.Err.Error(), tt.wrong) || errors.Is(err, cloudapi.ErrOutcomeUnknown) != tt.unknown {
				t.Error(err)
			}
		})
	}
}
