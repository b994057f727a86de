package cloudapi_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

func ExampleFirewallsService() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()

	// A firewall without rules lets nothing in.
	firewall, err := client.Firewalls.Create(ctx, "eu-central-h1", "edge", &cloudapi.FirewallCreateRequest{Description: "web servers"})
	if err != nil {
		log.Fatal(err)
	}
	for _, port := range []string{"22", "8000..8999"} {
		rule := &cloudapi.FirewallRuleCreateRequest{CIDR: "203.0.113.0/24", PortRange: port}
		if _, err := client.Firewalls.CreateRule(ctx, firewall.Location, firewall.ID, rule); err != nil {
			log.Fatal(err)
		}
	}
	// It protects the VMs of the subnets that it is attached to.
	subnet, err := client.PrivateSubnets.Create(ctx, "eu-central-h1", "frontend", &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID})
	if err != nil {
		log.Fatal(err)
	}
	firewall, err = client.Firewalls.Get(ctx, "eu-central-h1", "edge")
	if err != nil {
		log.Fatal(err)
	}
	for _, rule := range firewall.FirewallRules {
		fmt.Println(rule.CIDR, rule.PortRange)
	}
	fmt.Println(firewall.PrivateSubnets[0].ID == subnet.ID)
	// Output:
	// 203.0.113.0/24 22
	// 203.0.113.0/24 8000..8999
	// true
}

func ExampleKubernetesService() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()

	cluster, err := client.Kubernetes.Create(ctx, "eu-central-h1", "apps", &cloudapi.KubernetesClusterCreateRequest{
		Version:         "v1.36",
		WorkerSize:      "standard-4",
		WorkerNodeCount: 2,
	})
	if err != nil {
		log.Fatal(err)
	}
	cluster, err = client.Kubernetes.WaitRunning(ctx, cluster.Location, cluster.ID, nil)
	if err != nil {
		log.Fatal(err)
	}
	pool := cluster.NodePools[0]
	if _, err := client.Kubernetes.ResizeNodePool(ctx, cluster.Location, cluster.ID, pool.ID, 3); err != nil {
		log.Fatal(err)
	}
	nodes, err := client.Kubernetes.WaitNodePool(ctx, cluster.Location, cluster.ID, pool.ID, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cluster.DisplayState, nodes.Name, len(nodes.VMs))
	// Output: running apps-np 3
}

func ExampleLoadBalancersService() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()
	subnet, err := client.PrivateSubnets.Create(ctx, "eu-central-h1", "frontend", nil)
	if err != nil {
		log.Fatal(err)
	}
	vm, err := client.VMs.Create(ctx, "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{
		PublicKey: publicKey, PrivateSubnetID: subnet.ID, EnableIPv4: new(true),
	})
	if err != nil {
		log.Fatal(err)
	}

	lb, err := client.LoadBalancers.Create(ctx, "eu-central-h1", "www", &cloudapi.LoadBalancerCreateRequest{
		PrivateSubnetID:     subnet.ID,
		Algorithm:           cloudapi.LoadBalancerAlgorithmRoundRobin,
		Stack:               cloudapi.LoadBalancerStackDual,
		SrcPort:             443,
		DstPort:             8443,
		HealthCheckProtocol: cloudapi.LoadBalancerHealthCheckProtocolHTTPS,
	})
	if err != nil {
		log.Fatal(err)
	}
	lb, err = client.LoadBalancers.AttachVM(ctx, lb.Location, lb.ID, vm.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lb.Name, lb.SrcPort, lb.DstPort, lb.HealthCheckEndpoint, lb.VMs[0] == vm.ID)
	// Output: www 443 8443 /up true
}

