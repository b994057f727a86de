package families

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func TestChangesOfSnapshots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := apis["service"](t)
		fill(t, p, 700*time.Millisecond)
		before := p.snapshot()
		c, ctx := p.client, t.Context()
		settled := func() []string {
			stub.Elapse(time.Hour)
			var texts []string
			for _, c := range before.Changes(p.snapshot()) {
				text := fmt.Sprint(c.Action, " ", c.Resource.Kind, " ", c.Resource.Location, "/", c.Resource.Name)
				for _, f := range c.Fields {
					text += fmt.Sprintf("; %s: %s -> %s", f.Field, encoded(f.Before), encoded(f.After))
				}
				texts = append(texts, text)
			}
			return texts
		}
		vm := p.named(cloudapi.KindVM, "a").Core().ID
		if got := settled(); !slices.Equal(got, []string{ // no record shows that these are about to change
			`modified load balancer eu-central-h1/lb; vms: ["` + vm + `"] -> []`,
			`modified machine image eu-central-h1/golden; latest_version: "v1" -> "v2"`,
		}) {
			t.Errorf("time has changed %q", got)
		}
		before = p.snapshot()
		stub.Must(c.VMs.Create(ctx, there, "new", &cloudapi.VMCreateRequest{PublicKey: "laptop"}))(t)
		for _, e := range api.InProject[*githubCacheEntry](p.service.State, cloudapi.KindGitHubCacheEntry, p.service.State.Project(p.id)) {
			e.accessed, e.size, e.uploading = time.Now(), 7, false
		}
		stub.Must(c.PrivateLocations.Create(ctx, "second-aws", &cloudapi.PrivateLocationCreateRequest{
			ProviderLocationName: "us-east-1", AccessKey: cloudapi.NewSecret("a"), SecretKey: cloudapi.NewSecret("s"),
		}))(t)
		apiServer := p.named(cloudapi.KindKubernetesCluster, "apps").Core().ID + "-apiserver"
		if err := c.LoadBalancers.Delete(ctx, there, apiServer); err != nil {
			t.Fatal(err)
		}
		stub.Must(c.VMs.Stop(ctx, there, "b"))(t)
		stub.Must(c.PrivateLinkServices.Update(ctx, "own-aws", "young", &cloudapi.PrivateLinkServiceUpdateRequest{
			AWS: cloudapi.PrivateLinkServiceAWSUpdateRequest{SupportedRegions: []string{"us-east-2", "us-west-2"}},
		}))(t)
		stub.Must(c.VMs.Rename(ctx, there, "a", "renamed"))(t)
		stub.Must(c.Firewalls.CreateRule(ctx, there, "edge", &cloudapi.FirewallRuleCreateRequest{CIDR: "203.0.113.0/24", PortRange: "443"}))(t)
		rules := stub.Must(c.Firewalls.Get(ctx, there, "net-default"))(t).FirewallRules
		stub.Must(c.Firewalls.CreateRule(ctx, there, "net-default", &cloudapi.FirewallRuleCreateRequest{CIDR: "203.0.113.0/24"}))(t)
		if err := c.Firewalls.DeleteRule(ctx, there, "net-default", rules[0].ID); err != nil {
			t.Fatal(err)
		}
		stub.Must(c.Postgres.UpdateConfig(ctx, there, "orders", &cloudapi.PostgresConfigUpdateRequest{PGConfig: cloudapi.PostgresSettings{"work_mem": {}, "jit": cloudapi.NewPostgresSetting("off")}}))(t)
		stub.Must(c.Postgres.CreateReadReplica(ctx, there, "orders", "second-copy", nil))(t)
		stub.Must(c.Postgres.Update(ctx, there, "orders", &cloudapi.PostgresUpdateRequest{Size: "standard-4", StorageSize: 128, HAType: "sync"}))(t)
		stub.Must(c.Postgres.CreateFirewallRule(ctx, there, "orders", &cloudapi.PostgresFirewallRuleCreateRequest{CIDR: "203.0.113.0/24"}))(t)
		pool := stub.Must(c.Kubernetes.Get(ctx, there, "apps"))(t).NodePools[0]
		stub.Must(c.Kubernetes.ResizeNodePool(ctx, there, "apps", pool.ID, 4))(t)
		if err := errors.Join(c.Postgres.Delete(ctx, there, "restarting"), c.Kubernetes.Delete(ctx, there, "grown"), c.VMs.Delete(ctx, there, "stopping")); err != nil {
			t.Fatal(err)
		}
		during := before.Changes(p.snapshot())
		want := []string{
			"modified Kubernetes cluster eu-central-h1/apps; nodepools[apps-np].node_count: 2 -> 4",
			"deleted Kubernetes cluster eu-central-h1/grown",
			`modified Postgres database eu-central-h1/orders; config.pg_config.jit: null -> "off"; config.pg_config.work_mem: "64MB" -> null; ha_type: "async" -> "sync"; ` +
				`target_storage_size_gib: 64 -> 128; target_vm_size: "standard-2" -> "standard-4"`,
			`modified Postgres database eu-central-h1/orders-copy; target_storage_size_gib: 64 -> 128; target_vm_size: "standard-2" -> "standard-4"`,
			"deleted Postgres database eu-central-h1/restarting",
			"created Postgres database eu-central-h1/second-copy",
			`modified Postgres database eu-central-h1/young-copy; target_storage_size_gib: 64 -> 128; target_vm_size: "standard-2" -> "standard-4"`,
			`modified VM eu-central-h1/b; state: "running" -> "stopped"`,
			"created VM eu-central-h1/new",
			`modified VM eu-central-h1/renamed; name: "a" -> "renamed"`,
			"deleted VM eu-central-h1/stopping",
			"created firewall eu-central-h1/default-eu-central-h1-default",
			"modified firewall eu-central-h1/edge; firewall_rules: 2 -> 3",
			"modified firewall eu-central-h1/net-default; firewall_rules: 4 -> 4",
			"modified firewall eu-central-h1/" + p.named(cloudapi.KindPostgres, "orders").Core().ID + "-firewall; firewall_rules: 6 -> 8",
			"deleted load balancer eu-central-h1/" + apiServer,
			`modified private link service own-aws/young; aws.supported_regions: ["us-west-2"] -> ["us-east-2","us-west-2"]`,
			"created private location /second-aws",
			"created private subnet eu-central-h1/default-eu-central-h1",
		}
		if got := settled(); !slices.Equal(got, want) || len(during) != len(want)-1 { // the load balancer doesn't show its deletion
			t.Errorf("%d changes at first, want %d; then\n%s", len(during), len(want)-1, strings.Join(got, "\n"))
		}
	})
}

