package cloudapi

import "context"

// Operation is one row of the contract: what a method of a service sends. Get
// it in a middleware or a log handler with [OperationFromContext]: its fields
// have few values, which makes them good labels for metrics and traces.
type Operation struct {
	// Name is the service and the method, such as "VMs.Get". The list of a
	// location has a name of its own, such as "VMs.ListInLocation".
	Name string

	// Method is the HTTP method.
	Method string

	// Route is the path with the contract's names in place of values, such as
	// "/project/{project_id}/location/{location}/vm/{vm_reference}".
	Route string

	retry retryClass
}

// retryClass tells what may be sent again after a failure that leaves open
// whether the server acted.
type retryClass uint8

const (
	// safe: sending it twice does what sending it once does.
	safe retryClass = iota

	// create: a repetition would make a second object, act twice, or fail on
	// the trace of the first. It is sent again only if the server did nothing.
	create
)

// Beginnings of the routes.
const (
	projectRoute  = "/project/{project_id}"
	locationRoute = projectRoute + "/location/{location}"
)

// OperationFromContext returns the operation that a request belongs to, given
// the request's context. It is false for a context that is not the SDK's.
func OperationFromContext(ctx context.Context) (Operation, bool) {
	cl := callOf(ctx)
	if cl == nil {
		return Operation{}, false
	}
	return *cl.op, true
}

// record is what the response of an operation is decoded into: a pointer to one
// of the record structs.
type record[T any] interface {
	*T

	// missing returns the name of a field that every complete record has and
	// this one has not, or "".
	missing() string
}

// fetch performs an operation that answers with a record and has no body.
func fetch[T any, P record[T]](ctx context.Context, c *Client, op *Operation, args ...string) (*T, error) {
	return send[T, P](ctx, c, op, nil, args...)
}

// send performs an operation that answers with a record. The request is its
// JSON body.
func send[T any, P record[T]](ctx context.Context, c *Client, op *Operation, request any, args ...string) (*T, error) {
	cl, err := c.newCall(op, request, args)
	if err != nil {
		return nil, err
	}
	return receive[T, P](ctx, cl)
}

// receive performs a call that answers with a record.
func receive[T any, P record[T]](ctx context.Context, cl *call) (*T, error) {
	result := new(recordResult[T, P])
	if err := cl.do(ctx, result); err != nil {
		return nil, err
	}
	return &result.record, nil
}

// download performs an operation that answers with a file. The request, unless
// nil, is its JSON body.
func download(ctx context.Context, c *Client, op *Operation, format fileFormat, request any, args ...string) (*File, error) {
	cl, err := c.newCall(op, request, args)
	if err != nil {
		return nil, err
	}
	cl.accept, cl.late = format.accept, format.late
	var file *File
	err = cl.do(ctx, acceptFunc(func(r reply) (err error) {
		file, err = r.file(format)
		return err
	}))
	if err != nil {
		return nil, err
	}
	return file, nil
}

// remove performs an operation that answers with 204 and nothing else.
func remove(ctx context.Context, c *Client, op *Operation, args ...string) error {
	cl, err := c.newCall(op, nil, args)
	if err != nil {
		return err
	}
	return cl.do(ctx, noContent{})
}

// missingID is what missing is for a record that is complete with its ID.
func missingID(id string) string { return missingField("id", id) }

// missingField is what missing is for a record that is complete with a field.
func missingField(name, value string) string {
	if value == "" {
		return name
	}
	return ""
}

// idOrName is what cursor is for a record that may be listed by name.
func idOrName(orderColumn, id, name string) string {
	if orderColumn == OrderByName {
		return name
	}
	return id
}

// renameRequest is the body of the rename operations.
type renameRequest struct {
	Name string `json:"name"`
}

func (renameRequest) renames() bool { return true }