func ExamplePostgresService() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()

	db, err := client.Postgres.Create(ctx, "eu-central-h1", "orders", &cloudapi.PostgresCreateRequest{
		Size:        "standard-2",
		StorageSize: 64,
		HAType:      cloudapi.PostgresHATypeAsync,
		Tags:        []cloudapi.PostgresTag{{Key: "team", Value: "shop"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	db, err = client.Postgres.WaitRunning(ctx, db.Location, db.ID, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(db.State, db.ConnectionString)                           // a secret
	fmt.Println(db.ConnectionString.Reveal()[:len("postgres://")])       // for a driver
	file, err := client.Postgres.CACertificates(ctx, db.Location, db.ID) // the certificates to trust
	if err != nil {
		log.Fatal(err)
	}
	block, _ := pem.Decode(file.Content)
	fmt.Println(block.Type)
	// Output:
	// running [redacted]
	// postgres://
	// CERTIFICATE
}

func ExamplePrivateLocationsService() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()

	location, err := client.PrivateLocations.Create(ctx, "our-aws", &cloudapi.PrivateLocationCreateRequest{
		ProviderLocationName: cloudapi.PrivateLocationProviderLocationNameUSEast1,
		AccessKey:            cloudapi.NewSecret("AKIAIOSFODNN7EXAMPLE"),
		SecretKey:            cloudapi.NewSecret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(location.UIName, location.Provider, location.Name)

	// UIName is what other methods call the location.
	db, err := client.Postgres.Create(ctx, location.UIName, "orders", &cloudapi.PostgresCreateRequest{Size: "m8gd.large", StorageSize: 118})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(db.Location)
	// Output:
	// our-aws aws us-east-1
	// our-aws
}

func ExamplePrivateSubnetsService() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()

	frontend, err := client.PrivateSubnets.Create(ctx, "eu-central-h1", "frontend", nil)
	if err != nil {
		log.Fatal(err)
	}
	backend, err := client.PrivateSubnets.Create(ctx, "eu-central-h1", "backend", nil)
	if err != nil {
		log.Fatal(err)
	}
	// Connected subnets can reach each other.
	frontend, err = client.PrivateSubnets.Connect(ctx, frontend.Location, frontend.ID, backend.ID)
	if err != nil {
		log.Fatal(err)
	}
	// Without a firewall in the request, the server creates one that lets
	// everything in.
	for _, firewall := range frontend.Firewalls {
		fmt.Println(firewall.Name, len(firewall.FirewallRules), "rules")
	}
	// Output: frontend-default 4 rules
}

func ExampleVMsService() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()
	vm, err := client.VMs.Create(ctx, "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{
		PublicKey:  publicKey,
		Size:       "standard-4",
		EnableIPv4: new(true),
	})
	if err != nil {
		log.Fatal(err)
	}

	// Use the ID, which doesn't change with the name.
	if _, err := client.VMs.Rename(ctx, vm.Location, vm.ID, "web-2"); err != nil {
		log.Fatal(err)
	}
	if _, err := client.VMs.Restart(ctx, vm.Location, vm.ID); err != nil {
		log.Fatal(err)
	}
	vm, err = client.VMs.WaitRunning(ctx, vm.Location, vm.ID, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(vm.Name, vm.State, vm.Subnet)

	if err := client.VMs.Delete(ctx, vm.Location, vm.ID); err != nil {
		log.Fatal(err)
	}
	fmt.Println(client.VMs.WaitDeleted(ctx, vm.Location, vm.ID, nil))
	// Output:
	// web-2 running default-eu-central-h1
	// <nil>
}

// A fetch takes a few seconds. The text can contain escape codes of terminals.
func ExampleVMsService_WaitSerialLog() {
	srv := newLaterServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()
	vm, err := client.VMs.Create(ctx, "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{PublicKey: publicKey})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.VMs.WaitRunning(ctx, vm.Location, vm.ID, nil); err != nil {
		log.Fatal(err)
	}
	srv.SetSerialLog(vm.ID, "\x1b[32mOK\x1b[0m\r\nlogin: ")
	serial, err := client.VMs.WaitSerialLog(ctx, vm.Location, vm.ID, nil)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(serial.Output) {
		fmt.Printf("%q\n", line)
	}
	// Output:
	// "\x1b[32mOK\x1b[0m\r\n"
	// "login: "
}

// newLaterServer returns an in-memory server that has only what the service
// has, with databases that have run for three hours.
func newLaterServer() *cloudapitest.Server {
	return cloudapitest.NewServer(cloudapitest.WithAPI(cloudapitest.Service), cloudapitest.WithDelays(cloudapitest.Delays{Backup: -3 * time.Hour}))
}

func ExampleInferenceEndpointsService() {
	srv := newLaterServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()

	for model, err := range client.InferenceEndpoints.All(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if model.Tags["capability"] == "Text Generation" {
			fmt.Println(model.ModelName, "at", model.URL, model.Tags["context_length"])
		}
	}
	// Output:
	// llama-3-3-70b-it at https://llama-3-3-70b.ai.localhost 128k
	// qwen3-32b at https://router.ai.localhost 32k
}

func ExampleAuditLogService() {
	srv := newLaterServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()
	vm, err := client.VMs.Create(ctx, "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{PublicKey: publicKey})
	if err != nil {
		log.Fatal(err)
	}
	if err := client.VMs.Delete(ctx, vm.Location, vm.ID); err != nil {
		log.Fatal(err)
	}

	// Who did what to the VM in the last three months? The newest comes first.
	for entry, err := range client.AuditLog.All(ctx, &cloudapi.AuditLogOptions{Object: vm.ID}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(entry.SubjectName, entry.Action, entry.ObjectIDs[0] == vm.ID)
	}
	// Output:
	// own vm/destroy true
	// own vm/create true
}

// A new version comes to the control plane first, then to each node pool.
func ExampleKubernetesService_Upgrade() {
	srv := newLaterServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()
	cluster, err := client.Kubernetes.Create(ctx, "eu-central-h1", "apps", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.Kubernetes.WaitRunning(ctx, cluster.Location, cluster.ID, nil); err != nil {
		log.Fatal(err)
	}

	if _, err := client.Kubernetes.Upgrade(ctx, cluster.Location, cluster.ID); err != nil {
		log.Fatal(err)
	}
	cluster, err = client.Kubernetes.WaitRunning(ctx, cluster.Location, cluster.ID, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, pool := range cluster.NodePools {
		fmt.Println(pool.Name, "has", pool.Version, "in a cluster of", cluster.Version)
		before, err := client.Kubernetes.UpgradeNodePool(ctx, cluster.Location, cluster.ID, pool.ID)
		if err != nil {
			log.Fatal(err)
		}
		after, err := client.Kubernetes.WaitNodePoolUpgraded(ctx, cluster.Location, cluster.ID, before, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(after.Name, "has", after.Version)
	}
	// Output:
	// apps-np has v1.36 in a cluster of v1.37
	// apps-np has v1.37
}

func ExampleMachineImagesService() {
	srv := newLaterServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()
	const location = "eu-central-h1"
	vm, err := client.VMs.Create(ctx, location, "build-1", &cloudapi.VMCreateRequest{PublicKey: publicKey})
	if err != nil {
		log.Fatal(err)
	}

	// Only a VM that is stopped can be copied.
	if _, err := client.VMs.Stop(ctx, location, vm.ID); err != nil {
		log.Fatal(err)
	}
	if _, err := client.VMs.WaitStopped(ctx, location, vm.ID, nil); err != nil {
		log.Fatal(err)
	}
	image, err := client.MachineImages.Create(ctx, location, "golden", &cloudapi.MachineImageCreateRequest{VMID: vm.ID, Version: "v1"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.MachineImages.WaitVersion(ctx, location, image.ID, "v1", nil); err != nil {
		log.Fatal(err)
	}
	// Any number of VMs can be created from the image.
	copied, err := client.VMs.Create(ctx, location, "web-1", &cloudapi.VMCreateRequest{PublicKey: publicKey, BootImage: image.Name + "@v1"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(copied.Name, copied.BootImage)
	// Output: web-1 golden@v1
}

func ExampleGitHubService() {
	srv := newLaterServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()

	// The size of each repository's cache.
	for installation, err := range client.GitHub.AllInstallations(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		for repository, err := range client.GitHub.AllRepositories(ctx, installation.ID, nil) {
			if err != nil {
				log.Fatal(err)
			}
			entries, err := cloudapi.Collect(client.GitHub.AllCacheEntries(ctx, installation.ID, repository.ID, nil))
			if err != nil {
				log.Fatal(err)
			}
			var size int64
			for _, entry := range entries {
				if entry.Size != nil { // it's nil during the upload
					size += *entry.Size
				}
			}
			fmt.Println(repository.InstallationName, repository.Name, len(entries), size)
		}
	}
	// Unordered output:
	// acme app 1 1048576
	// acme docs 0 0
}
