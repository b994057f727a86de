package families

import (
	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

// newBilled is [api.Call.NewReference] for objects that need billing
// information.
func newBilled(c *api.Call, kind cloudapi.Kind, param string) (string, error) {
	name, err := c.NewReference(kind, param)
	if err == nil && c.Project.Unpaid {
		err = reply.InvalidField("billing_info", "Project doesn't have valid billing information")
	}
	return name, err
}

func checkVCPUs(field string, requested, used, allowed int) error {
	if used+requested <= allowed {
		return nil
	}
	return reply.InvalidField(field, "Insufficient quota for requested size. Requested vCPU count: %d, currently used vCPU count: %d, "+
		"maximum allowed vCPU count: %d, remaining vCPU count: %d", requested, used, allowed, allowed-used)
}
