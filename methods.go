package cloudapi

import "context"

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

// perform sends a call whose response is a record.
func perform[T any, P record[T]](ctx context.Context, in *invocation) (*T, error) {
	result, err := in.do(ctx, oneRecord[T, P]{&in.about})
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
	in.request.Accept, in.request.FinalOn500 = format.accept, format.notReadyOn500
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
