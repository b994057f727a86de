package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

type pageView struct {
	Project, Summary, Settings string
	Locations                  []locationView
}

type locationView struct {
	Name      string
	Idle      string // the names of the firewalls without a subnet
	Subnets   []subnetView
	Clusters  []*cloudapi.KubernetesCluster
	Databases []databaseView
}

type subnetView struct {
	*cloudapi.PrivateSubnet
	Gates     []gateView
	Balancers []balancerView
	VMs       []*cloudapi.VM // only VMs without a load balancer
}

// gateView says who can pass a firewall or connect to a database: everybody
// ("open"), some ("guarded"), or nobody ("shut").
type gateView struct{ Name, Access, Rules string }

type balancerView struct {
	*cloudapi.LoadBalancer
	Members []*cloudapi.VM
}

type databaseView struct {
	*cloudapi.Postgres
	Role   string
	Access gateView
}

// writePage writes a page with one panel per location. A subnet has its
// firewalls at the top, then each load balancer with its VMs, and then its
// other VMs. What the service created for a cluster or a database isn't shown.
func writePage(w io.Writer, inv *inventory) error {
	inv = withoutManaged(inv)
	view := pageView{Project: inv.Project.Name, Summary: summary(inv), Settings: settings(inv)}
	for _, location := range locations(inv) {
		view.Locations = append(view.Locations, viewLocation(inv, location))
	}
	return page.Execute(w, view)
}

// withoutManaged returns the inventory without the networks, firewalls and load
// balancers of clusters and databases: their names begin with the owner's ID.
func withoutManaged(inv *inventory) *inventory {
	isManaged := func(name string) bool {
		owner, _, _ := strings.Cut(name, "-")
		return slices.ContainsFunc(inv.Postgres, func(db *cloudapi.Postgres) bool { return db.ID == owner }) ||
			slices.ContainsFunc(inv.KubernetesClusters, func(k *cloudapi.KubernetesCluster) bool { return k.ID == owner })
	}
	own := *inv
	own.PrivateSubnets = only(inv.PrivateSubnets, func(r *cloudapi.PrivateSubnet) bool { return !isManaged(r.Name) })
	own.Firewalls = only(inv.Firewalls, func(r *cloudapi.Firewall) bool { return !isManaged(r.Name) })
	own.LoadBalancers = only(inv.LoadBalancers, func(r *cloudapi.LoadBalancer) bool { return !isManaged(r.Name) })
	return &own
}

func viewLocation(inv *inventory, location string) locationView {
	view := locationView{Name: location}
	used := map[string]bool{} // the IDs of the firewalls that protect a subnet
	for _, subnet := range only(inv.PrivateSubnets, func(r *cloudapi.PrivateSubnet) bool { return r.Location == location }) {
		s := subnetView{PrivateSubnet: subnet}
		for _, firewall := range subnet.Firewalls {
			used[firewall.ID] = true
			s.Gates = append(s.Gates, gate(firewall.Name, ruleTexts(firewall.FirewallRules)))
		}
		inside := func(vm *cloudapi.VM) bool { return vm.Location == location && vm.Subnet == subnet.Name }
		balanced := map[string]bool{}
		for _, lb := range inv.LoadBalancers {
			if lb.Location != location || lb.Subnet != subnet.Name {
				continue
			}
			members := only(inv.VMs, func(vm *cloudapi.VM) bool { return inside(vm) && slices.Contains(lb.VMs, vm.ID) })
			for _, vm := range members {
				balanced[vm.ID] = true
			}
			s.Balancers = append(s.Balancers, balancerView{lb, members})
		}
		s.VMs = only(inv.VMs, func(vm *cloudapi.VM) bool { return inside(vm) && !balanced[vm.ID] })
		view.Subnets = append(view.Subnets, s)
	}
	for _, firewall := range inv.Firewalls {
		if firewall.Location == location && !used[firewall.ID] {
			view.Idle = strings.Join(append(strings.Fields(view.Idle), firewall.Name), " ")
		}
	}
	view.Clusters = only(inv.KubernetesClusters, func(r *cloudapi.KubernetesCluster) bool { return r.Location == location })
	for _, db := range only(inv.Postgres, func(r *cloudapi.Postgres) bool { return r.Location == location }) {
		view.Databases = append(view.Databases, databaseView{db, role(db), databaseAccess(db)})
	}
	return view
}

func gate(name string, rules []string) gateView {
	switch {
	case len(rules) == 0:
		return gateView{name, "shut", "nothing gets in"}
	case slices.ContainsFunc(rules, func(rule string) bool { return strings.HasSuffix(rule, anywhere) }):
		return gateView{name, "open", strings.Join(rules, "; ")}
	}
	return gateView{name, "guarded", strings.Join(rules, "; ")}
}

func databaseAccess(db *cloudapi.Postgres) gateView {
	var sources []string
	for _, rule := range db.FirewallRules {
		if source := "from " + sourceText(rule.CIDR); !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
	}
	return gate("", sources)
}

func summary(inv *inventory) string {
	var texts []string
	for _, family := range []struct {
		n     int
		thing string
	}{
		{len(inv.PrivateSubnets), "subnet"}, {len(inv.Firewalls), "firewall"}, {len(inv.VMs), "VM"},
		{len(inv.LoadBalancers), "load balancer"}, {len(inv.Postgres), "database"}, {len(inv.KubernetesClusters), "cluster"},
	} {
		if family.n > 0 {
			texts = append(texts, count(family.n, family.thing))
		}
	}
	if len(texts) == 0 {
		return "nothing in it yet"
	}
	return strings.Join(texts, " · ")
}

// settings describes the project's resources that aren't in a location.
func settings(inv *inventory) string {
	var texts []string
	add := func(thing string, names []string) {
		if len(names) > 0 {
			texts = append(texts, thing+": "+strings.Join(names, ", "))
		}
	}
	add("SSH keys", each(inv.SSHPublicKeys, func(r *cloudapi.SSHPublicKey) string { return r.Name }))
	add("Init scripts", each(inv.VMInitScripts, func(r *cloudapi.VMInitScript) string { return r.Name }))
	add("Private locations", each(inv.PrivateLocations, func(r *cloudapi.PrivateLocation) string {
		return fmt.Sprintf("%s (%s %s)", r.UIName, r.Provider, r.Name)
	}))
	if n := len(inv.InferenceAPIKeys); n > 0 {
		texts = append(texts, count(n, "inference key"))
	}
	return strings.Join(texts, " · ")
}

func locations(inv *inventory) []string {
	all := slices.Concat(
		each(inv.PrivateSubnets, func(r *cloudapi.PrivateSubnet) string { return r.Location }),
		each(inv.Firewalls, func(r *cloudapi.Firewall) string { return r.Location }),
		each(inv.Postgres, func(r *cloudapi.Postgres) string { return r.Location }),
		each(inv.KubernetesClusters, func(r *cloudapi.KubernetesCluster) string { return r.Location }))
	slices.Sort(all)
	return slices.Compact(all)
}

func only[T any](items []*T, keep func(*T) bool) []*T {
	return slices.DeleteFunc(slices.Clone(items), func(item *T) bool { return !keep(item) })
}

func each[T any](items []*T, text func(*T) string) []string {
	var texts []string
	for _, item := range items {
		texts = append(texts, text(item))
	}
	return texts
}
