package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/internal/demo"
)

// cards returns the cards of a location.
func cards(inv *inventory, location string) []card {
	vmsOf := map[string][]*cloudapi.VM{} // by subnet
	var subnets []*cloudapi.PrivateSubnet
	for _, subnet := range inv.PrivateSubnets {
		if subnet.Location == location {
			subnets = append(subnets, subnet)
			vmsOf[subnet.Name] = nil
		}
	}
	for _, vm := range inv.VMs {
		if vm.Location != location {
			continue
		}
		if _, ok := vmsOf[vm.Subnet]; !ok { // a subnet that the token may not see
			subnets = append(subnets, &cloudapi.PrivateSubnet{Name: vm.Subnet, Location: location})
		}
		vmsOf[vm.Subnet] = append(vmsOf[vm.Subnet], vm)
	}
	var all []card
	for _, subnet := range subnets {
		var balancers []*cloudapi.LoadBalancer
		for _, lb := range inv.LoadBalancers {
			if lb.Location == location && lb.Subnet == subnet.Name {
				balancers = append(balancers, lb)
			}
		}
		all = append(all, subnetCard(subnet, balancers, vmsOf[subnet.Name]))
	}
	for _, k := range inv.KubernetesClusters {
		if k.Location == location {
			all = append(all, clusterCard(k))
		}
	}
	return append(all, databaseCards(inv, location)...)
}

// subnetCard shows a subnet: at the top the firewalls that traffic has to pass,
// then each load balancer above its VMs, and then the other VMs.
func subnetCard(subnet *cloudapi.PrivateSubnet, balancers []*cloudapi.LoadBalancer, vms []*cloudapi.VM) card {
	columns := columnsFor(len(vms))
	w := gridWidth(columns) + 2*gap
	parts := []card{}
	for _, firewall := range subnet.Firewalls {
		parts = append(parts, gate(firewall, w-2*gap))
	}
	rest := vms
	for _, lb := range balancers {
		var members []*cloudapi.VM
		for _, vm := range vms {
			if slices.Contains(lb.VMs, vm.ID) {
				members = append(members, vm)
			}
		}
		rest = slices.DeleteFunc(slices.Clone(rest), func(vm *cloudapi.VM) bool { return slices.Contains(lb.VMs, vm.ID) })
		parts = append(parts, balancerGroup(lb, members, columns))
	}
	if len(rest) > 0 {
		parts = append(parts, grid(tiles(rest), columns))
	}
	return stack(w, network, "subnet "+subnet.Name, subnet.Net4, subnet.ID, parts)
}

// stack is a card with a heading and parts below one another.
func stack(w float64, s style, head, note, hint string, parts []card) card {
	h := headH
	for _, part := range parts {
		h += part.h + space
	}
	h += gap - space
	return card{w, h, func(c *canvas, x, y, h float64) {
		c.begin(hint)
		c.box(x, y, w, h, 9, s)
		noteW := small.width(note)
		c.text(x+gap, y+23, w-2*gap-noteW-space, name, head)
		c.textLeft(x+w-gap, y+23, noteW+1, small, note)
		c.end()
		y += headH
		for _, part := range parts {
			part.draw(c, x+gap, y, part.h)
			y += part.h + space
		}
	}}
}

// gate draws a firewall: green if it lets only some addresses in, amber if it
// lets everybody in.
func gate(firewall cloudapi.Firewall, w float64) card {
	texts := ruleTexts(firewall.FirewallRules)
	s, f := guarded, onGuarded
	switch {
	case len(texts) == 0:
		s, f, texts = shut, small, []string{"nothing gets in"}
	case slices.ContainsFunc(texts, func(text string) bool { return strings.HasSuffix(text, anywhere) }):
		s, f = open, onOpen
	}
	return card{w, barH, func(c *canvas, x, y, _ float64) {
		rules := strings.Join(texts, "; ")
		c.begin("firewall " + firewall.Name + ": " + rules)
		c.box(x, y, w, barH, barH/2, s)
		bold := f
		bold.bold = true
		label := bold.fit(firewall.Name, w*0.45)
		c.text(x+14, y+17, w, bold, label)
		c.text(x+14+bold.width(label)+10, y+17, w-bold.width(label)-38, f, f.cut(rules, w-bold.width(label)-38))
		c.end()
	}}
}

