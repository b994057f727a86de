package cloudapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

// Idempotent requests are retried after transient failures.
func Example_retries() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client(cloudapi.WithRetry(cloudapi.RetryPolicy{
		MaxAttempts: 3,
		MinDelay:    time.Millisecond, // the default is half a second
	}))
	ctx := context.Background()

	srv.Fail(cloudapitest.Match{Method: "GET"}, cloudapitest.DropBefore(), cloudapitest.Reply(502, nil, "bad gateway"))
	page, err := client.VMs.List(ctx, nil)
	fmt.Println(len(page.Items), err, len(srv.Requests()), "requests")

	// The error is that of the last attempt.
	srv.Fail(cloudapitest.Match{Method: "GET"}, cloudapitest.Reply(502, nil, "bad gateway").Repeating())
	_, err = client.VMs.List(ctx, nil)
	if e, ok := errors.AsType[*cloudapi.Error](err); ok {
		fmt.Println(e.StatusCode, "after", e.Attempts, "attempts:", e.Body)
	}
	// Output:
	// 0 <nil> 3 requests
	// 502 after 3 attempts: bad gateway
}

// A wait reports its progress. If it fails, its error contains the last state.
func Example_waits() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	vm, err := client.VMs.Create(ctx, "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{PublicKey: publicKey})
	if err != nil {
		log.Fatal(err)
	}
	srv.SetState(vm.ID, cloudapi.VMStateWaitingForCapacity)

	_, err = client.VMs.WaitRunning(ctx, vm.Location, vm.ID, &cloudapi.WaitOptions{Progress: func(p cloudapi.Progress) {
		fmt.Println(p.Operation, p.State, p.Polls)
		cancel() // the user gives up
	}})
	if e, ok := errors.AsType[*cloudapi.WaitError](err); ok {
		fmt.Println("ended in", e.State, errors.Is(err, context.Canceled))
	}
	// Output:
	// VMs.WaitRunning waiting for capacity 1
	// ended in waiting for capacity true
}

// An operation that has no method in the SDK. The server for tests does not
// have it either: here a fault answers it. In a test use cloudapitest.Lenient
// to let such a request pass.
func ExampleClient_Do() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	srv.Fail(cloudapitest.Match{Path: "/project/" + client.Project() + "/invoice"},
		cloudapitest.Reply(200, nil, `{"items":[{"month":"2026-08"}]}`))

	var invoices struct {
		Items []struct{ Month string }
	}
	err := client.Do(context.Background(), "GET", []string{"project", client.Project(), "invoice"}, nil, nil, &invoices)
	fmt.Println(invoices.Items, err)
	// Output: [{2026-08}] <nil>
}

// An observer sees a call once, with all its attempts. Module otelcloudapi
// makes a span of it.
func ExampleWithObserver() {
	srv := newServer()
	defer srv.Close()
	srv.Fail(cloudapitest.Match{}, cloudapitest.Reply(503, nil, ""))
	client := srv.Client(
		cloudapi.WithRetry(cloudapi.RetryPolicy{MinDelay: time.Millisecond}),
		cloudapi.WithObserver(func(ctx context.Context, op cloudapi.Operation) (context.Context, func(error)) {
			fmt.Println("begin", op.Name)
			return ctx, func(err error) { fmt.Println("end", err) }
		}))
	if _, err := client.VMs.List(context.Background(), nil); err != nil {
		fmt.Println(err)
	}
	fmt.Println(len(srv.Requests()), "attempts")
	// Output:
	// begin VMs.List
	// end <nil>
	// 2 attempts
}

// deployAll is the program to test.
func deployAll(ctx context.Context, client *cloudapi.Client, names ...string) error {
	for _, name := range names {
		vm, err := client.VMs.Create(ctx, "eu-central-h1", name, &cloudapi.VMCreateRequest{PublicKey: publicKey})
		if err != nil {
			return err
		}
		if _, err := client.VMs.WaitRunning(ctx, vm.Location, vm.ID, nil); err != nil {
			return err
		}
	}
	return nil
}

// A test of a program needs no network. In a test use New(t) in place of
// NewServer. With testing/synctest keep the delays of the service, since no
// real time passes.
func Example_tests() {
	srv := cloudapitest.NewServer(cloudapitest.WithDelays(cloudapitest.Delays{}))
	defer srv.Close()
	if err := deployAll(context.Background(), srv.Client(), "web-1", "web-2"); err != nil {
		log.Fatal(err)
	}
	for _, request := range srv.Requests() {
		if request.Method == http.MethodPost {
			fmt.Println(request.Path[len("/project/"+srv.ProjectID()):], request.Status)
		}
	}
	// Output:
	// /location/eu-central-h1/vm/web-1 200
	// /location/eu-central-h1/vm/web-2 200
}
