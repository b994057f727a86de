package cloudapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// reply is an answer before it is written. A handler that needs a header of its
// own returns one; see resultReply for what else it may return.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// noContent is the result of a deletion.
type noContent struct{}

// file is a result that is not JSON.
type file struct {
	contentType, name string
	content           []byte
}

// resultReply is the answer to a request that succeeded: a reply as it is, a
// file, nothing, or else a record as JSON.
func resultReply(result any) reply {
	switch v := result.(type) {
	case reply:
		return v
	case noContent:
		return reply{status: http.StatusNoContent, header: http.Header{}}
	case file:
		return reply{http.StatusOK, http.Header{
			"Content-Type":        {v.contentType},
			"Content-Disposition": {fmt.Sprintf("attachment; filename=%q", v.name)},
		}, v.content}
	}
	return jsonReply(http.StatusOK, result)
}

func jsonReply(status int, v any) reply {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // a record that cannot be encoded is a mistake in this package
	}
	return reply{status, http.Header{"Content-Type": {"application/json"}}, bytes.TrimSuffix(b.Bytes(), []byte("\n"))}
}

func (r reply) write(w http.ResponseWriter) {
	r.writeHeader(w)
	w.Write(r.body) // an error means that the client is gone
}

// writeTruncated promises the whole body and sends the first n bytes of it.
func (r reply) writeTruncated(w http.ResponseWriter, n int) {
	r.writeHeader(w)
	w.Write(r.body[:min(n, len(r.body))])
	http.NewResponseController(w).Flush()
}

func (r reply) writeHeader(w http.ResponseWriter) {
	h := w.Header()
	for name, values := range r.header {
		h[name] = values
	}
	if r.status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(len(r.body)))
	}
	w.WriteHeader(r.status)
}

// apiError is an error as the API shows it.
type apiError struct {
	Code    int    `json:"code"`
	Type    string `json:"type"`
	Message string `json:"message"`
	// Details is nil where the real server leaves the member out, and
	// [nullDetails] where it says null.
	Details json.RawMessage `json:"details,omitempty"`
}

var nullDetails = json.RawMessage("null")

func (e *apiError) Error() string { return fmt.Sprintf("%d %s: %s", e.Code, e.Type, e.Message) }

// errorReply is the answer to a request that failed.
func errorReply(err error) reply {
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		e = unexpected()
	}
	return jsonReply(e.Code, struct {
		Error *apiError `json:"error"`
	}{e})
}

func missingCredentials() *apiError {
	return &apiError{http.StatusUnauthorized, "MissingCredentials",
		"must include personal access token in Authorization header", nullDetails}
}

func invalidCredentials() *apiError {
	return &apiError{http.StatusUnauthorized, "InvalidCredentials",
		"invalid personal access token provided in Authorization header", nil}
}

func forbidden() *apiError {
	return &apiError{http.StatusForbidden, "Forbidden",
		"Sorry, you don't have permission to continue with this request.", nullDetails}
}

func notFound() *apiError {
	return &apiError{http.StatusNotFound, "ResourceNotFound",
		"Sorry, we couldn’t find the resource you’re looking for.", nil}
}

func invalidLocation(usable []string) *apiError {
	return &apiError{http.StatusNotFound, "InvalidLocation",
		"Validation failed for following path components: location",
		details(problem{"location", "Given location is not a valid location. Available locations: " + strings.Join(usable, ", ")})}
}

// badRequest is for a request that does not fit the description of the API.
func badRequest(format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, "BadRequest", fmt.Sprintf(format, args...), nullDetails}
}

// badBody is a [badRequest] about the body as a whole.
func badBody(format string, args ...any) *apiError {
	e := badRequest("Validation failed for following fields: body")
	e.Details = details(problem{"body", fmt.Sprintf(format, args...)})
	return e
}

// invalidRequest is for a request with values that the service refuses.
func invalidRequest(format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, "InvalidRequest", fmt.Sprintf(format, args...), nullDetails}
}

// invalidFields is an [invalidRequest] that says what is wrong with which field.
func invalidFields(problems ...problem) *apiError {
	names := make([]string, len(problems))
	for i, p := range problems {
		names[i] = p.field
	}
	e := invalidRequest("Validation failed for following fields: %s", strings.Join(names, ", "))
	e.Details = details(problems...)
	return e
}

// invalidField is [invalidFields] for one field.
func invalidField(field, format string, args ...any) *apiError {
	return invalidFields(problem{field, fmt.Sprintf(format, args...)})
}

// alreadyTaken is the answer to a value that must be unique and is not. The
// columns are the service's words for what makes it unique.
func alreadyTaken(columns string) *apiError {
	return invalidRequest("%s is already taken", columns)
}

func dependency(format string, args ...any) *apiError {
	return &apiError{http.StatusConflict, "DependencyError", fmt.Sprintf(format, args...), nullDetails}
}

// unexpected is what the real server says when it fails. The spelling of the
// type is its own.
func unexpected() *apiError {
	return &apiError{http.StatusInternalServerError, "UnexceptedError",
		"Sorry, we couldn’t process your request because of an unexpected error.", nullDetails}
}

// problem is a member of an error's details: what is wrong with a field, as a
// string or a []string.
type problem struct {
	field string
	what  any
}

// details is a JSON object that keeps the order of the problems.
func details(problems ...problem) json.RawMessage {
	var b bytes.Buffer
	for i, p := range problems {
		b.WriteByte("{,"[min(i, 1)])
		b.Write(jsonReply(0, p.field).body)
		b.WriteByte(':')
		b.Write(jsonReply(0, p.what).body)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// deletedOr turns the error of looking up what is to be deleted into the
// answer: what does not exist counts as deleted.
func deletedOr(err error) (any, error) {
	if e, ok := errors.AsType[*apiError](err); ok && e.Type == "ResourceNotFound" {
		return noContent{}, nil
	}
	return nil, err
}
