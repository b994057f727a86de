package cloudapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

// A loop over all items, page by page, that fetches the next page while it
// works on this one.
func Example_lists() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client(cloudapi.WithPrefetch(1))
	ctx := context.Background()
	for i := range 25 {
		if _, err := client.Firewalls.Create(ctx, "eu-central-h1", fmt.Sprintf("edge-%d", i), nil); err != nil {
			fmt.Println(err)
			return
		}
	}

	count := 0
	for firewall, err := range client.Firewalls.All(ctx, &cloudapi.ListOptions{PageSize: 10}) {
		if err != nil {
			fmt.Println(err) // an error is always the last element of the loop
			return
		}
		if firewall.Location == "eu-central-h1" {
			count++
		}
	}
	fmt.Println(count)
	// Output: 25
}

// The subnets and private addresses of VMs, of which lists have only the short
// form.
func Example_privateAddresses() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()
	created, err := client.VMs.Create(ctx, "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{PublicKey: publicKey})
	if err != nil {
		fmt.Println(err)
		return
	}

	type network struct{ Subnet, IPv4 string }
	networks := map[string]network{} // by location and name of the VM
	for subnet, err := range client.PrivateSubnets.All(ctx, nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, nic := range subnet.NICs {
			networks[subnet.Location+"/"+nic.VMName] = network{subnet.Name, nic.PrivateIPv4}
		}
	}
	for vm, err := range client.VMs.All(ctx, nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		found := networks[vm.Location+"/"+vm.Name]
		fmt.Println(vm.Name, found.Subnet, found.IPv4 == created.PrivateIPv4, vm.Subnet == "")
	}
	// Output: web-1 default-eu-central-h1 true true
}

// The hosts of databases. Records from lists have none, and records of the October
// 2025 API have them only in the connection string.
func Example_databaseHosts() {
	for _, api := range []cloudapitest.API{cloudapitest.Contract, cloudapitest.Service} {
		srv := cloudapitest.NewServer(cloudapitest.WithAPI(api), cloudapitest.WithDelays(cloudapitest.Delays{}))
		defer srv.Close()
		client, ctx := srv.Client(), context.Background()
		_, err := client.Postgres.Create(ctx, "eu-central-h1", "orders", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64})
		if err != nil {
			fmt.Println(err)
			return
		}
		for listed, err := range client.Postgres.All(ctx, nil) {
			if err != nil {
				fmt.Println(err)
				return
			}
			db, err := client.Postgres.Get(ctx, listed.Location, listed.ID)
			if err != nil {
				fmt.Println(err)
				return
			}
			host := db.Hostname
			if host == "" {
				u, err := url.Parse(db.ConnectionString.Reveal())
				if err != nil {
					fmt.Println("the connection string isn't a URL") // err would contain the password
					return
				}
				host = u.Hostname()
			}
			fmt.Println(listed.Hostname == "", db.Hostname == "", strings.ReplaceAll(host, db.ID, "<id>"))
		}
	}

	// Output:
	// true true orders.<id>.postgres.localhost
	// true false orders.<id>.pg.localhost
}

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

// Zero is absent. A field is a pointer if zero has a meaning, and an Opt if
// null has a meaning; see the example of Opt.
func Example_optionalFields() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()

	_, err := client.VMs.Create(ctx, "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{
		PublicKey: publicKey,
		EnableIP4: new(false),
		// Size is left to the server.
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var sent map[string]any
	if err := json.Unmarshal(srv.Requests()[0].Body, &sent); err != nil {
		fmt.Println(err)
		return
	}
	delete(sent, "public_key")
	fmt.Println(sent)
	// Output: map[enable_ip4:false]
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
		fmt.Println(err)
		return
	}
	srv.SetState(vm.ID, cloudapi.VMStateWaitingForCapacity)

	_, err = client.VMs.WaitRunning(ctx, vm.Location, vm.ID, cloudapi.WaitProgress(func(p cloudapi.Progress) {
		fmt.Println(p.Operation, p.State, p.Polls)
		cancel() // the user gives up
	}))
	if e, ok := errors.AsType[*cloudapi.WaitError](err); ok {
		fmt.Println("ended in", e.State, errors.Is(err, context.Canceled))
	}
	// Output:
	// VMs.WaitRunning waiting for capacity 1
	// ended in waiting for capacity true
}

// replaceRules allows only the given ranges to connect to a database.
func replaceRules(ctx context.Context, client *cloudapi.Client, location, database string, ranges []netip.Prefix) error {
	old := map[string]string{} // IDs by range
	for rule, err := range client.Postgres.AllFirewallRules(ctx, location, database, nil) {
		if err != nil {
			return err
		}
		old[rule.CIDR] = rule.ID
	}
	for _, r := range ranges {
		cidr := r.Masked().String() // the server's form
		if _, found := old[cidr]; found {
			delete(old, cidr)
			continue
		}
		request := &cloudapi.PostgresFirewallRuleCreateRequest{CIDR: cidr}
		_, err := client.Postgres.CreateFirewallRule(ctx, location, database, request)
		if err != nil && !errors.Is(err, cloudapi.ErrAlreadyExists) {
			return err
		}
	}
	for _, id := range old {
		if err := client.Postgres.DeleteFirewallRule(ctx, location, database, id); err != nil {
			return err
		}
	}
	return nil
}

// The API has no operation that replaces a database's firewall rules. This adds
// the new ones first, so that nobody loses access in between.
func Example_replaceFirewallRules() {
	srv := newServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()
	db, err := client.Postgres.Create(ctx, "eu-central-h1", "orders", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64})
	if err != nil {
		fmt.Println(err)
		return
	}

	office := netip.MustParsePrefix("203.0.113.7/24")
	for range 2 { // the second time there is nothing to do
		if err := replaceRules(ctx, client, db.Location, db.ID, []netip.Prefix{office}); err != nil {
			fmt.Println(err)
			return
		}
	}
	// There is a rule for each of the database's two ports.
	for rule, err := range client.Postgres.AllFirewallRules(ctx, db.Location, db.ID, nil) {
		fmt.Println(rule.CIDR, err)
	}
	// Output:
	// 203.0.113.0/24 <nil>
	// 203.0.113.0/24 <nil>
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
		if _, err := client.VMs.WaitRunning(ctx, vm.Location, vm.ID); err != nil {
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
		fmt.Println(err)
		return
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
