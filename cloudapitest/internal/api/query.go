package api

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

func (o *Operation) readQuery(raw string) (query url.Values, unknown []string, err error) {
	if query, err = url.ParseQuery(raw); err != nil {
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
	if o.Method == http.MethodGet {
		err = o.paging.check(query)
	}
	return query, unknown, err
}

// Last returns the last value of a query parameter, which is the one that the
// server uses.
func Last(query url.Values, name string) (string, bool) {
	values, ok := query[name]
	if !ok {
		return "", false
	}
	return values[len(values)-1], true
}