// TestWhatRequestsLeadTo sends requests of each operation, and compares the changes that are
// to be expected after each request with those an hour later.
func TestWhatRequestsLeadTo(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"service", "contract"} {
		if testing.Short() && name == "service" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := apis[name](t)
				fill(t, p, 700*time.Millisecond)
				now, expected := stub.JSON(p.snapshot()), p.settled()
				if after := stub.JSON(p.snapshot()); string(after) != string(now) {
					t.Errorf("expecting the changes changes\n%s to\n%s", now, after)
				}
				// settle compares the project, after an hour, with what was expected.
				settle := func(what any) {
					stub.Elapse(time.Hour)
					now := p.settled()
					for _, c := range expected.Changes(now) {
						t.Errorf("%v: an hour later: %s %v: %v", what, c.Action, c.Resource, c.Fields)
					}
					expected = now
				}
				settle("nothing")
				slow, requests := p.slow(), p.changing()
				random := rand.New(rand.NewPCG(1, 2))
				random.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
				for _, r := range slow {
					status, text := p.send(r)
					before := expected
					if expected = p.settled(); status >= 300 || len(before.Changes(expected)) == 0 {
						t.Errorf("%v changes nothing: %d %s", r, status, text)
					}
					settle(r)
				}
				sent := map[string]bool{}
				for _, r := range requests {
					if sent[r.operation] {
						continue
					}
					if status, _ := p.send(r); status < 300 {
						sent[r.operation] = true
						expected = p.settled()
						settle(r)
					}
				}
			})
		})
	}
}

// TestExpectedLatestVersion: the version that is ready last becomes the latest, whether or not
// somebody reads the image in between.
func TestExpectedLatestVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t, version.API{Version: version.Service}, nil)
		c, ctx := p.client, t.Context()
		capture := func(label string, takes time.Duration) {
			vm := stub.Must(c.VMs.Create(ctx, there, "for-"+label, &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA me"}))(t)
			stub.Elapse(time.Minute)
			stub.Must(c.VMs.Stop(ctx, there, vm.Name))(t)
			stub.Elapse(time.Minute)
			p.service.State.SetDelays(cloudapi.KindMachineImageVersion, label, api.Delays{Create: takes})
			if label == "v1" {
				stub.Must(c.MachineImages.Create(ctx, there, "golden", &cloudapi.MachineImageCreateRequest{VMID: vm.ID, Version: label}))(t)
			} else {
				stub.Must(c.MachineImages.CreateVersion(ctx, there, "golden", label, &cloudapi.MachineImageVersionCreateRequest{VMID: vm.ID}))(t)
			}
		}
		capture("v1", 24*time.Hour)
		capture("v2", time.Hour)
		expected := p.settled()
		stub.Elapse(48 * time.Hour)
		image := stub.Must(c.MachineImages.Get(ctx, there, "golden"))(t)
		if changes := expected.Changes(p.snapshot()); len(changes) > 0 || image.LatestVersion != "v1" {
			t.Errorf("the latest version is %q, and different from what was expected: %v", image.LatestVersion, changes)
		}
	})
}

