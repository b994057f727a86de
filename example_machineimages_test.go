package cloudapi_test

import (
	"context"
	"fmt"

	"github.com/cloudapi-sdk/cloudapi"
)

func ExampleMachineImagesService() {
	client, err := cloudapi.NewClient(cloudapi.FromEnv())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	const location = "eu-central-h1"

	// Only a VM that is stopped can be copied.
	vm, err := client.VMs.Stop(ctx, location, "build-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := client.VMs.WaitStopped(ctx, location, vm.ID); err != nil {
		fmt.Println(err)
		return
	}
	image, err := client.MachineImages.Create(ctx, location, "golden", &cloudapi.MachineImageCreateRequest{VM: vm.ID, Version: "v1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := client.MachineImages.WaitVersion(ctx, location, image.ID, "v1"); err != nil {
		fmt.Println(err)
		return
	}
	// Any number of VMs can be made of it.
	copied, err := client.VMs.Create(ctx, location, "web-1", &cloudapi.VMCreateRequest{PublicKey: "laptop", BootImage: image.Name + "@v1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(copied.Name, copied.BootImage)
}

func ExampleGitHubService() {
	client, err := cloudapi.NewClient(cloudapi.FromEnv())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()

	// How much each repository keeps.
	for installation, err := range client.GitHub.AllInstallations(ctx, nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for repository, err := range client.GitHub.AllRepositories(ctx, installation.ID, nil) {
			if err != nil {
				fmt.Println(err)
				return
			}
			entries, err := cloudapi.Collect(client.GitHub.AllCacheEntries(ctx, installation.ID, repository.ID, nil))
			if err != nil {
				fmt.Println(err)
				return
			}
			var size int64
			for _, entry := range entries {
				size += entry.Size
			}
			fmt.Println(repository.InstallationName, repository.Name, len(entries), size)
		}
	}
}
