package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/internal/demo"
)

// Sizes in pixels.
const (
	margin     = 28.0 // around the picture and its panels
	gap        = 16.0 // between cards, and inside them
	space      = 8.0  // between tiles
	tileW      = 150.0
	tileH      = 60.0
	barH       = 26.0 // of firewalls and load balancers
	headH      = 36.0 // of a card
	panelHeadH = 44.0
	maxColumns = 9
	maxPanelW  = maxColumns*(tileW+space) - space + 4*gap // width of a panel with the widest card
	minPanelW  = 620.0
)

// Colors of shapes and texts.
var (
	page     = style{"#f5f7fb", "none"}
	panel    = style{"#ffffff", "#d9dfea"}
	network  = style{"#eff4fd", "#b8ccef"}
	tile     = style{"#ffffff", "#cdd7e6"}
	balance  = style{"#3f6fc9", "none"}
	pool     = style{"#dfe9fb", "#a9c1ec"}
	open     = style{"#fff1d6", "#e8b757"}
	guarded  = style{"#e5f4e9", "#8cc79c"}
	shut     = style{"#eceff4", "#b7bfcc"}
	database = style{"#f4effc", "#b9a2e3"}
	cluster  = style{"#e8f6f5", "#84c5c0"}

	ink, faint, white = "#1f2a3d", "#62708a", "#fff"
	title             = font{22, true, ink}
	heading           = font{15, true, ink}
	name              = font{13, true, ink}
	small             = font{11, false, faint}
	onOpen            = font{11, false, "#7a5200"}
	onGuarded         = font{11, false, "#22643a"}
	onBalance         = font{12, true, white}
)

// dark has the colors for viewers with a dark theme. Colors that it lacks suit
// both themes.
var dark = map[string]string{
	page.fill:       "#0d1117",
	panel.fill:      "#161b22",
	panel.stroke:    "#30363d",
	network.fill:    "#121d2f",
	network.stroke:  "#2b4a7a",
	tile.stroke:     "#3a4557",
	pool.fill:       "#1b2c4a",
	pool.stroke:     "#35598f",
	open.fill:       "#3a2a0b",
	open.stroke:     "#8a6414",
	guarded.fill:    "#10281a",
	guarded.stroke:  "#2f6b42",
	shut.fill:       "#21262d",
	shut.stroke:     "#4b5563",
	database.fill:   "#1f1730",
	database.stroke: "#5a4490",
	cluster.fill:    "#0f2624",
	cluster.stroke:  "#2f6f6a",
	ink:             "#e6edf3",
	faint:           "#9aa7bd",
	onOpen.color:    "#f0c674",
	onGuarded.color: "#7fd99a",
}

// stateColor is green for working states, gray for resting ones, amber for
// transitions and red for problems.
func stateColor(state string) string {
	switch state {
	case cloudapi.VMStateRunning, cloudapi.PrivateSubnetStateAvailable:
		return "#2fa45b"
	case cloudapi.VMStateStopped:
		return "#98a3b5"
	case cloudapi.VMStateNoCapacityAvailable, cloudapi.PostgresStateUnavailable:
		return "#d64545"
	}
	return "#e39a1c"
}

// card is part of the picture: it has a size and can be drawn anywhere,
// possibly higher than necessary.
type card struct {
	w, h float64
	draw func(c *canvas, x, y, h float64)
}

// draw returns a picture of an inventory as SVG, with one panel per location.
// The cards of a panel are first the subnets, with firewalls as gates above
// load balancers and VMs, then the clusters and the databases. What the service
// created for a cluster or a database isn't drawn.
func draw(inv *inventory) []byte {
	inv = withoutManaged(inv)
	var body canvas
	rows := map[string][][]card{} // by location
	panelW := minPanelW
	for _, location := range locations(inv) {
		rows[location] = flow(cards(inv, location), maxPanelW-2*gap)
		for _, row := range rows[location] {
			panelW = max(panelW, rowWidth(row)+2*gap)
		}
	}

	y := margin + 26
	body.text(margin, y, panelW-300, title, inv.Project.Name)
	legend(&body, margin+panelW, y, inv)
	y += 24
	body.text(margin, y, panelW, small, summary(inv))
	y += gap
	for _, location := range locations(inv) {
		y += drawPanel(&body, margin, y, panelW, location, unattached(inv, location), rows[location]) + gap
	}
	if text := settings(inv); text != "" {
		body.text(margin, y+10, panelW, small, text)
		y += gap
	}
	w, h := panelW+2*margin, y+margin-gap

	var picture bytes.Buffer
	fmt.Fprintf(&picture, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f"`+
		` font-family="'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif">`+"\n", w, h, w, h)
	picture.WriteString("<style>@media (prefers-color-scheme: dark) {\n")
	for _, light := range slices.Sorted(maps.Keys(dark)) {
		fmt.Fprintf(&picture, "[fill=%q] {fill: %s} [stroke=%q] {stroke: %s}\n", light, dark[light], light, dark[light])
	}
	picture.WriteString("}</style>\n")
	fmt.Fprintf(&picture, `<rect width="%.0f" height="%.0f" fill="%s"/>`+"\n", w, h, page.fill)
	picture.WriteString(body.String())
	picture.WriteString("</svg>\n")
	return picture.Bytes()
}

