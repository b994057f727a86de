package main

import (
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

type comparison struct {
	sdk      *sdk
	findings map[string]bool
	seen     map[pair]bool
	fields   map[string]map[string]bool // the fields that the description has, by the name of the struct
	structs  map[string]visited         // by name
}

// pair is a schema and the name of the type that was compared with it.
type pair struct {
	schema *openapi3.Schema
	name   string
}

type visited struct {
	role, tag string
	typ       types.Type
}

func compare(s *sdk, operations []described) map[string]bool {
	c := &comparison{
		sdk: s, findings: map[string]bool{}, seen: map[pair]bool{},
		fields: map[string]map[string]bool{}, structs: map[string]visited{},
	}
	found := map[string]bool{}
	for _, d := range operations {
		r := s.find(d.verb, d.route)
		switch {
		case r == nil:
			c.addf("operation %s: missing", &d)
			continue
		case r.contractOnly:
			c.addf("operation %s: the SDK says that only the contract has %s", &d, r.name)
		case r.call == nil:
			c.addf("operation %s: there is a row %s and no such method", &d, r.name)
			continue
		case r.route != d.route:
			c.addf("operation %s: the SDK's route is %s", &d, r.route)
		}
		found[r.String()] = true
		if d.deprecated {
			c.addf("operation %s: deprecated", &d)
		}
		c.parameters(r, &d)
		c.body(r, &d)
		c.response(r, &d)
		for _, failure := range d.failures {
			c.failure(failure)
		}
	}
	for _, r := range s.operations {
		if s.find(r.method, r.route).call != nil && !found[r.String()] && !r.contractOnly {
			c.addf("operation %s: only in the SDK, as %s", &r, r.name)
		}
	}
	for name, v := range c.structs {
		for field := range s.fields(v.typ, v.tag) {
			if !c.fields[name][field] {
				c.addf("%s %s.%s: only in the SDK", v.role, name, field)
			}
		}
	}
	return c.findings
}

func (c *comparison) addf(format string, args ...any) {
	c.findings[fmt.Sprintf(format, args...)] = true
}

// visit notes that the description has these fields of a struct, and returns
// its name.
func (c *comparison) visit(role, tag string, t types.Type, names ...string) string {
	name := types.TypeString(deref(t), func(*types.Package) string { return "" })
	if c.fields[name] == nil {
		c.fields[name] = map[string]bool{}
	}
	c.structs[name] = visited{role, tag, t}
	for _, field := range names {
		c.fields[name][field] = true
	}
	return name
}

func (c *comparison) parameters(r *row, d *described) {
	structs, single := c.sdk.request(r)
	known := map[string]value{}
	for _, t := range structs {
		fields := c.sdk.fields(t, "url")
		if fields == nil {
			continue
		}
		maps.Copy(known, fields)
		c.visit("parameter", "url", t, slices.Collect(maps.Keys(d.query))...)
	}
	if d.body == nil {
		maps.Copy(known, pairArguments(single, d.query))
	}
	for name, p := range d.query {
		c.property("parameter", r.name+"."+name, p, known, name)
	}
}

func (c *comparison) body(r *row, d *described) {
	structs, single := c.sdk.request(r)
	var wanted map[string]property
	if d.body != nil {
		wanted = properties(d.body)
	}
	known := map[string]value{}
	owner := map[string]string{}
	for _, t := range structs {
		if fields := c.sdk.fields(t, "json"); fields != nil {
			maps.Copy(known, fields)
			name := c.visit("request", "json", t, slices.Collect(maps.Keys(wanted))...)
			for field := range fields {
				owner[field] = name
			}
			owner[""] = name
		}
	}
	left := maps.Clone(wanted)
	maps.DeleteFunc(left, func(name string, _ property) bool { _, ok := known[name]; return ok })
	maps.Copy(known, pairArguments(single, left))
	for name, p := range wanted {
		subject := owner[name]
		if subject == "" && owner[""] != "" && known[name].typ == nil {
			subject = owner[""]
		}
		if subject == "" {
			subject = r.name
		}
		subject += "." + name
		c.property("request", subject, p, known, name)
	}
}

// pairArguments pairs single arguments of a method with the fields that they
// are sent in: first by name, then by the end of the name, and the rest in
// their order.
func pairArguments(single []*types.Var, wanted map[string]property) map[string]value {
	paired := map[string]value{}
	left := slices.Clone(single)
	last := func(name string) string { return name[strings.LastIndexByte(name, '_')+1:] }
	for _, same := range []func(argument, field string) bool{
		func(argument, field string) bool { return argument == field },
		func(argument, field string) bool {
			return strings.HasSuffix(argument, "_"+field) || strings.HasSuffix(field, "_"+argument)
		},
		func(argument, field string) bool { return last(argument) == last(field) },
		func(string, string) bool { return true },
	} {
		for _, field := range slices.Sorted(maps.Keys(wanted)) {
			if _, done := paired[field]; done {
				continue
			}
			i := slices.IndexFunc(left, func(v *types.Var) bool { return same(snake(v.Name()), field) })
			if i >= 0 {
				paired[field] = value{typ: left[i].Type(), single: true}
				left = slices.Delete(left, i, i+1)
			}
		}
	}
	return paired
}

func (c *comparison) response(r *row, d *described) {
	record, list := c.sdk.result(r)
	file := record != nil && types.TypeString(record, func(*types.Package) string { return "" }) == "File"
	usual := "200"
	switch {
	case d.success == nil && d.file == "":
		usual = "204"
		if record != nil {
			c.addf("response of %s: nothing, but the SDK returns %s", r.name, types.TypeString(record, func(*types.Package) string { return "" }))
		}
	case d.success == nil && !file:
		c.addf("response of %s: a file of the type %s, which the SDK does not return", r.name, d.file)
	}
	if status := strings.Join(d.statuses, " or "); status != usual {
		c.addf("response of %s: its status is %s", r.name, status)
	}
	for _, s := range d.success {
		c.json(r, s, record, list, file)
	}
}

// json compares a JSON response with what the SDK returns: a record, a list of
// records, a file, or nothing if record is nil.
func (c *comparison) json(r *row, s *openapi3.Schema, record types.Type, list, file bool) {
	switch {
	case record == nil:
		c.addf("response of %s: %s, but the SDK returns nothing", r.name, describe(s))
	case file:
		c.addf("response of %s: JSON, but the SDK returns a file", r.name)
	case list:
		for name, p := range properties(s) {
			switch {
			case kind(p.Schema) == "array" && p.Schema.Items != nil:
				if name != "items" {
					c.addf("response of %s: its items are called %s", r.name, name)
				}
				c.nested("record", r.name, p.Schema.Items.Value, record)
			case name != "count" && name != "pagination_key":
				c.addf("response of %s: a list with %s, which the SDK does not have", r.name, name)
			}
		}
	default:
		c.nested("record", r.name, s, record)
	}
}

// nested compares the fields of a record, or of an object in a request, at all
// levels.
func (c *comparison) nested(role, subject string, s *openapi3.Schema, t types.Type) {
	t = deref(t)
	var element types.Type
	var described *openapi3.SchemaRef
	switch under := t.Underlying().(type) {
	case *types.Slice:
		element, described = under.Elem(), s.Items
	case *types.Map:
		element, described = under.Elem(), s.AdditionalProperties.Schema
	}
	if element != nil {
		if described == nil {
			return
		}
		if got := c.sdk.kind(element); differ(described.Value, got) {
			c.addf("%s %s: %s in it, but the SDK has %s", role, subject, describe(described.Value), got)
		}
		c.nested(role, subject, described.Value, element)
		return
	}
	fields, wanted := c.sdk.fields(t, "json"), properties(s)
	if fields == nil || len(wanted) == 0 {
		return
	}
	name := c.visit(role, "json", t, slices.Collect(maps.Keys(wanted))...)
	if c.seen[pair{s, name}] {
		return
	}
	c.seen[pair{s, name}] = true
	for field, p := range wanted {
		c.property(role, name+"."+field, p, fields, field)
	}
}

// property compares a field or a parameter with the SDK's, which is
// known[name]. The role is parameter, request or record.
func (c *comparison) property(role, subject string, p property, known map[string]value, name string) {
	v, ok := known[name]
	if !ok {
		if p.required {
			c.addf("%s %s: missing; it is required, %s", role, subject, describe(p.Schema))
		} else {
			c.addf("%s %s: missing; it is optional, %s", role, subject, describe(p.Schema))
		}
		return
	}
	got := c.sdk.kind(v.typ)
	if role == "parameter" && got == "array" {
		got = "string" // its elements, separated by commas
	}
	if differ(p.Schema, got) {
		c.addf("%s %s: %s, but the SDK has %s", role, subject, describe(p.Schema), got)
		return
	}
	_, pointer := v.typ.(*types.Pointer)
	switch {
	case role == "record" || p.ReadOnly:
	case p.required && v.optional:
		c.addf("%s %s: required, but the SDK leaves it out if it is zero", role, subject)
	case !p.required && !v.optional && !v.single:
		c.addf("%s %s: optional, but the SDK always sends it", role, subject)
	case p.Nullable && (!pointer || v.optional):
		c.addf("%s %s: may be null, which the SDK cannot send", role, subject)
	}
	if role == "record" && !pointer && (p.Nullable || !p.required) && (got == "integer" || got == "number") {
		c.addf("record %s: may be missing or null, which the SDK reads as 0", subject)
	}
	values := p.Enum
	if got == "array" && p.Items != nil {
		values = p.Items.Value.Enum
	}
	var unnamed []string
	for _, v0 := range values {
		if text := fmt.Sprint(v0); v0 != nil && got != "boolean" && !c.sdk.texts[text] {
			unnamed = append(unnamed, text)
		}
	}
	if len(unnamed) > 0 {
		c.addf("%s %s: may be %s, which the SDK does not name", role, subject, strings.Join(unnamed, ", "))
	}
	if role != "parameter" {
		c.nested(role, subject, p.Schema, v.typ)
	}
}

// differ reports whether a schema allows values of another JSON type than the
// SDK's, which is got. If got is "", the SDK accepts any type.
func differ(s *openapi3.Schema, got string) bool {
	return got != "" && slices.ContainsFunc(kinds(s), func(want string) bool {
		return want != got && !(want == "integer" && got == "number")
	})
}

func (c *comparison) failure(s *openapi3.Schema) {
	wanted := properties(s)
	if envelope, ok := wanted["error"]; ok {
		wanted = properties(envelope.Schema)
	}
	obj := c.sdk.types.Scope().Lookup("Error")
	if obj == nil {
		c.addf("error: the SDK has no type Error")
		return
	}
	var names []string
	for field := range obj.Type().Underlying().(*types.Struct).Fields() {
		names = append(names, snake(field.Name()))
	}
	for name, p := range wanted {
		if !slices.Contains(names, name) {
			c.addf("error %s: missing; %s", name, describe(p.Schema))
		}
	}
	if p, ok := wanted["type"]; ok {
		for _, value := range p.Enum {
			if text := fmt.Sprint(value); !c.sdk.literals[text] {
				c.addf("error type %s: the SDK does not name it", text)
			}
		}
	}
}
