package cloudapi_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func TestOpt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		opt          cloudapi.Opt[string]
		value        string
		ok, null, no bool // has a value, is null, is absent
		json         string
		field        string // in an object
	}{
		{"absent", cloudapi.Opt[string]{}, "", false, false, true, "null", `{}`},
		{"null", cloudapi.Null[string](), "", false, true, false, "null", `{"v":null}`},
		{"value", cloudapi.Value("x"), "x", true, false, false, `"x"`, `{"v":"x"}`},
		{"zero value", cloudapi.Value(""), "", true, false, false, `""`, `{"v":""}`},
	} {
		value, ok := tt.opt.Get()
		if value != tt.value || ok != tt.ok || tt.opt.IsNull() != tt.null || tt.opt.IsZero() != tt.no {
			t.Errorf("%s: Get = %q, %v; IsNull = %v; IsZero = %v", tt.name, value, ok, tt.opt.IsNull(), tt.opt.IsZero())
		}
		if got := string(stub.JSON(tt.opt)); got != tt.json {
			t.Errorf("%s in JSON is %s", tt.name, got)
		}
		type object struct {
			V cloudapi.Opt[string] `json:"v,omitzero"`
		}
		if got := string(stub.JSON(object{tt.opt})); got != tt.field {
			t.Errorf("%s in an object is %s, want %s", tt.name, got, tt.field)
		}
		decoded := object{cloudapi.Value("before")}
		if tt.no {
			decoded = object{}
		}
		if err := json.Unmarshal([]byte(tt.field), &decoded); err != nil || decoded.V != tt.opt {
			t.Errorf("%s is decoded from %s as %+v, %v", tt.name, tt.field, decoded.V, err)
		}
	}
}

func TestOptOfOtherTypes(t *testing.T) {
	t.Parallel()
	var o cloudapi.Opt[map[string]int]
	if err := json.Unmarshal([]byte(`{"a":1}`), &o); err != nil {
		t.Fatal(err)
	}
	if m, ok := o.Get(); !ok || !reflect.DeepEqual(m, map[string]int{"a": 1}) {
		t.Errorf("decoded as %v, %v", m, ok)
	}
	if err := json.Unmarshal([]byte(`[1]`), &o); err == nil {
		t.Error("an array was decoded as an object")
	}
	if m, ok := o.Get(); !ok || m["a"] != 1 {
		t.Errorf("a failure changed it to %v, %v", m, ok)
	}
	if _, err := json.Marshal(cloudapi.Value(make(chan int))); err == nil {
		t.Error("a channel was encoded")
	}
}

func TestOptPrints(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		format string
		value  any
		want   string
	}{
		{"%v %s %d %+v", cloudapi.Opt[string]{}, "<absent> <absent> <absent> <absent>"},
		{"%v %s %d %+v", cloudapi.Null[int](), "<null> <null> <null> <null>"},
		{"%v|%s|%q|%5s", cloudapi.Value("a b"), `a b|a b|"a b"|  a b`},
		{"%v|%05d|%x", cloudapi.Value(42), "42|00042|2a"},
		{"%v", cloudapi.Value(""), ""},
		{"%d", cloudapi.Value("x"), "%!d(string=x)"},
		{"%#v", cloudapi.Opt[string]{}, "cloudapi.Opt[string]{}"},
		{"%#v", cloudapi.Null[map[string]int](), "cloudapi.Null[map[string]int]()"},
		{"%#v", cloudapi.Value("x"), `cloudapi.Value("x")`},
		{"%v %+v %s %q %d %#v", cloudapi.Value(cloudapi.NewSecret("hush-hush")),
			`[redacted] [redacted] [redacted] [redacted] [redacted] cloudapi.Value(cloudapi.Secret("[redacted]"))`},
		{"%+v", cloudapi.PostgresFirewallRuleUpdateRequest{CIDR: cloudapi.Value("10.0.0.0/8")}, "{CIDR:10.0.0.0/8 Description:<absent>}"},
		{"%v", &cloudapi.PostgresConfigUpdateRequest{PGConfig: map[string]cloudapi.Opt[string]{"work_mem": cloudapi.Null[string](), "x.y": cloudapi.Value("1")}},
			"&{map[work_mem:<null> x.y:1] map[]}"},
	} {
		values := make([]any, strings.Count(tt.format, "%"))
		for i := range values {
			values[i] = tt.value
		}
		if got := fmt.Sprintf(tt.format, values...); got != tt.want {
			t.Errorf("%s prints %s, want %s", tt.format, got, tt.want)
		}
	}
	if got := cloudapi.Value(1.5).String() + cloudapi.Null[bool]().String() + (cloudapi.Opt[int]{}).String(); got != "1.5<null><absent>" {
		t.Errorf("the texts are %s", got)
	}
}
