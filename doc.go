// Package cloudapi is a client for Ubicloud's public API, which manages cloud
// infrastructure in projects: VMs, Postgres databases, Kubernetes clusters, load
// balancers, firewalls, private networks, machine images, keys and more. The
// repository's folder docs has a page for each topic.
//
// A [Client] has a field for each family of resources, with its methods:
//
//	client, err := cloudapi.NewClient(
//		cloudapi.WithToken(token),
//		cloudapi.WithProject("pjahbwgme82j3qbwnsn4b3w1e9"),
//	)
//	if err != nil {
//		return err
//	}
//	vm, err := client.VMs.Create(ctx, "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{
//		PublicKey: "laptop",
//		EnableIPv4: new(true),
//	})
//
// # Which method
//
// Finding:
//
//   - a resource in a location: the Get of its family
//   - a load balancer by its subnet and name: [LoadBalancersService.GetInSubnet]
//   - the record of a reference that a person typed: [Lookup]
//   - the resource that such a reference means, of any kind: [Client.Resolve]
//   - the record of a [Resource], or a proof that it's gone: [Fetch]; of any
//     kind: [Client.Fetch]
//   - the resources of any kind: [Client.Resources]
//   - which of many resources still exist: Fetch in a [WaitAll]
//   - whether the token can see the project: [Client.CheckAccess]
//
// Lookup and Resolve take what a person typed, and look for it. Fetch takes what
// a program has. It sends one request for what is there, and more for the proof
// that something is gone. Client.Fetch returns any, because the kind of a
// Resource is known only at run time. Resources lists what the token can see,
// and Fetch is the proof for the rest.
//
// Waiting:
//
//   - for a state: the Wait methods of its family
//   - for a deletion, of any kind: [Client.WaitDeleted]
//   - for a condition of your own: [Wait]
//   - for many resources: [WaitAll]; in calls of their own: [WithSharedWaits]
//   - for changes: a family's Watch; immediately: [WatchOptions.Poll]
//   - what a state means: the Phase of a record, such as [VM.Phase]
//
// Confirming, if the outcome is unknown:
//
//   - of a create: [Confirm]
//   - of a change: [ConfirmChange]
//   - to create or change again without harm: a family's Ensure, or a method
//     such as [FirewallsService.SetRules] or [LoadBalancersService.SetVMs]
//   - to create again what has no such method, such as a read replica: [Ensure]
//   - to change again what a record shows, such as a stop: [EnsureChange]
//
// Comparing:
//
//   - a record with a request: the request's Compare, such as
//     [VMCreateRequest.Compare]; what removes a difference: [Remedy]
//   - a name with what the server accepts: [CheckName]
//   - values that the server writes in another way: [ParseCIDR],
//     [ParsePortRange], [CanonicalPostgresSize],
//     [FirewallRuleCreateRequest.Matches]
//
// Deleting:
//
//   - a resource, whether or not it exists: the Delete of its family
//   - a resource of any kind: [Client.Delete]
//   - a resource that must exist: [Client.DeleteExisting]
//   - the resources of a project: package teardown
//
// Delete takes a Resource that was found, and succeeds if it's gone.
// DeleteExisting takes a reference that a person typed: it looks first, so that
// a mistyped one is an error.
//
// Settings: [FromEnv] for the environment, [Client.With] for other settings in
// some calls, [WithTransport] for a proxy or a private certificate authority,
// [WithLogger], [WithMiddleware] and [WithObserver] to see what is sent.
// [Client.Do] calls an operation that the SDK lacks. Package cloudapitest is
// for tests of your program.
//
// # Methods
//
// Arguments come in the order context, location, reference, new name, request.
// A reference is the ID or the name of a resource; an argument such as vmID must
// be an ID. Unless a comment says otherwise, a name is 1 to 63 lower-case
// letters, digits and hyphens, with no hyphen at either end. A method returns
// either a value or an error, never both.
//
// Fields have the names of the API's JSON, but one form for one thing: IPv4 is
// "ip4", VMID "vm", and CPNodeCount "cp_nodes". The zero value of an optional
// field isn't sent. A field for which zero has a meaning is a pointer, such as
// new(0).
//
// States and other fixed values are strings, as a server can send values that a
// release doesn't know. The constants for them begin with the names of the type
// and the field, such as [VMStateRunning] for [VM.State]; see also
// [FirewallRuleProtocolTCP], [KubernetesClusterDisplayStateRunning],
// [LoadBalancerAlgorithmRoundRobin], [LoadBalancerHealthCheckProtocolHTTP],
// [LoadBalancerStackDual], [MachineImageArchX64],
// [MachineImageVersionStateReady], [ObjectInfoTypeVM], [OrderByName],
// [PostgresFlavorStandard], [PostgresHATypeSync],
// [PostgresLogDestinationTypeOTLP], [PostgresLogEntrySeverityLevelError],
// [PostgresLogEntryStreamNamePostgres], [PostgresServerRolePrimary],
// [PostgresServerStateRunning], [PostgresServerSynchronizationStatusReady],
// [PostgresStateRunning], [PostgresUpgradeStatusRunning],
// [PrivateLinkServiceAWSPrivateDNSVerificationStateVerified],
// [PrivateLinkServiceIPAddressTypeIPv4], [PrivateLinkServiceStateAvailable],
// [PrivateLocationProviderLocationNameUSEast1], [PrivateSubnetStateAvailable],
// and [VMSerialLogStatusSucceeded]. Metrics have [PostgresMetricKeyCPUUsage] and
// [KubernetesMetricKeyCPUUsage].
//
// In a family,
//
//   - List returns one page of the resources in the project, or in
//     [ListOptions.Location], and All iterates over all items. Items can lack
//     fields: the comment of their type says which fields only Get returns.
//   - Watch yields these resources, and then their changes, until the context
//     ends; see [WatchOptions]. The audit log, GitHub and the inference
//     endpoints have no Watch; see [AuditLogService.Follow].
//   - Ensure creates a resource unless one with the name exists; see
//     [EnsureOptions]. Projects, inference API keys, and what has no Watch have
//     no Ensure; the function [Ensure] does the same for any create. To see what
//     a program would change, run it with the client of a [Plan].
//   - If there's a WaitDeleted, Delete returns before the resource is
//     gone. Delete succeeds if the resource doesn't exist. So a mistyped name
//     or wrong location looks like success; [Client.DeleteExisting] returns an
//     error instead. Delete by ID where you can: a delete is retried after a lost
//     response, and by then another resource may have the name.
//   - Create, Rename and Update return [ErrAlreadyExists] if the name is taken.
//     A change of the name is idempotent only if the reference is an ID.
//   - Wait methods return once the resource has the state, or a [*WaitError]; a
//     wait for a state fails if the resource is being deleted or is gone.
//     WaitDeleted waits until the resource is gone and its name is free. With a
//     name, it also succeeds if the resource was renamed, or another one has taken
//     the name. If it has never seen the resource, it needs the proof of [Fetch],
//     or for a name a project that the token can see. Call Delete first:
//     otherwise, WaitDeleted waits until the context ends.
//
// Many operations are asynchronous: they take effect after the response. Their
// comments say so, and name the method that waits:
//
//	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
//	defer cancel()
//	vm, err = client.VMs.WaitRunning(ctx, vm.Location, vm.ID, nil)
//
// All fetches a page when the loop reaches it. It yields each item once, even
// while other items come and go, or ends with an error. [Collect] returns all
// items as a slice, also those before an error.
//
//	for vm, err := range client.VMs.All(ctx, nil) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(vm.Name, vm.State)
//	}
//
// # Errors
//
// A method returns an [*Error] for a response with a status of 300 or above.
// Test for its kind with errors.Is:
//
//	switch {
//	case errors.Is(err, cloudapi.ErrNotFound): // doesn't exist, or the server hides it
//	case errors.Is(err, cloudapi.ErrForbidden): // the token has no permission
//	case errors.Is(err, cloudapi.ErrAlreadyExists): // the name is taken
//	case errors.Is(err, cloudapi.ErrInvalidRequest): // see Error.FieldErrors
//	}
//
// A [*TransportError] means that there was no complete response, a
// [*DecodeError] that a successful response can't be used, and an
// [*ArgumentError] that an argument is invalid and nothing was sent. If the
// context ended, the error also wraps the context's error. Errors and log lines
// contain no tokens, passwords or keys: these are [Secret] values, which print
// and encode as "[redacted]".
//
// # Retries
//
// A call makes up to 4 attempts; see [RetryPolicy]. A request that creates
// something is retried only if the server certainly didn't execute it;
// otherwise the error matches [ErrOutcomeUnknown], and the resource may exist:
// [Confirm] looks for it, and Ensure also creates it again. [WithTimeout] limits
// an attempt, and the context limits the call.
//
// # The contract and the service
//
// The SDK works with two versions of the API, without a setting: the contract,
// which is OpenAPI description 0.1.0, and the service, which Ubicloud runs as
// of autumn 2026. In comments, † marks what only the service has, and ‡ what
// only the contract has. Methods that the server lacks, or that are off, as
// those of [PrivateLinkServicesService] are by default, return
// [ErrMaybeUnsupported].
package cloudapi
