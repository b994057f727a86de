package cloudapi

import "context"

// Operation is one operation of the contract. A middleware or a log handler
// gets it with [OperationFromContext]. Its fields have few values, which makes
// them good labels for metrics and traces.
type Operation struct {
	// Name is the service and the method, such as "VMs.Get". A list of a
	// location has its own name, such as "VMs.ListInLocation".
	Name string

	// Method is the HTTP method.
	Method string

	// Route is the path with the contract's placeholders in place of values,
	// such as "/project/{project_id}/location/{location}/vm/{vm_reference}". It
	// is "" in calls of [Client.Do], whose Name is "Do".
	Route string

	retry retryClass
}

// retryClass says whether an operation may be retried after a failure that
// leaves open whether the server acted.
type retryClass uint8

const (
	// idempotent: a retry has the same effect as the first attempt alone.
	idempotent retryClass = iota

	// once: a retry would make a second object, act twice, or fail because of
	// the first attempt. It is made only if the server certainly did nothing.
	once
)

// Beginnings of the routes.
const (
	projectRoute  = "/project/{project_id}"
	locationRoute = projectRoute + "/location/{location}"
)

// OperationFromContext returns the operation of a request, given the request's
// context. It returns false for a context that does not come from the SDK.
func OperationFromContext(ctx context.Context) (Operation, bool) {
	in := invocationOf(ctx)
	if in == nil {
		return Operation{}, false
	}
	return *in.op, true
}

// fetch performs an operation whose request has no body and whose response is a
// record.
func fetch[T any, P record[T]](ctx context.Context, c *conn, op *Operation, args ...string) (*T, error) {
	return send[T, P](ctx, c, op, nil, args...)
}

// send performs an operation whose response is a record. The request is its
// JSON body.
func send[T any, P record[T]](ctx context.Context, c *conn, op *Operation, request any, args ...string) (*T, error) {
	in, err := c.invoke(op, request, args)
	if err != nil {
		return nil, err
	}
	return perform[T, P](ctx, in)
}

// perform makes a call whose response is a record.
func perform[T any, P record[T]](ctx context.Context, in *invocation) (*T, error) {
	result, err := in.do(ctx, oneRecord[T, P]{in})
	if err != nil {
		return nil, err
	}
	return result.(*T), nil
}

// download performs an operation whose response is a file. The request, unless
// nil, is its JSON body.
func download(ctx context.Context, c *conn, op *Operation, format fileFormat, request any, args ...string) (*File, error) {
	in, err := c.invoke(op, request, args)
	if err != nil {
		return nil, err
	}
	in.request.Accept, in.request.NotReadyOn500 = format.accept, format.notReadyOn500
	result, err := in.do(ctx, format)
	if err != nil {
		return nil, err
	}
	return result.(*File), nil
}

// remove performs an operation whose response is a 204.
func remove(ctx context.Context, c *conn, op *Operation, args ...string) error {
	in, err := c.invoke(op, nil, args)
	if err != nil {
		return err
	}
	in.request.NoContent = true
	_, err = in.do(ctx, noContent{})
	return err
}
