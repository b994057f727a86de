package cloudapi

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/jsonform"
	"github.com/cloudapi-sdk/cloudapi/internal/reveal"
	"github.com/cloudapi-sdk/cloudapi/internal/syntax"
)

// namer is a request that names the resource of the response. An idempotent
// operation gives the name to the resource in the path, any other operation to a
// new resource.
type namer interface {
	newName() string // "" if the resource keeps its name
}

// newNameOf returns the new name in a request, or "".
func newNameOf(request any) string {
	if r, ok := request.(namer); ok && !isNil(request) {
		return r.newName()
	}
	return ""
}

// renameRequest is the body of the rename operations.
type renameRequest struct {
	Name string `json:"name"`
}

func (r renameRequest) newName() string { return r.Name }

func (r renameRequest) checkIDs() *ArgumentError { return checkNewName(r.Name) }

// checkNewName checks the name that a rename or an update gives to a resource.
// The server keeps the old name of an SSH public key if the new one is blank, and
// responds as to a change.
func checkNewName(name string) *ArgumentError {
	if strings.TrimSpace(name) == "" {
		return argumentError("", "name", name, "must not be blank")
	}
	return nil
}

// checkOptionalName is [checkNewName] for a request that may keep the name.
func checkOptionalName(name string) *ArgumentError {
	if name == "" {
		return nil
	}
	return checkNewName(name)
}

// confidential is a request with secrets, which its JSON masks.
type confidential interface {
	prune(body map[string]any) // removes from the body, which has the secrets, what isn't sent
}

// encodeBody returns the body of an operation, and the secrets in it. A nil
// request becomes {}.
func encodeBody(operation string, request any) (body []byte, secrets []string, err error) {
	if isNil(request) {
		request = struct{}{}
	}
	if r, ok := request.(referrer); ok {
		if err := r.checkIDs(); err != nil {
			err.Operation = operation
			return nil, nil, err
		}
	}
	form := request
	if c, ok := request.(confidential); ok {
		secrets = reveal.Secrets(request)
		form, err = reveal.Tree(request)
		if body, ok := form.(map[string]any); ok {
			c.prune(body)
		}
	}
	if err == nil {
		body, err = json.Marshal(form)
	}
	if err != nil {
		return nil, nil, &ArgumentError{Operation: operation, Name: "request", Reason: "cannot be encoded: " + err.Error()}
	}
	if jsonform.LosesText(request, body) {
		return nil, nil, &ArgumentError{Operation: operation, Name: "request", Reason: "holds text that is not UTF-8, which would be sent changed"}
	}
	if hasMask(body) {
		return nil, nil, &ArgumentError{Operation: operation, Name: "request",
			Reason: "holds a Secret, which would be sent masked: use the result of Reveal"}
	}
	return body, secrets, nil
}

// orZero returns the value that a pointer points to, or the zero value for nil.
func orZero[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

// isNil reports whether a request is nil, or a nil pointer, map or slice.
func isNil(request any) bool {
	switch v := reflect.ValueOf(request); v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice:
		return v.IsNil()
	}
	return false
}

// referrer is a request that contains IDs of other resources, or a new name.
type referrer interface {
	// checkIDs returns an error if one of them is invalid, or nil.
	checkIDs() *ArgumentError
}

// checkID checks an ID in a field of a request by the rule for references in
// paths, and no more strictly: the contract says only that these fields are
// strings. If an ID has the wrong kind, the server refuses the request and
// names the field.
func checkID(field, id string) *ArgumentError {
	if reason := syntax.Segment(id); reason != "" {
		return argumentError("", field, id, reason)
	}
	return nil
}

// checkOptionalID is [checkID] for a field that may be empty.
func checkOptionalID(field, id string) *ArgumentError {
	if id == "" {
		return nil
	}
	return checkID(field, id)
}

// checkIDOf checks an ID that is compared with IDs in records, where a name or
// an ID of another kind would seem to be missing.
func checkIDOf(kind Kind, operation, field, id string) *ArgumentError {
	if IsID(id, kind) {
		return nil
	}
	return argumentError(operation, field, id, "must be the ID of a "+kind.String())
}
