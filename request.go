package cloudapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"unicode/utf8"

	"github.com/google/go-querystring/query"
)

// newCall prepares an operation: the path from its arguments and the body from
// the request, which is nil for operations without one.
func (c *Client) newCall(op *Operation, request any, args []string) (*call, error) {
	path, byID, err := op.path(c.config.project, args)
	if errors.Is(err, ErrNoProject) {
		err = fmt.Errorf("%w%s", err, c.config.missing())
	}
	if err != nil {
		return nil, err
	}
	cl := &call{client: c, op: op, path: path, repeatable: op.retry == safe}
	if r, ok := request.(renamer); ok && r.renames() && !byID {
		// The old name is gone after the first time.
		cl.repeatable = false
	}
	if request != nil {
		if err := cl.encodeBody(request); err != nil {
			return nil, err
		}
	}
	return cl, nil
}

// renamer is a request that changes the name by which its resource may be
// addressed.
type renamer interface{ renames() bool }

// wirer is a request whose JSON is not the one that a program may print: it
// holds secrets.
type wirer interface {
	wire() any
	secretValues() []Secret
}

// encodeBody sets the body, which is {} for a nil request.
func (cl *call) encodeBody(request any) error {
	if isNil(request) {
		request = struct{}{}
	}
	if r, ok := request.(referrer); ok {
		if err := r.checkIDs(); err != nil {
			err.Operation = cl.op.Name
			return err
		}
	}
	if w, ok := request.(wirer); ok {
		for _, secret := range w.secretValues() {
			cl.secrets = append(cl.secrets, secret.Reveal())
		}
		request = w.wire()
	}
	body, err := json.Marshal(request)
	if err != nil {
		return &ArgumentError{Operation: cl.op.Name, Name: "request", Reason: "cannot be encoded: " + err.Error()}
	}
	if losesText(request, body) {
		return &ArgumentError{Operation: cl.op.Name, Name: "request", Reason: "holds text that is not UTF-8, which would be sent changed"}
	}
	if bytes.Contains(body, maskedJSON) {
		return &ArgumentError{Operation: cl.op.Name, Name: "request",
			Reason: "holds a Secret, which would be sent masked: use what Reveal returns"}
	}
	cl.body = body
	return nil
}

// isNil reports whether a request is nil, or a pointer, map or slice that is.
func isNil(request any) bool {
	switch v := reflect.ValueOf(request); v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice:
		return v.IsNil()
	}
	return false
}

// losesText reports whether a string of the request was not UTF-8, for which
// its encoding has U+FFFD, so that something else would be sent.
func losesText(request any, encoded []byte) bool {
	replaced := bytes.Contains(encoded, []byte(`\ufffd`)) || bytes.Contains(encoded, []byte("\uFFFD"))
	return replaced && hasInvalidText(reflect.ValueOf(request))
}

// hasInvalidText looks for strings that are not UTF-8 in what encoding/json
// looks at: not in what encodes itself, but for an Opt.
func hasInvalidText(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return !utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && hasInvalidText(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if hasInvalidText(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if hasInvalidText(entries.Key()) || hasInvalidText(entries.Value()) {
				return true
			}
		}
	case reflect.Struct:
		_, optional := reflect.Zero(v.Type()).Interface().(interface{ IsNull() bool })
		if v.Type().Implements(reflect.TypeFor[json.Marshaler]()) && !optional {
			return false
		}
		for i := range v.NumField() {
			if hasInvalidText(v.Field(i)) {
				return true
			}
		}
	}
	return false
}

// maskedJSON is what a Secret is in JSON.
var maskedJSON = []byte(`"` + redacted + `"`)

// newBody returns a reader of the body. It is what GetBody wants.
func (cl *call) newBody() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(cl.body)), nil
}

// referrer is a request that names other resources by their IDs.
type referrer interface {
	// checkIDs returns what is wrong with one of the IDs, or nil.
	checkIDs() *ArgumentError
}

// checkID checks the ID in a field of a request. It holds it to the rule for
// references in paths and no stricter one: the contract says of these fields
// only that they are strings, and the server's refusal of what is not an ID of
// the right kind names the field, and does no harm.
func checkID(field, id string) *ArgumentError {
	if reason := checkSegment(id); reason != "" {
		return &ArgumentError{Name: field, Value: withoutToken(id), Reason: reason}
	}
	return nil
}

// checkOptionalID is [checkID] for a field that may be left out.
func checkOptionalID(field, id string) *ArgumentError {
	if id == "" {
		return nil
	}
	return checkID(field, id)
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

// headerFunc returns a function that makes the headers of a request, with or
// without those for content.
func (cfg *config) headerFunc() func(content bool) http.Header {
	lines := make([]string, 0, 2*(4+len(cfg.headers))) // a name and a value each
	add := func(name, value string) { lines = append(lines, name, value) }
	add("Content-Type", "application/json")
	add("Accept", "application/json")
	add("User-Agent", userAgent(cfg.application))
	if !cfg.token.IsZero() {
		add("Authorization", "Bearer "+cfg.token.Reveal())
	}
	for _, header := range cfg.headers {
		add(header.name, header.value.Reveal())
	}
	return func(content bool) http.Header {
		lines := lines
		if !content {
			lines = lines[2:]
		}
		if len(cfg.middleware) > 0 {
			lines = slices.Clone(lines) // one may write to them
		}
		h := make(http.Header, len(lines)/2+1) // and what a token source gives
		for i := 0; i < len(lines); i += 2 {
			// No value has room behind it, so that what somebody adds to it is
			// not written to the next line.
			h[lines[i]] = lines[i+1 : i+2 : i+2]
		}
		return h
	}
}

func userAgent(application string) string {
	ua := "cloudapi/" + Version + " (" + runtime.Version() + "; " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	if application != "" {
		ua += " " + application
	}
	return ua
}
