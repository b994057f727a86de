package cloudapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// serviceMethod is an exported method of a service of a Client, as reflection
// finds it, with arguments that it accepts.
type serviceMethod struct {
	name      string // such as "VMs.Get"
	service   int    // field of Client
	method    int    // of the service
	args      []reflect.Value
	strings   []stringArg // those that are part of the path
	listOpts  int         // which argument is *ListOptions, or -1
	operation Operation   // that it performs with these arguments
	target    string      // that it asks for with these arguments

	// inLocation is the operation that it performs with ListOptions.Location;
	// it has no name if the method refuses a location.
	inLocation Operation
}

// stringArg is an argument of type string.
type stringArg struct {
	index int
	kind  Kind // of the IDs that it takes; "" if names will do
}

// call calls the method. The error of a sequence is its first.
func (m *serviceMethod) call(ctx context.Context, c *Client, args []reflect.Value) (result any, err error) {
	fn := reflect.ValueOf(c).Elem().Field(m.service).Method(m.method)
	out := fn.Call(append([]reflect.Value{reflect.ValueOf(ctx)}, args...))
	last := out[len(out)-1]
	if last.Type().CanSeq2() {
		for _, e := range last.Seq2() {
			if err, _ = e.Interface().(error); err != nil {
				break
			}
		}
		return nil, err
	}
	err, _ = last.Interface().(error)
	if len(out) == 1 || out[0].IsZero() {
		return nil, err
	}
	return out[0].Interface(), err
}

// with returns the method's arguments with one replaced.
func (m *serviceMethod) with(index int, value any) []reflect.Value {
	args := append([]reflect.Value(nil), m.args...)
	args[index] = reflect.ValueOf(value)
	return args
}

// withLocation returns the arguments of a list for a location.
func (m *serviceMethod) withLocation(location string) []reflect.Value {
	return m.with(m.listOpts, &ListOptions{Location: location})
}

// types returns those of the method's arguments and results, with that of a
// sequence's items in place of its own.
func (m *serviceMethod) types() (types []reflect.Type) {
	fn := reflect.TypeFor[Client]().Field(m.service).Type.Method(m.method).Type
	for i := 2; i < fn.NumIn(); i++ {
		types = append(types, fn.In(i))
	}
	for out := range fn.Outs() {
		if out.CanSeq2() {
			out = out.In(0).In(0)
		}
		types = append(types, out)
	}
	return types
}

// serviceMethods finds all methods of all services. Which of their arguments
// are part of the path, and what those accept, is found out by calling them.
func serviceMethods(t *testing.T) []serviceMethod {
	t.Helper()
	var methods []serviceMethod
	client := reflect.TypeFor[Client]()
	for i := range client.NumField() {
		field := client.Field(i)
		if !field.IsExported() {
			continue
		}
		found := 0
		for j := range field.Type.NumMethod() {
			fn := field.Type.Method(j)
			if fn.Type.NumIn() < 2 || fn.Type.In(1) != reflect.TypeFor[context.Context]() {
				t.Errorf("%s.%s does not take a context first", field.Name, fn.Name)
				continue
			}
			if fn.Name == "Ensure" {
				continue // its name must be none of an ID
			}
			m := serviceMethod{name: field.Name + "." + fn.Name, service: i, method: j, listOpts: -1}
			m.prepare(t, fn.Type)
			methods = append(methods, m)
			found++
		}
		if found == 0 {
			t.Errorf("the service %s has no methods", field.Name)
		}
	}
	if len(methods) == 0 {
		t.Fatal("the client has no services")
	}
	return methods
}

