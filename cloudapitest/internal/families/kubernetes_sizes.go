package families

import (
	"slices"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

var (
	controlPlaneSize = vmSizes[0]
	nodeSizes        = slices.Concat(vmSizes, []vmSize{
		{"premium-2", "premium", 2, [2]int{40, 80}},
		{"premium-4", "premium", 4, [2]int{80, 160}},
		{"premium-8", "premium", 8, [2]int{160, 320}},
		{"premium-16", "premium", 16, [2]int{320, 640}},
		{"premium-30", "premium", 30, [2]int{600, 1200}},
	})
)

func nodeSize(c *api.Call, field string) (vmSize, error) {
	name, err := c.Body.NonEmpty(field)
	if err != nil {
		return vmSize{}, err
	}
	i := slices.IndexFunc(nodeSizes, func(s vmSize) bool { return s.name == name })
	if i < 0 {
		names := api.Records(nodeSizes, func(s vmSize) string { return s.name })
		return vmSize{}, reply.InvalidField("size", `"%s" is not a valid virtual machine size. Available sizes: %s`, name, reply.List(names))
	}
	return nodeSizes[i], nil
}
