package cloudapi_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// A program that follows the project's VMs. This one also makes the changes.
func ExampleVMsService_Watch() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if _, err := client.VMs.Create(ctx, "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{PublicKey: publicKey}); err != nil {
		fmt.Println(err)
		return
	}

	opts := &cloudapi.WatchOptions{
		Interval: time.Millisecond, // leave it out in a real program
		Progress: func(p cloudapi.Progress) {
			if p.Err != nil {
				fmt.Println("round", p.Polls, "failed:", p.Err)
			}
		},
	}
	for event, err := range client.VMs.Watch(ctx, opts) {
		if err != nil {
			fmt.Println("the end:", err)
			return
		}
		vm := event.Record
		switch event.Type {
		case cloudapi.EventAdded:
			fmt.Println(vm.Name, "is", vm.State)
			_, err = client.VMs.Rename(ctx, vm.Location, vm.ID, "web-2")
		case cloudapi.EventModified:
			fmt.Println(event.Old.Name, "is now", vm.Name)
			err = client.VMs.Delete(ctx, vm.Location, vm.ID)
		case cloudapi.EventDeleted:
			fmt.Println(vm.Name, "is gone")
			cancel()
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// web-1 is running
	// web-1 is now web-2
	// web-2 is gone
	// the end: context canceled
}
