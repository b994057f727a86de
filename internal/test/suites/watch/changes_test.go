package watch_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/diff"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestWatchComparesEverything changes every field of every watched record, one
// at a time. Each change must cause an event. Storing a record as JSON and
// reading it back is no change, unless it has secrets.
func TestWatchComparesEverything(t *testing.T) {
	t.Parallel()
	digest := diff.NewDigester().Sum
	watches := 0
	for _, service := range reflect.VisibleFields(reflect.TypeFor[cloudapi.Client]()) {
		watch, ok := service.Type.MethodByName("Watch")
		if !ok {
			continue
		}
		watches++
		event := watch.Type.Out(0).In(0).In(0) // of the sequence's function
		if event.Kind() != reflect.Struct || event.NumField() != 3 {
			t.Fatalf("%s yields %v", service.Name, event)
		}
		record := event.Field(1).Type.Elem()
		filled := sdktest.Fill(record, "x")
		same := digest(filled)
		if digest(sdktest.Fill(record, "x")) != same || digest(reflect.New(record).Elem()) == same {
			t.Errorf("two records of %s differ, or a record is as good as none", service.Name)
		}
		stored, again := stub.Must(json.Marshal(filled.Interface()))(t), reflect.New(record)
		stub.Must(0, json.Unmarshal(stored, again.Interface()))(t)
		if masked := strings.Contains(string(stored), "[redacted]"); (digest(again.Elem()) != same) != masked {
			t.Errorf("%s: stored with masked secrets: %v; it differs: %v: %s", service.Name, masked, !masked, stored)
		}
		for _, change := range changes(record) {
			v := sdktest.Fill(record, "x")
			where := change(v)
			if digest(v) == same {
				t.Errorf("%s does not see a change of %s", service.Name, where)
			}
		}
	}
	if watches < 12 {
		t.Errorf("there are only %d watches", watches)
	}
}

// changes returns functions for a filled value of a type. Each changes one
// field or element of the value, and returns its name.
func changes(t reflect.Type, within ...reflect.Type) (all []func(reflect.Value) string) {
	if slices.Contains(within, t) {
		return nil // fill.Value stops here as well
	}
	here := func(name string, change func(reflect.Value)) {
		all = append(all, func(v reflect.Value) string { change(v); return name })
	}
	below := func(name string, t reflect.Type, get func(reflect.Value) reflect.Value) {
		for _, change := range changes(t, within...) {
			all = append(all, func(v reflect.Value) string { return name + change(get(v)) })
		}
	}
	switch t {
	case reflect.TypeFor[cloudapi.Secret]():
		here("secret", func(v reflect.Value) { v.Set(reflect.ValueOf(cloudapi.NewSecret("y"))) })
		return all
	case reflect.TypeFor[time.Time]():
		here("time", func(v reflect.Value) { v.Set(reflect.ValueOf(v.Interface().(time.Time).Add(1))) })
		return all
	}
	within = append(slices.Clone(within), t)
	switch t.Kind() {
	case reflect.String:
		here("text", func(v reflect.Value) { v.SetString("y") })
		here("length", func(v reflect.Value) { v.SetString("xx") })
	case reflect.Bool:
		here("flag", func(v reflect.Value) { v.SetBool(false) })
	case reflect.Int:
		here("number", func(v reflect.Value) { v.SetInt(2) })
	case reflect.Float64:
		here("number", func(v reflect.Value) { v.SetFloat(1.5) })
	case reflect.Pointer:
		here("nil", func(v reflect.Value) { v.SetZero() })
		below("*", t.Elem(), reflect.Value.Elem)
	case reflect.Slice:
		here("length", func(v reflect.Value) { v.Set(reflect.AppendSlice(v, v)) })
		here("none", func(v reflect.Value) { v.SetZero() })
		below("[]", t.Elem(), func(v reflect.Value) reflect.Value { return v.Index(0) })
	case reflect.Struct:
		for i := range t.NumField() {
			below("."+t.Field(i).Name, t.Field(i).Type, func(v reflect.Value) reflect.Value { return v.Field(i) })
		}
	}
	return all
}
