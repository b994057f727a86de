// Package diff finds what was added, modified and removed between two readings
// of a list.
package diff

import (
	"iter"
	"reflect"
	"slices"
)

// List is a list as it was last read, by the IDs of its records.
//
// It keeps the records, but neither reads nor changes them again: it compares
// their digests. So it does not matter what a program does to a record that it
// got from a List.
type List[T any] struct {
	records map[string]*entry[T]
	reading int
	digests *Digester
}

// entry is a record as it was last read.
type entry[T any] struct {
	record  *T
	digest  uint64
	reading int
}

// NewList returns an empty list.
func NewList[T any]() *List[T] {
	return &List[T]{records: map[string]*entry[T]{}, digests: NewDigester()}
}

// Len returns the number of records.
func (l *List[T]) Len() int { return len(l.records) }

// Begin begins another reading.
func (l *List[T]) Begin() { l.reading++ }

// Put adds a record to the reading. It reports whether the list did not have
// this record before, and returns the one that it had with the ID, or nil.
func (l *List[T]) Put(id string, record *T) (old *T, changed bool) {
	digest := l.digests.Sum(reflect.ValueOf(record).Elem())
	known := l.records[id]
	if known == nil {
		l.records[id] = &entry[T]{record, digest, l.reading}
		return nil, true
	}
	known.reading = l.reading
	if known.digest == digest {
		return nil, false
	}
	old, known.record, known.digest = known.record, record, digest
	return old, true
}

// Removed removes the records that are not in the reading, and yields them in
// the order of their IDs. Those after an early end of the loop stay in the list.
func (l *List[T]) Removed() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		var ids []string
		for id, known := range l.records {
			if known.reading != l.reading {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		for _, id := range ids {
			record := l.records[id].record
			delete(l.records, id)
			if !yield(record) {
				return
			}
		}
	}
}