// prepare finds arguments with which the method sends a request.
func (m *serviceMethod) prepare(t *testing.T, fn reflect.Type) {
	t.Helper()
	last := fn.NumIn()
	if fn.IsVariadic() {
		last--
	}
	var named []*stringArg
	for i := 2; i < last; i++ {
		index := i - 2
		switch in := fn.In(i); in {
		case reflect.TypeFor[string]():
			m.args = append(m.args, reflect.ValueOf(fmt.Sprintf("argument-%d", index)))
			named = append(named, &stringArg{index: index})
		case reflect.TypeFor[*ListOptions]():
			m.args = append(m.args, reflect.ValueOf(&ListOptions{}))
			m.listOpts = index
		case reflect.TypeFor[*WatchOptions]():
			m.args = append(m.args, reflect.ValueOf(&WatchOptions{}))
		case reflect.TypeFor[[]FirewallRuleCreateRequest](), reflect.TypeFor[[]PostgresFirewallRuleCreateRequest]():
			m.args = append(m.args, reflect.Zero(in)) // a rule must be one, and "x" is no CIDR
		default:
			m.args = append(m.args, filled(in, "x"))
		}
	}

	var network recorder
	client := network.client(t)
	for kinds := allKinds; ; {
		_, err := m.call(t.Context(), client, m.args)
		sent := network.take()
		if len(sent) > 0 {
			m.operation, m.target = sent[0].operation, sent[0].target
			break
		}
		argErr, ok := errors.AsType[*ArgumentError](err)
		if !ok {
			t.Fatalf("%s sends nothing: %v", m.name, err)
		}
		refused := false
		for _, arg := range named {
			if argErr.Value != m.args[arg.index].String() {
				continue
			}
			refused = true
			if arg.kind == "" {
				kinds = allKinds
			}
			if kinds == "" {
				t.Fatalf("%s accepts neither a name nor any ID: %v", m.name, err)
			}
			arg.kind, kinds = Kind(kinds[:ubid.PrefixLength]), kinds[ubid.PrefixLength:]
			m.args[arg.index] = reflect.ValueOf(NewID(arg.kind).String())
		}
		if !refused {
			t.Fatalf("%s refuses arguments that are filled: %v", m.name, err)
		}
	}

	if m.listOpts >= 0 {
		_, err := m.call(t.Context(), client, m.withLocation("location-1"))
		if sent := network.take(); len(sent) > 0 {
			m.inLocation = sent[0].operation
		} else if argErr, ok := errors.AsType[*ArgumentError](err); !ok || argErr.Name != "Location" {
			t.Fatalf("%s refuses a location with %v", m.name, err)
		}
	}

	path, _, _ := strings.Cut(m.target, "?")
	for _, arg := range named {
		switch n := countSegments(path, m.args[arg.index].String()); n {
		case 0: // it is a part of the body
		case 1:
			m.strings = append(m.strings, *arg)
		default:
			t.Fatalf("%s: an argument occurs %d times in %s", m.name, n, path)
		}
	}
}

func countSegments(path, segment string) (n int) {
	for s := range strings.SplitSeq(path, "/") {
		if s == segment {
			n++
		}
	}
	return n
}

// filled returns a value of a type in which nothing is zero, but for what has
// a form of its own, and types within themselves. Secrets, and bytes, have the
// given content.
func filled(t reflect.Type, secret string, within ...reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t {
	case reflect.TypeFor[Secret]():
		v.Set(reflect.ValueOf(NewSecret(secret)))
		return v
	case reflect.TypeFor[[]byte]():
		v.SetBytes([]byte(secret))
		return v
	}
	if u, ok := v.Addr().Interface().(json.Unmarshaler); ok {
		for _, text := range []string{`"x"`, `"2026-01-02T03:04:05Z"`, `1`, `{}`} {
			if u.UnmarshalJSON([]byte(text)) == nil {
				break
			}
		}
		return v
	}
	if slices.Contains(within, t) {
		return v
	}
	within = append(within, t)
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(filled(t.Elem(), secret, within...))
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(filled(t.Field(i).Type, secret, within...))
			}
		}
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(t.Elem(), secret, within...)))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(filled(t.Key(), secret, within...), filled(t.Elem(), secret, within...))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	}
	return v
}
