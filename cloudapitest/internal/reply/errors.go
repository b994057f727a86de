package reply

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// Error is an error in the form of the API.
type Error struct {
	Code    int    `json:"code"`
	Type    string `json:"type"`
	Message string `json:"message"`
	// Details is nil if the real server omits the member, and JSON null if it
	// sends null.
	Details json.RawMessage `json:"details,omitempty"`
}

const unexpectedType = "UnexceptedError" // the contract's spelling

var nullDetails = json.RawMessage("null")

func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Code, e.Type, e.Message) }

func (e *Error) reply() Reply {
	return JSON(e.Code, struct {
		Error *Error `json:"error"`
	}{e})
}

// In returns the error in the words of a version of the API, and nil for nil.
// It returns [Unexpected] for an error that isn't an [Error].
func In(v version.Version, err error) *Error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = Unexpected()
	}
	if e.Type == unexpectedType && v == version.Service {
		service := *e
		service.Type = "UnexpectedError"
		return &service
	}
	return e
}

func MissingCredentials() *Error {
	return &Error{http.StatusUnauthorized, "MissingCredentials",
		"must include personal access token in Authorization header", nullDetails}
}

func InvalidCredentials() *Error {
	return &Error{http.StatusUnauthorized, "InvalidCredentials",
		"invalid personal access token provided in Authorization header", nil}
}

func Forbidden() *Error {
	return &Error{http.StatusForbidden, "Forbidden",
		"Sorry, you don't have permission to continue with this request.", nullDetails}
}

func NotFound() *Error {
	return &Error{http.StatusNotFound, "ResourceNotFound",
		"Sorry, we couldn’t find the resource you’re looking for.", nil}
}

// NoCertificates is the error for a database that has no certificates yet.
func NoCertificates() *Error {
	return &Error{http.StatusNotFound, "NotFound",
		"Certificate authority certificates for this database have not yet been generated", nullDetails}
}

// NoVersion is the error for a machine image that doesn't have the version.
func NoVersion() *Error {
	return &Error{http.StatusNotFound, "ResourceNotFound", "Machine image version not found", nullDetails}
}

// TooLarge is the error for a body that is larger than any valid request body.
// The real server has no limit.
func TooLarge() *Error {
	return &Error{http.StatusRequestEntityTooLarge, "BadRequest", "The request body is too large.", nullDetails}
}

func InvalidLocation(usable []string) *Error {
	return &Error{http.StatusNotFound, "InvalidLocation",
		"Validation failed for following path components: location",
		details(Problem{"location", "Given location is not a valid location. Available locations: " + strings.Join(usable, ", ")})}
}

// BadRequest is the error for a request that doesn't match the API description.
func BadRequest(format string, args ...any) *Error {
	return &Error{http.StatusBadRequest, "BadRequest", fmt.Sprintf(format, args...), nullDetails}
}

// BadBody is a [BadRequest] about the body as a whole.
func BadBody(format string, args ...any) *Error {
	e := BadRequest("Validation failed for following fields: body")
	e.Details = details(Problem{"body", fmt.Sprintf(format, args...)})
	return e
}

// NotJSONObject is the error for a body that isn't a JSON object. If the body
// is other JSON (null, an array, a string), the real server fails with a 500
// without a body.
func NotJSONObject() *Error { return BadBody("Request body isn't a valid JSON object.") }

// InvalidRequest is the error for a request with values that the real server
// refuses.
func InvalidRequest(format string, args ...any) *Error {
	return &Error{http.StatusBadRequest, "InvalidRequest", fmt.Sprintf(format, args...), nullDetails}
}

// InvalidFields is an [InvalidRequest] with the problems of several fields.
func InvalidFields(problems ...Problem) *Error {
	names := make([]string, len(problems))
	for i, p := range problems {
		names[i] = p.Field
	}
	e := InvalidRequest("Validation failed for following fields: %s", strings.Join(names, ", "))
	e.Details = details(problems...)
	return e
}

// InvalidField is [InvalidFields] for one field.
func InvalidField(field, format string, args ...any) *Error {
	return InvalidFields(Problem{field, fmt.Sprintf(format, args...)})
}

// List returns names as messages list them, such as ["a", "b"].
func List(names []string) string { return `["` + strings.Join(names, `", "`) + `"]` }

// InvalidRecord is an [InvalidRequest] with the problems of a record, or nil if
// there are none.
func InvalidRecord(problems ...string) error {
	if len(problems) == 0 {
		return nil
	}
	return InvalidRequest("%s", strings.Join(problems, ", "))
}

// Taken returns the message that another record has the same values in the
// columns, which must be unique together.
func Taken(columns string) string { return columns + " is already taken" }

// Unprocessable is the error for an action that the present state of an object
// doesn't allow.
func Unprocessable(format string, args ...any) *Error {
	return &Error{http.StatusUnprocessableEntity, "UnprocessableContent", fmt.Sprintf(format, args...), nullDetails}
}

func Dependency(format string, args ...any) *Error {
	return &Error{http.StatusConflict, "DependencyError", fmt.Sprintf(format, args...), nullDetails}
}

// Unexpected is the real server's internal error.
func Unexpected() *Error {
	return &Error{http.StatusInternalServerError, unexpectedType,
		"Sorry, we couldn’t process your request because of an unexpected error.", nullDetails}
}

// Problem is a member of an error's details. It says what is wrong with a
// field, as a string or a []string.
type Problem struct {
	Field string
	What  any
}

// details returns a JSON object that keeps the order of the problems.
func details(problems ...Problem) json.RawMessage {
	var b bytes.Buffer
	for i, p := range problems {
		b.WriteByte("{,"[min(i, 1)])
		b.Write(Encode(p.Field))
		b.WriteByte(':')
		b.Write(Encode(p.What))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// DeletedOr returns what a deletion returns after err: NoContent if the object
// doesn't exist, and err otherwise.
func DeletedOr(err error) (any, error) {
	if e, ok := errors.AsType[*Error](err); ok && e.Type == "ResourceNotFound" {
		return NoContent{}, nil
	}
	return nil, err
}
