package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

func TestSchemaChecksAndConverts(t *testing.T) {
	t.Parallel()
	tag := Closed(Required("key", Text), Required("value", Text))
	body := Closed(
		Required("name", Text),
		Optional("size", Integer),
		Optional("flag", Boolean),
		Optional("region", OneOf("here", "there")),
		Optional("tags", ArrayOf(tag)),
		Optional("note", Text.OrNull()),
		Optional("config", MapOf(Integer)),
	)
	choice := AnyOf(Closed(Required("a", Text)), Closed(Required("b", Text))).Named("Choice")

	tests := []struct {
		name   string
		schema Schema
		raw    string
		want   string // the value in JSON, or the error
	}{
		{"numbers and booleans as they are", body, `{"name":"n","size":7,"flag":true}`, `{"flag":true,"name":"n","size":7}`},
		{"numbers and booleans in strings", body, `{"name":"n","size":"+07","flag":"0"}`, `{"flag":false,"name":"n","size":7}`},
		{"another number for a boolean", body, `{"flag":"2"}`, `400 BadRequest: #/properties/flag expected boolean, but received String: "2"`},
		{"fractions are cut off", body, `{"name":"n","size":-7.9}`, `{"name":"n","size":-7}`},
		{"the largest number", body, `{"name":"n","size":9223372036854775807}`, `{"name":"n","size":9223372036854775807}`},
		{"large numbers", body, `{"name":"n","size":1e30}`, `{"name":"n","size":null}`},
		{"null where it may be", body, `{"name":"n","note":null}`, `{"name":"n","note":null}`},
		{"null where it may not be", body, `{"name":null}`, "400 BadRequest: #/properties/name does not allow null values"},
		{"integer for string", body, `{"name":5}`, "400 BadRequest: #/properties/name expected string, but received Integer: 5"},
		{"object for integer", body, `{"size":{"b":[false,null],"a":"x"}}`,
			`400 BadRequest: #/properties/size expected integer, but received Hash: {"b":[false,null],"a":"x"}`},
		{"not of the enum", body, `{"region":"away"}`, `400 BadRequest: "away" isn't part of the enum in #/properties/region`},
		{"a null byte", body, `{"name":"a\u0000"}`, "400 InvalidRequest: string parameter contains null byte"},
		{"an element", body, `{"tags":[{"key":"k","value":false}]}`,
			"400 BadRequest: #/properties/tags/items/properties/value expected string, but received FalseClass: false"},
		{"unknown fields before missing ones", body, `{"z":1,"y":2}`, "Request body contains unrecognized parameters: z, y"},
		{"unknown fields of an element", body, `{"name":"n","tags":[{"key":"k","value":"v","x":1}]}`,
			"Request body contains unrecognized parameters: x"},
		{"missing fields of an element", body, `{"name":"n","tags":[{}]}`, "Request body must include required parameters: key, value"},
		{"any names", body, `{"name":"n","config":{"a":1}}`, `{"config":{"a":1},"name":"n"}`},
		{"an alternative", choice, `{"b":"x"}`, `{"b":"x"}`},
		{"no alternative", choice, `{"a":"x","c":1.50}`, `400 BadRequest: {"a":"x","c":1.50} isn't any of in #/components/schemas/Choice`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			value, err := tt.schema.Check("#", []byte(tt.raw))
			encoded, _ := json.Marshal(value)
			got := string(encoded)
			if e, ok := err.(*reply.Error); ok {
				if got = e.Error(); e.Message == "Validation failed for following fields: body" {
					got = string(e.Details)
					tt.want = fmt.Sprintf(`{"body":%q}`, tt.want)
				}
			}
			if got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestUnknownFields(t *testing.T) {
	t.Parallel()
	s := AnyOf(Closed(Required("name", Text), Optional("config", MapOf(Integer))), Closed(Required("size", Integer)))
	got := s.UnknownFields([]byte(`{"config":{"any":1},"name":"a","size":1,"nmae":"a","more":1}`))
	if want := []string{"body field nmae", "body field more"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFieldsSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	f := Fields{"blank": " ", "name": "n", "zero": int64(0), "one": int64(1)}
	if s, err := f.NonEmpty("name"); s != "n" || err != nil {
		t.Errorf("%q, %v", s, err)
	}
	if n, err := f.Positive("one"); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	_, blank := f.NonEmpty("blank")
	_, zero := f.Positive("zero")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{blank, "400 InvalidRequest: empty string provided for parameter blank"},
		{zero, "400 InvalidRequest: Value must be an integer greater than 0 for parameter zero"},
	} {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("%v, want %s", tt.err, tt.want)
		}
	}
}
