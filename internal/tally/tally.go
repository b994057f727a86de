// Package tally records which items of a list have been read, and tells whether
// that was the whole list.
package tally

import "maps"

// Tally records the items that one or several walks over a list have read. A
// walk reads the list's pages from the beginning.
type Tally struct {
	known     map[string]struct{} // IDs of read items, except IDs in recent and IDs that passed covers
	recent    []string            // IDs from the first walk, as long as they ascend; then moved to known
	passed    string              // Add treats IDs up to and including this one as known
	ascending bool                // whether the IDs of every walk have ascended
	most      int                 // the maximum number of remembered IDs, while they ascend
	items     int                 // number of different items
	least     *int                // the smallest total that a page stated for the list; nil if no page stated one

	// State of the walk in progress.
	walks   int    // the number of the walk, from 1
	last    string // the greatest ID
	inOrder int    // number of items whose ID was greater than all previous IDs
}

// New returns the tally of a list. If the list is ordered by ID, the tally
// remembers no more than about the given number of IDs.
func New(ordered bool, most int) *Tally {
	return &Tally{known: map[string]struct{}{}, ascending: ordered, most: most}
}

// Begin starts another walk from the beginning of the list.
func (t *Tally) Begin() {
	t.walks, t.last, t.inOrder = t.walks+1, "", 0
}

// Add records an item, and reports whether it is new.
func (t *Tally) Add(id string) bool {
	if id > t.last {
		t.last = id
		t.inOrder++
	} else {
		t.ascending = false
	}
	if t.ascending && t.walks == 1 { // id is greater than all previous ones
		t.recent = append(t.recent, id)
		t.items++
		return true
	}
	t.index()
	if _, known := t.known[id]; known || id <= t.passed {
		return false
	}
	t.known[id] = struct{}{}
	t.items++
	return true
}

func (t *Tally) index() {
	for _, id := range t.recent {
		t.known[id] = struct{}{}
	}
	t.recent = nil
}

// EndPage ends a page. total is the size of the list as the page states it, or
// nil. If the IDs ascend and the tally remembers too many of them, EndPage
// forgets all IDs up to the last one: the walk has read all items up to there.
func (t *Tally) EndPage(total *int) {
	if total != nil && (t.least == nil || *total < *t.least) {
		t.least = total
	}
	if t.ascending && len(t.known)+len(t.recent) > t.most {
		t.passed, t.recent = t.last, t.recent[:0]
		maps.DeleteFunc(t.known, func(id string, _ struct{}) bool { return id <= t.passed })
	}
}

// IsComplete reports whether the walks have read as many items as the smallest
// stated total. That's enough, since every total includes the items that stay
// in the list. It's also enough if the last walk alone has read that many items
// in ID order: Add doesn't count an item again whose ID is at most t.passed.
// IsComplete also returns true if no page stated a total.
func (t *Tally) IsComplete() bool { return t.least == nil || max(t.items, t.inOrder) >= *t.least }

// Reached returns the number of items, and the smallest stated total, or 0.
func (t *Tally) Reached() (items, total int) {
	if t.least != nil {
		total = *t.least
	}
	return t.items, total
}
