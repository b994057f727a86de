// Vmjob runs a script on a VM of its own by SSH, and deletes the VM.
//
//	vmjob --from 203.0.113.7 build.sh
//	vmjob --from 203.0.113.7 --size standard-8 --timeout 3h --out frames render.sh scene.blend
//	vmjob --clean
//
// The script runs in a folder with copies of the files, whose names are its
// arguments. With --out, what it puts into the subfolder out is copied back, even
// if it fails. Its exit status is the program's. Whatever ends the program, it
// deletes all that it has created.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

func main() { demo.Main("vmjob", run) }

// create returns a running VM that only j.from can reach. Without a subnet, it
// would be in the default one, whose firewall lets everybody in.
//
// An Ensure finds out whether a create has succeeded if its response is lost.
// Ctrl-C doesn't cancel it: the server could execute a canceled create after the
// cleanup.
func (j *job) create(ctx context.Context, keys *keys) (*cloudapi.VM, error) {
	j.say("creating %s", j.name)
	sure, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Minute)
	defer cancel()

	j.last = cloudapi.KindFirewall
	firewall, _, err := j.client.Firewalls.Ensure(sure, j.location, j.name, nil, nil)
	if err != nil {
		return nil, err
	}
	rule := cloudapi.FirewallRuleCreateRequest{CIDR: j.from.String(), PortRange: "22"}
	if _, err := j.client.Firewalls.SetRules(ctx, j.location, firewall.ID, []cloudapi.FirewallRuleCreateRequest{rule}, nil); err != nil {
		return nil, err
	}

	j.last = cloudapi.KindPrivateSubnet
	subnet, _, err := j.client.PrivateSubnets.Ensure(sure, j.location, j.name, &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID}, nil)
	if err != nil || ctx.Err() != nil {
		return nil, cmp.Or(err, context.Cause(ctx))
	}

	j.last = cloudapi.KindVM
	vm, _, err := j.client.VMs.Ensure(sure, j.location, j.name, &cloudapi.VMCreateRequest{
		Size: j.size, BootImage: j.image, PrivateSubnetID: subnet.ID, EnableIPv4: new(j.from.Addr().Is4()),
		PublicKey: keys.authorized(), InitScriptText: keys.initScript(),
	}, nil)
	if err != nil {
		return nil, err
	}
	return j.client.VMs.WaitRunning(ctx, j.location, vm.ID, &cloudapi.WaitOptions{FailWithoutCapacity: true, Progress: func(p cloudapi.Progress) { j.report(p.Err) }})
}

// run runs the script on a new VM, and then deletes everything.
func (j *job) run(ctx context.Context) (err error) {
	if err := j.client.CheckAccess(ctx); err != nil {
		return err
	}
	keys, err := newKeys()
	if err != nil {
		return err
	}
	defer func() { // also after a failure or a panic, or once Ctrl-C or the timeout has ended ctx
		if j.last == cloudapi.KindFirewall && errors.Is(err, cloudapi.ErrLocationNotFound) {
			return // nothing has been created
		}
		err = errors.Join(err, j.remove(context.WithoutCancel(ctx), errors.Is(err, cloudapi.ErrOutcomeUnknown)))
	}()
	vm, err := j.create(ctx, keys)
	if err != nil {
		return err
	}
	return j.use(ctx, vm, keys)
}

// kinds are what a job creates, in the order in which they can be deleted.
var kinds = []cloudapi.Kind{cloudapi.KindVM, cloudapi.KindPrivateSubnet, cloudapi.KindFirewall}

// remove deletes what the job has created, as far as it exists, and proves that
// it's gone. If mayAppear, the server may still create what was created last.
func (j *job) remove(ctx context.Context, mayAppear bool) error {
	ctx, cancel := context.WithTimeout(ctx, cleanupTime)
	defer cancel()
	const patience = 1000 // in effect until ctx ends: a VM costs money
	isDeleted := func(r *cloudapi.Resource) (bool, error) { return r.ID != "", nil }
	var removed []cloudapi.Resource
	for _, kind := range kinds[slices.Index(kinds, j.last):] {
		resource, err := cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.Resource, error) {
			resource, err := j.client.DeleteExisting(ctx, j.location+"/"+j.name, kind)
			j.report(err)
			if errors.Is(err, cloudapi.ErrConflict) {
				return &cloudapi.Resource{}, nil // the server may delete it later
			}
			return resource, err
		}, isDeleted, &cloudapi.WaitOptions{Tolerance: patience})
		if cloudapi.IsGone(err) && !(mayAppear && kind == j.last) {
			continue
		}
		if err == nil {
			err = j.client.WaitDeleted(ctx, *resource, &cloudapi.WaitOptions{Tolerance: patience, Progress: func(p cloudapi.Progress) { j.report(p.Err) }})
		}
		if err != nil {
			return j.left(kind, err)
		}
		removed = append(removed, *resource)
	}
	// A wait for a deletion also ends if the token can't see the project anymore.
	if err := j.client.CheckAccess(ctx); err != nil {
		return j.left(j.last, err)
	}
	for _, resource := range removed {
		if _, err := j.client.Fetch(ctx, resource); !cloudapi.IsGone(err) {
			return j.left(resource.Kind, cmp.Or(err, errors.New("it's still there")))
		}
	}
	j.say("%s is gone", j.name)
	return nil
}

// left returns an error that says how to delete what is left.
func (j *job) left(kind cloudapi.Kind, err error) error {
	return fmt.Errorf("the %s %s/%s may be left and cost money; this deletes it: vmjob --clean %[3]s\n%w", kind, j.location, j.name, err)
}
