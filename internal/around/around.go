// Package around reads a list that has items which its server can't show: the
// server refuses every page that would contain one of them.
package around

import (
	"maps"
	"slices"
)

// List is a list in the order of the items' names.
type List[T any] struct {
	// Fetch returns the page of at most that size after a name.
	Fetch func(after string, size int) (Page[T], error)

	// Refused reports whether an error says that the page would contain an item
	// that the server can't show.
	Refused func(error) bool

	ID      func(T) string
	MaxSize int // of a page
}

// Page is one page of a list.
type Page[T any] struct {
	Items []T
	Next  string // the name of the last item
	Count int    // of the whole list; 0 if the server doesn't say
}

// Read returns all items except those that can't be shown, whose names are
// given, in no order, and the number of items that the server counts.
func (l *List[T]) Read(names []string) (items []T, count int, err error) {
	found, after := map[string]T{}, "" // by ID
	add := func(page Page[T]) (isEnd bool) {
		before := len(found)
		for _, item := range page.Items {
			found[l.ID(item)] = item
		}
		if len(found) == before { // it's empty, or the server sends the same page again
			return true
		}
		if page.Count > 0 {
			count = page.Count
		}
		after = page.Next
		return false
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		for after < name {
			page, isLast, err := l.longest(after)
			if err != nil {
				return nil, 0, err
			}
			if add(page) || isLast {
				after = max(after, name)
			}
		}
	}
	for isEnd := false; !isEnd; {
		page, err := l.Fetch(after, l.MaxSize)
		if err != nil {
			return nil, 0, err
		}
		isEnd = add(page)
	}
	return slices.Collect(maps.Values(found)), count, nil
}

// longest returns the longest page that the server can show, an empty one if it
// can't show the first item. isLast reports whether it can't show the item after
// the page.
func (l *List[T]) longest(after string) (page Page[T], isLast bool, err error) {
	shown, refused := 0, l.MaxSize+1
	for size := 1; shown+1 < refused; {
		p, err := l.Fetch(after, size)
		switch {
		case err == nil:
			shown, page = size, p
		case l.Refused(err):
			refused = size
		default:
			return Page[T]{}, false, err
		}
		if size = (shown + refused) / 2; refused > l.MaxSize {
			size = min(2*shown, l.MaxSize)
		}
	}
	return page, refused <= l.MaxSize, nil
}
