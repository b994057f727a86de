package cloudapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

func ExampleClient_Resolve() {
	srv := newServer()
	defer srv.Close()
	client, ctx := srv.Client(), context.Background()
	vm, err := client.VMs.Create(ctx, "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{PublicKey: publicKey})
	if err != nil {
		log.Fatal(err)
	}

	// An ID contains the kind but not the location, which most methods need.
	resource, err := client.Resolve(ctx, vm.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resource.Kind, resource.Location, resource.Name)

	// Fetch returns the record with all its fields, as an any.
	record, err := client.Fetch(ctx, *resource)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%T\n", record)

	// Lookup returns a record of a known type, by ID or by location and name.
	again, err := cloudapi.Lookup[cloudapi.VM](ctx, client, "eu-central-h1/web-1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Size, again.ID == vm.ID)
	// Output:
	// VM eu-central-h1 web-1
	// *cloudapi.VM
	// standard-2 true
}

func ExampleVMsService_Ensure() {
	srv := newServer()
	defer srv.Close()
	client, ctx := srv.Client(), context.Background()

	// A script that runs twice, or in two places at once, creates one VM.
	for range 2 {
		vm, outcome, err := client.VMs.Ensure(ctx, "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{PublicKey: publicKey, Size: "standard-2"}, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(vm.Name, outcome)
	}

	// A resource that differs from the request stays unchanged.
	_, _, err := client.VMs.Ensure(ctx, "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{PublicKey: publicKey, Size: "standard-4"}, nil)
	if drift, ok := errors.AsType[*cloudapi.DriftError](err); ok {
		for _, f := range drift.Fields {
			fmt.Printf("%s is %v, wanted %v\n", f.Field, f.Found, f.Wanted)
		}
	}
	// Output:
	// web-1 created
	// web-1 unchanged
	// size is standard-2, wanted standard-4
}

func ExampleEnsureOptions() {
	srv := newServer()
	defer srv.Close()
	client, ctx := srv.Client(), context.Background()
	opts := &cloudapi.EnsureOptions{
		Update: true, // change an existing resource that differs, if the API can
		Progress: func(p cloudapi.Progress) {
			fmt.Println(p.Operation, p.Resource, p.State, p.Done, "of", p.Total)
		},
	}
	for _, size := range []int{64, 128} {
		_, _, err := client.Postgres.Ensure(ctx, "eu-central-h1", "db-1", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: size}, opts)
		if err != nil {
			log.Fatal(err)
		}
	}
	db, err := client.Postgres.WaitResized(ctx, "eu-central-h1", "db-1", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(db.StorageSizeGiB, "GiB")
	// Output:
	// Postgres.Ensure eu-central-h1/db-1 creating 0 of 1
	// Postgres.Ensure eu-central-h1/db-1 running 1 of 1
	// Postgres.Ensure eu-central-h1/db-1 updating 0 of 1
	// Postgres.Ensure eu-central-h1/db-1 running 1 of 1
	// 128 GiB
}

// A program that watches the project's VMs. This one also makes the changes.
func ExampleVMsService_Watch() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if _, err := client.VMs.Create(ctx, "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{PublicKey: publicKey}); err != nil {
		log.Fatal(err)
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
			log.Fatal(err)
		}
	}
	// Output:
	// web-1 is running
	// web-1 is now web-2
	// web-2 is gone
	// the end: context canceled
}
