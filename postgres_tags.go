package cloudapi

import (
	"cmp"
	"slices"
	"strings"
)

// PostgresTag is a key and a value that users give to a database.
type PostgresTag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// String returns the tag in the form of a query parameter, such as
// "team:payments".
func (t PostgresTag) String() string { return t.Key + ":" + t.Value }

// hasTags reports whether all of the wanted tags are among the tags.
func hasTags(tags, wanted []PostgresTag) bool {
	return !slices.ContainsFunc(wanted, func(tag PostgresTag) bool { return !slices.Contains(tags, tag) })
}

// sortedTags returns the tags in the order of their keys and values.
func sortedTags(tags []PostgresTag) []PostgresTag {
	return slices.SortedFunc(slices.Values(tags), func(a, b PostgresTag) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Value, b.Value))
	})
}
