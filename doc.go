// Package cloudapi is a client for Ubicloud's public API, which manages cloud
// infrastructure in projects: VMs, Postgres databases, Kubernetes clusters, load
// balancers, firewalls, private networks, machine images, keys and more.
//
// A [Client] has a service for each family of resources, and a method for each
// operation:
//
//	client, err := cloudapi.NewClient(
//		cloudapi.WithBaseURL("https://api.ubicloud.com"),
//		cloudapi.WithToken(token),
//		cloudapi.WithProject("pjahbwgme82j3qbwnsn4b3w1e9"),
//	)
//	if err != nil {
//		return err
//	}
//	vm, err := client.VMs.Create(ctx, "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{
//		PublicKey: "laptop",
//		EnableIP4: new(true),
//	})
//
// Arguments come in the order context, location, reference, request. A
// reference is the ID or the name of a resource. A method returns either a
// value or an error, never both. Fields have the names of the API's JSON. The
// zero value of an optional field isn't sent: a field for which zero has a
// meaning is a pointer, such as new(0), and a field for which null has a
// meaning is an [Opt].
//
// The repository's folder docs has a page with a program for each topic.
//
// # I want to …
//
//   - take the settings from the environment: [FromEnv]
//   - walk a list: the All methods; get one page of it: the List methods
//   - see the changes of a list: the Watch methods
//   - create something unless it exists: the Ensure methods
//   - wait until something is running or gone: the Wait methods, [Wait],
//     [WaitAll]
//   - find what an ID or a name refers to: [Client.Resolve], [Lookup]
//   - list or delete resources of any kind: [Client.Resources], [Client.Delete]
//   - find out whether a create without a response succeeded: [Confirm]
//   - delete a whole project: package teardown
//   - fail if the resource to delete doesn't exist: [Client.DeleteExisting]
//   - set all rules of a firewall: [FirewallsService.SetRules]
//   - use other settings for some calls: [Client.With], [Client.InProject]
//   - use a proxy or a private certificate authority: [WithTransport]
//   - see what is sent: [WithLogger], [WithMiddleware], [WithObserver]
//   - call an operation that has no method: [Client.Do]
//   - test a program: package cloudapitest
//
// # The contract and the service
//
// In these comments, "the contract" is the OpenAPI description of the October
// 2025 API, version 0.1.0, with 93 operations, and "the server" is Ubicloud's
// service, as measured in October 2025 and in August 2026. The SDK works with
// both versions, without a setting. The comments say where the server differs
// from the contract.
//
// Methods marked "Requires the August 2026 API." return [ErrMaybeUnsupported]
// if the server has an older API.
//
// # Lists
//
//	for vm, err := range client.VMs.All(ctx, nil) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(vm.Name, vm.State)
//	}
//
// All fetches a page when the loop reaches it. It yields each item that stays
// in the list exactly once, even while other items come and go, or ends with an
// error. Items have the short form of their record: the type says which fields
// only Get returns. [Collect] returns the items as a slice.
//
// # Errors
//
// A method returns an [*Error] for a response with a status of 300 or above.
// Test for its kind with errors.Is:
//
//	switch {
//	case errors.Is(err, cloudapi.ErrNotFound):
//	case errors.Is(err, cloudapi.ErrAlreadyExists): // the name is taken
//	case errors.Is(err, cloudapi.ErrInvalidRequest): // see Error.FieldErrors
//	}
//
// A [*TransportError] means that there was no complete response, a
// [*DecodeError] that a successful response can't be used, and an
// [*ArgumentError] that an argument is invalid and nothing was sent. The error
// wraps the context's error if the context ended.
//
// Deleting something that doesn't exist succeeds. Delete by ID where you can: a
// delete is retried after a lost response, and by then another resource may
// have the name.
//
// # Retries
//
// A call makes up to 4 attempts; see [RetryPolicy]. A request that creates
// something is retried only if the server certainly didn't act on it; otherwise
// the error matches [ErrOutcomeUnknown], and the resource may exist.
// [WithTimeout] limits an attempt, and the context limits the call.
//
// # Waiting
//
// Many operations are asynchronous: they take effect after the response. Their
// comments say so, and name the method that waits:
//
//	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
//	defer cancel()
//	vm, err = client.VMs.WaitRunning(ctx, vm.Location, vm.ID)
//
// # Secrets
//
// Tokens, passwords and keys are [Secret] values, which print and encode as
// "[redacted]". Errors and log lines contain no secrets.
//
// [Ubicloud]: https://www.ubicloud.com
package cloudapi
