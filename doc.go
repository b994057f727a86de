// Package cloudapi is a client for Ubicloud's public API, which manages cloud
// infrastructure in projects: VMs, Postgres databases, Kubernetes clusters, load
// balancers, firewalls, private networks, machine images, keys and more.
//
// A [Client] has one service for each family of resources and one method for each
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
// value or an error, never both. The zero value of an optional field is not
// sent. A field for which zero has a meaning is a pointer, such as new(0). A
// field for which null has a meaning is an [Opt]. Fields are named as in the
// API's JSON.
//
// The folder docs of the repository has a page for each topic, with a program.
//
// # I want to …
//
//   - take the settings from the environment: [FromEnv]
//   - walk a list: the All methods; a page of it: the List methods
//   - see the changes of a list: the Watch methods
//   - create something unless it exists: the Ensure methods; preview what they
//     would do: [EnsureOptions.DryRun]
//   - wait until something is running, resized or gone: the Wait methods, [Wait]
//     and [WaitAll]
//   - find what an ID or a name stands for: [Client.Resolve], [Lookup]
//   - list or delete resources whose kind the program does not know:
//     [Client.Resources], [Client.Delete]
//   - find out if a create without a response was carried out: [Confirm]
//   - delete a whole project: package teardown
//   - get an error if the resource to delete does not exist:
//     [Client.DeleteExisting]
//   - set all rules of a firewall: [FirewallsService.SetRules]
//   - use other settings for some calls: [Client.With]; another project:
//     [Client.InProject]
//   - use a proxy or a private certificate authority: [WithTransport]
//   - see what is sent: [WithLogger], [WithMiddleware], [WithObserver]
//   - call an operation that has no method: [Client.Do]
//   - test my program: package cloudapitest
//
// # The contract and the service
//
// In these comments "the contract" is the OpenAPI description of the API of
// October 2025, version 0.1.0, with 93 operations, and "the server" is Ubicloud's
// service, as measured in October 2025 and in August 2026. The SDK works with
// both versions, without a setting. The comments say where the server differs
// from the contract.
//
// Methods marked "Requires the August 2026 API." return [ErrNotFound], which also
// matches [ErrMaybeUnsupported], if the server has an older API. The SDK sends a
// field that needs the August 2026 API only if it's set.
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
// All fetches a page when the loop gets to it, or earlier with [WithPrefetch].
// It yields each item that stays in the list exactly once, even if other items
// come and go meanwhile. If it cannot, it ends with an error. Items have the
// short form of their record: the type says which fields only Get returns.
// [Collect] makes a slice of a sequence.
//
// # Errors
//
// A response with a status of 300 or above is an [*Error]. Its kind is tested
// with errors.Is:
//
//	switch {
//	case errors.Is(err, cloudapi.ErrNotFound):
//	case errors.Is(err, cloudapi.ErrAlreadyExists): // the name is taken
//	case errors.Is(err, cloudapi.ErrInvalidRequest): // see Error.FieldErrors
//	}
//
// A request without a complete response is a [*TransportError]. A response that
// reports success but cannot be used is a [*DecodeError]. An invalid argument
// is an [*ArgumentError], and nothing is sent: a mistyped reference cannot
// reach another resource. If the context ended, the error wraps the error of
// the context.
//
// Deleting something that does not exist succeeds. Delete by ID where you can:
// a delete is retried after a lost response, and by then another resource may
// have taken the name.
//
// # Retries
//
// A call makes up to 4 attempts, with random exponential backoff, or after the
// delay that the server asks for; see [RetryPolicy]. An idempotent request is
// retried after transient failures. A request that creates something is retried
// only if the server certainly did not carry it out. Otherwise the error
// matches [ErrOutcomeUnknown]: the resource may exist.
//
// [WithTimeout] limits one attempt, and the context limits the call.
//
// # Waiting
//
// Many operations are asynchronous: they take effect after the response. The
// comment of the method says so, and names the method that waits:
//
//	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
//	defer cancel()
//	vm, err = client.VMs.WaitRunning(ctx, vm.Location, vm.ID)
//
// # Secrets
//
// Tokens, passwords and keys are [Secret] values. They print and encode as
// "[redacted]" everywhere but in requests. Errors and log lines contain no
// secret.
//
// [Ubicloud]: https://www.ubicloud.com
package cloudapi
