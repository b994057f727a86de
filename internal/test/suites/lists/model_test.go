// Package lists_test reads lists, constant and changing ones, from servers that
// behave in different ways.
package lists_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestListModel ranges over lists of servers with random habits. Each range
// ends. Items that stay in the list are yielded once, and other items at most
// once, unless the range ends with ErrPaginationStalled.
func TestListModel(t *testing.T) {
	t.Parallel()
	walks := uint64(3000)
	if testing.Short() {
		walks = 500
	}
	honest, failed, stalled := 0, 0, 0
	for seed := range walks {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(rand.New(rand.NewPCG(seed, 0)))
			if err := s.walk(t); err != nil {
				stalled++
				if s.isHonest() {
					failed++
				}
			}
			if s.isHonest() {
				honest++
			}
			if t.Failed() {
				t.Fatalf("seed %d: %+v", seed, s.habits)
			}
		})
	}
	t.Logf("%d walks, of which %d stalled; %d on honest servers, of which %d stalled", walks, stalled, honest, failed)
	if failed*100 > honest {
		t.Errorf("%d of %d walks on honest servers stalled", failed, honest)
	}
	if stalled*20 < int(walks) || honest*5 < int(walks) {
		t.Error("that is too little to tell")
	}
}

// habits describe how a server responds to a request for a page.
type habits struct {
	Asked    int    // the page size of the client
	Longest  int    // maximum number of items in a page
	Order    string // of the list, by ID or by name; Repeated says whether names occur more than once
	Repeated bool
	Counts   counts
	Bare     bool // whether a page is an array in place of an object

	Churn       int // probability in percent that something changes before a request
	Midway      int // the same for a change after a page was read and before its count
	Stale       int // probability in percent that a page begins before the cursor
	Empty       int // probability in percent that a page is empty for no reason
	ForgetsPage bool
	ForgetsSize bool
	Prefetch    int
}

type counts int

const (
	never counts = iota
	always
	fromPageTwo
	sometimes
	tooFew
)

type server struct {
	habits
	rng      *rand.Rand
	items    []stub.Item
	past     map[string]bool // IDs of removed items
	began    []stub.Item
	requests int
}

func newServer(rng *rand.Rand) *server {
	often := func(percent int) bool { return rng.IntN(100) < percent }
	h := habits{Asked: 1 + rng.IntN(12), Longest: 1000, Counts: counts(rng.IntN(5)), Prefetch: rng.IntN(3)}
	if often(30) {
		h.Order = cloudapi.OrderByName
	}
	if often(20) {
		h.Bare, h.Counts = true, never
	}
	switch rng.IntN(6) {
	case 0, 1: // an honest server of a list that changes
		h.Churn, h.Midway = rng.IntN(60), rng.IntN(60)
		if often(80) {
			h.Bare, h.Counts = false, always // like the real server
		}
	case 2: // pages are shorter than requested
		h.Longest = 1 + rng.IntN(h.Asked)
		h.Churn = rng.IntN(60)
	case 3:
		h.Stale, h.Churn = rng.IntN(60), rng.IntN(20)
	case 4: // only the count shows that something was lost
		h.Bare, h.Counts = false, always
		if h.Order == cloudapi.OrderByName && often(50) {
			h.Repeated = true
		} else {
			h.Empty = rng.IntN(40)
		}
	case 5:
		h.ForgetsPage, h.ForgetsSize = often(70), often(50)
		h.Churn, h.Midway = rng.IntN(30), rng.IntN(30)
	}
	s := &server{habits: h, rng: rng, past: map[string]bool{}}
	for range rng.IntN(40) {
		s.add()
	}
	s.began = slices.Clone(s.items)
	return s
}

func (s *server) isHonest() bool {
	return s.Longest == 1000 && s.Counts == always && !s.Bare && !s.Repeated && s.Stale == 0 && s.Empty == 0 && !s.ForgetsPage && !s.ForgetsSize
}

func (s *server) add() {
	names := int64(1) << 40
	if s.Repeated {
		names = 12
	}
	s.items = append(s.items, stub.Item{ID: fmt.Sprintf("vm%024d", s.rng.Uint64()), Name: fmt.Sprintf("web-%012d", s.rng.Int64N(names))})
	slices.SortFunc(s.items, func(a, b stub.Item) int {
		return cmp.Or(cmp.Compare(a.Key(s.Order), b.Key(s.Order)), cmp.Compare(a.ID, b.ID))
	})
}

// change adds or removes items as long as chance wants it.
func (s *server) change(percent int) {
	for s.rng.IntN(100) < percent {
		if len(s.items) == 0 || s.rng.IntN(2) == 0 {
			s.add()
			continue
		}
		i := s.rng.IntN(len(s.items))
		s.past[s.items[i].ID] = true
		s.items = slices.Delete(s.items, i, i+1)
	}
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	s.requests++
	s.change(s.Churn)
	page := s.page(req)
	s.change(s.Midway)
	body := map[string]any{"items": page}
	if s.Counts == always || s.Counts == fromPageTwo && s.requests > 1 || s.Counts == sometimes && s.rng.IntN(2) == 0 {
		body["count"] = len(s.items)
	} else if s.Counts == tooFew {
		body["count"] = s.rng.IntN(max(len(page), 1))
	}
	if s.Bare {
		return stub.Respond(200, string(stub.JSON(page))), nil
	}
	return stub.Respond(200, string(stub.JSON(body))), nil
}

func (s *server) page(req *http.Request) []stub.Item {
	query := req.URL.Query()
	after, size := query.Get("start_after"), min(s.Longest, s.Asked)
	if asked := query.Get("page_size"); asked != strconv.Itoa(s.Asked) || query.Get("order_column") != s.Order {
		panic("asked for " + req.URL.String())
	}
	if s.ForgetsSize {
		size = s.Longest
	}
	start := 0
	for !s.ForgetsPage && start < len(s.items) && after != "" && s.items[start].Key(s.Order) <= after {
		start++
	}
	if start > 0 && s.rng.IntN(100) < s.Stale {
		start -= 1 + s.rng.IntN(start)
	}
	if s.rng.IntN(100) < s.Empty {
		start = len(s.items)
	}
	return append([]stub.Item{}, s.items[start:min(start+size, len(s.items))]...)
}

func (s *server) walk(t *testing.T) error {
	client := sdktest.Client(t, s, cloudapi.WithPrefetch(s.Prefetch))
	seen := map[string]int{}
	var end error
	for vm, err := range client.VMs.All(t.Context(), &cloudapi.ListOptions{PageSize: s.Asked, OrderColumn: s.Order}) {
		if end = err; err == nil {
			seen[vm.ID]++
		}
	}
	ever := len(s.items) + len(s.past)
	if end != nil && !errors.Is(end, cloudapi.ErrPaginationStalled) {
		t.Errorf("it ends with %v", end)
	}
	for id, times := range seen {
		if times > 1 {
			t.Errorf("%s was yielded %d times", id, times)
		}
	}
	for _, item := range s.began {
		if end == nil && !s.past[item.ID] && seen[item.ID] == 0 {
			t.Errorf("%s was there all the time and is not among the %d, in %d requests", item.ID, len(seen), s.requests)
		}
	}
	if most := 4 * (ever + 2); s.requests > most {
		t.Errorf("%d requests for a list that had %d items in all", s.requests, ever)
	}
	return end
}
