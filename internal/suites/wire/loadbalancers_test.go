package wire_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

const (
	testLBID    = "1b09fd2wvdjt1h8h6h32k8re7m"
	testOtherVM = "vmr6ss8r788e2kc2m7kqvwv4h3"
	testLBShort = `"id":"` + testLBID + `","name":"web-lb","location":"eu-central-h1","hostname":"web-lb.x1bw0.lb.example.net",` +
		`"algorithm":"round_robin","stack":"dual","health_check_endpoint":"/healthz","health_check_protocol":"http","src_port":443,"dst_port":8443`
	testLBFull = `{` + testLBShort + `,"subnet":"backend-net","vms":["` + stub.VMID + `","` + testOtherVM + `"]}`
	testLBNone = `{` + testLBShort + `,"subnet":"backend-net","vms":[]}`
)

// testLoadBalancer returns the short form of the record.
func testLoadBalancer() *cloudapi.LoadBalancer {
	return &cloudapi.LoadBalancer{
		ID: testLBID, Name: "web-lb", Location: "eu-central-h1", Hostname: "web-lb.x1bw0.lb.example.net",
		Algorithm: "round_robin", Stack: "dual", HealthCheckEndpoint: "/healthz", HealthCheckProtocol: "http",
		SrcPort: 443, DstPort: 8443,
	}
}

