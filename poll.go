package cloudapi

import (
	"context"
	"sync"
	"time"
)

// Waits of a client for resources of one family in one location share their
// polls. When one of them is due it reads the list, and the others take their
// records from it as well. So every wait is polled at least as often as by
// itself, and n of them cost the requests of one list a round instead of n.
//
// A list has the short form of the records. When it shows that a wait may have
// come to its end, or does not have its resource, the wait asks for the
// resource itself, and goes by that.

// polls are the groups of waits of a client that are under way.
type polls struct {
	mu     sync.Mutex
	groups map[pollKey]any // of *pollGroup[T]
}

type pollKey struct {
	project, location string
	routes            *listRoutes
}

// pollGroup is the waits that share their polls. They are guarded by the mutex
// of the polls.
type pollGroup[T any] struct {
	mu    *sync.Mutex
	list  func(context.Context) (map[string]*T, int, error)
	waits int // that are under way
	items int // that the last list had
	round *pollRound[T]
}

// pollRound is one reading of the list. The wait that begins it does it for
// all.
type pollRound[T any] struct {
	begun bool
	over  chan struct{} // closed when what follows is set

	records map[string]*T // by ID and by name, but for names that several have
	err     error
	given   bool // up by the wait that began it, for example since its context ended
}

// sharedPolls returns a function that makes a wait one of its group, until it
// calls leave.
func sharedPolls[T any, P listItem[T]](c *Client, routes *listRoutes, location string) (join func() (group *pollGroup[T], leave func())) {
	key := pollKey{c.config.project, location, routes}
	list := func(ctx context.Context) (map[string]*T, int, error) {
		return listByReference[T, P](ctx, c, routes, location)
	}
	return func() (group *pollGroup[T], leave func()) {
		p := c.polls
		p.mu.Lock()
		defer p.mu.Unlock()
		group, found := p.groups[key].(*pollGroup[T])
		if !found {
			group = &pollGroup[T]{mu: &p.mu, list: list, round: newPollRound[T]()}
			if p.groups == nil {
				p.groups = map[pollKey]any{}
			}
			p.groups[key] = group
		}
		group.waits++
		return group, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if group.waits--; group.waits == 0 {
				delete(p.groups, key)
			}
		}
	}
}

func newPollRound[T any]() *pollRound[T] { return &pollRound[T]{over: make(chan struct{})} }

// listByReference reads a list. It returns its records by what they can be
// referred to, and how many they are.
func listByReference[T any, P listItem[T]](ctx context.Context, c *Client, routes *listRoutes, location string) (map[string]*T, int, error) {
	records, items := map[string]*T{}, 0
	for record, err := range all[T, P](ctx, c, routes, &ListOptions{Location: location}) {
		if err != nil {
			return nil, 0, err
		}
		items++
		records[P(record).cursor(OrderByID)] = record
		name := P(record).cursor(OrderByName)
		if _, found := records[name]; found {
			record = nil
		}
		records[name] = record
	}
	return records, items, nil
}

// isWorthIt reports whether the list takes fewer requests than the waits do by
// themselves, and is not many times larger than what they need of it.
func (g *pollGroup[T]) isWorthIt() bool {
	requests := g.items/maxPageSize + 1
	return g.waits > requests && g.waits*10 >= g.items
}

// await returns the first round that is over, or nil if by the end of the pause
// there is none and a list is not worth it, so that the wait has to ask for its
// resource itself. A list is read within the slots. The error is that of the
// context.
func (g *pollGroup[T]) await(ctx context.Context, pause time.Duration, slots slots) (*pollRound[T], error) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	g.mu.Lock()
	round := g.round
	isStale := pause == 0 && round.begun // what it finds may be older than this wait
	g.mu.Unlock()
	isDue := false
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-round.over:
			if !round.given && !isStale {
				return round, nil
			}
			isStale = false
		case <-timer.C:
			isDue = true
		}
		g.mu.Lock()
		round = g.round
		begins := isDue && !round.begun
		isWorthIt := g.isWorthIt()
		round.begun = round.begun || begins && isWorthIt
		g.mu.Unlock()
		switch {
		case begins && isWorthIt:
			g.read(ctx, round, slots)
		case begins:
			return nil, nil
		}
	}
	return nil, contextError(ctx)
}

// read reads the list for a round that has begun, and ends the round.
func (g *pollGroup[T]) read(ctx context.Context, round *pollRound[T], slots slots) {
	round.given = true
	defer func() { // also if something in the call panics
		g.mu.Lock()
		defer g.mu.Unlock()
		g.round = newPollRound[T]()
		close(round.over)
	}()
	items := 0
	round.err = slots.do(ctx, func() (err error) {
		round.records, items, err = g.list(ctx)
		return err
	})
	if round.err == nil {
		g.mu.Lock()
		g.items = items
		g.mu.Unlock()
	}
	round.given = round.err != nil && ctx.Err() != nil
}
