package main

import (
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// environment is what a file says that shall exist.
type environment struct {
	Location string `yaml:"location"`

	SSHKeys []struct {
		Name      string `yaml:"name"`
		PublicKey string `yaml:"public_key"`
	} `yaml:"ssh_keys"`

	Firewalls []struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
		Rules       []rule `yaml:"rules"`
	} `yaml:"firewalls"`

	Subnets []struct {
		Name     string `yaml:"name"`
		Firewall string `yaml:"firewall"` // the name of one above
	} `yaml:"subnets"`

	VMs []struct {
		Name       string `yaml:"name"`
		Subnet     string `yaml:"subnet"`  // the name of one above
		SSHKey     string `yaml:"ssh_key"` // the name of one above
		Size       string `yaml:"size"`
		Storage    int    `yaml:"storage"` // GiB
		Image      string `yaml:"image"`
		PublicIPv4 bool   `yaml:"public_ipv4"`
	} `yaml:"vms"`

	Databases []struct {
		Name             string   `yaml:"name"`
		Size             string   `yaml:"size"`
		Storage          int      `yaml:"storage"` // GiB
		Version          string   `yaml:"version"`
		HighAvailability string   `yaml:"high_availability"`
		Allow            []string `yaml:"allow"` // who may connect, in CIDR notation
	} `yaml:"databases"`
}

// rule lets addresses connect to ports: "443", "8000..8999", or all if empty.
type rule struct {
	From  string `yaml:"from"`
	Ports string `yaml:"ports"`
}

//go:embed environment.yaml
var sample []byte

// load reads a file, or the sample if there is none.
func load(file string) (*environment, error) {
	data, name := sample, "the sample"
	if file != "" {
		name = file
		var err error
		if data, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	env := &environment{}
	if err := yaml.UnmarshalWithOptions(data, env, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %s", name, yaml.FormatError(err, false, true)) // with the line
	}
	if err := env.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return env, nil
}

// check finds names that stand for nothing, and brings rules into the form in
// which the API returns them. The rest is for the server to refuse.
func (env *environment) check() error {
	var errs []error
	if env.Location == "" {
		errs = append(errs, errors.New("there is no location"))
	}
	known := map[string]bool{}
	need := func(what, kind, name string) {
		if !known[kind+" "+name] {
			errs = append(errs, fmt.Errorf("%s needs the %s %q, which is not in the file", what, kind, name))
		}
	}
	for _, key := range env.SSHKeys {
		known["SSH key "+key.Name] = true
	}
	for i, firewall := range env.Firewalls {
		known["firewall "+firewall.Name] = true
		for j, r := range firewall.Rules {
			prefix, err := netip.ParsePrefix(r.From)
			if err != nil {
				errs = append(errs, fmt.Errorf("firewall %s: %w", firewall.Name, err))
				continue
			}
			env.Firewalls[i].Rules[j] = rule{prefix.Masked().String(), portRange(r.Ports)}
		}
	}
	for _, subnet := range env.Subnets {
		known["subnet "+subnet.Name] = true
		need("subnet "+subnet.Name, "firewall", subnet.Firewall)
	}
	for _, vm := range env.VMs {
		need("VM "+vm.Name, "subnet", vm.Subnet)
		need("VM "+vm.Name, "SSH key", vm.SSHKey)
	}
	for _, db := range env.Databases {
		for i, cidr := range db.Allow {
			prefix, err := netip.ParsePrefix(cidr)
			if err != nil {
				errs = append(errs, fmt.Errorf("database %s: %w", db.Name, err))
				continue
			}
			db.Allow[i] = prefix.Masked().String()
		}
	}
	return errors.Join(errs...)
}

// portRange writes ports as the API does: "first..last".
func portRange(ports string) string {
	switch {
	case ports == "":
		return "0..65535"
	case !strings.Contains(ports, ".."):
		return ports + ".." + ports
	}
	return ports
}

// missing returns the items of wanted that found lacks.
func missing[T comparable](wanted, found []T) []T {
	return slices.DeleteFunc(slices.Clone(wanted), func(item T) bool { return slices.Contains(found, item) })
}