// withoutManaged returns the inventory without the networks, firewalls and load
// balancers of clusters and databases: their names begin with the owner's ID.
func withoutManaged(inv *inventory) *inventory {
	isManaged := func(name string) bool {
		owner, _, _ := strings.Cut(name, "-")
		return slices.ContainsFunc(inv.Postgres, func(db *cloudapi.Postgres) bool { return db.ID == owner }) ||
			slices.ContainsFunc(inv.KubernetesClusters, func(k *cloudapi.KubernetesCluster) bool { return k.ID == owner })
	}
	drawn := *inv
	drawn.PrivateSubnets = slices.DeleteFunc(slices.Clone(inv.PrivateSubnets), func(r *cloudapi.PrivateSubnet) bool { return isManaged(r.Name) })
	drawn.Firewalls = slices.DeleteFunc(slices.Clone(inv.Firewalls), func(r *cloudapi.Firewall) bool { return isManaged(r.Name) })
	drawn.LoadBalancers = slices.DeleteFunc(slices.Clone(inv.LoadBalancers), func(r *cloudapi.LoadBalancer) bool { return isManaged(r.Name) })
	return &drawn
}

// legend explains the colors in the picture, from right to left.
func legend(c *canvas, x, y float64, inv *inventory) {
	var states []string
	note := func(state string) {
		if !slices.Contains(states, state) {
			states = append(states, state)
		}
	}
	for _, vm := range inv.VMs {
		note(vm.State)
	}
	for _, db := range inv.Postgres {
		note(db.State)
	}
	for _, k := range inv.KubernetesClusters {
		note(k.DisplayState)
	}
	slices.Sort(states)
	for _, state := range slices.Backward(states) {
		c.textLeft(x, y, 200, small, state)
		x -= small.width(state) + 10
		c.dot(x, y-4, 4.5, stateColor(state))
		x -= 18
	}
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
			texts = append(texts, demo.Count(family.n, family.thing))
		}
	}
	if len(texts) == 0 {
		return "nothing in it yet"
	}
	return strings.Join(texts, "  ·  ")
}

// settings describes the project's resources that aren't in a location.
func settings(inv *inventory) string {
	var texts []string
	add := func(thing string, names []string) {
		if len(names) > 0 {
			texts = append(texts, thing+": "+strings.Join(names, ", "))
		}
	}
	add("SSH keys", names(inv.SSHPublicKeys, func(r *cloudapi.SSHPublicKey) string { return r.Name }))
	add("Init scripts", names(inv.VMInitScripts, func(r *cloudapi.VMInitScript) string { return r.Name }))
	add("Private locations", names(inv.PrivateLocations, func(r *cloudapi.PrivateLocation) string {
		return r.UIName + " (" + r.Provider + " " + r.Name + ")"
	}))
	if n := len(inv.InferenceAPIKeys); n > 0 {
		texts = append(texts, demo.Count(n, "inference key"))
	}
	return strings.Join(texts, "   ·   ")
}

func names[T any](items []*T, name func(*T) string) []string {
	var texts []string
	for _, item := range items {
		texts = append(texts, name(item))
	}
	return texts
}

// locations returns the locations that contain resources.
func locations(inv *inventory) []string {
	all := names(inv.PrivateSubnets, func(r *cloudapi.PrivateSubnet) string { return r.Location })
	all = append(all, names(inv.Firewalls, func(r *cloudapi.Firewall) string { return r.Location })...)
	all = append(all, names(inv.VMs, func(r *cloudapi.VM) string { return r.Location })...)
	all = append(all, names(inv.Postgres, func(r *cloudapi.Postgres) string { return r.Location })...)
	all = append(all, names(inv.KubernetesClusters, func(r *cloudapi.KubernetesCluster) string { return r.Location })...)
	slices.Sort(all)
	return slices.Compact(all)
}

// drawPanel draws a location and returns its height.
func drawPanel(c *canvas, x, y, w float64, location, note string, rows [][]card) float64 {
	height := panelHeadH
	for _, row := range rows {
		height += rowHeight(row) + gap
	}
	c.box(x, y, w, height, 12, panel)
	c.text(x+gap, y+28, w/2, heading, location)
	c.textLeft(x+w-gap, y+28, w/2, small, note)
	cardY := y + panelHeadH
	for _, row := range rows {
		cardX, rowH := x+gap, rowHeight(row)
		for _, card := range row {
			card.draw(c, cardX, cardY, rowH)
			cardX += card.w + gap
		}
		cardY += rowH + gap
	}
	return height
}

// flow arranges cards in rows, like words in lines.
func flow(cards []card, width float64) [][]card {
	var rows [][]card
	left := 0.0
	for _, card := range cards {
		if card.w > left {
			rows = append(rows, nil)
			left = width
		}
		last := len(rows) - 1
		rows[last] = append(rows[last], card)
		left -= card.w + gap
	}
	return rows
}

func rowWidth(row []card) float64 {
	width := -gap
	for _, card := range row {
		width += card.w + gap
	}
	return width
}

func rowHeight(row []card) float64 {
	height := 0.0
	for _, card := range row {
		height = max(height, card.h)
	}
	return height
}

// unattached returns the names of the firewalls without a subnet.
func unattached(inv *inventory, location string) string {
	used := map[string]bool{}
	for _, subnet := range inv.PrivateSubnets {
		for _, firewall := range subnet.Firewalls {
			used[firewall.ID] = true
		}
	}
	var idle []string
	for _, firewall := range inv.Firewalls {
		if firewall.Location == location && !used[firewall.ID] {
			idle = append(idle, firewall.Name)
		}
	}
	if idle == nil {
		return ""
	}
	return "firewalls without a subnet: " + strings.Join(idle, ", ")
}
