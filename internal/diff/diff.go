// Package diff finds what has changed between two readings of a list.
package diff

import (
	"iter"
	"reflect"
	"slices"
)

// List is a list as it was last read. It maps IDs to records.
//
// A List keeps the records, but compares only digests, which it computes when a
// record is put. So a program may change a record that it got from a List. A
// note holds what the caller still needs to know about a record that is missing
// in a later reading.
type List[T, N any] struct {
	records map[string]*entry[T, N]
	reading int
	digests *Digester
}

type entry[T, N any] struct {
	record  *T
	digest  uint64
	reading int
	note    N
}

// NewList returns an empty list.
func NewList[T, N any]() *List[T, N] {
	return &List[T, N]{records: map[string]*entry[T, N]{}, digests: NewDigester()}
}

// Len returns the number of records.
func (l *List[T, N]) Len() int { return len(l.records) }

// Begin begins another reading.
func (l *List[T, N]) Begin() { l.reading++ }

// Put adds a record to the reading, with a note. It reports whether the record
// is new or changed. If the record has changed, it also returns the previous one.
func (l *List[T, N]) Put(id string, record *T, note N) (old *T, changed bool) {
	digest := l.digests.Sum(reflect.ValueOf(record).Elem())
	known := l.records[id]
	if known == nil {
		l.records[id] = &entry[T, N]{record, digest, l.reading, note}
		return nil, true
	}
	known.reading, known.note = l.reading, note
	if known.digest == digest {
		return nil, false
	}
	old, known.record, known.digest = known.record, record, digest
	return old, true
}

// Missing yields the IDs and notes of the records that aren't in the reading,
// in the order of their IDs. They stay in the list until Remove removes them.
func (l *List[T, N]) Missing() iter.Seq2[string, N] {
	return func(yield func(string, N) bool) {
		var ids []string
		for id, known := range l.records {
			if known.reading != l.reading {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		for _, id := range ids {
			if !yield(id, l.records[id].note) {
				return
			}
		}
	}
}

// Remove removes a record, and returns it.
func (l *List[T, N]) Remove(id string) *T {
	record := l.records[id].record
	delete(l.records, id)
	return record
}
