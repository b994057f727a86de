package cloudapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"mime"
	"reflect"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/jsonform"
	"github.com/cloudapi-sdk/cloudapi/internal/mask"
)

// encodeBody encodes a request as the body of a call, with its secrets in clear.
// A nil request becomes {}. If isOwn, the request can have types that encode
// themselves, and reveal their secrets.
func encodeBody(operation string, to *call.Request, request any, isOwn bool) (err error) {
	if isNil(request) {
		request = struct{}{}
	}
	to.Body, err = json.Marshal(request)
	if err == nil && (isOwn || hasMask(to.Body)) {
		var clear any
		clear, to.Secrets, err = mask.Reveal(request, to.Body)
		if err == nil && hasMask(to.Body) {
			to.Body, err = json.Marshal(clear)
		}
	}
	var reason string
	switch {
	case err != nil:
		reason = "cannot be encoded: " + err.Error()
	case hasReplacement(to.Body):
		reason = "holds text that is not UTF-8, or the character U+FFFD"
	case hasMask(to.Body):
		reason = "holds a Secret, which would be sent masked: use the result of Reveal"
	default:
		return nil
	}
	return &ArgumentError{Operation: operation, Name: "request", Reason: reason}
}

// hasReplacement reports whether JSON contains U+FFFD, as a character or an
// escape. encoding/json puts it in place of bytes that aren't UTF-8.
func hasReplacement(body []byte) bool {
	return bytes.Contains(body, []byte("\uFFFD")) ||
		bytes.Contains(body, []byte(`\ufffd`)) && bytes.Contains(bytes.ReplaceAll(body, []byte(`\\`), nil), []byte(`\ufffd`))
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

// checked is a request with fields that the server would misunderstand or
// accept if they are wrong.
type checked interface {
	check() *ArgumentError
}

// checkRequest returns an error if a request mustn't be sent. dry is for the
// request of a dry run, and nil for one that is sent.
func checkRequest(operation string, request any, dry *dryRun) error {
	if isNil(request) {
		return nil
	}
	err := checkIDs(request, dry)
	if r, ok := request.(checked); ok && err == nil {
		err = r.check()
	}
	if err != nil {
		err.Operation = operation
		return err
	}
	return nil
}

// textsOf iterates over the texts in a request's fields that can have IDs.
func textsOf(request reflect.Value) iter.Seq2[reflect.StructField, string] {
	return func(yield func(reflect.StructField, string) bool) {
		v := reflect.Indirect(request)
		if v.Kind() != reflect.Struct {
			return
		}
		for i := range v.NumField() {
			field, f := v.Type().Field(i), v.Field(i)
			switch {
			case field.Anonymous:
				for field, text := range textsOf(f) {
					if !yield(field, text) {
						return
					}
				}
			case field.Type == reflect.TypeFor[string]():
				if !yield(field, f.String()) {
					return
				}
			case field.Type == reflect.TypeFor[[]string]():
				for _, text := range f.Seq2() {
					if !yield(field, text.String()) {
						return
					}
				}
			}
		}
	}
}

// jsonName returns a field's name in JSON, and whether it isn't sent if it's
// empty.
func jsonName(field reflect.StructField) (name string, optional bool) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name, options == "omitzero"
}

// checkIDs checks the fields of a request with a tag such as id:"vm". They must
// have IDs of that kind: the server takes no names there, and responds as if
// the resource didn't exist. Without the tag, a field can have any value but a
// planned ID that dry doesn't accept.
func checkIDs(request any, dry *dryRun) *ArgumentError {
	for field, text := range textsOf(reflect.ValueOf(request)) {
		rule := referenceRule{dry: dry}
		name, optional := jsonName(field)
		if kind := Kind(field.Tag.Get("id")); kind != "" {
			rule.kinds, rule.idOnly, rule.optional = kinds{kind}, true, optional
		} else if !IsPlanned(text) {
			continue
		}
		if err := rule.check("", name, text); err != nil {
			return err
		}
	}
	return nil
}

// decodeRecords decodes records. It tolerates fields of an unexpected type.
func decodeRecords(r call.Response, v any) error {
	if err := decodeJSON(r, v, true); err != nil {
		return err
	}
	// Only mocks send masked records, and their responses are small.
	if len(r.Body) <= jsonform.Small && hasMask(r.Body) {
		text, _ := json.Marshal(v)
		if _, secrets, _ := mask.Reveal(v, text); slices.Contains(secrets, redacted) {
			return errMasked
		}
	}
	return nil
}

var errMasked = errors.New("a secret in it is " + redacted + ", as in the JSON of the SDK's records: a mock sends cloudapitest.Encode of a record")

// decodeJSON decodes a JSON response. See [jsonform.Decoder] for otherForms.
func decodeJSON(r call.Response, v any, otherForms bool) error {
	if firstByte(r.Body) == 0 {
		return errors.New("it is empty")
	}
	if contentType := r.Header.Get("Content-Type"); contentType != "" && contentType != "application/json" {
		mediaType, _, err := mime.ParseMediaType(contentType)
		if err != nil || mediaType != "application/json" && !strings.HasSuffix(mediaType, "+json") {
			return errors.New("it is not declared as JSON")
		}
	}
	decoder := jsonform.Decoder{
		Memory:     freeMemory + 2*min(r.Limit, math.MaxInt64/4),
		OtherForms: otherForms,
	}
	return decoder.Decode(r.Body, v)
}

// freeMemory is how many bytes a decoded response may take in addition to twice
// the response limit.
const freeMemory = 16 << 20

// firstByte returns the first byte that isn't white space, or 0. It searches
// only the beginning of the data.
func firstByte(data []byte) byte {
	for _, c := range data[:min(len(data), call.MaxSearched)] {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
	}
	return 0
}

func isArray(data []byte) bool { return firstByte(data) == '[' }

// lacks returns the name of a required field that a record lacks, or "". For a
// record without a lacks method, only the ID is required.
func lacks(record any) string {
	switch r := record.(type) {
	case interface{ lacks() string }:
		return r.lacks()
	case identified:
		return missing("id", r.Resource().ID == "")
	}
	return ""
}

// missing returns the name of a field if it's missing, and "" otherwise.
func missing(name string, isMissing bool) string {
	if isMissing {
		return name
	}
	return ""
}

// Values of [ListOptions.OrderColumn].
const (
	OrderByID   = "id"
	OrderByName = "name"
)

// expected is the resource that a request names. Records in the response must
// have the same values as its fields; an empty field matches any value.
type expected struct {
	location string
	kinds    kinds // the kinds that the resource can have; none for any kind
	id, name string
}

// mismatch returns the first field in which a record differs from the request,
// or "". A field that the server left out doesn't differ.
func (want *expected) mismatch(r Resource) string {
	differs := func(want, got string) bool { return want != "" && got != "" && want != got }
	isKind := len(want.kinds) == 0 || want.kinds.has(r.Kind)
	switch {
	case isKind && differs(want.id, r.ID):
		return "id"
	case isKind && differs(want.name, r.Name):
		return "name"
	case differs(want.location, r.Location):
		return "location"
	}
	return ""
}

// firstMismatch returns the index of the first record that differs from what
// the call requested, and the field that differs, or "" if no record does.
// Caches and gateways can mix up responses.
func firstMismatch[T any](want *expected, records []*T) (i int, field string) {
	for i, record := range records {
		if r, ok := any(record).(identified); ok {
			if field := want.mismatch(r.Resource()); field != "" {
				return i, field
			}
		}
	}
	return 0, ""
}
