package jsonform

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// fields are the fields of a struct by their names in JSON, and by their
// folded names.
type fields struct {
	named, folded map[string]reflect.StructField
}

// find returns the field of a key, which is a JSON string. Like encoding/json
// it ignores case.
func (f fields) find(key []byte) (field reflect.StructField, ok bool) {
	name := key[1 : len(key)-1]
	if field, ok = f.named[string(name)]; ok {
		return field, ok
	}
	text := string(name)
	if bytes.IndexByte(name, '\\') >= 0 {
		_ = json.Unmarshal(key, &text)
	}
	if field, ok = f.named[text]; !ok {
		field, ok = f.folded[fold(text)]
	}
	return field, ok
}

// fold returns a name that is the same for names that differ only in case.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// fieldsOf caches the fields of structs.
type fieldsOf map[reflect.Type]fields

func (known fieldsOf) of(t reflect.Type) fields {
	f, ok := known[t]
	if ok {
		return f
	}
	f = fields{map[string]reflect.StructField{}, map[string]reflect.StructField{}}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" || field.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		f.named[name], f.folded[fold(name)] = field, field
	}
	known[t] = f
	return f
}
