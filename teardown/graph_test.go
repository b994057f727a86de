package teardown

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

const here = "eu-central-h1"

var project = cloudapitest.NewID(cloudapi.KindProject).String()

// world contains resources by the names that a test has for them.
type world map[string]item

// add adds a resource in a location. Its name is its test name.
func (w world) add(kind cloudapi.Kind, name string, record cloudapi.Record) world {
	return w.addAs(cloudapi.Resource{Kind: kind, ID: cloudapitest.NewID(kind).String(), Location: here, Name: name}, name, record)
}

func (w world) addAs(r cloudapi.Resource, name string, record cloudapi.Record) world {
	w[name] = item{Resource: r, record: record}
	return w
}

func (w world) id(name string) string { return w[name].ID }

// items returns the resources in the order of the kinds, as a survey does.
func (w world) items() (all []item) {
	for _, kind := range order {
		for _, item := range w {
			if item.Kind == kind {
				all = append(all, item)
			}
		}
	}
	return all
}

// named returns the test names of IDs, sorted.
func (w world) named(ids []string) string {
	var names []string
	for name, item := range w {
		if slices.Contains(ids, item.ID) && item.ID != "" {
			names = append(names, name)
		}
	}
	if slices.Contains(ids, project) {
		names = append(names, "project")
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// newWorld returns a VM that was created from an image, in a subnet with a
// firewall and a load balancer.
func newWorld() world {
	w := world{}
	w.add(cloudapi.KindFirewall, "fw", nil)
	w.add(cloudapi.KindPrivateSubnet, "net", &cloudapi.PrivateSubnet{
		Firewalls: []cloudapi.Firewall{{ID: w.id("fw")}}, NICs: []cloudapi.NIC{{VMName: "vm"}, {VMName: "hidden"}}})
	w.add(cloudapi.KindMachineImage, "image", nil)
	w.add(cloudapi.KindVM, "vm", &cloudapi.VM{BootImage: "image@v1"})
	w.add(cloudapi.KindLoadBalancer, "lb", &cloudapi.LoadBalancer{Subnet: "net"})
	w.addAs(cloudapi.Resource{Kind: cloudapi.KindSSHPublicKey, ID: cloudapitest.NewID(cloudapi.KindSSHPublicKey).String(), Name: "key"}, "key", nil)
	return w
}

// withDatabase adds a database with its network.
func (w world) withDatabase() world { return w.withOwner(cloudapi.KindPostgres) }

// withOwner adds a cluster or a database with its network.
func (w world) withOwner(kind cloudapi.Kind) world {
	name := map[cloudapi.Kind]string{cloudapi.KindPostgres: "db", cloudapi.KindKubernetesCluster: "apps"}[kind]
	id := w.add(kind, name, nil).id(name)
	firewall := cloudapi.Resource{Kind: cloudapi.KindFirewall, ID: cloudapitest.NewID(cloudapi.KindFirewall).String(), Location: here, Name: id + "-firewall"}
	subnet := cloudapi.Resource{Kind: cloudapi.KindPrivateSubnet, ID: cloudapitest.NewID(cloudapi.KindPrivateSubnet).String(), Location: here, Name: id + "-subnet"}
	w.addAs(firewall, name+"-fw", nil)
	return w.addAs(subnet, name+"-net", &cloudapi.PrivateSubnet{Firewalls: []cloudapi.Firewall{{ID: firewall.ID}}})
}

// TestNeeds: what doesn't say in which subnet it is may be in any subnet of its
// location. What is certain about needs is in the scenarios.
func TestNeeds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		world world
		want  map[string]string // what a resource needs
	}{
		"a load balancer whose subnet isn't known": { // it may be in any
			newWorld().withDatabase().add(cloudapi.KindLoadBalancer, "lost", &cloudapi.LoadBalancer{Subnet: "renamed"}),
			map[string]string{"lost": "db db-net net project"}},
		"a load balancer and a private link service without the name of a subnet": {func() world {
			w := newWorld().add(cloudapi.KindLoadBalancer, "lost", &cloudapi.LoadBalancer{}).add(cloudapi.KindPrivateLinkService, "link", &cloudapi.PrivateLinkService{})
			return w.addAs(cloudapi.Resource{Kind: cloudapi.KindPrivateSubnet, ID: cloudapitest.NewID(cloudapi.KindPrivateSubnet).String(), Location: here}, "nameless", nil)
		}(), map[string]string{"lost": "nameless net project", "link": "nameless net project"}},
		"a private link service": {
			newWorld().withDatabase().add(cloudapi.KindPrivateLinkService, "link", &cloudapi.PrivateLinkService{PrivateSubnet: "net"}).
				add(cloudapi.KindPrivateLinkService, "lost", &cloudapi.PrivateLinkService{PrivateSubnet: "renamed"}),
			map[string]string{"link": "net project", "lost": "db-net net project"}},
		"a load balancer whose subnet is known without the record": {func() world {
			w := newWorld().withDatabase().add(cloudapi.KindLoadBalancer, "known", &cloudapi.LoadBalancer{})
			known := w["known"]
			known.subnet = w.id("net")
			w["known"] = known
			return w
		}(), map[string]string{"known": "net project"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := needs(tt.world.items(), project)
			for user, want := range tt.want {
				if text := tt.world.named(got[tt.world.id(user)]); text != want {
					t.Errorf("%s needs %q, want %q", user, text, want)
				}
			}
			users := usersOf(tt.world.items(), project)
			for user, needed := range got {
				for _, id := range needed {
					if !slices.ContainsFunc(users[id], func(r cloudapi.Resource) bool { return r.ID == user }) {
						t.Errorf("the users of %s are %v", id, users[id])
					}
				}
			}
		})
	}
}

