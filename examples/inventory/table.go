package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

// writeTable leaves out the IDs, which are in the last column.
func writeTable(w io.Writer, inv *inventory) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows(inv) {
		cells := row[:len(row)-1]
		for i := range cells {
			cells[i] = demo.Printable(cells[i])
		}
		fmt.Fprintln(columns, strings.Join(cells, "\t"))
	}
	return columns.Flush()
}

func writeCSV(w io.Writer, inv *inventory) error { return csv.NewWriter(w).WriteAll(rows(inv)) }

// writeJSON writes all fields. Keys and passwords are of type cloudapi.Secret,
// which encodes as "[redacted]".
func writeJSON(w io.Writer, inv *inventory) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(inv)
}

// rows returns a header, and then a row for each resource.
func rows(inv *inventory) [][]string {
	rows := [][]string{{"KIND", "LOCATION", "NAME", "STATE", "DETAILS", "ID"}}
	add := func(kind cloudapi.Kind, location, name, state, id string, details ...string) {
		known := slices.DeleteFunc(details, func(text string) bool { return text == "" })
		rows = append(rows, []string{kind.String(), location, name, state, strings.Join(known, ", "), id})
	}
	for _, r := range inv.PrivateSubnets {
		add(cloudapi.KindPrivateSubnet, r.Location, r.Name, r.State, r.ID, r.Net4, count(len(r.NICs), "interface"))
	}
	for _, r := range inv.Firewalls {
		add(cloudapi.KindFirewall, r.Location, r.Name, "", r.ID, strings.Join(ruleTexts(r.FirewallRules), "; "))
	}
	for _, r := range inv.VMs {
		add(cloudapi.KindVM, r.Location, r.Name, r.State, r.ID, r.Size, "subnet "+r.Subnet, address(r.PrivateIPv4), address(r.IPv4))
	}
	for _, r := range inv.LoadBalancers {
		add(cloudapi.KindLoadBalancer, r.Location, r.Name, "", r.ID, fmt.Sprintf("port %d to %d of %s", r.SrcPort, r.DstPort, count(len(r.VMs), "VM")), "subnet "+r.Subnet)
	}
	for _, r := range inv.Postgres {
		add(cloudapi.KindPostgres, r.Location, r.Name, r.State, r.ID, "version "+r.Version, r.VMSize, fmt.Sprint(r.StorageSizeGiB, " GiB"), role(r))
	}
	for _, r := range inv.KubernetesClusters {
		nodes := 0
		for _, pool := range r.NodePools {
			nodes += pool.NodeCount
		}
		add(cloudapi.KindKubernetesCluster, r.Location, r.Name, r.DisplayState, r.ID, r.Version, fmt.Sprintf("%d+%s", r.CPNodeCount, count(nodes, "node")))
	}
	for _, r := range inv.PrivateLocations {
		add(cloudapi.KindPrivateLocation, "", r.UIName, "", r.ID, r.Provider+" "+r.Name)
	}
	for _, r := range inv.SSHPublicKeys {
		add(cloudapi.KindSSHPublicKey, "", r.Name, "", r.ID)
	}
	for _, r := range inv.VMInitScripts {
		add(cloudapi.KindVMInitScript, "", r.Name, "", r.ID)
	}
	for _, r := range inv.InferenceAPIKeys {
		add(cloudapi.KindInferenceAPIKey, "", r.ID, "", r.ID) // it has no name
	}
	return rows
}

// count returns a number of things, such as "1 VM" or "2 VMs".
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}

func role(db *cloudapi.Postgres) string {
	switch {
	case db.ReadReplica && db.Parent == "":
		return "replica of a deleted database"
	case db.ReadReplica:
		return "replica of " + path.Base(db.Parent)
	}
	return "high availability " + db.HAType
}

func address(s string) string {
	host, _, _ := strings.Cut(s, "/")
	return host
}

// ruleTexts describes firewall rules: one text for each range of addresses,
// with its ports in ascending order, such as "80, 443 from 10.0.0.0/8".
func ruleTexts(rules []cloudapi.FirewallRule) []string {
	var sources []string
	ports := map[string][]string{}
	for _, rule := range slices.SortedStableFunc(slices.Values(rules), byPorts) {
		source := sourceText(rule.CIDR)
		if ports[source] == nil {
			sources = append(sources, source)
		}
		if text := portText(rule.PortRange); !slices.Contains(ports[source], text) {
			ports[source] = append(ports[source], text)
		}
	}
	var texts []string
	for _, source := range sources {
		texts = append(texts, strings.Join(ports[source], ", ")+" from "+source)
	}
	return texts
}

func byPorts(a, b cloudapi.FirewallRule) int {
	// Invalid ranges, which no server sends, come first.
	portsA, _ := cloudapi.ParsePortRange(a.PortRange)
	portsB, _ := cloudapi.ParsePortRange(b.PortRange)
	return cmp.Or(cmp.Compare(portsA.First, portsB.First), cmp.Compare(portsA.Last, portsB.Last))
}

const anywhere = "anywhere"

func sourceText(cidr string) string {
	if cidr == "0.0.0.0/0" || cidr == "::/0" {
		return anywhere
	}
	return cidr
}

func portText(portRange string) string {
	first, last, _ := strings.Cut(portRange, "..")
	switch {
	case first == "0" && last == "65535":
		return "all ports"
	case first == last || last == "":
		return first
	}
	return first + "–" + last
}
