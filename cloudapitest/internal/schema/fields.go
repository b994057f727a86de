package schema

import (
	"math"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

// Fields are the fields of a checked body.
type Fields map[string]any

// Has reports whether the body has the field with a value other than null.
func (f Fields) Has(name string) bool { return f[name] != nil }

// Text returns a string, or "" if the field is absent or null.
func (f Fields) Text(name string) string {
	s, _ := f[name].(string)
	return s
}

// Number returns an integer, or 0 if the field is absent or null. If int has 32
// bits, a larger number becomes the nearest int.
func (f Fields) Number(name string) int {
	n, _ := f[name].(int64)
	return int(max(min(n, math.MaxInt), math.MinInt))
}

// Flag returns a boolean, or false if the field is absent or null.
func (f Fields) Flag(name string) bool {
	b, _ := f[name].(bool)
	return b
}

// List returns the elements of an array, or nil if the field is absent or null.
func (f Fields) List(name string) []any {
	l, _ := f[name].([]any)
	return l
}

// Object returns the fields of an object. The values of a [MapOf] are of type
// json.RawMessage.
func (f Fields) Object(name string) Fields {
	o, _ := f[name].(map[string]any)
	return o
}

// NonEmpty returns the named string, or an error if it's missing or blank.
func (f Fields) NonEmpty(name string) (string, error) {
	if !f.Has(name) {
		return "", reply.InvalidRequest("missing parameter for %s", name)
	}
	s := f.Text(name)
	if strings.TrimSpace(s) == "" {
		return "", reply.InvalidRequest("empty string provided for parameter %s", name)
	}
	return s, nil
}

// Positive returns an integer that must be at least 1.
func (f Fields) Positive(name string) (int, error) {
	n := f.Number(name)
	if n < 1 {
		return 0, reply.InvalidRequest("Value must be an integer greater than 0 for parameter %s", name)
	}
	return n, nil
}