// TestArrange: the steps are in an order in which they can be deleted, whatever
// the order of the resources, which stay unchanged. What is kept keeps what it
// needs.
func TestArrange(t *testing.T) {
	t.Parallel()
	w := newWorld().withOwner(cloudapi.KindKubernetesCluster)
	w.addAs(cloudapi.Resource{Kind: cloudapi.KindLoadBalancer, Location: here, Name: w.id("apps") + "-services"}, "unlisted", nil)
	for name, tt := range map[string]struct {
		keep   string // the test name of what is kept
		stages []string
		kept   string
	}{
		"everything":              {"", []string{"apps key lb vm", "apps-net image net", "apps-fw fw"}, ""},
		"a VM":                    {"vm", []string{"apps key lb", "apps-net", "apps-fw"}, "fw image net project vm"},
		"a firewall of a cluster": {"apps-fw", []string{"key lb vm", "image net", "fw"}, "apps apps-fw apps-net project"},
		"a key":                   {"key", []string{"apps lb vm", "apps-net image net", "apps-fw fw"}, "key project"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := append(w.items(), item{Resource: cloudapi.Resource{Kind: cloudapi.KindProject, ID: project, Name: "main"}})
			if tt.keep == "" {
				all = all[:len(all)-1] // without the project
			}
			random := rand.New(rand.NewPCG(1, 2))
			for range 50 {
				random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				before := slices.Clone(all)
				var keep func(cloudapi.Resource) bool
				if tt.keep != "" {
					keep = func(r cloudapi.Resource) bool { return r.ID == w.id(tt.keep) }
				}
				g := arrange(all, project, keep)
				if !reflect.DeepEqual(all, before) {
					t.Fatal("the resources were changed")
				}
				var stages []string
				for stage := range tt.stages {
					var ids []string
					for _, s := range g.steps {
						if s.stage == stage {
							ids = append(ids, s.resource.ID)
						}
					}
					stages = append(stages, w.named(ids))
				}
				var kept []string
				for _, k := range g.kept {
					kept = append(kept, k.resource.ID)
				}
				if !slices.Equal(stages, tt.stages) || w.named(kept) != tt.kept {
					t.Fatalf("the stages are %q, want %q; kept is %q, want %q", stages, tt.stages, w.named(kept), tt.kept)
				}
				for i, s := range g.steps {
					for _, other := range s.before {
						if other >= i || g.steps[other].stage >= s.stage {
							t.Fatalf("%v comes before %v", s.resource, g.steps[other].resource)
						}
					}
				}
				if owner := w.id("apps"); (len(g.unlisted[owner]) == 1) == slices.Contains(kept, owner) {
					t.Errorf("%v goes with the cluster, and kept is %v", g.unlisted, g.kept)
				}
				if g.subnets[w.id("lb")] != w.id("net") {
					t.Errorf("the subnets are %v", g.subnets)
				}
			}
		})
	}
}

// TestArrangeCircles: two resources that seem to need each other are both
// deleted.
func TestArrangeCircles(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w["net"].record.(*cloudapi.PrivateSubnet).Firewalls = []cloudapi.Firewall{{ID: w.id("vm")}} // nonsense
	if g := arrange(w.items(), project, nil); len(g.steps) != len(w) || len(g.kept) > 0 {
		t.Errorf("%+v", g)
	}
	if g := arrange(nil, project, nil); len(g.steps)+len(g.kept)+len(g.unlisted) > 0 {
		t.Errorf("%+v", g)
	}
}