func TestLoadBalancersWire(t *testing.T) {
	t.Parallel()
	const (
		base     = locationPath + "/load-balancer"
		item     = base + "/web-lb"
		location = "eu-central-h1"
		page     = `{"items":[{` + testLBShort + `}],"count":1}`
	)
	short := testLoadBalancer()
	full, empty := *short, *short
	full.Subnet, full.VMs = "backend-net", []string{stub.VMID, testOtherVM}
	empty.Subnet, empty.VMs = "backend-net", []string{}
	secured := empty
	secured.CertEnabled = true
	update := func(vms []string, stack string) func(context.Context, *cloudapi.Client) (any, error) {
		return calls("LoadBalancers.Update", location, "web-lb", &cloudapi.LoadBalancerUpdateRequest{
			Algorithm: "round_robin", SrcPort: 443, DstPort: 8443, HealthCheckEndpoint: "/healthz", VMs: vms, Stack: stack,
		})
	}
	createWith := func(request *cloudapi.LoadBalancerCreateRequest) func(context.Context, *cloudapi.Client) (any, error) {
		return calls("LoadBalancers.Create", location, "web-lb", request)
	}
	runWireCases(t, "LoadBalancers", []wireCase{
		{
			method: "GET", target: projectPath + "/load-balancer", reply: page,
			call: calls("LoadBalancers.List", nil),
			want: &cloudapi.Page[cloudapi.LoadBalancer]{Items: []*cloudapi.LoadBalancer{short}, Count: new(1), Next: testLBID},
		},
		{
			name: "list by name", method: "GET", target: base + "?order_column=name&page_size=1&start_after=api-lb", reply: page,
			call: calls("LoadBalancers.List", &cloudapi.ListOptions{Location: location, OrderColumn: cloudapi.OrderByName, PageSize: 1, StartAfter: "api-lb"}),
			want: &cloudapi.Page[cloudapi.LoadBalancer]{Items: []*cloudapi.LoadBalancer{short}, Count: new(1), Next: "web-lb"},
		},
		{
			name: "all", method: "GET", target: base + "?page_size=1000", reply: page,
			call: calls("LoadBalancers.All", &cloudapi.ListOptions{Location: location}),
			want: []*cloudapi.LoadBalancer{short},
		},
		{
			name: "get", method: "GET", target: item, reply: testLBFull,
			call: calls("LoadBalancers.Get", location, "web-lb"),
			want: &full,
		},
		{
			name: "create with everything", method: "POST", target: item, reply: testLBNone,
			body: `{"algorithm":"hash_based","src_port":443,"dst_port":8443,"health_check_protocol":"https",` +
				`"private_subnet_id":"ps6336kqkb6j4qf8813xfx1bw0","stack":"ipv4","health_check_endpoint":"/healthz"}`,
			call: createWith(&cloudapi.LoadBalancerCreateRequest{
				Algorithm: cloudapi.LoadBalancerAlgorithmHashBased, SrcPort: 443, DstPort: 8443,
				HealthCheckProtocol: cloudapi.LoadBalancerHealthCheckHTTPS, HealthCheckEndpoint: "/healthz",
				PrivateSubnetID: "ps6336kqkb6j4qf8813xfx1bw0", Stack: cloudapi.LoadBalancerStackIPv4,
			}),
			want: &empty,
		},
		{
			name: "create with the default stack", method: "POST", target: item, reply: testLBNone,
			body: `{"algorithm":"round_robin","src_port":80,"dst_port":8080,"health_check_protocol":"tcp",` +
				`"private_subnet_id":"ps6336kqkb6j4qf8813xfx1bw0","stack":"dual"}`,
			call: createWith(&cloudapi.LoadBalancerCreateRequest{
				Algorithm: cloudapi.LoadBalancerAlgorithmRoundRobin, SrcPort: 80, DstPort: 8080,
				HealthCheckProtocol: cloudapi.LoadBalancerHealthCheckTCP, PrivateSubnetID: "ps6336kqkb6j4qf8813xfx1bw0",
			}),
			want: &empty,
		},
		{
			name: "update", method: "PATCH", target: item, reply: testLBFull,
			body: `{"algorithm":"round_robin","src_port":443,"dst_port":8443,"health_check_endpoint":"/healthz",` +
				`"vms":["` + stub.VMID + `","` + testOtherVM + `"],"stack":"ipv6"}`,
			call: update([]string{stub.VMID, testOtherVM}, "ipv6"),
			want: &full,
		},
		{
			name: "update to no VMs", method: "PATCH", target: item, reply: testLBNone,
			body: `{"algorithm":"round_robin","src_port":443,"dst_port":8443,"health_check_endpoint":"/healthz","vms":[]}`,
			call: update([]string{}, ""),
			want: &empty,
		},
		{
			name: "update to no VMs", method: "PATCH", target: item, reply: testLBNone,
			body: `{"algorithm":"round_robin","src_port":443,"dst_port":8443,"health_check_endpoint":"/healthz","vms":[]}`,
			call: update([]string{}, ""),
			want: &empty,
		},
		{
			name: "create with a certificate", method: "POST", target: item, reply: testLBNone,
			body: `{"algorithm":"round_robin","src_port":80,"dst_port":8080,"health_check_protocol":"tcp",` +
				`"private_subnet_id":"ps6336kqkb6j4qf8813xfx1bw0","stack":"dual","cert_enabled":true}`,
			call: createWith(&cloudapi.LoadBalancerCreateRequest{
				Algorithm: cloudapi.LoadBalancerAlgorithmRoundRobin, SrcPort: 80, DstPort: 8080, CertEnabled: new(true),
				HealthCheckProtocol: cloudapi.LoadBalancerHealthCheckTCP, PrivateSubnetID: "ps6336kqkb6j4qf8813xfx1bw0",
			}),
			want: &empty,
		},
		{
			name: "update without a certificate", method: "PATCH", target: item, reply: testLBNone,
			body: `{"algorithm":"","src_port":0,"dst_port":0,"health_check_endpoint":"","vms":[],"cert_enabled":false}`,
			call: calls("LoadBalancers.Update", location, "web-lb", &cloudapi.LoadBalancerUpdateRequest{VMs: []string{}, CertEnabled: new(false)}),
			want: &empty,
		},
		{
			name: "certificate off", method: "POST", target: item + "/toggle-ssl-certificate", body: `{"cert_enabled":false}`, reply: testLBNone,
			call: calls("LoadBalancers.ToggleSSLCertificate", location, "web-lb", false),
			want: &empty,
		},
		{
			name: "certificate on", method: "POST", target: item + "/toggle-ssl-certificate", body: `{"cert_enabled":true}`,
			reply: `{` + testLBShort + `,"cert_enabled":true,"subnet":"backend-net","vms":[]}`,
			call:  calls("LoadBalancers.ToggleSSLCertificate", location, "web-lb", true),
			want:  &secured,
		},
		{
			name: "delete", method: "DELETE", target: item,
			call: calls("LoadBalancers.Delete", location, "web-lb"),
		},
		{
			name: "attach", method: "POST", target: item + "/attach-vm", body: `{"vm_id":"` + stub.VMID + `"}`, reply: testLBFull,
			call: calls("LoadBalancers.AttachVM", location, "web-lb", stub.VMID),
			want: &full,
		},
		{
			name: "detach", method: "POST", target: base + "/" + testLBID + "/detach-vm", body: `{"vm_id":"` + stub.VMID + `"}`, reply: testLBFull,
			call: calls("LoadBalancers.DetachVM", location, testLBID, stub.VMID),
			want: &full,
		},
		{
			name: "rename", byName: true, method: "POST", target: base + "/old/rename", body: `{"name":"web-lb"}`, reply: `{` + testLBShort + `}`,
			call: calls("LoadBalancers.Rename", location, "old", "web-lb"),
			want: short,
		},
		{
			name: "rename by ID", method: "POST", target: base + "/" + testLBID + "/rename", body: `{"name":"api-lb"}`, reply: `{` + testLBShort + `}`,
			call: calls("LoadBalancers.Rename", location, testLBID, "api-lb"),
			want: short,
		},
	})
}

