// Ansible is a dynamic inventory: it tells Ansible which VMs a project has.
//
//	ansible-playbook -i ./ansible site.yml    # the built program
//	ansible --list
//	ansible --host web-1
//
// The hosts are the VMs that have an address, in groups by location, size,
// state and subnet, such as location_eu_central_h1 and state_running. A host
// has the name of its VM, or name.location if several locations have a VM with
// that name.
//
// The variable ansible_host is the public address. To use the private one:
//
//	ansible-playbook -e 'ansible_host={{ ubicloud_private_ipv4 }}' …
//
// A playbook must not get hosts that don't exist, so the program uses its
// embedded server only with --demo, which Ansible never passes.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

// read returns the VMs of a project as hosts.
func read(ctx context.Context, client *cloudapi.Client) (*inventory, error) {
	vms, err := cloudapi.Collect(client.VMs.All(ctx, nil))
	if err != nil {
		return nil, err
	}
	if len(vms) == 0 { // Ansible accepts an inventory without hosts: check that the token sees the project
		if err := client.CheckAccess(ctx); err != nil {
			return nil, err
		}
	}
	type network struct{ subnet, ip4, ip6 string }
	networks := map[string]network{} // by location and name of the VM; the list of VMs has no networks
	for subnet, err := range client.PrivateSubnets.All(ctx, nil) {
		if err != nil {
			return nil, err
		}
		for _, nic := range subnet.NICs {
			ip4, _, _ := strings.Cut(nic.PrivateIPv4, "/")
			ip6, _, _ := strings.Cut(nic.PrivateIPv6, "/")
			networks[subnet.Location+"/"+nic.VMName] = network{subnet.Name, ip4, ip6}
		}
	}
	count := map[string]int{} // number of VMs by name
	for _, vm := range vms {
		count[vm.Name]++
	}
	i := &inventory{map[string][]string{}, map[string]map[string]any{}}
	for _, vm := range vms {
		address := cmp.Or(vm.IPv4, vm.IPv6)
		if address == "" {
			continue
		}
		name := vm.Name
		if count[name] > 1 {
			name += "." + vm.Location
		}
		network := networks[vm.Location+"/"+vm.Name]
		i.hosts[name] = map[string]any{
			"ansible_host":          address,
			"ansible_user":          vm.UnixUser,
			"ubicloud_id":           vm.ID,
			"ubicloud_name":         vm.Name,
			"ubicloud_location":     vm.Location,
			"ubicloud_state":        vm.State,
			"ubicloud_size":         vm.Size,
			"ubicloud_image":        vm.BootImage,
			"ubicloud_public_ipv4":  vm.IPv4,
			"ubicloud_public_ipv6":  vm.IPv6,
			"ubicloud_private_ipv4": network.ip4,
			"ubicloud_private_ipv6": network.ip6,
			"ubicloud_subnet":       network.subnet,
		}
		for kind, value := range map[string]string{"location": vm.Location, "size": vm.Size, "state": vm.State, "subnet": network.subnet} {
			if value != "" {
				group := kind + "_" + notInGroupName.ReplaceAllString(value, "_")
				i.groups[group] = append(i.groups[group], name)
			}
		}
	}
	for _, hosts := range i.groups {
		slices.Sort(hosts)
	}
	return i, nil
}

var notInGroupName = regexp.MustCompile("[^a-zA-Z0-9]")

// inventory contains the names of hosts by group, and variables by host name.
type inventory struct {
	groups map[string][]string
	hosts  map[string]map[string]any
}

// MarshalJSON returns what Ansible expects from an inventory script. With
// _meta, Ansible doesn't call the program again for each host.
func (i *inventory) MarshalJSON() ([]byte, error) {
	script := map[string]any{"_meta": map[string]any{"hostvars": i.hosts}}
	for name, hosts := range i.groups {
		script[name] = map[string]any{"hosts": hosts}
	}
	return json.Marshal(script)
}

func main() { demo.Main("ansible", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("ansible", flag.ExitOnError)
	list := flags.Bool("list", false, "print all groups and hosts")
	host := flags.String("host", "", "print the variables of the host with this `name`")
	useDemo := flags.Bool("demo", false, "use the server inside the program")
	flags.Parse(args)
	if flags.NArg() > 0 {
		return demo.Usagef("unexpected argument %q", flags.Arg(0))
	}
	if *list == (*host != "") {
		return demo.Usagef("use either --list or --host")
	}
	embedded, err := demo.IsEmbedded()
	switch {
	case err != nil:
		return err
	case embedded && !*useDemo:
		return fmt.Errorf("no project: set %s and %s, or try --demo", cloudapi.EnvToken, cloudapi.EnvProject)
	case *useDemo && !embedded:
		return demo.Usagef("--demo with a project in the environment")
	}
	client, closeServer, err := demo.Connect(ctx, stderr, "ansible", demo.Server{})
	if err != nil {
		return err
	}
	defer closeServer()
	inventory, err := read(ctx, client)
	if err != nil {
		return err
	}
	var output any = inventory
	if *host != "" {
		vars, ok := inventory.hosts[*host]
		if !ok {
			return fmt.Errorf("there is no host %q: no VM with an address has that name", *host)
		}
		output = vars
	}
	encoder := json.NewEncoder(stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(output)
}
