package cloudapi

import (
	"context"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// Waits of a client for resources of one family in one location share their
// polls. When one of them is due it reads the list, and the others take their
// records from that list as well. So every wait polls at least as often as it
// would alone, and n waits cost the requests of one list per round instead of
// n.
//
// A list has the short form of the records. If the list shows that a wait may
// be finished, or does not contain its resource, the wait gets the resource
// itself and decides by that.

// polls are the groups of waits of a client in progress.
type polls struct {
	mu     sync.Mutex
	groups map[pollKey]any // of *pollGroup[T]
}

type pollKey struct {
	project, location string
	routes            *listRoutes
}

// pollGroup is a group of waits that share their polls.
type pollGroup[T any] struct {
	polls  *polls // whose mutex guards waits and items
	rounds *rounds[map[string]*T]
	list   func(context.Context) (records map[string]*T, items int, err error)
	waits  int // number of waits in progress
	items  int // number of items in the last list
}

// sharedPolls returns a function that adds a wait to its group. leave removes
// it.
func sharedPolls[T any, P listItem[T]](c *conn, routes *listRoutes, location string) (join func() (group *pollGroup[T], leave func())) {
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

// listByReference reads a list. It returns the records by ID and by name, and
// the number of records. A name that several records have maps to nil.
func listByReference[T any, P listItem[T]](ctx context.Context, c *conn, routes *listRoutes, location string) (map[string]*T, int, error) {
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

// await returns the next finished round. It returns nil if there is none at the
// end of the pause and a list is not worth its requests; then the wait gets its
// resource itself. The slots limit the requests of a list.
func (g *pollGroup[T]) await(ctx context.Context, pause time.Duration, slots pace.Slots) (*round[map[string]*T], error) {
	return g.rounds.await(ctx, pause, g.isWorthIt, func(ctx context.Context) (records map[string]*T, err error) {
		items := 0
		err = slots.Do(ctx, func() (err error) {
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

// isWorthIt reports whether the list takes fewer requests than separate polls
// of the waits, and is not many times larger than their records.
func (g *pollGroup[T]) isWorthIt() bool {
	g.polls.mu.Lock()
	defer g.polls.mu.Unlock()
	requests := g.items/maxPageSize + 1
	return g.waits > requests && g.waits*10 >= g.items
}
