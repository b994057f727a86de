// Package cloudapi is a client for the Cloud Resource Management API, which
// manages cloud infrastructure inside projects: virtual machines, Postgres
// databases, Kubernetes clusters, load balancers, firewalls, private subnets,
// private locations, machine images, SSH keys, init scripts and inference keys.
// Ubicloud's public API speaks it.
//
// The contract describes the service of October 2025. One client works with that
// and with the service of August 2026, which has more operations and fields; what
// is of the later one says so. A server that does not have an operation answers
// [ErrNotFound].
//
// # A client
//
// A [Client] is an address, a token and a project. It is safe for concurrent
// use and cannot be changed; [Client.With] and [Client.InProject] return
// changed copies over the same connections.
//
//	client, err := cloudapi.NewClient(
//		cloudapi.WithBaseURL("https://api.example.com"),
//		cloudapi.WithToken(token),
//		cloudapi.WithProject("pjahbwgme82j3qbwnsn4b3w1e9"),
//	)
//
// [FromEnv] takes all three from the environment. There is one service for
// each family of resources, and one method for each operation of the API:
//
//	vm, err := client.VMs.Create(ctx, "eu-central-h1", "web-1", &cloudapi.VMCreateRequest{
//		PublicKey: "laptop",
//		EnableIP4: new(true),
//	})
//
// Arguments come in the order context, location, reference, request. A
// reference is the ID or the name of a resource. Whatever could not be a path
// segment is refused with an [*ArgumentError] before anything is sent: a
// mistyped reference cannot reach another resource. Of a value and an error
// exactly one is nil.
//
// A location is a name such as "eu-central-h1", or that of a private location.
// For one that does not exist the error is [ErrNotFound], and
// [Error.FieldErrors] lists those that do. The projects of a token are in
// [ProjectsService.All], for which a client need not be bound to one.
// [Client.Resolve] finds what an ID or a name stands for, and [Lookup] its
// record.
//
// Optional fields of requests are left out when they are zero. Where zero means
// something, the field is a pointer: new(0), new(false). Where null does, it is
// an [Opt].
//
// # Lists
//
// List returns one [Page], All every item:
//
//	for vm, err := range client.VMs.All(ctx, nil) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(vm.Name, vm.State)
//	}
//
// All fetches pages as the loop gets to them, or ahead of it ([WithPrefetch]),
// and can be ranged over again. A failure is an error that ends the loop, and so
// is the end of the context. Without one the loop has had each item that was in
// the list all the time, once: All reads to the empty page behind the last one,
// or a first page that holds all that the list counts. Items have the short form
// of their record, which lacks the fields of which the record's type says so; Get
// returns all of them. [Collect] makes a slice of a sequence.
//
// Watch yields what is in a list and then what changes there, until the context
// ends.
//
// # Errors
//
// An answer of the server with a status of 300 or above is an [*Error], with
// what the server says. Ask for the kind with errors.Is:
//
//	switch {
//	case errors.Is(err, cloudapi.ErrNotFound):
//	case errors.Is(err, cloudapi.ErrAlreadyExists): // the name is taken
//	case errors.Is(err, cloudapi.ErrInvalidRequest): // see Error.FieldErrors
//	}
//
// No complete answer is a [*TransportError], one that reports success but is
// not what the API promises a [*DecodeError]. Errors of the context can be
// found in all of them.
//
// A delete of something that does not exist succeeds. A reference that nothing
// can have, since it is the ID of another kind or a mistyped one, is therefore an
// [*ArgumentError] there. Prefer IDs to names: a delete whose reply was lost is
// sent again, and what had the name may have gone by then and something else have
// taken it.
//
// # Versions of the service
//
// The contract is the service of October 2025. Operations, fields and states that
// it has had since, as of August 2026, say so where they are documented. One client
// speaks to both, without a setting: an operation that a server does not have is
// [ErrNotFound], and a field is sent only if it is set.
//
// # Retries
//
// What may be sent twice is sent again after failures that pass: up to 4 times,
// after random delays that grow, or after the one that the server asks for.
// [RetryPolicy] changes that. What creates something is sent again only if the
// server certainly did nothing. If that is not certain, since the reply was
// lost for example, the error is [ErrOutcomeUnknown]: look, then decide. [Confirm]
// looks, and the Ensure methods do all of it: they create what is not there.
//
// [WithTimeout] bounds one attempt, the context the whole call. An attempt that
// could only begin after the context's deadline is not waited for.
//
// # Waiting
//
// Many effects come after the reply. Methods that begin with Wait poll until
// they are there, as long as the context allows:
//
//	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
//	defer cancel()
//	vm, err = client.VMs.WaitRunning(ctx, vm.Location, vm.ID)
//
// [Wait] does the same for any condition. A wait that fails returns a
// [*WaitError] with the last record. [Client.PlanTeardown] finds out what a
// project contains and in which order it can be deleted; to run that plan
// deletes it and waits until it is gone.
//
// # Secrets, logs and metrics
//
// Tokens, passwords and keys are [Secret] values, which print and encode as
// "[redacted]" everywhere but in requests. [WithLogger] writes a line for each
// attempt, without bodies and headers. [WithMiddleware] wraps the transport, and
// so sees attempts; an [Observer] sees calls. [OperationFromContext] tells a
// middleware which operation a request belongs to, as a label for traces and
// metrics. Module otelcloudapi reports both to OpenTelemetry.
//
// # Tests
//
// Package cloudapitest is a server of this API in memory, for tests of
// programs that use this package:
//
//	client := cloudapitest.New(t).Client()
package cloudapi
