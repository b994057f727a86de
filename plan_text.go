package cloudapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/mask"
	"github.com/cloudapi-sdk/cloudapi/internal/plain"
	"github.com/cloudapi-sdk/cloudapi/internal/validate"
)

// planText returns the kind, location and name of a resource.
func planText(r Resource) string {
	reference := plain.Name(r.Name)
	if r.Name == "" {
		reference = plain.Name(r.ID)
	}
	return strings.TrimSpace(r.Kind.String() + " " + qualify(plain.Name(r.Location), reference))
}

// partText describes a member or a part of a resource, with names in place of
// planned ranges and IDs.
func (l *planLayer) partText(part any) string {
	switch r := part.(type) {
	case *FirewallRule:
		named := *r
		if name := l.known[r.CIDR]; name != "" {
			named.CIDR = name
		}
		return named.ruleText()
	case *PostgresFirewallRule:
		named := *r
		if name := l.known[r.CIDR]; name != "" {
			named.CIDR = name
		}
		return named.ruleText()
	case *PostgresMetricDestination:
		return r.Resource().Kind.String() + " " + l.text("url", r.URL)
	}
	r := resourceOf(part)
	if r.Name == "" {
		r.Name = l.known[r.ID]
	}
	return planText(r)
}

// details returns what a request sets except one field: names and values in the
// order of its fields, but of what could be secret only the names. If record, which
// may be nil, has another value of a field, that comes first; its name is in the
// change.
func (l *planLayer) details(request any, except string, record any) (details []string) {
	text, err := json.Marshal(request)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if begin, _ := decoder.Token(); err != nil || begin != json.Delim('{') {
		return nil
	}
	old, _ := plainOf(record).(map[string]any)
	delete(old, "name")
	for decoder.More() {
		token, _ := decoder.Token()
		var value any
		_ = decoder.Decode(&value) // it's from json.Marshal
		if name, _ := token.(string); name != except {
			details = append(details, l.field(name, value, old[name])...)
		}
	}
	return details
}

// plainOf returns a value as decoded JSON.
func plainOf(value any) (plain any) {
	text, _ := json.Marshal(value)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	_ = decoder.Decode(&plain)
	return plain
}

// field returns the texts of a field of a request: one, or one for each field of
// an object. old is the value before, or nil.
func (l *planLayer) field(name string, value, old any) []string {
	switch v := value.(type) {
	case nil:
		return nil
	case map[string]any:
		if strings.HasSuffix(name, "_config") || strings.HasSuffix(name, "headers") || strings.HasSuffix(name, "structured_data") {
			return []string{strings.TrimSpace(name + " " + strings.Join(slices.Sorted(maps.Keys(v)), " "))}
		}
		var texts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			texts = append(texts, l.field(name+"."+key, v[key], nil)...)
		}
		return texts
	}
	if isHidden(name, value) {
		return []string{name}
	}
	text := l.text(name, value)
	if before := l.text(name, old); old != nil && before != text {
		text = before + " -> " + text
	}
	return []string{name + " " + text}
}

// isHidden reports whether the value of a field isn't shown: a secret, and a
// script or its arguments, which may contain one.
func isHidden(name string, value any) bool {
	text, _ := value.(string)
	switch name {
	case "script", "init_script_args":
		return text != ""
	case "init_script":
		return validate.Segment(text) != ""
	}
	return strings.Contains(text, mask.Redacted)
}

// text returns a value of a request. The path and the query of a URL can have a
// secret.
func (l *planLayer) text(name string, value any) string {
	switch v := value.(type) {
	case string:
		if name == "url" {
			u, _ := url.Parse(v)
			v = (&url.URL{Scheme: orZero(u).Scheme, Host: orZero(u).Host}).String()
		}
		if known := l.known[v]; known != "" {
			v = known
		}
		text, cut := plain.Excerpt(v, 80)
		isPlain := func(c rune) bool {
			return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-_.~:@+/=*", c)
		}
		if cut || text != v || v == "" || strings.ContainsFunc(v, func(c rune) bool { return !isPlain(c) }) {
			text = strconv.Quote(text)
		}
		if cut {
			text += "…"
		}
		return text
	case []any:
		var texts []string
		for _, element := range v {
			texts = append(texts, l.text(name, element))
		}
		return "[" + strings.Join(texts, " ") + "]"
	case map[string]any:
		var texts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			texts = append(texts, l.text(name, v[key]))
		}
		return strings.Join(texts, ":")
	}
	return fmt.Sprint(value)
}

// driftDetails returns the differences that an update removes.
func (l *planLayer) driftDetails(differences drift) string {
	var texts []string
	for _, d := range differences {
		texts = append(texts, l.field(d.Field, plainOf(d.Wanted), plainOf(d.Found))...)
	}
	return strings.Join(texts, ", ")
}
