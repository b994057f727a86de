// Package sharedlist lets waits poll one list together. Otherwise, each wait
// would poll its own resource.
//
// When one of the waits is due to poll, the list is read once, and all waits
// take their records from it. So n waits cost the requests of one list instead
// of n Gets.
//
// A list can only show that a wait isn't over. A wait gets its resource itself
// if the list shows anything else, can't be read, is overdue, or is too long. It
// also does so from time to time in any case. So a wait never depends on a list,
// and the full record decides when it ends.
package sharedlist

import (
	"context"
	"iter"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/parallel"
)

// Source reads a list.
type Source[T any] struct {
	Read func(context.Context) iter.Seq2[*T, error]
	Keys func(*T) (id, name string)
}

// List is a list that waits share.
type List[T any] struct {
	scope  *Scope
	ctx    context.Context // of the requests
	source Source[T]

	waits int         // how many waits share it
	items int         // its size, as far as known
	last  *reading[T] // the previous reading
	next  *reading[T] // the reading in progress, or one that hasn't begun
	wait  func()      // waits for the goroutine of the last reading
}

// reading is one attempt to read a list.
type reading[T any] struct {
	began time.Time     // zero if it hasn't begun
	at    time.Time     // when it ended
	ended chan struct{} // closed when at and records are set

	// overdue says that a wait has given up on the reading. No other wait begins
	// to wait for it.
	overdue bool

	// records has the records by ID and by name. Of records with the same name,
	// the map has the last. The map is nil if the list wasn't read to its end.
	records map[string]*T
}

// Join returns the list for the key, to be used until Leave. It calls open if
// there is no such list, and returns nil without a scope.
func Join[T any](s *Scope, key any, open func() Source[T]) *List[T] {
	if s == nil {
		return nil
	}
	s.Use() // until Leave
	s.mu.Lock()
	defer s.mu.Unlock()
	list, found := s.shared[key].(*List[T])
	if !found {
		list = &List[T]{
			scope:  s,
			ctx:    s.ctx,
			source: open(),
			last:   &reading[T]{},
			next:   &reading[T]{ended: make(chan struct{})},
			wait:   func() {},
		}
		s.shared[key] = list
	}
	list.waits++
	s.waits++
	return list
}

func (l *List[T]) end() {
	l.scope.mu.Lock()
	wait := l.wait
	l.scope.mu.Unlock()
	wait()
}

// Leave says that a wait no longer uses the list.
func (l *List[T]) Leave() {
	defer l.scope.leave()
	l.scope.mu.Lock()
	defer l.scope.mu.Unlock()
	l.waits--
	l.scope.waits--
}

// Read returns the records of a reading that began after since, and when it
// ended. If none has ended, Read takes the reading in progress, or begins one,
// and waits until it ends or is overdue: after patience. It returns nil if the
// wait must get its resource itself, and the context's error if the context
// ends.
func (l *List[T]) Read(ctx context.Context, since time.Time, patience time.Duration) (map[string]*T, time.Time, error) {
	r := l.begin(since)
	if r == nil {
		return nil, time.Time{}, nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	isLate := false
	select {
	case <-ctx.Done():
		return nil, time.Time{}, pace.Err(ctx)
	case <-r.ended:
	case <-timer.C:
		isLate = true
	}
	l.scope.mu.Lock()
	defer l.scope.mu.Unlock()
	r.overdue = r.overdue || isLate
	return r.records, r.at, nil // if both are late, the records may be there
}

// begin returns the last reading if it began after since. Otherwise, it returns
// the reading in progress, or begins one. It returns nil if the reading is
// overdue, or would take more requests than getting each resource.
func (l *List[T]) begin(since time.Time) *reading[T] {
	l.scope.mu.Lock()
	defer l.scope.mu.Unlock()
	if l.last.began.After(since) {
		return l.last
	}
	r := l.next
	if r.began.IsZero() {
		if !l.isWorthIt() {
			return nil
		}
		l.wait() // returns immediately, or panics if the last reading panicked
		r.began = time.Now()
		l.wait = parallel.Go(func() { l.read(r) })
	}
	if r.overdue {
		return nil
	}
	return r
}

// isWorthIt reports whether reading the list takes fewer requests than getting
// each resource. At least two waits must share the list, and the list may have
// up to 10 items for each wait and for each call that may soon begin to wait.
func (l *List[T]) isWorthIt() bool {
	s := l.scope
	coming := max(0, min(s.calls, s.atOnce)-s.waits)
	return l.waits > 1 && l.items <= 10*(l.waits+coming)
}

func (l *List[T]) read(r *reading[T]) {
	var whole map[string]*T // nil until the list is read to its end
	defer func() {
		l.scope.mu.Lock()
		defer l.scope.mu.Unlock()
		r.at, r.records = time.Now(), whole
		l.last, l.next = r, &reading[T]{ended: make(chan struct{})}
		close(r.ended)
	}()
	records, items := map[string]*T{}, 0
	for record, err := range l.source.Read(l.ctx) {
		if items++; err != nil || !l.isStillWorthIt(items) {
			return
		}
		id, name := l.source.Keys(record)
		records[id], records[name] = record, record
	}
	whole = records
}

func (l *List[T]) isStillWorthIt(items int) bool {
	l.scope.mu.Lock()
	defer l.scope.mu.Unlock()
	if l.items = items; l.isWorthIt() {
		return true
	}
	l.items *= 2 // so that twice as many waits must join before the list is read again
	return false
}
