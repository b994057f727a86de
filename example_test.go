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

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPlaceholderKeyForExamplesOnlyxxxxxxxxxxxxxxxx dev@example.com"

// newServer returns an in-memory server without delays.
func newServer() *cloudapitest.Server {
	return cloudapitest.NewServer(cloudapitest.WithDelays(cloudapitest.Delays{}))
}

func Example() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client() // in a real program: cloudapi.NewClient(cloudapi.FromEnv())
	ctx := context.Background()

	for _, name := range []string{"web-1", "web-2"} {
		if _, err := client.VMs.Create(ctx, "eu-central-h1", name, &cloudapi.VMCreateRequest{PublicKey: publicKey}); err != nil {
			log.Fatal(err)
		}
	}
	vms := map[string]string{}
	for vm, err := range client.VMs.All(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		vms[vm.Name] = vm.State
	}
	fmt.Println(vms)
	// Output: map[web-1:running web-2:running]
}

func ExampleNewClient() {
	client, err := cloudapi.NewClient(
		cloudapi.WithBaseURL("https://api.example.com"),
		cloudapi.WithToken("pat-ak0123456789abcdefghjkmnpq-secret"),
		cloudapi.WithProject("pjahbwgme82j3qbwnsn4b3w1e9"),
	)
	fmt.Println(client, err)

	_, err = cloudapi.NewClient(cloudapi.WithBaseURL("http://api.example.com"), cloudapi.WithToken("pat-secret"))
	fmt.Println(errors.Is(err, cloudapi.ErrInvalidArgument)) // plain http would expose the token
	// Output:
	// cloudapi.Client(https://api.example.com, project "pjahbwgme82j3qbwnsn4b3w1e9") <nil>
	// true
}

func ExampleClient_With() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()

	// A copy with the same connections, for calls that may take longer.
	patient, err := client.With(cloudapi.WithTimeout(5*time.Minute), cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 10}))
	if err != nil {
		log.Fatal(err)
	}
	page, err := patient.VMs.List(context.Background(), nil)
	fmt.Println(len(page.Items), err)
	// Output: 0 <nil>
}

// errors.Is distinguishes the kinds of errors. The *Error contains the server's
// details.
func ExampleError() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()

	_, err := client.VMs.Get(ctx, "eu-central-h1", "nobody")
	fmt.Println("not found:", errors.Is(err, cloudapi.ErrNotFound))

	create := func(name, size string) error {
		_, err := client.VMs.Create(ctx, "eu-central-h1", name, &cloudapi.VMCreateRequest{PublicKey: publicKey, Size: size})
		return err
	}
	fmt.Println("created:", create("web-1", "standard-2") == nil)
	fmt.Println("name taken:", errors.Is(create("web-1", "standard-2"), cloudapi.ErrAlreadyExists))

	if e, ok := errors.AsType[*cloudapi.Error](create("web-2", "standard-3")); ok {
		fmt.Println(e.StatusCode, e.Type, len(e.FieldErrors()["size"]))
	}
	// Output:
	// not found: true
	// created: true
	// name taken: true
	// 400 InvalidRequest 1
}

func ExampleConfirm() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()
	// The server executes the next create, but the response is lost.
	srv.Fail(cloudapitest.Match{Method: http.MethodPost}, cloudapitest.DropAfter())

	request := &cloudapi.VMCreateRequest{PublicKey: publicKey, Size: "standard-4"}
	_, err := client.VMs.Create(ctx, "eu-central-h1", "web-1", request)
	fmt.Println(errors.Is(err, cloudapi.ErrOutcomeUnknown))
	vm, err := cloudapi.Confirm(ctx, err, func(ctx context.Context) (*cloudapi.VM, error) {
		return client.VMs.Get(ctx, "eu-central-h1", "web-1")
	}, func(vm *cloudapi.VM) bool {
		return vm.Size == request.Size
	})
	fmt.Println(vm.Name, err)
	// Output:
	// true
	// web-1 <nil>
}

func ExampleListOptions() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()
	for _, name := range []string{"a", "b", "c"} {
		if _, err := client.Firewalls.Create(ctx, "eu-central-h1", name, nil); err != nil {
			log.Fatal(err)
		}
	}

	// One page.
	page, err := client.Firewalls.List(ctx, &cloudapi.ListOptions{Location: "eu-central-h1", PageSize: 2, OrderColumn: cloudapi.OrderByName})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(page.Items), "of", *page.Count, "behind", page.Next)

	// All firewalls.
	firewalls, err := cloudapi.Collect(client.Firewalls.All(ctx, nil))
	fmt.Println(len(firewalls), err)
	// Output:
	// 2 of 3 behind b
	// 3 <nil>
}

func ExampleWait() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()
	db, err := client.Postgres.Create(ctx, "eu-central-h1", "orders", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64})
	if err != nil {
		log.Fatal(err)
	}

	// The certificates exist some time after the database.
	db, err = cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.Postgres, error) {
		return client.Postgres.Get(ctx, db.Location, db.ID)
	}, func(db *cloudapi.Postgres) (bool, error) {
		return db.CACertificates != "", nil
	}, nil)
	fmt.Println(db.Name, err)
	// Output: orders <nil>
}

func ExampleSecret() {
	key := cloudapi.NewSecret("AKIA-EXAMPLE")
	fmt.Printf("%v %q %s\n", key, key, []cloudapi.Secret{key})
	fmt.Println(key.Reveal())
	// Output:
	// [redacted] [redacted] [[redacted]]
	// AKIA-EXAMPLE
}

// In an update of a configuration, null removes a setting, so the values are
// pointers.
func ExamplePostgresConfigUpdateRequest() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()
	db, err := client.Postgres.Create(ctx, "eu-central-h1", "orders", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64})
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Postgres.ReplaceConfig(ctx, db.Location, db.ID, &cloudapi.PostgresConfig{
		PGConfig: cloudapi.PostgresSettings{"max_connections": cloudapi.NewPostgresSetting("250"), "work_mem": cloudapi.NewPostgresSetting("32MB")},
	})
	if err != nil {
		log.Fatal(err)
	}
	config, err := client.Postgres.UpdateConfig(ctx, db.Location, db.ID, &cloudapi.PostgresConfigUpdateRequest{
		PGConfig: cloudapi.PostgresSettings{"work_mem": cloudapi.NewPostgresSetting("64MB"), "max_connections": {}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(config.PGConfig)
	// Output: map[work_mem:64MB]
}

// An operation that has no method in the SDK. The test server doesn't have it
// either, so here a fault responds. In a test, use cloudapitest.Lenient to let
// such a request pass.
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
// creates a span for each call.
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
