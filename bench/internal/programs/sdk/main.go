// Command sdk gets a VM with the SDK.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/cloudapi-sdk/cloudapi"
)

func main() {
	client, err := cloudapi.NewClient(cloudapi.FromEnv())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	vm, err := client.VMs.Get(context.Background(), "eu-central-h1", "web-1")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(vm.Name, vm.State)
}
