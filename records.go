package cloudapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"

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

// File is a file that the server sent. It may hold secrets, so printing,
// logging or encoding it shows all but its content.
type File struct {
	// Name is the server's name for the file, without folders: up to 128 ASCII
	// letters, digits, hyphens, underscores and dots, of which neither a dot
	// nor a hyphen is the first. It may be that of a file that exists.
	Name string

	// ContentType is the media type as the server declared it.
	ContentType string

	Content []byte
}

// String describes the file without its content.
func (f File) String() string {
	return fmt.Sprintf("cloudapi.File(%q, %q, %d bytes)", f.Name, f.ContentType, len(f.Content))
}

// Format prints the same for every verb.
func (f File) Format(s fmt.State, _ rune) { fmt.Fprint(s, f.String()) }

// LogValue returns what [File.String] does.
func (f File) LogValue() slog.Value { return slog.StringValue(f.String()) }

// MarshalJSON encodes what [File.String] returns.
func (f File) MarshalJSON() ([]byte, error) { return json.Marshal(f.String()) }

// fileFormat is what an operation expects of its file.
type fileFormat struct {
	name  string                     // if the server gives no name that can be used
	check func(content []byte) error // nil: the content does not show whether it is whole
}

// file makes a File of the reply. It refuses what a server or a proxy sends in
// place of a file: nothing, a page, an error in JSON.
func (r reply) file(format fileFormat) (*File, error) {
	contentType := r.header.Get("Content-Type")
	mediaType, _, _ := mime.ParseMediaType(contentType)
	trimmed := bytes.TrimSpace(r.body)
	switch {
	case len(trimmed) == 0:
		return nil, errors.New("it is empty")
	case mediaType == "text/html" || trimmed[0] == '<':
		return nil, errors.New("it is a page, not a file")
	case mediaType == "application/json" || strings.HasSuffix(mediaType, "+json") || isErrorObject(trimmed):
		return nil, errors.New("it is JSON, not a file")
	}
	switch {
	case format.check != nil:
		if err := format.check(r.body); err != nil {
			return nil, err
		}
	case r.endless:
		return nil, fmt.Errorf("%w: it has no length, so it may be cut off", io.ErrUnexpectedEOF)
	}
	return &File{
		Name:        cmp.Or(fileName(r.header.Get("Content-Disposition")), format.name),
		ContentType: contentType,
		Content:     bytes.Clone(r.body),
	}, nil
}

// isErrorObject reports whether a reply that is not declared as JSON is an
// error in JSON nevertheless.
func isErrorObject(body []byte) bool {
	var object struct {
		Error json.RawMessage `json:"error"`
	}
	return body[0] == '{' && json.Unmarshal(body, &object) == nil && object.Error != nil
}

// checkPEM refuses content without a PEM block, or with one that is not whole.
func checkPEM(content []byte) error {
	blocks := 0
	for rest := content; ; blocks++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
	}
	switch begun := bytes.Count(content, []byte("-----BEGIN ")); {
	case begun == 0:
		return errors.New("it is not PEM")
	case blocks < begun:
		return fmt.Errorf("%w in a PEM block", io.ErrUnexpectedEOF)
	}
	return nil
}

const maxFileName = 128

// fileName returns the file name in a Content-Disposition header, reduced to
// what is harmless as the name of a file in any folder, or "".
func fileName(disposition string) string {
	_, params, err := mime.ParseMediaType(disposition)
	if err != nil {
		return ""
	}
	name := params["filename"]
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.TrimLeft(name, ".-")
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), maxFileName)]
}
