package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

// Call is a call of a method.
type Call struct {
	Name string // such as "VMs.Get", or "CheckAccess" of the client itself
	Args []any  // after the context; missing ones are zero
}

// Do returns the call of a method with the arguments.
func Do(name string, args ...any) Call { return Call{name, args} }

// String returns the name, and the arguments in every form in which they can be
// printed.
func (c Call) String() string {
	text := c.Name
	for _, arg := range c.Args {
		asJSON, _ := json.Marshal(arg) // a function has no JSON
		text += fmt.Sprintf(" %v %+v %#v %s", arg, arg, arg, asJSON)
	}
	return text
}

// On makes the call, and returns the result: nil if the method has none, and a
// slice of the items if it returns a sequence.
func (c Call) On(ctx context.Context, client *cloudapi.Client) (any, error) {
	service, method, ok := strings.Cut(c.Name, ".")
	fn := reflect.ValueOf(client).MethodByName(service)
	if ok {
		fn = reflect.ValueOf(client).Elem().FieldByName(service).MethodByName(method)
	}
	in := []reflect.Value{reflect.ValueOf(ctx)}
	for i, arg := range c.Args {
		typ := fn.Type().In(min(i+1, fn.Type().NumIn()-1))
		if fn.Type().IsVariadic() && i+1 >= fn.Type().NumIn()-1 {
			typ = typ.Elem()
		}
		value := reflect.New(typ).Elem()
		if arg != nil {
			value.Set(reflect.ValueOf(arg).Convert(typ))
		}
		in = append(in, value)
	}
	for i := len(in); i < fn.Type().NumIn() && !fn.Type().IsVariadic(); i++ {
		in = append(in, reflect.Zero(fn.Type().In(i)))
	}
	out := fn.Call(in)
	last := out[len(out)-1]
	if last.Type().CanSeq2() {
		items := reflect.MakeSlice(reflect.SliceOf(last.Type().In(0).In(0)), 0, 0)
		for item, err := range last.Seq2() {
			if !err.IsNil() {
				return nil, err.Interface().(error)
			}
			items = reflect.Append(items, item)
		}
		return items.Interface(), nil
	}
	err, _ := last.Interface().(error)
	switch {
	case out[0].Kind() == reflect.Pointer && (err == nil) == out[0].IsNil():
		return nil, fmt.Errorf("it returned %v and %v", out[0], err)
	case len(out) == 1 || err != nil:
		return nil, err
	}
	return out[0].Interface(), nil
}
