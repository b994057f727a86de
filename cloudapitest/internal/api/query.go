package api

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

// readQuery parses the query and checks the parameters that the operation has.
// It also returns the names of those that the API doesn't know.
func (o *Operation) readQuery(raw string) (query url.Values, unknown []string, err error) {
	if query, err = ParseQuery(raw); err != nil {
		return nil, nil, reply.BadRequest("%v", err)
	}
	known := o.paging.parameters()
	for i, parameter := range o.query {
		known = append(known, parameter.Name)
		if value, ok := Last(query, parameter.Name); ok {
			pointer := fmt.Sprintf("%s/parameters/%d/schema", o.pointer(), i)
			if _, err := parameter.Schema.Check(pointer, reply.Encode(value)); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) {
			unknown = append(unknown, "query parameter "+name)
		}
	}
	return query, unknown, o.paging.check(query)
}

// ParseQuery is url.ParseQuery with two differences: a semicolon is an ordinary
// character, and a parameter with a value can't also have elements or members:
// "a=1&a[]=2". The errors are in the words of the real server.
func ParseQuery(raw string) (url.Values, error) {
	values := url.Values{}
	for pair := range strings.SplitSeq(raw, "&") {
		var parts [2]string // name and value
		parts[0], parts[1], _ = strings.Cut(pair, "=")
		for i, part := range parts {
			text, err := url.QueryUnescape(part)
			if err != nil {
				return nil, fmt.Errorf("invalid %%-encoding (%s)", part)
			}
			parts[i] = text
		}
		name := parts[0]
		outer, inner, nested := strings.Cut(name, "[")
		if nested && outer != "" && values.Has(outer) {
			kind := "Hash"
			if strings.HasPrefix(inner, "]") {
				kind = "Array"
			}
			return nil, fmt.Errorf("expected %s (got String) for param `%s'", kind, outer)
		}
		if pair != "" {
			values.Add(name, parts[1])
		}
	}
	return values, nil
}

// Last returns the last value of a query parameter, which is the one that
// counts.
func Last(query url.Values, name string) (string, bool) {
	values, ok := query[name]
	if !ok {
		return "", false
	}
	return values[len(values)-1], true
}
