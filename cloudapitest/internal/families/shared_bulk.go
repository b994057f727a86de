package families

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
)

// AddVMs adds n VMs with names that start with the prefix to a project, and
// returns their IDs. If it can't use one of the names, it adds no VM.
func AddVMs(at *api.Moment, p *api.Project, location, prefix string, n int) ([]string, error) {
	c := &api.Call{Moment: at, Access: api.Access{Project: p}}
	if err := c.EnterLocation(location); err != nil {
		return nil, err
	}
	size := vmSizes[slices.IndexFunc(vmSizes, func(s vmSize) bool { return s.name == "burstable-1" })]
	vmName := func(i int) string { return fmt.Sprintf("%s-%d", prefix, i+1) }
	subnetName := func(i int) string { return fmt.Sprintf("%s-net-%d", prefix, i/subnetVMs+1) }
	for i := range n {
		err := errors.Join(api.CheckNameForm(vmName(i)), api.CheckNameIsFree[*vm](c, cloudapi.KindVM, vmName(i), nil))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", vmName(i), err)
		}
		if err := api.CheckNameIsFree[*privateSubnet](c, cloudapi.KindPrivateSubnet, subnetName(i), nil); err != nil {
			return nil, fmt.Errorf("%s: %w", subnetName(i), err)
		}
	}
	var ids []string
	var subnet *privateSubnet
	for i := range n {
		name := vmName(i)
		v := &vm{
			Object: c.NewObject(cloudapi.KindVM, name), size: size, storage: size.storage[0], image: vmTermsOf(c.Moment).defaultImage, unixUser: defaultUser,
		}
		var err error
		if i%subnetVMs == 0 {
			subnet, err = addPrivateSubnet(c, subnetName(i), nil)
		}
		if v.subnet = subnet; err == nil {
			err = v.connect(c)
		}
		if err != nil {
			return ids, fmt.Errorf("%s: %w", name, err)
		}
		v.add(c.Moment)
		ids = append(ids, v.ID)
	}
	return ids, nil
}

// HasDelays reports whether objects of the kind have delays.
func HasDelays(kind cloudapi.Kind) bool {
	return slices.Contains([]cloudapi.Kind{cloudapi.KindVM, cloudapi.KindPostgres, cloudapi.KindKubernetesCluster,
		cloudapi.KindPrivateLocation, cloudapi.KindPrivateSubnet, cloudapi.KindLoadBalancer, cloudapi.KindMachineImageVersion, cloudapi.KindPrivateLinkService}, kind)
}

// SetState sets the state that an object shows. It reports whether an object
// with the ID can show the state.
func SetState(at *api.Moment, id, state string) bool {
	switch o := at.State.ByID[id].(type) {
	case *vm, *postgres, *kubernetesCluster, *privateSubnet, *machineImageVersion, *privateLinkService:
		o.Core().Forced = state
		return true
	case *githubCacheEntry:
		o.uploading = state == "uploading"
		return o.uploading || state == ""
	}
	for _, o := range at.State.ByID {
		if p, ok := o.(*postgres); ok && slices.Contains(slices.Concat(p.former, p.fleet), id) {
			p.showServer(id, state)
			return true
		}
	}
	return false
}