// slow returns requests, in the order in which the project accepts them, whose
// effects no record shows at first, or only some records do.
func (p *project) slow() []request {
	id := func(kind cloudapi.Kind, name string) string { return p.named(kind, name).Core().ID }
	const local, post = "/location/" + there, http.MethodPost
	location := func(name string) string {
		return `{"name":"` + name + `","provider_location_name":"us-east-1","access_key":"a","secret_key":"s"}`
	}
	member := `{"vm_id":"` + id(cloudapi.KindVM, "a") + `"}`
	requests := []request{
		{"LoadBalancers.AttachVM", post, local + "/load-balancer/lb/attach-vm", member},
		{"LoadBalancers.DetachVM", post, local + "/load-balancer/lb/detach-vm", member},
		{"LoadBalancers.AttachVM", post, local + "/load-balancer/lb/attach-vm", member},
		{"VMs.Delete", http.MethodDelete, local + "/vm/a", ""},
		{"LoadBalancers.Delete", http.MethodDelete, local + "/load-balancer/lb", ""},
		{"PrivateSubnets.Delete", http.MethodDelete, local + "/private-subnet/other", ""},
		{"Postgres.Promote", post, local + "/postgres/orders-copy/promote", ""},
		{"PrivateLocations.Create", post, "/private-location", location("empty")},
		{"PrivateLocations.Delete", http.MethodDelete, "/private-location/empty", ""},
	}
	if p.service.Config.Version == version.Contract {
		return requests
	}
	const pools, versions = local + "/kubernetes-cluster/apps/nodepool", local + "/machine-image/golden/version/"
	return append(requests, []request{
		{"PrivateLocations.Create", post, "/private-location", location("in-use")},
		{"VMs.Create", post, "/location/in-use/vm/far", `{"public_key":"laptop"}`},
		{"PrivateLocations.Delete", http.MethodDelete, "/private-location/in-use", ""}, // blocked by the VM
		{"Kubernetes.CreateNodePool", post, pools, `{"name":"more","node_count":1,"node_size":"standard-2"}`},
		{"Kubernetes.DeleteNodePool", http.MethodDelete, pools + "/more", ""},
		{"GitHub.DeleteAllCacheEntries", http.MethodDelete, "/github/acme/repository/app/cache", ""},
		{"MachineImages.CreateVersion", post, versions + "v3", `{"vm":"` + id(cloudapi.KindVM, "stopped") + `","destroy_source":true}`},
		{"MachineImages.DeleteVersion", http.MethodDelete, versions + "v3", ""},
	}...)
}

// TestDeletionsChangeNothingElse deletes all objects of a project, one after the other. Neither
// in the meantime nor later is a deletion a change of another object that refers to the deleted
// one, and time alone completes it.
func TestDeletionsChangeNothingElse(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"service", "contract"} {
		if testing.Short() && name == "service" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := apis[name](t)
				fill(t, p, quiet)
				stub.Elapse(time.Hour)
				deleted := 0
				before := p.snapshot()
				for range 5 { // some objects can only be deleted after others
					for _, k := range copied {
						for _, raw := range before.Objects[k.kind] {
							head := headOf(raw)
							path := "/" + k.path + "/" + cmp.Or(head.UIName, head.ID)
							if head.Location != "" {
								path = "/location/" + head.Location + path
							}
							if k.outside || p.service.State.ByID[head.ID] == nil {
								continue
							}
							if status, _ := p.send(request{method: http.MethodDelete, path: path}); status != http.StatusNoContent {
								continue
							}
							during := p.snapshot()
							stub.Elapse(20 * 24 * time.Hour) // the location of a database remains for its backups
							after := p.snapshot()
							isDeleted := false
							for when, changes := range map[string][]Change{"at first": before.Changes(during), "later": during.Changes(after), "in all": before.Changes(after)} {
								for _, c := range changes {
									isDeleted = isDeleted || c.Resource.ID == head.ID
									if c.Action != Deleted {
										t.Errorf("%s %s, %s: %s %v: %v", k.kind, head.Name, when, c.Action, c.Resource, c.Fields)
									}
								}
							}
							if p.service.State.ByID[head.ID] == nil {
								deleted++
								if !isDeleted {
									t.Errorf("%s %s isn't deleted", k.kind, head.Name)
								}
							}
							before = after
						}
					}
				}
				if left := before.Objects; deleted < 30 || len(left) > 2 || len(left[cloudapi.KindMachineImage]) > 1 || len(left[cloudapi.KindGitHubInstallation]) > 1 {
					t.Errorf("%d objects were deleted; left are %s", deleted, encoded(left))
				}
			})
		})
	}
}
