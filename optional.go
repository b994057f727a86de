package cloudapi

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
)

// Opt is an optional value for the few request fields in which null has its own
// meaning. It's absent (the zero value), null ([Null]), or a value ([Value]).
// In a configuration, null removes a setting. The server ignores null in a
// [PostgresFirewallRuleUpdateRequest]; Value("") clears a description there.
type Opt[T any] struct {
	value T
	state optState
}

type optState uint8

const (
	optAbsent optState = iota
	optNull
	optValue
)

// Value returns an Opt that holds v.
func Value[T any](v T) Opt[T] { return Opt[T]{value: v, state: optValue} }

// Null returns an Opt that is null.
func Null[T any]() Opt[T] { return Opt[T]{state: optNull} }

// Get returns the value and true, or the zero value and false.
func (o Opt[T]) Get() (T, bool) { return o.value, o.state == optValue }

// IsNull reports whether o is null.
func (o Opt[T]) IsNull() bool { return o.state == optNull }

// IsZero reports whether o is absent.
func (o Opt[T]) IsZero() bool { return o.state == optAbsent }

// String returns the value as fmt.Sprint does, or "<absent>" or "<null>".
func (o Opt[T]) String() string { return fmt.Sprint(o) }

// Format prints the value with the verb and its flags; for %#v, in Go syntax.
// Without a value, it prints the result of [Opt.String].
func (o Opt[T]) Format(f fmt.State, verb rune) {
	goSyntax := verb == 'v' && f.Flag('#')
	switch {
	case o.state == optValue && goSyntax:
		fmt.Fprintf(f, "cloudapi.Value(%#v)", o.value)
	case o.state == optValue:
		fmt.Fprintf(f, fmt.FormatString(f, verb), o.value)
	case o.state == optNull && goSyntax:
		fmt.Fprintf(f, "cloudapi.Null[%v]()", reflect.TypeFor[T]())
	case o.state == optNull:
		io.WriteString(f, "<null>")
	case goSyntax:
		fmt.Fprintf(f, "cloudapi.Opt[%v]{}", reflect.TypeFor[T]())
	default:
		io.WriteString(f, "<absent>")
	}
}

// MarshalJSON returns the value's JSON, or null.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if o.state != optValue {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON sets o to null or to the decoded value.
func (o *Opt[T]) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*o = Null[T]()
		return nil
	}
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*o = Value(v)
	return nil
}
