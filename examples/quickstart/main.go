// Quickstart creates a small environment, inspects it, and deletes it again: an
// SSH key, a firewall with rules, a private subnet, and two VMs.
//
//	quickstart
//	quickstart --location us-east-a2
//	quickstart --timeout 5m
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

// provision creates the environment, inspects it, and deletes it.
func (env *environment) provision(ctx context.Context) (err error) {
	client, location := env.client, env.location
	defer func() {
		// This also runs after a failure, or after Ctrl-C has ended ctx.
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Minute)
		defer cancel()
		err = errors.Join(err, env.tearDown(cleanup))
	}()

	// Nothing else has this name, so it is safe to delete by name.
	name := "quickstart-" + strings.ToLower(rand.Text()[:6])
	key, err := client.SSHPublicKeys.Create(uninterrupted(ctx), name, &cloudapi.SSHPublicKeyCreateRequest{PublicKey: demo.PublicKey})
	if err != nil {
		return env.lost(err, cloudapi.KindSSHPublicKey, "", name)
	}
	env.created(cloudapi.KindSSHPublicKey, key.ID, "", name)

	firewall, err := client.Firewalls.Create(uninterrupted(ctx), location, name, &cloudapi.FirewallCreateRequest{Description: "SSH and the web"})
	if err != nil {
		return env.lost(err, cloudapi.KindFirewall, location, name)
	}
	env.created(cloudapi.KindFirewall, firewall.ID, location, name)
	for _, request := range []cloudapi.FirewallRuleCreateRequest{
		{CIDR: "192.0.2.0/24", PortRange: "22"},
		{CIDR: "0.0.0.0/0", PortRange: "443"},
	} {
		rule, err := client.Firewalls.CreateRule(ctx, location, firewall.ID, &request)
		if err != nil {
			return err
		}
		env.say("rule", name, "ports %s open to %s", rule.PortRange, rule.CIDR)
	}

	subnet, err := client.PrivateSubnets.Create(uninterrupted(ctx), location, name, &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID})
	if err != nil {
		return env.lost(err, cloudapi.KindPrivateSubnet, location, name)
	}
	env.created(cloudapi.KindPrivateSubnet, subnet.ID, location, name)

	var vms []*cloudapi.VM
	for _, name := range []string{name + "-1", name + "-2"} {
		vm, err := client.VMs.Create(uninterrupted(ctx), location, name, &cloudapi.VMCreateRequest{
			PublicKey:       key.Name,
			PrivateSubnetID: subnet.ID,
			EnableIPv4:      new(true),
		})
		if err != nil {
			return env.lost(err, cloudapi.KindVM, location, name)
		}
		env.created(cloudapi.KindVM, vm.ID, location, name)
		vms = append(vms, vm)
	}
	if err := env.waitRunning(ctx, vms); err != nil {
		return err
	}

	for vm, err := range client.VMs.All(ctx, &cloudapi.ListOptions{Location: location}) {
		if err != nil {
			return err
		}
		if strings.HasPrefix(vm.Name, name) {
			env.say("listed", vm.Name, "%s, %s, %d GiB", vm.State, vm.Size, vm.StorageSizeGiB)
		}
	}
	for _, reference := range []string{vms[0].Name, vms[0].ID} {
		vm, err := client.VMs.Get(ctx, location, reference)
		if err != nil {
			return err
		}
		env.say("found", reference, "private address %s", vm.PrivateIPv4)
	}
	return nil
}

// uninterrupted returns a context that Ctrl-C doesn't cancel. A create needs
// it, since the server could execute a canceled request after the cleanup. If
// ctx has ended, uninterrupted returns ctx.
func uninterrupted(ctx context.Context) context.Context {
	if ctx.Err() != nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

func (env *environment) waitRunning(ctx context.Context, vms []*cloudapi.VM) error {
	errs := make([]error, len(vms))
	var waits sync.WaitGroup
	for i, vm := range vms {
		waits.Go(func() {
			last := ""
			running, err := env.client.VMs.WaitRunning(ctx, env.location, vm.ID, &cloudapi.WaitOptions{Progress: func(p cloudapi.Progress) {
				if p.State != last {
					last = p.State
					env.say("VM", vm.Name, "%s", p.State)
				}
			}})
			if err != nil {
				errs[i] = err
				return
			}
			env.say("VM", vm.Name, "addresses %s and %s", running.IPv4, running.IPv6)
		})
	}
	waits.Wait()
	return errors.Join(errs...)
}

// tearDown deletes everything in reverse order.
func (env *environment) tearDown(ctx context.Context) error {
	var errs []error
	for _, r := range slices.Backward(env.resources) {
		err := env.remove(ctx, r)
		if err != nil {
			errs = append(errs, fmt.Errorf("%v %s is left over: %w", r.Kind, strings.TrimSpace(r.Name+" "+r.ID), err))
			continue
		}
		env.say(r.Kind.String(), r.Name, "deleted")
	}
	return errors.Join(errs...)
}

func (env *environment) remove(ctx context.Context, r cloudapi.Resource) error {
	if r.ID == "" { // the create got no response
		found, err := env.client.Resolve(ctx, r.Reference(), r.Kind)
		if err != nil {
			return err
		}
		r = *found
	}
	if err := env.client.Delete(ctx, r); err != nil {
		return err
	}
	return env.client.WaitDeleted(ctx, r, nil)
}

type environment struct {
	client    *cloudapi.Client
	location  string
	out       io.Writer
	start     time.Time
	mu        sync.Mutex          // guards the output
	resources []cloudapi.Resource // in the order of their creation
}

func (env *environment) created(kind cloudapi.Kind, id, location, name string) {
	env.resources = append(env.resources, cloudapi.Resource{Kind: kind, ID: id, Location: location, Name: name})
	env.say(kind.String(), name, "created: %s", id)
}

// lost records a resource that may exist although its create has failed. It
// returns the error of the create.
func (env *environment) lost(err error, kind cloudapi.Kind, location, name string) error {
	if errors.Is(err, cloudapi.ErrOutcomeUnknown) {
		env.resources = append(env.resources, cloudapi.Resource{Kind: kind, Location: location, Name: name})
	}
	return err
}

func (env *environment) say(kind, name, format string, args ...any) {
	env.mu.Lock()
	defer env.mu.Unlock()
	fmt.Fprintf(env.out, "%5.1fs  %-14s  %-19s  %s\n", time.Since(env.start).Seconds(), kind, name, fmt.Sprintf(format, args...))
}

func main() { demo.Main("quickstart", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("quickstart", flag.ExitOnError)
	location := flags.String("location", "eu-central-h1", "where to create it")
	timeout := flags.Duration("timeout", 15*time.Minute, "maximum `duration` of the whole run")
	flags.Parse(args)
	if flags.NArg() > 0 {
		return demo.Usagef("unexpected argument %q", flags.Arg(0))
	}

	// In the embedded server a VM takes two seconds; a real VM takes a minute.
	client, closeServer, err := demo.Connect(ctx, stderr, "quickstart", demo.Server{
		Delays: cloudapitest.Delays{Create: 2 * time.Second, Delete: time.Second},
		Empty:  true,
	})
	if err != nil {
		return err
	}
	defer closeServer()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	env := &environment{client: client, location: *location, out: stdout, start: time.Now()}
	if err := env.provision(ctx); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "All %d resources that it created are deleted again.\n"+
		"Next: in examples, go run ./provision creates what a file describes, and keeps it; go run ./inventory lists a project.\n", len(env.resources))
	return nil
}
