package wire_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const (
	lbID     = "1b09fd2wvdjt1h8h6h32k8re7m"
	otherVM  = "vmr6ss8r788e2kc2m7kqvwv4h3"
	lbFields = `"id":"` + lbID + `","name":"web-lb","location":"eu-central-h1","hostname":"web-lb.x1bw0.lb.example.net",` +
		`"algorithm":"round_robin","stack":"dual","health_check_endpoint":"/healthz","health_check_protocol":"http","src_port":443,"dst_port":8443`
	lbFull = `{` + lbFields + `,"subnet":"backend-net","vms":["` + stub.VMID + `","` + otherVM + `"]}`
	lbNone = `{` + lbFields + `,"subnet":"backend-net","vms":[]}`
)

func loadBalancerCases() []wireCase {
	const (
		base     = locationPath + "/load-balancer"
		lb       = base + "/web-lb"
		item     = `{` + lbFields + `}`
		secured  = `{` + lbFields + `,"cert_enabled":true,"subnet":"backend-net","vms":[]}`
		subnetID = "ps6336kqkb6j4qf8813xfx1bw0"
		required = `{"algorithm":"round_robin","src_port":80,"dst_port":8080,"health_check_protocol":"tcp","private_subnet_id":"` + subnetID + `","stack":"dual"`
		ports    = `{"algorithm":"round_robin","src_port":443,"dst_port":8443,"health_check_endpoint":"/healthz"`
		vmID     = ` {"vm_id":"` + stub.VMID + `"}`
	)
	create := func(request cloudapi.LoadBalancerCreateRequest) sdktest.Call {
		return do("LoadBalancers.Create", location, "web-lb", &request)
	}
	update := func(request cloudapi.LoadBalancerUpdateRequest) sdktest.Call {
		return do("LoadBalancers.Update", location, "web-lb", &request)
	}
	return []wireCase{
		{do("LoadBalancers.List", nil), "GET " + projectPath + "/load-balancer", list(item)},
		{do("LoadBalancers.List", &cloudapi.ListOptions{Location: location, OrderColumn: cloudapi.OrderByName, PageSize: 1, StartAfter: "api-lb"}),
			"GET " + base + "?order_column=name&page_size=1&start_after=api-lb", list(item)},
		{do("LoadBalancers.All", &cloudapi.ListOptions{Location: location}), "GET " + base + "?page_size=1000", list(item)},
		{do("LoadBalancers.Get", location, "web-lb"), "GET " + lb, lbFull},
		{
			create(cloudapi.LoadBalancerCreateRequest{
				Algorithm: cloudapi.LoadBalancerAlgorithmHashBased, SrcPort: 443, DstPort: 8443,
				HealthCheckProtocol: cloudapi.LoadBalancerHealthCheckProtocolHTTPS, HealthCheckEndpoint: "/healthz",
				PrivateSubnetID: subnetID, Stack: cloudapi.LoadBalancerStackIPv4,
			}),
			"POST " + lb + ` {"algorithm":"hash_based","src_port":443,"dst_port":8443,"health_check_protocol":"https",` +
				`"private_subnet_id":"` + subnetID + `","stack":"ipv4","health_check_endpoint":"/healthz"}`,
			lbNone,
		},
		{create(cloudapi.LoadBalancerCreateRequest{Algorithm: "round_robin", SrcPort: 80, DstPort: 8080, HealthCheckProtocol: "tcp", PrivateSubnetID: subnetID}),
			"POST " + lb + " " + required + `}`, lbNone},
		{create(cloudapi.LoadBalancerCreateRequest{Algorithm: "round_robin", SrcPort: 80, DstPort: 8080, CertEnabled: new(true), HealthCheckProtocol: "tcp", PrivateSubnetID: subnetID}),
			"POST " + lb + " " + required + `,"cert_enabled":true}`, secured},
		{update(cloudapi.LoadBalancerUpdateRequest{Algorithm: "round_robin", SrcPort: 443, DstPort: 8443, HealthCheckEndpoint: "/healthz", VMs: []string{stub.VMID, otherVM}, Stack: "ipv6"}),
			"PATCH " + lb + " " + ports + `,"vms":["` + stub.VMID + `","` + otherVM + `"],"stack":"ipv6"}`, lbFull},
		{update(cloudapi.LoadBalancerUpdateRequest{Algorithm: "round_robin", SrcPort: 443, DstPort: 8443, HealthCheckEndpoint: "/healthz", VMs: []string{}}),
			"PATCH " + lb + " " + ports + `,"vms":[]}`, lbNone},
		{update(cloudapi.LoadBalancerUpdateRequest{VMs: []string{}, CertEnabled: new(false)}),
			"PATCH " + lb + ` {"algorithm":"","src_port":0,"dst_port":0,"health_check_endpoint":"","vms":[],"cert_enabled":false}`, lbNone},
		{do("LoadBalancers.SetSSLCertificate", location, "web-lb", false), "POST " + lb + `/toggle-ssl-certificate {"cert_enabled":false}`, lbNone},
		{do("LoadBalancers.SetSSLCertificate", location, "web-lb", true), "POST " + lb + `/toggle-ssl-certificate {"cert_enabled":true}`, secured},
		{do("LoadBalancers.Delete", location, "web-lb"), "DELETE " + lb, nil},
		{do("LoadBalancers.AttachVM", location, "web-lb", stub.VMID), "POST " + lb + "/attach-vm" + vmID, lbFull},
		{do("LoadBalancers.DetachVM", location, lbID, stub.VMID), "POST " + base + "/" + lbID + "/detach-vm" + vmID, lbFull},
		{do("LoadBalancers.Rename", location, "old", "web-lb"), "POST " + base + `/old/rename {"name":"web-lb"}`, item},
		{do("LoadBalancers.Rename", location, lbID, "web-lb"), "POST " + base + "/" + lbID + `/rename {"name":"web-lb"}`, item},
	}
}

// TestLoadBalancerUpdateWithoutALookup: if the server refuses an update and
// then the lookup, the error wraps both refusals.
func TestLoadBalancerUpdateWithoutALookup(t *testing.T) {
	t.Parallel()
	missing := recorded(t, "load-balancer-certificates", "patch-without-cert")
	network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodGet {
			return stub.Respond(403, stub.Envelope(403)), nil
		}
		return stub.Respond(missing.status, missing.reply), nil
	}}
	updated, err := sdktest.Recorded(t, &network).LoadBalancers.Update(t.Context(), location, "plain", &cloudapi.LoadBalancerUpdateRequest{VMs: []string{}})
	if updated != nil || !errors.Is(err, cloudapi.ErrInvalidRequest) || !errors.Is(err, cloudapi.ErrForbidden) || len(network.Take()) != 2 {
		t.Errorf("%v, %v", updated, err)
	}
}

func TestLoadBalancerWaits(t *testing.T) {
	t.Parallel()
	detached, deleted := do("LoadBalancers.WaitVMDetached", location, "web-lb", stub.VMID), do("LoadBalancers.WaitDeleted", location, "web-lb")
	runWaits(t, quick, locationPath+"/load-balancer/web-lb", []waitCase{
		{"detached", detached, polls{lbFull, lbFull, lbNone}, nil, ""},
		{"never attached", detached, polls{lbNone}, nil, ""},
		{"gone while detaching", detached, polls{lbFull, stub.Envelope(404)}, cloudapi.ErrNotFound, ""},
		{"deleted", deleted, polls{lbFull, lbFull, stub.Envelope(403), stub.Envelope(404)}, nil, ""},
	})
}
