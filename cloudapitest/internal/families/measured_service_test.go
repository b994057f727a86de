package families_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

var apps = &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2"}

func statusOf(err error) int {
	if e, ok := errors.AsType[*cloudapi.Error](err); ok {
		return e.StatusCode
	}
	return 0
}

func TestClusterNetworkIsInTheProject(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client) {
		ctx := t.Context()
		k := must(client.Kubernetes.Create(ctx, here, "apps", apps))
		own := func() string {
			subnets, firewalls, balancers := "", "", ""
			for s, err := range client.PrivateSubnets.All(ctx, nil) {
				subnets += " " + strings.TrimPrefix(must(s, err).Name, k.ID)
			}
			for f, err := range client.Firewalls.All(ctx, nil) {
				firewalls += " " + strings.TrimPrefix(must(f, err).Name, k.ID)
			}
			for l, err := range client.LoadBalancers.All(ctx, nil) {
				balancers += " " + strings.TrimPrefix(must(l, err).Name, k.ID)
			}
			return subnets + firewalls + balancers
		}
		if got, want := own(), " -subnet -firewall"; got != want {
			t.Errorf("a new cluster has%s, want%s", got, want)
		}
		must(client.Kubernetes.WaitRunning(ctx, here, "apps", nil))
		if got, want := own(), " -subnet -firewall -apiserver"; got != want {
			t.Errorf("a running cluster has%s, want%s", got, want)
		}
		if l := must(client.LoadBalancers.Get(ctx, here, k.ID+"-apiserver")); l.SrcPort != 443 || l.DstPort != 6443 || len(l.VMs) != 1 {
			t.Errorf("%+v", l)
		}
		if err := client.PrivateSubnets.Delete(ctx, here, k.ID+"-subnet"); !errors.Is(err, cloudapi.ErrConflict) {
			t.Errorf("deleting its subnet: %v", err)
		}
		srv.SetClusterService(k.ID, 80, 30080)
		if l := must(client.LoadBalancers.Get(ctx, here, k.ID+"-services")); l.SrcPort != 80 || l.DstPort != 30080 {
			t.Errorf("%+v", l)
		}
		if err := client.Kubernetes.Delete(ctx, here, "apps"); err != nil {
			t.Fatal(err)
		}
		must(0, client.Kubernetes.WaitDeleted(ctx, here, k.ID, nil))
		if got := own(); !strings.Contains(got, "-subnet") {
			t.Errorf("the network is gone with the cluster, and not some time later")
		}
		stub.Elapse(time.Minute)
		if got := own(); got != "" {
			t.Errorf("left is%s", got)
		}
	})
}

func TestClusterWithoutServiceBreaksLoadBalancerLists(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client) {
		ctx := t.Context()
		k := must(client.Kubernetes.Create(ctx, here, "apps", apps))
		must(client.Kubernetes.WaitRunning(ctx, here, "apps", nil))
		get := func(query string) int {
			status, _ := stub.Do(t, srv, "GET", "/project/"+srv.ProjectID()+query, "")
			return status
		}
		services := k.ID + "-services"
		want := map[string]int{
			"/load-balancer":                                                       500,
			"/location/" + here + "/load-balancer":                                 500,
			"/load-balancer?order_column=name&page_size=1":                         200,
			"/load-balancer?order_column=name&page_size=1&start_after=" + services: 200,
			"/location/" + here + "/load-balancer/" + k.ID + "-apiserver":          200,
			"/location/" + here + "/load-balancer/" + services:                     500,
		}
		for query, status := range want {
			if got := get(query); got != status {
				t.Errorf("%s: %d, want %d", query, got, status)
			}
		}
		srv.SetClusterService(k.ID, 80, 30080)
		for query := range want {
			if got := get(query); got != 200 {
				t.Errorf("with a Service %s: %d", query, got)
			}
		}
	}, cloudapitest.WithPortlessBalancers())
}

func TestNodePoolIsBusyAfterItsNodesRun(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *cloudapitest.Server, client *cloudapi.Client) {
		ctx := t.Context()
		must(client.Kubernetes.Create(ctx, here, "apps", apps))
		must(client.Kubernetes.WaitRunning(ctx, here, "apps", nil))
		resize := func(n int) error {
			_, err := client.Kubernetes.ResizeNodePool(ctx, here, "apps", "apps-np", n)
			return err
		}
		if err := resize(2); err != nil {
			t.Fatal(err)
		}
		stub.Elapse(time.Minute + time.Second)
		if n := len(must(client.Kubernetes.Get(ctx, here, "apps")).NodePools[0].VMs); n != 2 {
			t.Errorf("%d nodes, want 2", n)
		}
		if err := resize(3); statusOf(err) != 422 {
			t.Errorf("right after the nodes have come: %v", err)
		}
		stub.Elapse(time.Minute)
		if err := resize(3); err != nil {
			t.Error(err)
		}
	}, cloudapitest.WithDelays(cloudapitest.Delays{Resize: time.Minute}))
}

// stopped creates a stopped VM.
func stopped(t *testing.T, client *cloudapi.Client, location, name string, storage int) string {
	t.Helper()
	vm := must(client.VMs.Create(t.Context(), location, name, &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", StorageSize: storage}))
	must(client.VMs.Stop(t.Context(), location, name))
	return vm.ID
}

func TestRefusedImages(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{})).Client()
	for name, request := range map[string]struct{ location, vm, errorType string }{
		"large":                      {here, stopped(t, client, here, "large", 80), "InvalidRequest"},
		"nowhere":                    {"us-east-a2", stopped(t, client, "us-east-a2", "nowhere", 40), "InvalidRequest"},
		"m1y2r3n4k5p6q7s8t9v0w1x2yz": {here, stopped(t, client, here, "small", 40), "BadRequest"},
	} {
		_, err := client.MachineImages.Create(t.Context(), request.location, name, &cloudapi.MachineImageCreateRequest{VM: request.vm})
		if e, ok := errors.AsType[*cloudapi.Error](err); !ok || e.StatusCode != 400 || e.Type != request.errorType {
			t.Errorf("%s: %v, want 400 %s", name, err, request.errorType)
		}
	}
}

func TestLatestImageWhileItIsBeingDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *cloudapitest.Server, client *cloudapi.Client) {
		ctx, source := t.Context(), stopped(t, client, here, "source", 40)
		must(client.MachineImages.Create(ctx, here, "golden", &cloudapi.MachineImageCreateRequest{VM: source, Version: "v1"}))
		must(client.MachineImages.CreateVersion(ctx, here, "golden", "v2", &cloudapi.MachineImageVersionCreateRequest{VM: source}))
		if err := client.MachineImages.DeleteVersion(ctx, here, "golden", "v2"); err != nil {
			t.Fatal(err)
		}
		request := &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", BootImage: "golden@latest"}
		if _, err := client.VMs.Create(ctx, here, "copy", request); err != nil {
			t.Errorf("a VM of the older version: %v", err)
		}
		if got := must(client.MachineImages.Get(ctx, here, "golden")).LatestVersion; got != "v1" {
			t.Errorf("the latest version is %q, want v1", got)
		}
		for _, v := range must(client.MachineImages.ListVersions(ctx, here, "golden", nil)).Items {
			if v.Latest != (v.Version == "v1") {
				t.Errorf("%+v", v)
			}
		}
	}, cloudapitest.WithDelays(cloudapitest.Delays{Delete: time.Minute}))
}

func TestStopDuringARestart(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *cloudapitest.Server, client *cloudapi.Client) {
		ctx := t.Context()
		must(client.VMs.Create(ctx, here, "web", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA"}))
		must(client.VMs.WaitRunning(ctx, here, "web", nil))
		must(client.VMs.Restart(ctx, here, "web"))
		must(client.VMs.Stop(ctx, here, "web"))
		if got := must(client.VMs.Get(ctx, here, "web")).State; got != cloudapi.VMStateRestarting {
			t.Errorf("the VM is %s, want it restarting", got)
		}
		stub.Elapse(time.Minute)
		if got := must(client.VMs.Get(ctx, here, "web")).State; got != cloudapi.VMStateStopped {
			t.Errorf("the VM is %s, want it stopped", got)
		}
	})
}

func TestCredentialsOfMetricDestinations(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	must(srv.Client().Postgres.Create(t.Context(), here, "db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))
	for credentials, want := range map[string]int{
		`"options":{"authorization":{"credentials":"x"}}`:                     200,
		`"options":{"authorization":{"type":" Bearer ","credentials":"x"}}`:   200,
		`"options":{"authorization":{"type":" ","credentials":"x"}}`:          400,
		`"options":{"authorization":{"type":null,"credentials":"x"}}`:         400,
		`"options":{"authorization":{"type":" BASIC","credentials":"x"}}`:     400,
		`"options":{"authorization":{"credentials":"x","more":"y"}}`:          400,
		`"options":{"headers":{"X-Scope":"a"}}`:                               200,
		`"options":{"headers":{"Connection":"close"}}`:                        400,
		`"options":{"headers":{"X-Prometheus-Remote-Write-Version":"2.0.0"}}`: 400,
		`"username":"","password":""`:                                         400,
	} {
		status, body := stub.Do(t, srv, "POST", fmt.Sprintf("/project/%s/location/%s/postgres/db/metric-destination", srv.ProjectID(), here),
			`{"url":"https://metrics.example.com",`+credentials+`}`)
		if status != want || status == 400 && !strings.Contains(body, `"details":{"options":`) {
			t.Errorf("%s: %d %s", credentials, status, body)
		}
	}
}

func TestCacheEntriesHaveNoNames(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	ctx, github := t.Context(), srv.Client().GitHub
	installation := must(github.ListInstallations(ctx, nil)).Items[0].ID
	at := "/project/" + srv.ProjectID() + "/github/" + installation + "/repository/app/cache/"
	for entry, want := range map[string]int{"go-mod-1": 404, string(cloudapitest.NewID(cloudapi.KindGitHubCacheEntry)): 204} {
		if status, _ := stub.Do(t, srv, "DELETE", at+entry, ""); status != want {
			t.Errorf("%s: %d, want %d", entry, status, want)
		}
	}
}

func TestNamesOfFilesWithAHyphen(t *testing.T) {
	t.Parallel()
	for api, want := range map[cloudapitest.API]string{
		cloudapitest.Service:  `attachment; filename="main-db.pem"; filename*=UTF-8''main%2Ddb.pem`,
		cloudapitest.Contract: `attachment; filename="main-db.pem"`,
	} {
		srv := cloudapitest.New(t, cloudapitest.WithAPI(api), cloudapitest.WithDelays(cloudapitest.Delays{}))
		must(srv.Client().Postgres.Create(t.Context(), here, "main-db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))
		request, _ := http.NewRequestWithContext(t.Context(), "GET", srv.URL()+"/project/"+srv.ProjectID()+"/location/"+here+"/postgres/main-db/ca-certificates", nil)
		request.Header = http.Header{"Authorization": {"Bearer " + srv.Token()}, "Accept": {"application/json"}}
		response := must(srv.HTTPClient().Do(request))
		response.Body.Close()
		if got := response.Header.Get("Content-Disposition"); got != want {
			t.Errorf("%s: %s, want %s", api, got, want)
		}
	}
}