// balancerGroup draws a load balancer with lines down to its VMs.
func balancerGroup(lb *cloudapi.LoadBalancer, vms []*cloudapi.VM, columns int) card {
	const line, border = 12.0, 6.0
	w := gridWidth(columns)
	members := grid(tiles(vms), columns)
	h := barH
	if len(vms) > 0 {
		h += line + members.h + border
	}
	return card{w, h, func(c *canvas, x, y, _ float64) {
		c.box(x-border, y, w+2*border, h, 7, pool)
		for column := range min(columns, len(vms)) {
			rows := (len(vms) - column + columns - 1) / columns
			center := x + float64(column)*(tileW+space) + tileW/2
			c.line(center, y+barH, center, y+barH+line+float64(rows-1)*(tileH+space), balance.fill)
		}
		c.begin(lb.Hostname)
		c.box(x-border, y, w+2*border, barH, 7, balance)
		ports := fmt.Sprintf("port %d → %d", lb.SrcPort, lb.DstPort)
		c.text(x+12, y+17, w-36-onBalance.width(ports), onBalance, "load balancer "+lb.Name)
		c.textLeft(x+w-12, y+17, w, font{11, false, white}, ports)
		c.end()
		members.draw(c, x, y+barH+line, members.h)
	}}
}

// columnsFor returns the number of columns for n tiles.
func columnsFor(n int) int {
	return min(max(int(math.Ceil(math.Sqrt(float64(n)*1.2))), 2), maxColumns)
}

func gridWidth(columns int) float64 { return float64(columns)*(tileW+space) - space }

// grid arranges tiles in columns.
func grid(tiles []card, columns int) card {
	rows := (len(tiles) + columns - 1) / columns
	return card{gridWidth(columns), float64(rows)*(tileH+space) - space, func(c *canvas, x, y, _ float64) {
		for i, tile := range tiles {
			tile.draw(c, x+float64(i%columns)*(tileW+space), y+float64(i/columns)*(tileH+space), tileH)
		}
	}}
}

func tiles(vms []*cloudapi.VM) []card {
	var all []card
	for _, vm := range vms {
		lines := [2]string{vm.Size, address(vm.PrivateIPv4)}
		if vm.IP4 != "" {
			lines[0] += " · public"
		}
		all = append(all, tileCard(vm.Name, vm.State, lines, fmt.Sprintf("%s: %s, %d GiB, %s %s %s", vm.Name, vm.State, vm.StorageSizeGiB, vm.ID, vm.IP4, vm.IP6)))
	}
	return all
}

// tileCard draws a VM: a name with the color of its state, and two lines of
// details.
func tileCard(label, state string, lines [2]string, hint string) card {
	return card{tileW, tileH, func(c *canvas, x, y, _ float64) {
		c.begin(hint)
		c.box(x, y, tileW, tileH, 6, tile)
		c.dot(x+14, y+16, 4.5, stateColor(state))
		c.text(x+25, y+20.5, tileW-33, name, label)
		c.text(x+10, y+37, tileW-18, small, lines[0])
		c.text(x+10, y+51, tileW-18, small, lines[1])
		c.end()
	}}
}

// clusterCard shows a cluster: its control plane and its node pools.
func clusterCard(k *cloudapi.KubernetesCluster) card {
	columns := columnsFor(k.CPNodeCount)
	for _, pool := range k.NodePools {
		columns = max(columns, columnsFor(pool.NodeCount))
	}
	w := gridWidth(columns)
	var parts []card
	add := func(label string, vms []cloudapi.VM) {
		parts = append(parts, card{w, 16, func(c *canvas, x, y, _ float64) { c.text(x, y+12, w, small, label) }})
		var nodes []card
		for _, vm := range vms {
			// A node's name begins with its cluster's ID.
			label := strings.TrimPrefix(vm.Name, k.ID[:min(12, len(k.ID))]+"-")
			nodes = append(nodes, tileCard(label, vm.State, [2]string{vm.Size, vm.State}, vm.Name+", "+vm.ID))
		}
		if nodes != nil {
			parts = append(parts, grid(nodes, columns))
		}
	}
	add("control plane", k.CPVMs)
	for _, pool := range k.NodePools {
		add("node pool "+pool.Name, pool.VMs)
	}
	return stack(w+2*gap, cluster, "Kubernetes "+k.Name, k.Version, k.ID, parts)
}

