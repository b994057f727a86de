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

// pollGroup is the waits that share their polls.
type pollGroup[T any] struct {
	polls  *polls // whose mutex guards waits and items
	rounds *rounds[map[string]*T]
	list   func(context.Context) (records map[string]*T, items int, err error)
	waits  int // that are under way
	items  int // that the last list had
}

// sharedPolls returns a function that makes a wait one of its group, until it
// calls leave.
func sharedPolls[T any, P listItem[T]](c *Client, routes *listRoutes, location string) (join func() (group *pollGroup[T], leave func())) {
	return func() (group *pollGroup[T], leave func()) {
		key, p := pollKey{c.config.project, location, routes}, c.polls
		p.mu.Lock()
		defer p.mu.Unlock()
		group, found := p.groups[key].(*pollGroup[T])
		if !found {
			group = &pollGroup[T]{polls: p, rounds: newRounds[map[string]*T](nil), list: func(ctx context.Context) (map[string]*T, int, error) {
				return listByReference[T, P](ctx, c, routes, location)
			}}
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

// listByReference reads a list. It returns its records by ID and by name, with
// nil for a name that several have, and how many they are.
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

// await returns the first round that is over. It is nil if by the end of the
// pause there is none and a list is not worth it, so that the wait has to ask
// for its resource itself. A list is read within the slots.
func (g *pollGroup[T]) await(ctx context.Context, pause time.Duration, slots slots) (*round[map[string]*T], error) {
	return g.rounds.await(ctx, pause, g.isWorthIt, func(ctx context.Context) (records map[string]*T, err error) {
		items := 0
		err = slots.do(ctx, func() (err error) {
			records, items, err = g.list(ctx)
			return err
		})
		if err == nil {
			g.polls.mu.Lock()
			defer g.polls.mu.Unlock()
			g.items = items
		}
		return records, err
	})
}

// isWorthIt reports whether the list takes fewer requests than the waits do by
// themselves, and is not many times larger than what they need of it.
func (g *pollGroup[T]) isWorthIt() bool {
	g.polls.mu.Lock()
	defer g.polls.mu.Unlock()
	requests := g.items/maxPageSize + 1
	return g.waits > requests && g.waits*10 >= g.items
}
