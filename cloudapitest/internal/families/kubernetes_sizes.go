package families

import (
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/ruby"
)

var (
	controlPlaneSize = vmSizes[0]

	// nodeSizes are the sizes for worker nodes. Not all of them are sizes for
	// VMs.
	nodeSizes = slices.Concat(vmSizes, []vmSize{
		{"premium-2", "premium", 2, [2]int{40, 80}},
		{"premium-4", "premium", 4, [2]int{80, 160}},
		{"premium-8", "premium", 8, [2]int{160, 320}},
		{"premium-16", "premium", 16, [2]int{320, 640}},
		{"premium-30", "premium", 30, [2]int{600, 1200}},
	})
)

// nodeSize returns the worker node size in a field of the body.
func nodeSize(c *api.Call, field string) (vmSize, error) {
	name, err := c.Body.NonEmpty(field)
	if err != nil {
		return vmSize{}, err
	}
	i := slices.IndexFunc(nodeSizes, func(s vmSize) bool { return s.name == name })
	if i < 0 {
		return vmSize{}, reply.InvalidField("size", `"%s" is not a valid virtual machine size. Available sizes: %s`,
			name, ruby.Strings(serverSizes()))
	}
	return nodeSizes[i], nil
}

// serverSizes returns the sizes in the error for an unknown size. These are all
// that the real server knows, although clusters can have only a few. Sizes of
// two architectures occur twice.
func serverSizes() []string {
	const (
		some     = "large xlarge 2xlarge 4xlarge 8xlarge 16xlarge"
		most     = "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge"
		triple   = "large xlarge 2xlarge 3xlarge 6xlarge 12xlarge 18xlarge 24xlarge"
		numbered = "4 8 16 32 48 64 72"
	)
	return slices.Concat(
		sizes("standard standard", "-", "2 4 8 16 30 60"),
		sizes("premium", "-", "2 4 8 16 30"),
		sizes("burstable burstable", "-", "1 2"),
		sizes("c6gd c7gd c8gd c6id c8id", ".", most),
		sizes("m6a m7a m7i m7g m8g", ".", some),
		sizes("m6gd m7gd m8gd m6id m8id", ".", most),
		sizes("i8g i7i", ".", most+" 24xlarge"),
		sizes("i8ge i7ie", ".", triple),
		sizes("r6gd r7gd r8gd", ".", "medium "+most),
		sizes("r6id r8id", ".", most),
		sizes("c4a-standard c4a-highmem", "-", numbered),
	)
}

// sizes returns the names of the sizes of each family.
func sizes(families, separator, members string) []string {
	var names []string
	for _, family := range strings.Fields(families) {
		for _, member := range strings.Fields(members) {
			names = append(names, family+separator+member)
		}
	}
	return names
}
