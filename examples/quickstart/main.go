// Quickstart creates a small environment, inspects it, and deletes it again: an
// SSH key, a firewall with rules, a private subnet, and two VMs.
//
//	quickstart
//	quickstart --location us-east-a2
//	quickstart --timeout 5m
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

func main() { demo.Main("quickstart", run) }

//go:embed main.go
var source string // main.go, whose first comment is the help

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := demo.NewFlags("quickstart", source, stdout)
	location := flags.String("location", "eu-central-h1", "where to create it")
	timeout := flags.Positive("timeout", 15*time.Minute, "maximum `duration` of the whole run")
	if err := flags.Parse(args, 0); err != nil {
		return err
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
	env := &environment{client: client, location: *location, out: stdout, start: time.Now(), ids: map[string]string{}}
	return env.provision(ctx)
}

type environment struct {
	client   *cloudapi.Client
	location string
	out      io.Writer
	start    time.Time
	mu       sync.Mutex // guards the output
	undo     []func(context.Context) error
	ids      map[string]string // the IDs of the created resources, by kind and name
}

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
	env.deleteLater("SSH key", name, err, client.SSHPublicKeys.Delete)
	if err != nil {
		return err
	}
	env.created("SSH key", name, key.ID)

	firewall, err := client.Firewalls.Create(uninterrupted(ctx), location, name, &cloudapi.FirewallCreateRequest{Description: "SSH and the web"})
	env.deleteLater("firewall", name, err, func(ctx context.Context, reference string) error {
		return client.Firewalls.Delete(ctx, location, reference)
	})
	if err != nil {
		return err
	}
	env.created("firewall", name, firewall.ID)
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
	env.deleteLater("subnet", name, err, func(ctx context.Context, reference string) error {
		if err := client.PrivateSubnets.Delete(ctx, location, reference); err != nil {
			return err
		}
		return client.PrivateSubnets.WaitDeleted(ctx, location, reference, nil)
	})
	if err != nil {
		return err
	}
	env.created("subnet", name, subnet.ID)

	var vms []*cloudapi.VM
	for _, name := range []string{name + "-1", name + "-2"} {
		vm, err := client.VMs.Create(uninterrupted(ctx), location, name, &cloudapi.VMCreateRequest{
			PublicKey:       key.Name,
			PrivateSubnetID: subnet.ID,
			EnableIPv4:      new(true),
		})
		env.deleteLater("VM", name, err, func(ctx context.Context, reference string) error {
			if err := client.VMs.Delete(ctx, location, reference); err != nil {
				return err
			}
			return client.VMs.WaitDeleted(ctx, location, reference, nil)
		})
		if err != nil {
			return err
		}
		env.created("VM", name, vm.ID)
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
			running, err := env.client.VMs.WaitRunning(ctx, env.location, vm.ID,
				&cloudapi.WaitOptions{Progress: demo.States(func(state string) { env.say("VM", vm.Name, "%s", state) })})
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
	for i := len(env.undo) - 1; i >= 0; i-- {
		if err := env.undo[i](ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// deleteLater records how to delete a resource: by its ID, once that is known.
// err is the error of the create: if the create got no response, the resource
// may exist nevertheless.
func (env *environment) deleteLater(kind, name string, err error, remove func(ctx context.Context, reference string) error) {
	if err != nil && !errors.Is(err, cloudapi.ErrOutcomeUnknown) {
		return
	}
	env.undo = append(env.undo, func(ctx context.Context) error {
		id := env.ids[kind+" "+name]
		if err := remove(ctx, cmp.Or(id, name)); err != nil {
			return fmt.Errorf("%s %s is left over: %w", kind, strings.TrimSpace(name+" "+id), err)
		}
		env.say(kind, name, "deleted")
		return nil
	})
}

func (env *environment) created(kind, name, id string) {
	env.ids[kind+" "+name] = id
	env.say(kind, name, "created: %s", id)
}

func (env *environment) say(kind, name, format string, args ...any) {
	env.mu.Lock()
	defer env.mu.Unlock()
	fmt.Fprintf(env.out, "%5.1fs  %-8s  %-19s  %s\n", time.Since(env.start).Seconds(), kind, name, fmt.Sprintf(format, args...))
}
