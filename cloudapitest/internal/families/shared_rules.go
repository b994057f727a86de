package families

import (
	"net/netip"
	"regexp"
	"strconv"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/internal/cidr"
)

var (
	everyIP4 = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	everyIP6 = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
)

func parseCIDR(s string) (netip.Prefix, error) {
	n, problem := cidr.Parse(s)
	if problem != "" {
		return n, reply.InvalidField("cidr", "Invalid CIDR")
	}
	return n, nil
}

type portRange struct{ first, last int }

const maxPort = 65535

func (r portRange) String() string { return strconv.Itoa(r.first) + ".." + strconv.Itoa(r.last) }

func (r portRange) short() string {
	if r.first == r.last {
		return strconv.Itoa(r.first)
	}
	return r.String()
}

var portRangeForm = regexp.MustCompile(`^([0-9]+)(?:\.\.([0-9]+))?$`)

// parsePortRange parses a port, such as "80", or a range, such as "80..443".
func parsePortRange(s string) (portRange, error) {
	m := portRangeForm.FindStringSubmatch(s)
	if m == nil {
		return portRange{}, reply.InvalidField("port_range", "Invalid port range")
	}
	first, isPort := parsePort(m[1])
	last, isLastPort := parsePort(m[2])
	var problem string
	switch {
	case m[2] == "" && isPort:
		return portRange{first, first}, nil
	case m[2] == "":
		problem = "Port must be between 0 to 65535"
	case !isPort:
		problem = "Start port must be between 0 to 65535"
	case !isLastPort:
		problem = "End port must be between 0 to 65535"
	case first > last:
		problem = "Start port must be smaller than or equal to end port"
	default:
		return portRange{first, last}, nil
	}
	return portRange{}, reply.InvalidField("port_range", "%s", problem)
}

func parsePort(digits string) (int, bool) {
	n, err := strconv.Atoi(digits)
	return n, err == nil && n <= maxPort
}
