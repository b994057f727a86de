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

// hasTags reports whether a database has all of the tags.
func (p *Postgres) hasTags(tags []PostgresTag) bool {
	return !slices.ContainsFunc(tags, func(tag PostgresTag) bool { return !slices.Contains(p.Tags, tag) })
}

// serverFilters returns the options with only the tags by which a server can
// filter. A server of August 2026 filters the list of a project. It cannot parse
// a tag with a comma or a second colon, and removes spaces around keys and
// values.
func (o *ListOptions) serverFilters() *ListOptions {
	if o == nil || len(o.Tags) == 0 {
		return o
	}
	asked := *o
	asked.Tags = nil
	for _, tag := range o.Tags {
		if o.Location == "" && isSelectable(tag.Key) && isSelectable(tag.Value) {
			asked.Tags = append(asked.Tags, tag)
		}
	}
	return &asked
}

// isSelectable reports whether a server can filter by a key or value.
func isSelectable(s string) bool { return !strings.ContainsAny(s, ",:") && strings.TrimSpace(s) == s }

// selectTags removes the databases without the tags from a page. It then also
// drops the count, which includes them.
func (o *ListOptions) selectTags(page *Page[Postgres]) {
	sent := len(page.Items)
	page.Items = slices.DeleteFunc(page.Items, func(p *Postgres) bool { return !p.hasTags(o.Tags) })
	if len(page.Items) < sent {
		page.Count = nil
	}
}

func sortedTags(tags []PostgresTag) []PostgresTag {
	return slices.SortedFunc(slices.Values(tags), func(a, b PostgresTag) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Value, b.Value))
	})
}
