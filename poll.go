package cloudapi

import (
	"context"
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/parallel"
)

// The waits of a WaitAll for resources of one family in one location share
// lists: when one of them is due to poll, it has the list read, and all take
// their records from it. So n waits cost the requests of one list, and not of n
// Gets.
//
// A list only ever says that a wait is not over. If it says anything else, if
// it fails, takes longer than the pause of a wait or is too long, the wait gets
// its resource itself, as it does from time to time in any case. So a wait
// never depends on a list, and the full record decides its end.

// sharing is the context that WaitAll passes to its waits. Only waits that get
// this context itself share lists. One that is derived from it can have other
// values, for example for a token source, with which the same list could show
// something else.
type sharing struct {
	context.Context

	atOnce int // how many calls run at the same time

	mu    sync.Mutex                     // guards the rest, and what is in the lists
	calls int                            // that have not ended
	waits int                            // that share a list
	lists map[listKey]interface{ end() } // of *sharedList
}

type listKey struct {
	conn     *conn
	routes   *listRoutes
	location string
}

// called records that a call has ended.
func (s *sharing) called() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls--
}

// end waits for the goroutines of an ended context.
func (s *sharing) end() {
	s.mu.Lock()
	lists := maps.Clone(s.lists)
	s.mu.Unlock()
	for _, list := range lists {
		defer list.end()
	}
}

// sharedList is a list that waits share.
type sharedList[T any] struct {
	sharing *sharing
	pages   func(context.Context) iter.Seq2[*Page[T], error]
	keys    func(*T) (id, name string)

	waits int         // how many waits share it
	items int         // its size, as far as it is known
	last  *reading[T] // the one before next
	next  *reading[T] // in progress, or not begun
	wait  func()      // waits for the goroutine of the last reading
}

// reading is one attempt to read a list.
type reading[T any] struct {
	began   time.Time     // zero if it has not begun
	ended   chan struct{} // closed when records is set
	records map[string]*T // by ID and by name; nil for a name that occurs twice; nil if the list is not known
}

// joinList lets a wait share a list, until it calls leave. It returns nil if the
// context is not that of a WaitAll.
func joinList[T any, P listItem[T]](ctx context.Context, c *conn, routes *listRoutes, location string) *sharedList[T] {
	s, ok := ctx.(*sharing)
	if !ok || routes == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := listKey{c, routes, location}
	list, found := s.lists[key].(*sharedList[T])
	if !found {
		list = &sharedList[T]{
			sharing: s,
			pages:   walk[T, P](c, routes, ListOptions{Location: location, PageSize: maxPageSize}, nil),
			keys:    func(record *T) (id, name string) { return P(record).cursor(OrderByID), P(record).cursor(OrderByName) },
			last:    &reading[T]{},
			next:    &reading[T]{ended: make(chan struct{})},
			wait:    func() {},
		}
		s.lists[key] = list
	}
	list.waits++
	s.waits++
	return list
}

// end waits for the goroutine that reads. If it panicked, so does end.
func (l *sharedList[T]) end() {
	l.sharing.mu.Lock()
	wait := l.wait
	l.sharing.mu.Unlock()
	wait()
}

func (l *sharedList[T]) leave() {
	l.sharing.mu.Lock()
	defer l.sharing.mu.Unlock()
	l.waits--
	l.sharing.waits--
}

// await returns the records of the next list that has begun after since. From
// due on it takes one more pause at most. It returns nil if the wait is to look
// for itself. The error is that of the context.
func (l *sharedList[T]) await(ctx context.Context, since, due time.Time, pause time.Duration) (map[string]*T, error) {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	r := l.current()
	for isDue := false; ; {
		select {
		case <-ctx.Done():
			return nil, pace.Err(ctx)
		case <-r.ended:
			if isDue || r.records != nil && !r.began.Before(since) {
				return r.records, nil
			}
			r = l.current()
		case <-timer.C:
			if isDue {
				return nil, nil
			}
			if r = l.begin(since); r == nil {
				return nil, nil
			}
			isDue = true
			timer.Reset(pause)
		}
	}
}

// current returns the reading in progress, or the next.
func (l *sharedList[T]) current() *reading[T] {
	l.sharing.mu.Lock()
	defer l.sharing.mu.Unlock()
	return l.next
}

// begin returns the last reading if it has begun after since, or else the
// reading in progress, which it begins if there is none. It returns nil if the
// list is not worth it, and if the reading in progress has begun before since:
// then it takes too long.
func (l *sharedList[T]) begin(since time.Time) *reading[T] {
	l.sharing.mu.Lock()
	defer l.sharing.mu.Unlock()
	if l.last.records != nil && l.last.began.After(since) {
		return l.last
	}
	r := l.next
	if r.began.IsZero() {
		if !l.isWorthIt() {
			return nil
		}
		l.wait() // not at all, but if the last reading panicked, so does this wait
		r.began = time.Now()
		l.wait = parallel.Go(func() { l.read(r) })
	}
	if r.began.Before(since) {
		return nil
	}
	return r
}

// isWorthIt reports whether the list does not have many times more items than
// there are waits, and so takes fewer requests than their Gets. Calls of WaitAll
// that do not wait yet count, since they may be about to.
func (l *sharedList[T]) isWorthIt() bool {
	s := l.sharing
	coming := max(0, min(s.calls, s.atOnce)-s.waits)
	return l.waits > 1 && l.items <= 10*(l.waits+coming)
}

// read reads the list, unless the first page shows that it is not worth it.
func (l *sharedList[T]) read(r *reading[T]) {
	defer func() {
		l.sharing.mu.Lock()
		defer l.sharing.mu.Unlock()
		l.last, l.next = r, &reading[T]{ended: make(chan struct{})}
		close(r.ended)
	}()
	records, items := map[string]*T{}, 0
	for page, err := range l.pages(l.sharing) {
		if err != nil {
			return
		}
		items += len(page.Items)
		size := items
		if page.Count != nil {
			size = max(size, *page.Count)
		}
		if !l.hasSize(size) {
			return
		}
		for _, record := range page.Items {
			id, name := l.keys(record)
			records[id] = record
			if _, found := records[name]; found {
				record = nil
			}
			records[name] = record
		}
	}
	r.records = records
}

// hasSize records the size of the list, and reports whether it is worth it.
func (l *sharedList[T]) hasSize(items int) bool {
	l.sharing.mu.Lock()
	defer l.sharing.mu.Unlock()
	l.items = items
	return l.isWorthIt()
}