// databaseCards returns a card for each database that doesn't replicate another
// one in its location, with its direct and indirect replicas below.
func databaseCards(inv *inventory, location string) []card {
	byPath := map[string]*cloudapi.Postgres{}
	for _, db := range inv.Postgres {
		if db.Location == location {
			byPath["/location/"+location+"/postgres/"+db.Name] = db
		}
	}
	var roots []*cloudapi.Postgres
	replicas := map[string][]*cloudapi.Postgres{} // by the ID of the root
	for _, db := range inv.Postgres {
		root := db
		for range inv.Postgres { // no chain is longer
			if parent := byPath[root.Parent]; root.ReadReplica && parent != nil {
				root = parent
			}
		}
		switch {
		case db.Location != location:
		case root == db:
			roots = append(roots, db)
		default:
			replicas[root.ID] = append(replicas[root.ID], db)
		}
	}
	var all []card
	for _, root := range roots {
		parts := []card{databaseTile(root, 0, 0)}
		above := space // distance to the tile, or to the line that starts there
		for _, db := range replicas[root.ID] {
			parts = append(parts, databaseTile(db, 28, above))
			above = space + databaseH/2
		}
		all = append(all, stack(databaseW+2*gap, database, "Postgres "+root.Name, "version "+root.Version, root.ID, parts))
	}
	return all
}

const (
	databaseW = 2*(tileW+space) - space // like a card with two columns
	databaseH = 74.0
)

// databaseTile draws a database. An indented database has a line to the
// database above.
func databaseTile(db *cloudapi.Postgres, indent, above float64) card {
	return card{databaseW, databaseH, func(c *canvas, x, y, _ float64) {
		if indent > 0 {
			c.line(x+indent/2, y-above, x+indent/2, y+databaseH/2, database.stroke)
			c.line(x+indent/2, y+databaseH/2, x+indent, y+databaseH/2, database.stroke)
		}
		x += indent
		w := databaseW - indent
		c.begin(db.ID)
		c.box(x, y, w, databaseH, 6, tile)
		standbys := map[string]int{cloudapi.PostgresHATypeAsync: 1, cloudapi.PostgresHATypeSync: 2}[db.HAType]
		for i := standbys; i >= 0; i-- {
			c.cylinder(x+14+float64(i)*6, y+14+float64(standbys-i)*4-float64(standbys)*2, 32, 44, database)
		}
		x += 72
		c.dot(x+4, y+16, 4.5, stateColor(db.State))
		c.text(x+15, y+20.5, w-95, name, db.Name)
		line := fmt.Sprintf("%s · %d GiB", db.VMSize, db.StorageSizeGiB)
		switch {
		case db.ReadReplica:
			line += " · replica"
		case standbys > 0:
			line += fmt.Sprintf(" · HA %s", db.HAType)
		}
		c.text(x, y+38, w-80, small, line)
		access, s, f := databaseAccess(db)
		c.box(x-2, y+47, f.width(access)+20, 18, 9, s)
		c.text(x+8, y+60, w-90, f, access)
		c.end()
	}}
}

// databaseAccess says who can connect to a database.
func databaseAccess(db *cloudapi.Postgres) (string, style, font) {
	for _, rule := range db.FirewallRules {
		if sourceText(rule.CIDR) == anywhere {
			return "open to " + anywhere, open, onOpen
		}
	}
	if len(db.FirewallRules) == 0 {
		return "nothing gets in", shut, small
	}
	return "open to " + demo.Count(len(db.FirewallRules), "range"), guarded, onGuarded
}
