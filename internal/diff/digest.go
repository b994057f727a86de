package diff

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"reflect"
	"time"
)

// Digester computes digests of values. The digests of two Digesters can't be
// compared.
type Digester struct {
	seed   maphash.Seed
	buffer []byte
}

// NewDigester returns a Digester.
func NewDigester() *Digester { return &Digester{seed: maphash.MakeSeed()} }

// Sum returns the digest of a struct of strings, booleans, numbers, times, and
// pointers, slices and structs of these. Only times must be in exported fields.
// Equal values have equal digests; different values have the same digest with a
// probability of 1 in 2^64. The order of a slice's elements and the zone of a
// time don't matter.
func (d *Digester) Sum(v reflect.Value) uint64 {
	d.buffer = d.append(d.buffer[:0], v)
	return maphash.Bytes(d.seed, d.buffer)
}

// append appends bytes that represent v. It adds up the hashes of a slice's
// elements, so that their order doesn't matter.
func (d *Digester) append(b []byte, v reflect.Value) []byte {
	number := binary.LittleEndian.AppendUint64
	switch v.Kind() {
	case reflect.String:
		b = number(b, uint64(v.Len()))
		return append(b, v.String()...)
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Int:
		return number(b, uint64(v.Int()))
	case reflect.Float64:
		return number(b, math.Float64bits(v.Float()))
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 0)
		}
		return d.append(append(b, 1), v.Elem())
	case reflect.Slice, reflect.Array:
		sum, start := uint64(0), len(b)
		for i := range v.Len() {
			b = d.append(b[:start], v.Index(i))
			sum += maphash.Bytes(d.seed, b[start:])
		}
		return number(number(b[:start], uint64(v.Len())), sum)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			t := v.Addr().Interface().(*time.Time)
			return number(number(b, uint64(t.Unix())), uint64(t.Nanosecond()))
		}
		for i := range v.NumField() {
			b = d.append(b, v.Field(i))
		}
		return b
	}
	panic("diff: values of type " + v.Type().String() + " have no digest")
}