func TestLoadBalancerRequestsAreNotChanged(t *testing.T) {
	t.Parallel()
	client := sdktest.Answering(t, 200, "application/json", testLBNone)
	createRequest := cloudapi.LoadBalancerCreateRequest{PrivateSubnetID: "ps6336kqkb6j4qf8813xfx1bw0"}
	if _, err := client.LoadBalancers.Create(t.Context(), "eu-central-h1", "web-lb", &createRequest); err != nil {
		t.Fatal(err)
	}
	if _, err := client.LoadBalancers.Create(t.Context(), "eu-central-h1", "web-lb", nil); !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("create with nil, and so without a subnet: %v", err)
	}
	if createRequest.Stack != "" {
		t.Errorf("the request became %+v", createRequest)
	}
}

// TestLoadBalancerUpdateWithoutVMs: records from a list have no VMs, so an
// update based on one would remove all VMs.
func TestLoadBalancerUpdateWithoutVMs(t *testing.T) {
	t.Parallel()
	client := sdktest.SendingNothing(t)
	for name, request := range map[string]*cloudapi.LoadBalancerUpdateRequest{
		"no VMs":     {Algorithm: "round_robin", SrcPort: 443, DstPort: 8443, HealthCheckEndpoint: "/healthz"},
		"no request": nil,
	} {
		_, err := client.LoadBalancers.Update(t.Context(), "eu-central-h1", "web-lb", request)
		if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != "vms" || e.Operation != "LoadBalancers.Update" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLoadBalancerUpdateWithoutALookup: the error contains the first response.
func TestLoadBalancerUpdateWithoutALookup(t *testing.T) {
	t.Parallel()
	missing := recorded(t, "load-balancer-certificates", "patch-without-cert")
	network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodGet {
			return stub.Respond(403, stub.Envelope(403)), nil
		}
		return stub.Respond(missing.status, missing.reply), nil
	}}
	updated, err := sdktest.Recorded(t, &network).LoadBalancers.Update(t.Context(), "eu-central-h1", "plain", &cloudapi.LoadBalancerUpdateRequest{VMs: []string{}})
	if updated != nil || !errors.Is(err, cloudapi.ErrInvalidRequest) || !errors.Is(err, cloudapi.ErrForbidden) || len(network.Take()) != 2 {
		t.Errorf("%v, %v", updated, err)
	}
}

func TestLoadBalancerWaits(t *testing.T) {
	t.Parallel()
	const location = "eu-central-h1"
	empty := testLoadBalancer()
	empty.Subnet, empty.VMs = "backend-net", []string{}
	detached := calls("LoadBalancers.WaitVMDetached", location, "web-lb", stub.VMID)
	deleted := calls("LoadBalancers.WaitDeleted", location, "web-lb")
	runWaitCases(t, locationPath+"/load-balancer/web-lb", []waitCase{
		{name: "detached", wait: detached, polls: []string{testLBFull, testLBFull, testLBNone}, want: empty},
		{name: "never attached", wait: detached, polls: []string{testLBNone}, want: empty},
		{name: "gone while detaching", wait: detached, polls: []string{testLBFull, stub.Envelope(404)}, err: cloudapi.ErrNotFound},
		{name: "deleted", wait: deleted, polls: []string{testLBFull, testLBFull, stub.Envelope(403), stub.Envelope(404)}},
	})
}

// A wait for a deletion would immediately succeed for something that can't
// exist.
func TestWaitsRefuseNames(t *testing.T) {
	t.Parallel()
	for _, vm := range []string{"", "web-1", testLBID} {
		_, err := sdktest.SendingNothing(t).LoadBalancers.WaitVMDetached(t.Context(), "eu-central-h1", "web-lb", vm, nil)
		if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Value != vm || e.Name != "vm_id" {
			t.Errorf("WaitVMDetached of %q: %v", vm, err)
		}
		_, err = sdktest.SendingNothing(t).Postgres.WaitRecycled(t.Context(), "eu-central-h1", "orders-db", vm, &cloudapi.WaitOptions{Tolerance: -1})
		if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Value != vm || e.Name != "server_id" {
			t.Errorf("WaitRecycled of %q: %v", vm, err)
		}
	}
}
