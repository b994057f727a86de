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
// Arguments come in the order context, location, reference, request. A reference
// is the ID or the name of a resource. A method returns either a value or an
// error, never both and never neither. Optional fields of a request are left out
// when they are zero. Where zero means something the field is a pointer, such as
// new(0); where null does it is an [Opt].
//
// # I want to …
//
//   - take the settings from the environment: [FromEnv]
//   - walk a list: the All methods; a page of it: the List methods
//   - know what changes in a list: the Watch methods
//   - create something unless it exists: the Ensure methods; know beforehand what
//     they would do: the Plan methods
//   - wait until something is running, resized or gone: the Wait methods, [Wait]
//     and [WaitAll]
//   - find what an ID or a name stands for: [Client.Resolve], [Lookup]
//   - find out what became of a create without a response: [Confirm]
//   - delete a whole project: [Client.PlanTeardown]
//   - be told if what I delete does not exist: [Client.DeleteExisting]
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
// In these comments the contract is the description of the API of October 2025,
// version 0.1.0, with 93 operations. The real server is Ubicloud's service, as it
// was measured in October 2025 and in August 2026. Where it differs from the
// contract the comment says how, and the SDK works with both. An operation or a
// field that came later says so: a server without the operation answers
// [ErrNotFound], and a field is sent only if it is set. No setting is needed.
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
// All fetches a page when the loop gets to it, or earlier with [WithPrefetch]. It
// yields each item once that is in the list all the time, also if others come and
// go meanwhile. If it cannot, it ends with an error. Items have the short form of
// their record: the type says which fields only Get returns. [Collect] makes a
// slice of a sequence.
//
// # Errors
//
// A response with a status of 300 or above is an [*Error]. errors.Is tells its
// kind:
//
//	switch {
//	case errors.Is(err, cloudapi.ErrNotFound):
//	case errors.Is(err, cloudapi.ErrAlreadyExists): // the name is taken
//	case errors.Is(err, cloudapi.ErrInvalidRequest): // see Error.FieldErrors
//	}
//
// A request without a complete response is a [*TransportError]. A response that
// reports success but cannot be used is a [*DecodeError]. An argument that cannot
// be right is an [*ArgumentError], and nothing is sent: a mistyped reference
// cannot reach another resource. The error of the context can be found in all of
// them.
//
// A delete of something that does not exist succeeds. Delete by ID where you can:
// a delete whose response was lost is sent again, and by then another resource may
// have taken the name.
//
// # Retries
//
// A call is up to 4 attempts, with random delays that grow, or the delay that
// the server asks for; see [RetryPolicy]. A request that may be sent twice is
// retried after failures that may pass. A request that creates something is
// repeated only if it certainly was not carried out. Otherwise the error
// matches [ErrOutcomeUnknown]: the thing may exist.
//
// [WithTimeout] bounds one attempt, the context bounds the call.
//
// # Waiting
//
// Many effects come after the response. The comment of the method says so, and
// names the method that waits:
//
//	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
//	defer cancel()
//	vm, err = client.VMs.WaitRunning(ctx, vm.Location, vm.ID)
//
// # Secrets
//
// Tokens, passwords and keys are [Secret] values. They print and encode as
// "[redacted]" everywhere but in requests. Errors and log lines have no secret.
package cloudapi
