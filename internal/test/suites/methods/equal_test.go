package methods_test

import (
	"reflect"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
)

// TestComparable: go-cmp can compare every record, request, option and error: it
// panics for an unexported field of a type without an Equal method.
func TestComparable(t *testing.T) {
	t.Parallel()
	seen := map[reflect.Type]bool{}
	var check func(path string, typ reflect.Type)
	check = func(path string, typ reflect.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		if equal, ok := typ.MethodByName("Equal"); ok && equal.Type.NumIn() == 2 && equal.Type.In(1) == typ {
			return
		}
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			check(path, typ.Elem())
		case reflect.Struct:
			for field := range typ.Fields() {
				path := path + "." + field.Name
				if !field.IsExported() {
					t.Errorf("go-cmp can't compare %s", path)
				}
				check(path, field.Type)
			}
		}
	}
	for _, m := range sdktest.Methods(t) {
		for _, typ := range m.Types() {
			check(typ.String(), typ)
		}
	}
	for _, v := range []any{&cloudapi.Error{}, &cloudapi.ArgumentError{}, &cloudapi.TransportError{}, &cloudapi.DecodeError{}, &cloudapi.DriftError{},
		&cloudapi.WaitError{}, &cloudapi.UnlistedError{}, cloudapi.WaitOptions{}, cloudapi.EnsureOptions{}, cloudapi.WatchOptions{}, cloudapi.RetryPolicy{}, cloudapi.PostgresConnectionOptions{}} {
		check(reflect.TypeOf(v).String(), reflect.TypeOf(v))
	}
	if len(seen) < 100 {
		t.Errorf("only %d types were checked", len(seen))
	}
}
