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
	"maps"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/parallel"
)

// Group is the context of calls whose waits share lists. Only waits with this
// very context take part. A derived context can have other values, for example
// for a token source, and with another token the list could look different.
type Group struct {
	context.Context

	atOnce int // how many calls run at the same time

	mu    sync.Mutex                 // guards the fields below, and those of the lists
	calls int                        // that haven't ended
	waits int                        // that share a list
	lists map[any]interface{ end() } // the lists, each a *List, by the key passed to [Join]; and what [Once] shares

	leave func() // ends a use of the group; nil unless it's [Lasting]'s
}

// NewGroup returns a context to pass to the given number of calls, of which up
// to atOnce run at the same time.
func NewGroup(ctx context.Context, calls, atOnce int) *Group {
	return &Group{Context: ctx, atOnce: atOnce, calls: calls, lists: map[any]interface{ end() }{}}
}

// EndCall records that a call has ended.
func (g *Group) EndCall() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls--
}

// End waits for the goroutines that read lists, and panics if one of them
// panicked. Call it after the context has ended.
func (g *Group) End() {
	g.mu.Lock()
	lists := maps.Clone(g.lists)
	g.mu.Unlock()
	for _, list := range lists {
		defer list.end()
	}
}

// Source reads a list.
type Source[T any] struct {
	Read func(context.Context) iter.Seq2[*T, error]
	Keys func(*T) (id, name string)
}

// List is a list that waits share.
type List[T any] struct {
	group  *Group
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
	ended chan struct{} // closed when records is set

	// overdue says that a wait has given up on the reading. No other wait begins
	// to wait for it.
	overdue bool

	// records has the records by ID and by name. Of records with the same name,
	// the map has the last. The map is nil if the list wasn't read to its end.
	records map[string]*T
}

// Join returns the list for the key, to be used until Leave. It calls open if
// there is no such list, and returns nil if the context isn't a Group.
func Join[T any](ctx context.Context, key any, open func() Source[T]) *List[T] {
	g, ok := ctx.(*Group)
	if !ok {
		return nil
	}
	return join(g, key, open)
}

func join[T any](g *Group, key any, open func() Source[T]) *List[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	list, found := g.lists[key].(*List[T])
	if !found {
		list = &List[T]{
			group:  g,
			source: open(),
			last:   &reading[T]{},
			next:   &reading[T]{ended: make(chan struct{})},
			wait:   func() {},
		}
		g.lists[key] = list
	}
	list.waits++
	g.waits++
	return list
}

func (l *List[T]) end() {
	l.group.mu.Lock()
	wait := l.wait
	l.group.mu.Unlock()
	wait()
}

// Leave says that a wait no longer uses the list.
func (l *List[T]) Leave() {
	if l.group.leave != nil {
		defer l.group.leave()
	}
	l.group.mu.Lock()
	defer l.group.mu.Unlock()
	l.waits--
	l.group.waits--
}

// patience is how long a wait that is due waits for a reading, or its pause if
// that is longer. On a busy machine, waits that give up make it busier: then the
// next reading takes even longer.
const patience = 10 * time.Second

// Await waits for a reading that begins at the time earliest or later, and
// returns its records. If none has ended when the wait is due, Await takes the
// reading in progress, or begins one, and waits until it ends or is overdue. It
// returns nil if the wait must get its resource itself, and the context's error
// if the context ends.
func (l *List[T]) Await(ctx context.Context, earliest, due time.Time, pause time.Duration) (map[string]*T, error) {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	r := l.current()
	for isDue := false; ; {
		select {
		case <-ctx.Done():
			return nil, pace.Err(ctx)
		case <-r.ended:
			if isDue || r.records != nil && !r.began.Before(earliest) {
				return r.records, nil
			}
			r = l.current()
		case <-timer.C:
			if isDue {
				return l.giveUp(r), nil
			}
			if r = l.begin(earliest); r == nil {
				return nil, nil
			}
			isDue = true
			timer.Reset(max(pause, patience))
		}
	}
}

func (l *List[T]) current() *reading[T] {
	l.group.mu.Lock()
	defer l.group.mu.Unlock()
	return l.next
}

// giveUp returns the records of a reading if it has ended: the goroutine may be
// late. Otherwise, the reading is overdue.
func (l *List[T]) giveUp(r *reading[T]) map[string]*T {
	l.group.mu.Lock()
	defer l.group.mu.Unlock()
	r.overdue = true
	return r.records
}

// begin returns the last reading if it began after earliest. Otherwise, it
// returns the reading in progress, or begins one. It returns nil if the reading
// is overdue, or would take more requests than getting each resource.
func (l *List[T]) begin(earliest time.Time) *reading[T] {
	l.group.mu.Lock()
	defer l.group.mu.Unlock()
	if l.last.began.After(earliest) {
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
	g := l.group
	coming := max(0, min(g.calls, g.atOnce)-g.waits)
	return l.waits > 1 && l.items <= 10*(l.waits+coming)
}

func (l *List[T]) read(r *reading[T]) {
	var whole map[string]*T // nil until the list is read to its end
	defer func() {
		l.group.mu.Lock()
		defer l.group.mu.Unlock()
		r.records = whole
		l.last, l.next = r, &reading[T]{ended: make(chan struct{})}
		close(r.ended)
	}()
	records, items := map[string]*T{}, 0
	for record, err := range l.source.Read(l.group) {
		if items++; err != nil || !l.isStillWorthIt(items) {
			return
		}
		id, name := l.source.Keys(record)
		records[id], records[name] = record, record
	}
	whole = records
}

func (l *List[T]) isStillWorthIt(items int) bool {
	l.group.mu.Lock()
	defer l.group.mu.Unlock()
	if l.items = items; l.isWorthIt() {
		return true
	}
	l.items *= 2 // so that twice as many waits must join before the list is read again
	return false
}
