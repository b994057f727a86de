package cloudapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/go-querystring/query"
)

// record is what the reply of an operation is decoded into: a pointer to one
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

// recordResult accepts a record.
type recordResult[T any, P record[T]] struct{ record T }

func (result *recordResult[T, P]) accept(r reply) error {
	result.record = *new(T) // an earlier attempt may have filled a part of it
	if err := r.json(&result.record); err != nil {
		return err
	}
	if field := P(&result.record).missing(); field != "" {
		return fmt.Errorf("it has no %s", field)
	}
	return nil
}

// download performs an operation that answers with a file.
func download(ctx context.Context, c *Client, op *Operation, format fileFormat, args ...string) (*File, error) {
	cl, err := c.newCall(op, nil, args)
	if err != nil {
		return nil, err
	}
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
	return cl.do(ctx, acceptFunc(func(r reply) error {
		if r.status != http.StatusNoContent {
			return fmt.Errorf("the status should be %d", http.StatusNoContent)
		}
		return nil
	}))
}

// setQuery encodes the url-tagged fields of a struct, or of a pointer to one
// that may be nil, as the query.
func (cl *call) setQuery(parameters any) error {
	values, err := query.Values(parameters)
	if err != nil {
		return &ArgumentError{Operation: cl.op.Name, Name: "query", Reason: "cannot be encoded: " + err.Error()}
	}
	cl.query = values.Encode()
	return nil
}

// missingID is what missing is for a record that is complete with its ID.
func missingID(id string) string {
	if id == "" {
		return "id"
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
