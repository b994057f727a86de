package families

import (
	"fmt"
	"slices"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
)

// AddVMs adds n VMs with names that start with the prefix to a project, and
// returns their IDs.
func AddVMs(at *api.Moment, p *api.Project, location, prefix string, n int) ([]string, error) {
	c := &api.Call{Moment: at, Access: api.Access{Project: p}}
	if err := c.EnterLocation(location); err != nil {
		return nil, err
	}
	size := vmSizes[slices.IndexFunc(vmSizes, func(s vmSize) bool { return s.name == "burstable-1" })]
	var ids []string
	var subnet *privateSubnet
	for i := range n {
		name := fmt.Sprintf("%s-%d", prefix, i+1)
		v := &vm{
			Object: c.NewObject(cloudapi.KindVM, name), size: size, storage: size.storage[0], image: vmTermsOf(c.Moment).defaultImage, unixUser: defaultUser,
		}
		err := api.CheckNewName(name)
		if err == nil {
			err = api.CheckName[*vm](c, cloudapi.KindVM, name, nil)
		}
		if err == nil && i%subnetVMs == 0 {
			subnet, err = addPrivateSubnet(c, fmt.Sprintf("%s-net-%d", prefix, i/subnetVMs+1), nil)
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
		cloudapi.KindPrivateLocation, cloudapi.KindPrivateSubnet, cloudapi.KindLoadBalancer, cloudapi.KindMachineImageVersion}, kind)
}

// SetState sets the state that a VM, database, cluster, subnet or image version
// shows. It reports whether the ID is that of one.
func SetState(at *api.Moment, id, state string) bool {
	switch o := at.State.ByID[id].(type) {
	case *vm, *postgres, *kubernetesCluster, *privateSubnet, *machineImageVersion:
		o.Core().Forced = state
		return true
	}
	return false
}
