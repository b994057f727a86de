// Inventory shows the resources of a project, except machine images, as a
// table, as JSON, as CSV or as a page for a browser. If it can't read some, it
// shows the others, names the missing ones on standard error, and exits with
// status 1.
//
//	inventory
//	inventory -o csv > project.csv
//	inventory --html project.html
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

// inventory contains the resources of a project, with all their fields.
type inventory struct {
	Project            *cloudapi.Project             `json:"project"`
	PrivateSubnets     []*cloudapi.PrivateSubnet     `json:"private_subnets"`
	Firewalls          []*cloudapi.Firewall          `json:"firewalls"`
	VMs                []*cloudapi.VM                `json:"vms"`
	LoadBalancers      []*cloudapi.LoadBalancer      `json:"load_balancers"`
	Postgres           []*cloudapi.Postgres          `json:"postgres"`
	KubernetesClusters []*cloudapi.KubernetesCluster `json:"kubernetes_clusters"`
	PrivateLocations   []*cloudapi.PrivateLocation   `json:"private_locations"`
	SSHPublicKeys      []*cloudapi.SSHPublicKey      `json:"ssh_public_keys"`
	VMInitScripts      []*cloudapi.VMInitScript      `json:"vm_init_scripts"`
	InferenceAPIKeys   []*cloudapi.InferenceAPIKey   `json:"inference_api_keys"`
}

// collect returns what it can read of the project, and the errors of the rest.
// It returns nil if it can't read the project itself.
func collect(ctx context.Context, client *cloudapi.Client) (*inventory, error) {
	project, err := client.Projects.Get(ctx, client.Project())
	if err != nil {
		return nil, err
	}
	inv, r := &inventory{Project: project}, &reader{}

	// These lists contain all fields.
	list(r, &inv.PrivateSubnets, client.PrivateSubnets.All(ctx, nil))
	list(r, &inv.Firewalls, client.Firewalls.All(ctx, nil))
	list(r, &inv.PrivateLocations, client.PrivateLocations.All(ctx, nil))
	list(r, &inv.SSHPublicKeys, client.SSHPublicKeys.All(ctx, nil))
	list(r, &inv.InferenceAPIKeys, client.InferenceAPIKeys.All(ctx, nil))
	list(r, &inv.VMInitScripts, orNone(client.VMInitScripts.All(ctx, nil)))

	// The other lists need a request per item.
	listFull(r, &inv.VMs, client.VMs.All(ctx, nil), func(vm *cloudapi.VM) (*cloudapi.VM, error) {
		return client.VMs.Get(ctx, vm.Location, vm.ID)
	})
	listFull(r, &inv.LoadBalancers, client.LoadBalancers.All(ctx, nil), func(lb *cloudapi.LoadBalancer) (*cloudapi.LoadBalancer, error) {
		return client.LoadBalancers.Get(ctx, lb.Location, lb.ID)
	})
	listFull(r, &inv.Postgres, client.Postgres.All(ctx, nil), func(db *cloudapi.Postgres) (*cloudapi.Postgres, error) {
		return client.Postgres.Get(ctx, db.Location, db.ID)
	})
	listFull(r, &inv.KubernetesClusters, client.Kubernetes.All(ctx, nil), func(k *cloudapi.KubernetesCluster) (*cloudapi.KubernetesCluster, error) {
		return client.Kubernetes.Get(ctx, k.Location, k.ID)
	})
	err = r.wait()
	inv.sort()
	return inv, err
}

func main() { demo.Main("inventory", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("inventory", flag.ExitOnError)
	format := flags.String("o", "table", "`format` of the list: table, json or csv")
	html := flags.String("html", "", "`file` for a page that shows the project")
	flags.Parse(args)
	if flags.NArg() > 0 {
		return demo.Usagef("unexpected argument %q", flags.Arg(0))
	}
	write := map[string]func(io.Writer, *inventory) error{"table": writeTable, "json": writeJSON, "csv": writeCSV}[*format]
	if write == nil {
		return demo.Usagef("-o %q: use table, json or csv", *format)
	}

	client, closeServer, err := demo.Connect(ctx, stderr, "inventory", demo.Server{})
	if err != nil {
		return err
	}
	defer closeServer()
	inv, missing := collect(ctx, client)
	if inv == nil || ctx.Err() != nil {
		return missing
	}

	if *html != "" {
		var text bytes.Buffer
		if err := writePage(&text, inv); err != nil {
			return err
		}
		if err := os.WriteFile(*html, text.Bytes(), 0o644); err != nil {
			return err
		}
		fmt.Fprintln(stderr, "Written to", *html)
	}
	if err := write(stdout, inv); err != nil {
		return err
	}
	if missing != nil {
		return fmt.Errorf("the list isn't complete: %w", missing)
	}
	return nil
}
