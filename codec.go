package cloudapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/mask"
)

// encodeBody encodes a request as the body of a call, with its secrets in clear.
// A nil request becomes {}.
func encodeBody(operation string, to *call.Request, request any) (err error) {
	if isNil(request) {
		request = struct{}{}
	}
	var tree any
	to.Body, err = json.Marshal(request)
	if err == nil && mask.InJSON(to.Body) {
		tree, to.Secrets = mask.Reveal(request, to.Body)
		to.Body, err = json.Marshal(tree)
	}
	refusal := &ArgumentError{Operation: operation, Name: "request"}
	switch {
	case err != nil:
		refusal.Reason = "cannot be encoded: " + err.Error()
	case mask.InJSON(to.Body):
		refusal.Reason = "has a value that " + mask.IsMasked
	default:
		// encoding/json puts U+FFFD in place of bytes that aren't UTF-8.
		if !bytes.Contains(to.Body, []byte("\uFFFD")) && !bytes.Contains(to.Body, []byte(`\ufffd`)) {
			return nil
		}
		_ = json.Unmarshal(to.Body, &tree) // it's from json.Marshal
		name := replacedIn(tree, refusal.Name)
		if name == "" {
			return nil
		}
		refusal.Name = strings.TrimPrefix(name, "request.")
		refusal.Reason = "holds text that is not UTF-8, or the character U+FFFD"
	}
	return refusal
}

// replacedIn returns the name of the value with U+FFFD in decoded JSON, such as
// "request.tags[0].key", or "" if there is none.
func replacedIn(tree any, name string) (found string) {
	switch tree := tree.(type) {
	case string:
		if strings.ContainsRune(tree, utf8.RuneError) {
			return name
		}
	case []any:
		for i := 0; i < len(tree) && found == ""; i++ {
			found = replacedIn(tree[i], fmt.Sprintf("%s[%d]", name, i))
		}
	case map[string]any:
		for key, value := range tree {
			if found = cmp.Or(replacedIn(key, name), replacedIn(value, name+"."+key)); found != "" {
				break
			}
		}
	}
	return found
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

// checkRequest returns an error if a request mustn't be sent.
func checkRequest(operation string, request any) error {
	if isNil(request) {
		return nil
	}
	err := checkIDs(request)
	if r, ok := request.(checked); ok && err == nil {
		err = r.check()
	}
	if err != nil {
		err.Operation = operation
		return err
	}
	return nil
}

// eachID calls f for each text in the fields of a request with a tag such as
// id:"vm", with the field's name in JSON and its rule, until f returns an error.
// It isn't an iterator, which would allocate memory in every create.
func eachID(request reflect.Value, f func(name string, rule referenceRule, text string) *ArgumentError) (err *ArgumentError) {
	v := reflect.Indirect(request)
	for i := 0; i < v.NumField() && err == nil; i++ {
		field, value := v.Type().Field(i), v.Field(i)
		if field.Anonymous {
			err = eachID(value, f)
		}
		kind := Kind(field.Tag.Get("id"))
		if kind == "" {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		rule := idOf(kind)
		rule.optional = options == "omitzero"
		switch field.Type {
		case reflect.TypeFor[string]():
			err = f(name, rule, value.String())
		case reflect.TypeFor[[]string]():
			for j := 0; j < value.Len() && err == nil; j++ {
				err = f(name, rule, value.Index(j).String())
			}
		}
	}
	return err
}

// checkIDs checks the fields of a request with a tag such as id:"vm". They must
// have IDs of that kind: the server takes no names there, and responds as if
// the resource didn't exist.
func checkIDs(request any) *ArgumentError {
	return eachID(reflect.ValueOf(request), func(name string, rule referenceRule, text string) *ArgumentError {
		return rule.check("", name, text)
	})
}

// inUTC is a record whose times are in UTC once it's decoded. It has so many that
// toUTC would take long.
type inUTC interface{ inUTC() }

// decodeRecords decodes records. Their times are in UTC.
func decodeRecords(r call.Response, v any) error {
	err := decodeJSON(r, v)
	if _, ok := v.(inUTC); err == nil && !ok {
		toUTC(reflect.ValueOf(v))
	}
	return err
}

// decodeJSON decodes a JSON response. It returns [io.ErrUnexpectedEOF] if the
// JSON ends too early.
func decodeJSON(r call.Response, v any) error {
	if firstByte(r.Body) == 0 {
		return errors.New("it is empty")
	}
	if contentType := r.Header.Get("Content-Type"); contentType != "" && contentType != "application/json" {
		mediaType, _, err := mime.ParseMediaType(contentType)
		if err != nil || mediaType != "application/json" && !strings.HasSuffix(mediaType, "+json") {
			return errors.New("it is not declared as JSON")
		}
	}
	err := json.Unmarshal(r.Body, v)
	if _, invalid := errors.AsType[*json.SyntaxError](err); invalid {
		if cut := json.NewDecoder(bytes.NewReader(r.Body)).Decode(new(json.RawMessage)); errors.Is(cut, io.ErrUnexpectedEOF) {
			return cut
		}
	}
	return err
}

// toUTC converts the times in a record to UTC. JSON with another offset is decoded
// with a pointer to a time zone, so that equal times differ for
// [reflect.DeepEqual].
func toUTC(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			toUTC(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			toUTC(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			t := v.Addr().Interface().(*time.Time)
			*t = t.UTC()
			return
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				toUTC(f)
			}
		}
	}
}

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
	case Record:
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
		if r, ok := any(record).(Record); ok {
			if field := want.mismatch(r.Resource()); field != "" {
				return i, field
			}
		}
	}
	return 0, ""
}
