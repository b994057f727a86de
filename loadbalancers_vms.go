package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// GetInSubnet returns the load balancer with the name in the subnet with the ID.
// Two subnets of a location can each have one of that name, of which Get, Delete
// and all other methods take one. It returns [ErrNotFound] if the subnet doesn't
// exist or has no such load balancer; [IsGone] is false if another subnet has
// one, since the token may not see all of them. It returns [ErrForbidden] if the
// one that Get takes is hidden and no other is found, and an [*ArgumentError] if
// the subnet is in another location.
func (s *LoadBalancersService) GetInSubnet(ctx context.Context, location, subnetID, name string) (*LoadBalancer, error) {
	const operation = "LoadBalancers.GetInSubnet"
	if err := idOf(KindPrivateSubnet).check(operation, "private_subnet_id", subnetID); err != nil {
		return nil, err
	}
	return s.inSubnet(ctx, operation, location, subnetID, name)
}

const (
	// attachPause is the pause between attempts to attach a VM that is attached to
	// another load balancer. There are four attempts.
	attachPause = 5 * time.Second

	// detachLimit is how long SetVMs waits for the end of a detachment. Another
	// program can attach the VM again, unseen between two polls.
	detachLimit = 10 * time.Minute
)

// SetVMs attaches exactly the VMs with these IDs to a load balancer. It attaches
// those that are missing, then detaches all others, and waits until these are
// detached and their connections have ended. An empty slice detaches all; a nil
// one is invalid. SetVMs changes no settings, and may run in parallel and be
// repeated. The VMs in the changes have only IDs and locations.
//
// SetVMs gets each VM that it attaches, and sends a request for each change. If
// one of these VMs isn't in the location, or has no IPv4 address although the
// stack isn't "ipv6", it returns an [*ArgumentError], and changes nothing. It
// waits about 20 seconds for a VM that another load balancer is detaching, and
// then returns [ErrAlreadyExists]. If it changes something and finds other
// members at the end, it returns an error; call it again. It waits for a
// detachment at most 10 minutes, and then returns [ErrWaitFailed].
//
// Nothing shows that a member is being detached, by another program or in the
// console: SetVMs counts it as kept, and it's gone up to a minute later. After
// [LoadBalancersService.DetachVM], call WaitVMDetached. A program that can't know
// calls SetVMs again after a minute.
func (s *LoadBalancersService) SetVMs(ctx context.Context, location, loadBalancer string, vmIDs []string) (*SetChanges[VM], error) {
	const operation = "LoadBalancers.SetVMs"
	vms := &VMsService{s.conn}
	stack := ""
	var detached []string
	element := func(id string) *VM { return &VM{ID: id, Location: location} }
	set := attachedSet(s.conn, &vmFamily, "vm_id", element, exactSet[VM, string]{
		operation: operation,
		argument:  "vmIDs",
		field:     "vms",
		location:  location,
		reference: loadBalancer,
		pauses:    &WaitOptions{Interval: attachPause, MaxInterval: attachPause},
		list: func(ctx context.Context) ([]VM, error) {
			l, err := s.Get(ctx, location, loadBalancer)
			if err != nil {
				return nil, err
			}
			loadBalancer, stack = l.ID, l.Stack // another load balancer of the location may have the name
			if l.VMs == nil {
				return nil, nil
			}
			members := []VM{}
			for _, id := range l.VMs {
				members = append(members, VM{ID: id, Location: l.Location})
			}
			return members, nil
		},
		add: func(ctx context.Context, id string, vm *VM) (*VM, error) {
			_, err := s.AttachVM(ctx, location, loadBalancer, id)
			switch {
			case err == nil:
				return vm, nil
			case isAttached(err): // to this one or another
				return nil, fmt.Errorf("VM %s: %w: %w", id, ErrAlreadyExists, unprefixed{err})
			}
			return nil, fmt.Errorf("VM %s: %w", id, unprefixed{err})
		},
		remove: func(ctx context.Context, vm *VM) error {
			_, err := s.DetachVM(ctx, location, loadBalancer, vm.ID)
			if errors.Is(err, ErrInvalidRequest) {
				if _, lookup := vms.Get(ctx, location, vm.ID); isMissing(lookup) { // it has just been deleted
					err = nil
				}
			}
			if err == nil {
				detached = append(detached, vm.ID)
			}
			return err
		},
		settle: func(ctx context.Context) error {
			if len(detached) == 0 {
				return nil
			}
			w := loadBalancerFamily.waiter(s.conn, operation, location, loadBalancer)
			start, left := time.Now(), map[string]bool{}
			w.done = func(l *LoadBalancer) (isOver bool, err error) {
				isOver = true
				for _, id := range detached {
					switch isMember := slices.Contains(l.VMs, id); {
					case !isMember:
						left[id] = true
					case left[id]: // it's back: the last look says so
						return true, nil
					case time.Since(start) >= detachLimit:
						return false, fmt.Errorf("%w: VM %s is still a member %v after its detachment; another program may have attached it again", ErrWaitFailed, id, detachLimit)
					default:
						isOver = false
					}
				}
				return isOver, nil
			}
			_, err := w.run(ctx, nil)
			return err
		},
	})
	look := set.look
	set.look = func(ctx context.Context, record *VM) (*VM, error) {
		vm, err := look(ctx, record)
		if err == nil && (stack == LoadBalancerStackDual || stack == LoadBalancerStackIPv4) && !vm.IPv4Enabled && vm.IPv4 == "" {
			return nil, argumentError(operation, "vm_id", record.ID, "has no IPv4 address, which a load balancer of the stack "+strconv.Quote(stack)+" needs")
		}
		return vm, err
	}
	return set.apply(ctx, vmIDs)
}

// isAttached reports whether the server refused to attach a VM because it has a
// load balancer, or has just got one. The error doesn't say which.
func isAttached(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || !e.Is(ErrInvalidRequest) {
		return false
	}
	return e.Message == "vm_id is already taken" || slices.ContainsFunc(e.FieldErrors()["vm_id"], func(text string) bool {
		return strings.HasSuffix(text, "is already attached to a load balancer")
	})
}
