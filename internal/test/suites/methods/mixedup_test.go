package methods_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestRecordsOfAPath: a record must match the path and the request. A record of
// another resource is an error, and nothing is done to that resource.
func TestRecordsOfAPath(t *testing.T) {
	t.Parallel()
	const id, otherID = "vm064pbm96ba3grq6vbsvjb3ax", stub.VMID
	spelled := strings.NewReplacer("0", "o", "1", "l").Replace // other spellings of the same ID for the server
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
	balancer := sdktest.Do("LoadBalancers.Create", "eu", "a", &cloudapi.LoadBalancerCreateRequest{PrivateSubnetID: cloudapitest.NewID(cloudapi.KindPrivateSubnet).String()})
	key := sdktest.Do("SSHPublicKeys.Update", "old", &cloudapi.SSHPublicKeyUpdateRequest{Name: "new"})
	newKey := sdktest.Do("SSHPublicKeys.Create", "mine", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: "k"})
	script := sdktest.Do("VMInitScripts.Create", "mine", &cloudapi.VMInitScriptCreateRequest{Script: "s"})
	newPlace := sdktest.Do("PrivateLocations.Create", "mine", &cloudapi.PrivateLocationCreateRequest{ProviderLocationName: "us-east-1",
		AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret")})
	place := func(reference string) sdktest.Call { return sdktest.Do("PrivateLocations.Get", reference) }
	version := sdktest.Do("MachineImages.CreateVersion", "eu", "golden", "v1", &cloudapi.MachineImageVersionCreateRequest{VMID: cloudapitest.NewID(cloudapi.KindVM).String()})
	access := sdktest.Do("CheckAccess")
	once := &cloudapi.WaitOptions{Tolerance: -1}
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
		{"a deletion to wait for", sdktest.Do("VMs.WaitDeleted", "eu", id, once), vm(otherID, "a", "eu"), "id", false},
		{"a state to wait for", sdktest.Do("VMs.WaitRunning", "eu", "a", once), vm(id, "b", "eu"), "name", false},
		{"rules to set", sdktest.Do("Firewalls.SetRules", "eu", "edge", []cloudapi.FirewallRuleCreateRequest{}), vm(id, "other", "eu"), "name", false},
		{"a VM to delete", sdktest.Do("DeleteExisting", "eu/a", cloudapi.KindVM), vm(id, "b", "eu"), "name", false},
		{"a VM to delete by ID", sdktest.Do("DeleteExisting", "eu/"+id), vm(otherID, "a", "eu"), "id", false},
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
