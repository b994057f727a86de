package byhand

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Fixed is a transport with the same response to every request, without a
// network.
type Fixed struct {
	Status int
	Body   string
}

// RoundTrip returns the response.
func (f Fixed) RoundTrip(req *http.Request) (*http.Response, error) {
	return Respond(req, f.Status, f.Body)
}

// Respond reads the body of a request, and returns a response with a JSON body.
func Respond(req *http.Request, status int, body string) (*http.Response, error) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
		req.Body.Close()
	}
	return &http.Response{
		StatusCode:    status,
		Status:        strconv.Itoa(status) + " " + http.StatusText(status),
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       req,
	}, nil
}

// VM is the record of a VM, and NotFound the error for a VM that doesn't exist.
const (
	VM       = `{"id":"vmy9n10s8q164j473ra7pj9nqz","name":"web-1","state":"running","location":"eu-central-h1","size":"standard-2","unix_user":"ubi","storage_size_gib":40,"ip6":"2a01:db8:40:1ed3:aa7c::2","ip4_enabled":true,"ip4":"198.51.100.17","firewalls":[{"id":"fw8ww2xa7brt1qrn9hgzbc7efq","name":"edge-fw","description":"public entry","location":"eu-central-h1","firewall_rules":[{"id":"frhgen1ff6864nrqg8etdv647m","cidr":"0.0.0.0/0","port_range":"22..22"},{"id":"fr1mt9vv3br62k0a4z2xjkms5a","cidr":"::/0","port_range":"0..65535"}],"path":"/location/eu-central-h1/firewall/edge-fw"}],"private_ipv4":"10.23.41.69","private_ipv6":"fd4c:91aa:7be0:12d:8c62::2","subnet":"backend-net","gpu":null}`
	NotFound = `{"error":{"code":404,"type":"ResourceNotFound","message":"Sorry, we couldn’t find the resource you’re looking for.","details":null}}`
)

// VMs returns a page of a list that has the given total number of VMs. The page
// has n VMs, numbered from first, with only the fields that lists have.
func VMs(first, n, total int) string {
	var b bytes.Buffer
	b.WriteString(`{"items":[`)
	for i := first; i < first+n; i++ {
		if i > first {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"vm%024d","name":"web-%04d","state":"running","location":"eu-central-h1","size":"standard-2","unix_user":"ubi",`+
			`"storage_size_gib":40,"ip6":"2a01:db8:40:1ed3:aa7c::2","ip4_enabled":true,"ip4":"198.51.100.17"}`, i, i)
	}
	fmt.Fprintf(&b, `],"count":%d}`, total)
	return b.String()
}

// Metrics returns a response with the given number of metrics, each with 10,000
// values.
func Metrics(metrics int) string {
	const series, values = 5, 2000
	var b bytes.Buffer
	b.WriteString(`{"metrics":[`)
	for m := range metrics {
		if m > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"key":"metric_%d","name":"Metric %d","description":"What is measured","unit":"%%","series":[`, m, m)
		for s := range series {
			if s > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"labels":{"mode":"mode-%d"},"values":[`, s)
			for v := range values {
				if v > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, `[%d.%03d,"%.15f"]`, 1_759_512_000+15*v, v%1000, float64(v*(s+1))/7)
			}
			b.WriteString("]}")
		}
		b.WriteString("]}")
	}
	b.WriteString("]}")
	return b.String()
}
