package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/format"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"
)

// draft writes drafts of the operations that the SDK lacks to a folder:
//
//   - rows.txt: their lines in the table of operations
//   - draft.go: their rows, methods, records and requests, for the SDK's folder
//   - draft_test.go: their wire tests, for internal/suites/wire
//
// Sentences and better names have to be added.
func draft(c *comparison, folder string) error {
	w := &writer{comparison: c, written: map[string]bool{}, services: map[string]string{}, routes: map[string]*drafted{}, listed: map[string]bool{}, taken: map[string]bool{}}
	for _, r := range c.sdk.operations {
		w.taken[r.name] = true
		if r.call != nil {
			w.services[collection(r.route)], _, _ = strings.Cut(r.name, ".")
		}
	}
	var operations []*drafted
	for _, d := range c.missing {
		o := w.operation(d)
		operations = append(operations, o)
		w.routes[d.String()] = o
		w.listed[o.record] = w.listed[o.record] || o.list
	}
	var table bytes.Buffer
	for _, o := range operations {
		fmt.Fprintf(&table, "%-6s %s %s\n", o.verb, o.route, o.name())
		w.row(o)
		w.function(o)
		w.wire(o)
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	code := "package cloudapi\n\n" + imports(w.rows.String()+w.code.String(), "context", "iter", "time") + "var (\n" + w.rows.String() + ")\n" + w.code.String()
	test := "package wire_test\n\n" + imports(w.cases.String(), "context", "testing", "time", "github.com/cloudapi-sdk/cloudapi") +
		"func TestDraftWire(t *testing.T) {\nt.Parallel()\nfor _, c := range []wireCase{\n" + w.cases.String() +
		"} {\nc.runWithoutReply(t, c.run(t))\n}\n}\n"
	for name, text := range map[string]string{"rows.txt": table.String(), "draft.go": code, "draft_test.go": test} {
		content := []byte(text)
		if strings.HasSuffix(name, ".go") {
			formatted, err := format.Source(content)
			if err != nil {
				return fmt.Errorf("the draft is not Go: %w\n%s", err, text)
			}
			content = formatted
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// imports returns the import declaration for the packages that code uses.
func imports(code string, paths ...string) string {
	text := "import (\n"
	for _, path := range paths {
		if name := path[strings.LastIndexByte(path, '/')+1:]; name == "testing" || strings.Contains(code, name+".") {
			text += fmt.Sprintf("%q\n", path)
		}
	}
	return text + ")\n\n"
}

// writer writes drafts.
type writer struct {
	*comparison
	rows, code, cases bytes.Buffer
	written           map[string]bool   // the types
	services          map[string]string // by the first literal segment below the project
	routes            map[string]*drafted
	listed            map[string]bool // the records of lists
	taken             map[string]bool // the names of operations
}

// drafted is an operation with the names of its parts.
type drafted struct {
	described
	service, method string
	args            []argument
	body            map[string]property
	request         string // the type of the request, or "" if it has single fields
	record          string // the type of the record, or ""
	schema          *openapi3.Schema
	list            bool
}

type argument struct{ placeholder, name, sample string }

// pages reports whether the operation is a list with pages.
func (o *drafted) pages() bool { _, ok := o.query["start_after"]; return o.list && ok }

// drafted reports whether the response is nothing, a record, or a list of records.
func (o *drafted) drafted() bool { return o.schema == nil || len(properties(o.schema)) > 0 }

func (o *drafted) name() string { return o.service + "." + o.method }

// collection returns the segment of a route after the project and the location.
func collection(route string) string {
	segments := below(route)
	if len(segments) == 0 {
		return "project"
	}
	return segments[0]
}

// below returns the segments of a route after the project and the location.
func below(route string) []string {
	segments := strings.Split(strings.Trim(route, "/"), "/")
	segments = segments[min(2, len(segments)):]
	if len(segments) > 0 && segments[0] == "location" {
		segments = segments[min(2, len(segments)):]
	}
	return segments
}

// operation chooses the names of an operation.
func (w *writer) operation(d described) *drafted {
	o := &drafted{described: d, body: map[string]property{}}
	segments := below(d.route)
	first := collection(d.route)
	o.service = w.services[first]
	if o.service == "" {
		o.service = plural(camel(first))
	}
	var literals []string
	for _, segment := range segments[min(1, len(segments)):] {
		if !strings.HasPrefix(segment, "{") {
			literals = append(literals, camel(segment))
		}
	}
	if d.success != nil {
		o.schema = d.success
		for name, p := range properties(d.success) {
			if items := p.Schema.Items; items != nil && kind(p.Schema) == "array" && kind(items.Value) == "object" && (name == "items" || d.verb == "GET" && len(properties(d.success)) == 1) {
				o.list, o.schema = true, items.Value
			}
		}
	}
	verb := map[string]string{"GET": "Get", "POST": "Create", "PATCH": "Update", "PUT": "Replace", "DELETE": "Delete"}[d.verb]
	item := strings.HasSuffix(d.route, "}")
	noun := ""
	if len(literals) > 0 {
		noun = literals[len(literals)-1]
	}
	switch {
	case o.list && noun != "":
		o.method = "List" + plural(noun)
	case o.list:
		o.method = "List"
		if strings.Contains(d.route, "{location}") {
			o.method = "ListInLocation"
		}
	case !item && noun != "" && (d.verb == "POST" || d.verb == "GET"):
		o.method = noun
	case !item && noun != "" && d.verb == "DELETE":
		o.method = "DeleteAll" + plural(noun)
	default:
		o.method = verb + noun
	}
	if w.taken[o.name()] {
		o.method = camel(cmp.Or(d.OperationID, o.method+"2"))
		o.method = strings.ToUpper(o.method[:1]) + o.method[1:]
	}
	w.taken[o.name()] = true
	o.record = w.names[o.schema]
	if o.record == "" && o.schema != nil {
		o.record = camel(cmp.Or(d.names[o.schema], d.names[d.success], singular(o.service)+noun))
		if w.sdk.types.Scope().Lookup(o.record) != nil {
			o.record += "Result" // the name belongs to another type
		}
	}
	if d.body != nil {
		o.body = properties(d.body)
	}
	maps.DeleteFunc(o.body, func(_ string, p property) bool { return p.ReadOnly })
	if len(o.body) > 1 || !w.plain(o.body) {
		o.request = singular(o.service) + o.method + "Request"
	}
	for _, name := range placeholder.FindAllString(strings.TrimPrefix(d.route, "/project/{project_id}"), -1) {
		name = strings.Trim(name, "{}")
		a := argument{name, lower(camel(strings.TrimSuffix(name, "_reference"))), "name-1"}
		if name == "location" {
			a.sample = "eu-central-h1"
		} else if p := d.path[name]; p != nil && strings.HasSuffix(name, "_id") {
			a.sample = sampleID(p.Schema.Value)
			for _, example := range []any{p.Example, exampleNamed(p.Examples, "id")} {
				if text, ok := example.(string); ok {
					a.sample = text
				}
			}
		}
		o.args = append(o.args, a)
	}
	return o
}

// plain reports whether fields are plain values.
func (w *writer) plain(fields map[string]property) bool {
	for _, p := range fields {
		if !slices.Contains([]string{"string", "integer", "boolean", "number"}, kind(p.Schema)) {
			return false
		}
	}
	return true
}

func (w *writer) row(o *drafted) {
	class := "idempotent"
	if o.verb == "POST" && !strings.HasSuffix(o.route, "/rename") {
		class = "once"
	}
	route := strconv.Quote(o.route)
	for _, begin := range []struct{ name, text string }{{"locationRoute", "/project/{project_id}/location/{location}"}, {"projectRoute", "/project/{project_id}"}} {
		if rest, ok := strings.CutPrefix(o.route, begin.text); ok && (rest == "" || rest[0] == '/') {
			route = begin.name
			if rest != "" {
				route += " + " + strconv.Quote(rest)
			}
			break
		}
	}
	fmt.Fprintf(&w.rows, "op%s%s = Operation{%q, %q, %s, %s | august2026}\n", o.service, o.method, o.name(), o.verb, route, class)
}

// function writes a method with the types that it needs.
func (w *writer) function(o *drafted) {
	if w.sdk.services[o.service] == nil && !w.written[o.service] {
		w.written[o.service] = true
		fmt.Fprintf(&w.code, "\n// %sService needs a field %s of Client in client.go.\ntype %[1]sService service\n", o.service, o.service)
	}
	if o.record != "" && o.file == "" && o.drafted() {
		w.structure(o.record, "json", properties(o.schema), "record")
	}
	params, call := "ctx context.Context", fmt.Sprintf("ctx, s.conn, &op%s%s", o.service, o.method)
	args := ""
	for _, a := range o.args {
		if o.list && a.placeholder == "location" && len(o.args) == 1 {
			continue
		}
		args += ", " + a.name
	}
	if args != "" {
		params += args + " string"
	}
	body := "nil"
	switch {
	case o.request != "":
		w.structure(o.request, "json", o.body, "request")
		params += ", request *" + o.request
		body = "request"
	case len(o.body) > 0:
		var fields, values []string
		for _, name := range slices.Sorted(maps.Keys(o.body)) {
			fields = append(fields, fmt.Sprintf("%s %s `json:%q`", camel(name), w.goType(o.body[name].Schema, "", ""), name))
			values = append(values, lower(camel(name)))
			params += ", " + lower(camel(name)) + " " + w.goType(o.body[name].Schema, "", "")
		}
		body = "struct{\n" + strings.Join(fields, "\n") + "\n}{" + strings.Join(values, ", ") + "}"
	}
	pages := o.pages()
	options := ""
	if len(o.query) > 0 && !pages {
		options = singular(o.service) + o.method + "Options"
		w.structure(options, "url", o.query, "options")
		params += ", opts *" + options
	}
	head := func(method, results string) {
		fmt.Fprintf(&w.code, "\n// %s: %s.\n//\n// What it returns, its errors, what to wait for, and the version of the API that\n// it requires are to be added.\nfunc (s *%sService) %s(%s) %s {\n",
			method, strings.TrimRight(o.Summary, "."), o.service, method, params, results)
	}
	switch {
	case o.file != "":
		fmt.Fprintf(&w.code, "\n// %s.%s returns a file of the type %s: see download.\n", o.service, o.method, o.file)
	case !o.drafted():
		fmt.Fprintf(&w.code, "\n// %s.%s returns %s, which is not drafted.\n", o.service, o.method, describe(o.success))
	case o.list:
		routes := "list" + o.service + strings.TrimPrefix(strings.TrimSuffix(o.method, "InLocation"), "List")
		if o.method == "ListInLocation" {
			if w.routes["GET /project/{project_id}/"+strings.Join(below(o.route), "/")] == nil {
				fmt.Fprintf(&w.code, "\n// %s needs: location: &op%s%s\n", routes, o.service, o.method)
			}
			return
		}
		location := ""
		if local := w.routes["GET /project/{project_id}/location/{location}/"+strings.Join(below(o.route), "/")]; local != nil && local.list {
			location = fmt.Sprintf(", location: &op%s%s", local.service, local.method)
		}
		opts := "nil"
		whole := ", unpaged: true"
		if pages {
			params += ", opts *ListOptions"
			opts, whole = "opts", ""
		}
		fmt.Fprintf(&w.code, "\nvar %s = listRoutes{project: &op%s%s%s%s}\n", routes, o.service, o.method, location, whole)
		head(o.method, "(*Page["+o.record+"], error)")
		fmt.Fprintf(&w.code, "return list[%s](ctx, s.conn, &%s, %s%s)\n}\n", o.record, routes, opts, args)
		head("All"+strings.TrimPrefix(o.method, "List"), "iter.Seq2[*"+o.record+", error]")
		fmt.Fprintf(&w.code, "return all[%s](ctx, s.conn, &%s, %s%s)\n}\n", o.record, routes, opts, args)
	case o.record == "" && body == "nil":
		head(o.method, "error")
		fmt.Fprintf(&w.code, "return remove(%s%s)\n}\n", call, args)
	case o.record == "":
		head(o.method, "error")
		fmt.Fprintf(&w.code, "in, err := s.conn.invoke(&op%s%s, %s, []string{%s})\nif err != nil {\nreturn err\n}\n_, err = in.do(ctx, noContent{})\nreturn err\n}\n", o.service, o.method, body, strings.TrimPrefix(args, ", "))
	case options != "":
		head(o.method, "(*"+o.record+", error)")
		fmt.Fprintf(&w.code, "in, err := s.conn.invoke(&op%s%s, %s, []string{%s})\nif err != nil {\nreturn nil, err\n}\nif err := in.setQuery(opts); err != nil {\nreturn nil, err\n}\nreturn perform[%s](ctx, in)\n}\n",
			o.service, o.method, body, strings.TrimPrefix(args, ", "), o.record)
	case body == "nil":
		head(o.method, "(*"+o.record+", error)")
		fmt.Fprintf(&w.code, "return fetch[%s](%s%s)\n}\n", o.record, call, args)
	default:
		head(o.method, "(*"+o.record+", error)")
		fmt.Fprintf(&w.code, "return send[%s](%s, %s%s)\n}\n", o.record, call, body, args)
	}
}

// structure writes a struct, unless the SDK has it.
func (w *writer) structure(name, tag string, fields map[string]property, role string) {
	if w.written[name] || w.sdk.types.Scope().Lookup(name) != nil {
		return
	}
	w.written[name] = true
	var b bytes.Buffer
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		p := fields[field]
		text := field
		t := pointed(role, p, w.goType(p.Schema, name+camel(field), tag))
		if (role == "request" || role == "options") && !p.required {
			text += map[string]string{"json": ",omitzero", "url": ",omitempty"}[tag]
		}
		comment := strings.Join(strings.Fields(p.Description), " ")
		if p.Nullable {
			comment += " (may be null)"
		}
		if comment = strings.TrimSpace(comment); comment != "" {
			comment = " // " + comment
		}
		fmt.Fprintf(&b, "%s %s `%s:%q`%s\n", camel(field), t, tag, text, comment)
	}
	fmt.Fprintf(&w.code, "\n// %s is a draft.\ntype %[1]s struct {\n%s}\n", name, b.String())
	if role != "record" {
		return
	}
	if _, ok := fields["id"]; ok {
		fmt.Fprintf(&w.code, "\nfunc (r *%s) lacks() string { return lacksID(r.ID) }\n", name)
		if w.listed[name] {
			fmt.Fprintf(&w.code, "func (r *%s) cursor(string) string { return r.ID }\n", name)
		}
		return
	}
	fmt.Fprintf(&w.code, "\nfunc (r *%s) lacks() string { return \"\" }\n", name)
	if w.listed[name] {
		fmt.Fprintf(&w.code, "func (r *%s) cursor(string) string { return \"\" }\n", name)
	}
}

// pointed returns the type of a field: that of its value, or a pointer if zero
// can be sent as well as nothing.
func pointed(role string, p property, t string) string {
	if role == "request" && !p.required && slices.Contains([]string{"int", "bool", "float64"}, t) {
		return "*" + t
	}
	return t
}

// goType returns the type of a field. It writes the structs in it.
func (w *writer) goType(s *openapi3.Schema, name, tag string) string {
	switch kind(s) {
	case "string":
		if s.Format == "date-time" {
			return "time.Time"
		}
		return "string"
	case "integer", "number":
		t := map[string]string{"integer": "int", "number": "float64"}[kind(s)]
		if s.Nullable {
			t = "*" + t
		}
		return t
	case "boolean":
		return "bool"
	case "array":
		if s.Items != nil {
			return "[]" + w.goType(s.Items.Value, singular(name), tag)
		}
	case "object":
		if known := w.names[s]; known != "" {
			return known
		}
		if fields := properties(s); len(fields) > 0 && name != "" {
			w.structure(name, tag, fields, "part")
			return name
		}
		if values := s.AdditionalProperties.Schema; values != nil {
			return "map[string]" + w.goType(values.Value, singular(name), tag)
		}
	}
	return "any"
}

// wire writes the wire test of an operation: a request and a response with a
// value in each plain field.
func (w *writer) wire(o *drafted) {
	if o.file != "" || o.method == "ListInLocation" || !o.drafted() {
		return
	}
	path, call := strings.TrimPrefix(o.route, "/project/{project_id}"), "ctx"
	for _, a := range o.args {
		path = strings.Replace(path, "{"+a.placeholder+"}", a.sample, 1)
		call += fmt.Sprintf(", %q", a.sample)
	}
	body := ""
	if text, literal := w.sample(o.body, nil, map[bool]string{true: "request", false: "arguments"}[o.request != ""]); len(o.body) > 0 {
		body = text
		if o.request != "" {
			call += ", &cloudapi." + o.request + "{" + literal + "}"
		} else {
			call += ", " + literal
		}
	}
	if len(o.query) > 0 {
		call += ", nil"
	}
	reply, want, result := "", "nil", "return nil, c."+o.name()+"("+call+")"
	if o.record != "" {
		var t types.Type
		if obj := w.sdk.types.Scope().Lookup(o.record); obj != nil {
			t = obj.Type()
		}
		text, literal := w.sample(properties(o.schema), t, "record")
		reply, want, result = text, "&cloudapi."+o.record+"{"+literal+"}", "return c."+o.name()+"("+call+")"
		if o.list {
			reply = `{"items":[` + text + `]}`
			want = "&cloudapi.Page[cloudapi." + o.record + "]{Items: []*cloudapi." + o.record + "{{" + literal + "}}"
			if id, ok := properties(o.schema)["id"]; ok && o.pages() {
				want += fmt.Sprintf(", NextStartAfter: %q", sampleText("id", id.Schema))
			}
			want += "}"
		}
	}
	fmt.Fprintf(&w.cases, "{\nmethod: %q, target: projectPath + %q, body: %s, reply: %s,\ncall: func(ctx context.Context, c *cloudapi.Client) (any, error) {\n%s\n},\nwant: %s,\n},\n",
		o.verb, path, quote(body), quote(reply), result, want)
}

func quote(text string) string {
	if text == "" {
		return `""`
	}
	return "`" + text + "`"
}

// sample returns plain fields with values as JSON, and as those of a composite
// literal, or as a list of arguments. The type is that of the SDK, or nil if it
// is a draft.
func (w *writer) sample(fields map[string]property, t types.Type, role string) (text, literal string) {
	known := map[string]value{}
	if t != nil {
		known = w.sdk.fields(t, "json")
	}
	var pairs, values []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		p := fields[name]
		goName, goType := camel(name)+": ", pointed(role, p, w.goType(p.Schema, "", ""))
		if t != nil {
			goName, goType = known[name].name+": ", types.TypeString(known[name].typ, (*types.Package).Name)
		}
		if role == "arguments" {
			goName = ""
		}
		asJSON, asGo := "", ""
		switch strings.TrimPrefix(goType, "*") {
		case "string":
			asJSON = strconv.Quote(sampleText(name, p.Schema))
		case "int":
			asJSON = "1"
		case "float64":
			asJSON = "1.5"
		case "bool":
			asJSON = "true"
		case "time.Time":
			asJSON, asGo = `"2026-08-01T10:00:00Z"`, "time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)"
		default:
			continue
		}
		asGo = cmp.Or(asGo, asJSON)
		if strings.HasPrefix(goType, "*") {
			asGo = "new(" + asGo + ")"
		}
		pairs = append(pairs, fmt.Sprintf("%q:%s", name, asJSON))
		values = append(values, goName+asGo)
	}
	return "{" + strings.Join(pairs, ",") + "}", strings.Join(values, ", ")
}

// sampleText returns a text for a field.
func sampleText(name string, s *openapi3.Schema) string {
	switch {
	case name == "name":
		return "name-1"
	case name == "location":
		return "eu-central-h1"
	case len(s.Enum) > 0:
		return fmt.Sprint(s.Enum[0])
	case strings.HasPrefix(s.Pattern, "^") && strings.HasSuffix(s.Pattern, "{24}$"):
		return sampleID(s)
	}
	if text, ok := s.Example.(string); ok && json.Valid([]byte(fmt.Sprintf("%q", text))) && !strings.Contains(text, "`") {
		return text
	}
	return name
}

func exampleNamed(examples openapi3.Examples, name string) any {
	if ref := examples[name]; ref != nil && ref.Value != nil {
		return ref.Value.Value
	}
	return nil
}

var prefix = regexp.MustCompile(`^\^([0-9a-z]{2})\[`)

// sampleID returns an ID that fits a schema.
func sampleID(s *openapi3.Schema) string {
	if text, ok := s.Example.(string); ok && len(text) == 26 {
		return text
	}
	if found := prefix.FindStringSubmatch(s.Pattern); found != nil {
		return found[1] + strings.Repeat("0", 24)
	}
	return "vm" + strings.Repeat("0", 24)
}

// initialisms are written in capital letters, or otherwise in their own way.
var initialisms = map[string]string{
	"api": "API", "ca": "CA", "cidr": "CIDR", "cpu": "CPU", "gib": "GiB", "gpu": "GPU", "ha": "HA", "id": "ID", "ids": "IDs", "ip": "IP", "ip4": "IP4", "ip6": "IP6",
	"ipv4": "IPv4", "ipv6": "IPv6", "mib": "MiB", "ssh": "SSH", "ssl": "SSL", "ubid": "UBID", "ui": "UI", "url": "URL", "vcpu": "VCPU", "vm": "VM", "vms": "VMs", "github": "GitHub",
}

// camel returns a name in JSON or in a route in Go spelling.
func camel(name string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if special, ok := initialisms[strings.ToLower(word)]; ok {
			b.WriteString(special)
		} else {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// lower returns a name in Go spelling as that of a variable.
func lower(name string) string {
	capitals := len(name) - len(strings.TrimLeft(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"))
	if capitals > 1 && capitals < len(name) {
		capitals--
	}
	return strings.ToLower(name[:capitals]) + name[capitals:]
}

func plural(name string) string {
	switch {
	case strings.HasSuffix(name, "s"):
		return name
	case strings.HasSuffix(name, "y"):
		return strings.TrimSuffix(name, "y") + "ies"
	}
	return name + "s"
}

func singular(name string) string {
	switch {
	case strings.HasSuffix(name, "ies"):
		return strings.TrimSuffix(name, "ies") + "y"
	case strings.HasSuffix(name, "ss"), strings.HasSuffix(name, "Postgres"), strings.HasSuffix(name, "Kubernetes"):
		return name
	}
	return strings.TrimSuffix(name, "s")
}
