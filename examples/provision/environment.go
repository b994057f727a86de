package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
)

// environment is the content of a file: the resources that should exist.
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
		Firewall string `yaml:"firewall"` // the firewall's name in the file
	} `yaml:"subnets"`

	VMs       []vm       `yaml:"vms"`
	Databases []database `yaml:"databases"`
}

type vm struct {
	Name       string `yaml:"name"`
	Subnet     string `yaml:"subnet"`  // the subnet's name in the file
	SSHKey     string `yaml:"ssh_key"` // the key's name in the file
	Size       string `yaml:"size"`
	Storage    int    `yaml:"storage"` // GiB
	Image      string `yaml:"image"`
	PublicIPv4 bool   `yaml:"public_ipv4"`
}

type database struct {
	Name             string   `yaml:"name"`
	Size             string   `yaml:"size"`
	Storage          int      `yaml:"storage"` // GiB
	Version          string   `yaml:"version"`
	HighAvailability string   `yaml:"high_availability"`
	Allow            []string `yaml:"allow"` // the ranges that may connect, as in a rule
}

// rule allows a range of addresses, such as "203.0.113.0/24", to connect to ports:
// "443", "8000..8999", or "" for all ports.
type rule struct {
	From  string `yaml:"from"`
	Ports string `yaml:"ports"`
}

//go:embed environment.yaml
var sample []byte

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
	if err := decode(name, data, env); err != nil {
		return nil, err
	}
	if err := env.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return env, nil
}

// check finds incomplete rules and undefined names before anything is created.
// The server checks the rest.
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
	for _, firewall := range env.Firewalls {
		known["firewall "+firewall.Name] = true
		if slices.ContainsFunc(firewall.Rules, func(r rule) bool { return r.From == "" }) {
			errs = append(errs, fmt.Errorf("firewall %s: a rule lacks from", firewall.Name))
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
	return errors.Join(errs...)
}
