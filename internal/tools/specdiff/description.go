package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

type described struct {
	verb, route string
	deprecated  bool
	query       map[string]property
	body        *openapi3.Schema   // nil if there is none
	statuses    []string           // the statuses of success, such as 200
	success     []*openapi3.Schema // the schemas of the JSON responses with these statuses
	file        string             // the content type of a response that isn't JSON, or ""
	failures    []*openapi3.Schema
}

func (d *described) String() string { return d.verb + " " + d.route }

// property is a field of an object, or a parameter.
type property struct {
	*openapi3.Schema
	required bool
}

// readDescription reads a description of the service, in YAML or JSON.
func readDescription(text []byte) (operations []described, err error) {
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	for _, route := range doc.Paths.InMatchingOrder() {
		item := doc.Paths.Value(route)
		for verb, op := range item.Operations() {
			d := described{verb: verb, route: route, deprecated: op.Deprecated, query: map[string]property{}}
			for _, p := range slices.Concat(item.Parameters, op.Parameters) {
				if p.Value.In == "query" {
					d.query[p.Value.Name] = property{p.Value.Schema.Value, p.Value.Required}
				}
			}
			if op.RequestBody != nil {
				d.body, _ = content(op.RequestBody.Value.Content)
			}
			for _, status := range slices.Sorted(maps.Keys(op.Responses.Map())) {
				schema, other := content(op.Responses.Value(status).Value.Content)
				if !strings.HasPrefix(status, "2") {
					if schema != nil {
						d.failures = append(d.failures, schema)
					}
					continue
				}
				d.statuses = append(d.statuses, status)
				if schema != nil && !slices.Contains(d.success, schema) {
					d.success = append(d.success, schema)
				}
				if other != "" {
					d.file = other
				}
			}
			operations = append(operations, d)
		}
	}
	slices.SortFunc(operations, func(a, b described) int {
		return cmp.Or(strings.Compare(a.route, b.route), strings.Compare(a.verb, b.verb))
	})
	return operations, nil
}

// content returns the schema of a JSON body, or the content type of another
// body.
func content(c openapi3.Content) (schema *openapi3.Schema, other string) {
	for contentType, media := range c {
		if contentType != "application/json" {
			other = contentType
		} else if media.Schema != nil {
			schema = media.Schema.Value
		}
	}
	return schema, other
}

// properties returns the fields of an object. If the object has alternatives,
// it returns the fields of all of them, and a field is required if all of them
// require it.
func properties(s *openapi3.Schema) map[string]property {
	found := map[string]property{}
	for name, ref := range s.Properties {
		found[name] = property{ref.Value, slices.Contains(s.Required, name)}
	}
	for _, part := range s.AllOf {
		for name, p := range properties(part.Value) {
			p.required = p.required || slices.Contains(s.Required, name)
			found[name] = p
		}
	}
	alternatives := slices.DeleteFunc(slices.Concat(s.AnyOf, s.OneOf), func(ref *openapi3.SchemaRef) bool { return kind(ref.Value) == "array" })
	times := map[string]int{}
	for _, alternative := range alternatives {
		for name, p := range properties(alternative.Value) {
			if p.required {
				times[name]++
			}
			found[name] = property{p.Schema, slices.Contains(s.Required, name) || times[name] == len(alternatives)}
		}
	}
	return found
}

// kinds returns the JSON types that a schema allows, or nil if it allows all.
func kinds(s *openapi3.Schema) []string {
	switch types := s.Type.Slice(); {
	case len(types) > 0:
		return types
	case len(s.Properties) > 0:
		return []string{"object"}
	case len(s.AllOf) > 0:
		return kinds(s.AllOf[0].Value)
	}
	var union []string
	for _, alternative := range slices.Concat(s.AnyOf, s.OneOf) {
		types := kinds(alternative.Value)
		if types == nil {
			return nil
		}
		union = append(union, types...)
	}
	slices.Sort(union)
	return slices.Compact(union)
}

// kind returns the JSON type of a schema, or "" if it allows several.
func kind(s *openapi3.Schema) string {
	if types := kinds(s); len(types) == 1 {
		return types[0]
	}
	return ""
}

func describe(s *openapi3.Schema) string {
	text := strings.Join(kinds(s), " or ")
	switch {
	case text == "array" && s.Items != nil:
		text = "array of " + describe(s.Items.Value)
	case text == "":
		text = "any type"
	case s.Format != "":
		text += " " + s.Format
	}
	if s.Nullable {
		text += " or null"
	}
	return text
}
