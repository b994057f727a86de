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
	cl := callOf(ctx)
	if cl == nil {
		return Operation{}, false
	}
	return *cl.op, true
}

// fetch performs an operation whose request has no body and whose response is a
// record.
func fetch[T any, P record[T]](ctx context.Context, c *conn, op *Operation, args ...string) (*T, error) {
	return send[T, P](ctx, c, op, nil, args...)
}

// send performs an operation whose response is a record. The request is its
// JSON body.
func send[T any, P record[T]](ctx context.Context, c *conn, op *Operation, request any, args ...string) (*T, error) {
	cl, err := c.newCall(op, request, args)
	if err != nil {
		return nil, err
	}
	return perform[T, P](ctx, cl)
}

// perform performs a call whose response is a record.
func perform[T any, P record[T]](ctx context.Context, cl *call) (*T, error) {
	if err := cl.do(ctx, oneRecord[T, P]{cl}); err != nil {
		return nil, err
	}
	return cl.result.(*T), nil
}

// download performs an operation whose response is a file. The request, unless
// nil, is its JSON body.
func download(ctx context.Context, c *conn, op *Operation, format fileFormat, request any, args ...string) (*File, error) {
	cl, err := c.newCall(op, request, args)
	if err != nil {
		return nil, err
	}
	cl.acceptHeader, cl.notReadyOn500 = format.accept, format.notReadyOn500
	var file *File
	err = cl.do(ctx, decoderFunc(func(r reply) (err error) {
		file, err = r.file(format)
		return err
	}))
	if err != nil {
		return nil, err
	}
	return file, nil
}

// remove performs an operation whose response is a 204.
func remove(ctx context.Context, c *conn, op *Operation, args ...string) error {
	cl, err := c.newCall(op, nil, args)
	if err != nil {
		return err
	}
	return cl.do(ctx, noContent{})
}
