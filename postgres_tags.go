package cloudapi

import (
	"cmp"
	"slices"
	"strings"
)

// PostgresTag is a key and a value that users attach to a database.
type PostgresTag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// String returns the tag as key:value, such as "team:payments".
func (t PostgresTag) String() string { return t.Key + ":" + t.Value }

// isSelectable reports whether the server can filter by a key or value.
func isSelectable(s string) bool { return !strings.ContainsAny(s, ",:") && strings.TrimSpace(s) == s }

// hasTags reports whether tags contains all wanted ones.
func hasTags(tags, wanted []PostgresTag) bool {
	return !slices.ContainsFunc(wanted, func(tag PostgresTag) bool { return !slices.Contains(tags, tag) })
}

func sortedTags(tags []PostgresTag) []PostgresTag {
	return slices.SortedFunc(slices.Values(tags), func(a, b PostgresTag) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Value, b.Value))
	})
}
