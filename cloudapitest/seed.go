package cloudapitest

import (
	"fmt"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// AddVMs adds n VMs to the project, without requests and so without the quota,
// faults and log of those: for tests of programs that have to do with many. They
// are of size burstable-1, run already, and are called by the prefix and a
// number, "load-1" and so on; the subnets that they are in, of 59 VMs each,
// "load-net-1" and so on. The IDs are returned.
//
// A location that does not exist and a name that is not possible, or taken, are
// errors of the test.
func (s *Server) AddVMs(location, prefix string, n int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.state.sweep(now)
	c := &call{config: &s.config, state: s.state, now: now, project: s.state.byID[s.config.projectID].(*project)}
	ids, err := c.addVMs(location, prefix, n)
	if err != nil {
		s.complain("cloudapitest: AddVMs: %v", err)
	}
	return ids
}

func (c *call) addVMs(location, prefix string, n int) ([]string, error) {
	c.params = map[string]string{"location": location}
	if err := c.resolveLocation(nil); err != nil {
		return nil, err
	}
	size := vmSizes[slices.IndexFunc(vmSizes, func(s vmSize) bool { return s.name == "burstable-1" })]
	var ids []string
	var subnet *privateSubnet
	for i := range n {
		name := fmt.Sprintf("%s-%d", prefix, i+1)
		v := &vm{object: c.newObject(cloudapi.KindVM, name), size: size, storage: size.storage[0], unixUser: "ubi"}
		v.created = c.now.Add(-c.config.delays.Create)
		err := checkNewName(name)
		if err == nil {
			err = v.checkName(c)
		}
		if err == nil && i%subnetVMs == 0 {
			subnet, err = c.addPrivateSubnet(fmt.Sprintf("%s-net-%d", prefix, i/subnetVMs+1), nil)
		}
		if v.subnet = subnet; err == nil {
			err = v.connect(c)
		}
		if err != nil {
			return ids, fmt.Errorf("%s: %w", name, err)
		}
		c.state.add(v)
		ids = append(ids, v.id)
	}
	return ids, nil
}
