package jsonform

import (
	"reflect"
	"time"
)

// memory returns about how much memory a decoded value takes in addition to its
// own size: for what is behind its pointers.
func memory(v reflect.Value) (size int64) {
	switch t := v.Type(); t.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			e := v.Elem()
			return int64(e.Type().Size()) + memory(e)
		}
	case reflect.Slice:
		size = int64(v.Cap()) * int64(t.Elem().Size())
		for i := range v.Len() {
			size += memory(v.Index(i))
		}
	case reflect.Map:
		if v.IsNil() {
			return 0
		}
		// Groups of eight entries, of which an eighth stays empty.
		size = 48 + (int64(v.Len())/7+1)*8*int64(1+t.Key().Size()+t.Elem().Size())
		for entries := v.MapRange(); entries.Next(); {
			size += memory(entries.Key()) + memory(entries.Value())
		}
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return 0
		}
		for i := range v.NumField() {
			size += memory(v.Field(i))
		}
	}
	return size
}
