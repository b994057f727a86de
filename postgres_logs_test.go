package cloudapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// logStore is a service that keeps the lines of a database for a week, and
// selects them by when it received them.
type logStore struct {
	t     *testing.T
	ahead time.Duration // how far its clock is ahead of this machine's
	size  int           // number of lines in a page; 0 means what the client asks for
	slow  time.Duration // how long it takes to answer
	held  int           // the limit for the lines in memory, in bytes; 0 means the default
	read  func()        // is called after each line, unless it's nil
	// answer, if not nil, replaces a response or changes its header.
	answer   func(query map[string][]string, header http.Header) (*http.Response, error)
	mu       sync.Mutex // guards the lines, which arrive during requests
	lines    []storedLine
	requests []time.Time
}

type storedLine struct {
	entry             PostgresLogEntry
	received, visible time.Time
}

func (s *logStore) now() time.Time { return time.Now().Add(s.ahead).UTC() }

// receive adds a line that was written some time ago, its age. Responses
// contain it only after the lag.
func (s *logStore) receive(message string, age, lag time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := PostgresLogEntry{Timestamp: s.now().Add(-age).Truncate(time.Second), ServerID: "pv1", StreamName: "postgres", Message: message}
	s.lines = append(s.lines, storedLine{entry, s.now(), s.now().Add(lag)})
}

func (s *logStore) RoundTrip(req *http.Request) (*http.Response, error) {
	if s.slow > 0 {
		stub.Elapse(s.slow)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, time.Now())
	query, now, header := req.URL.Query(), s.now(), http.Header{}
	header.Set("Date", now.Format(http.TimeFormat))
	if s.answer != nil {
		if resp, err := s.answer(query, header); resp != nil || err != nil {
			return resp, err
		}
	}
	start, end, before := now.Add(-30*time.Minute), now, len(s.lines)
	if text := query.Get("start"); text != "" {
		start, _ = time.Parse(time.RFC3339, text)
		end, _ = time.Parse(time.RFC3339, query.Get("end"))
	}
	if text := query.Get("pagination_key"); text != "" {
		before, _ = strconv.Atoi(text)
	}
	if end.Sub(start) > 24*time.Hour || !end.After(start) {
		s.t.Errorf("at %v it is asked for %v to %v", now, start, end)
	}
	status, body := 200, any(nil)
	if start.Before(now.Add(-7 * 24 * time.Hour)) {
		status, body = 400, json.RawMessage(`{"error":{"code":400,"type":"InvalidRequest","message":"Cannot query logs older than 7 days","details":null}}`)
	} else {
		size, _ := strconv.Atoi(query.Get("max_log_lines"))
		if s.size > 0 {
			size = s.size
		}
		page, key := []*PostgresLogEntry{}, ""
		until := sort.Search(len(s.lines), func(i int) bool { return s.lines[i].received.After(end) })
		for i := min(before, until) - 1; i >= 0 && !s.lines[i].received.Before(start); i-- {
			if line := &s.lines[i]; line.visible.After(now) || now.Sub(line.received) > 7*24*time.Hour {
				continue
			}
			if len(page) == size {
				key = strconv.Itoa(i + 1)
				break
			}
			page = append(page, &s.lines[i].entry)
		}
		slices.Reverse(page)
		body = map[string]any{"logs": page, "pagination_key": key}
	}
	text, err := json.Marshal(body)
	resp := stub.Respond(status, string(text))
	resp.Header["Date"] = header["Date"]
	return resp, err
}

// client returns a client that sends each request once.
func (s *logStore) client() *Client {
	return mockClient(s.t, s, WithRetry(RetryPolicy{MaxAttempts: 1}))
}

func (s *logStore) follow(ctx context.Context, o FollowOptions) (found []string, err error) {
	for line, err := range s.client().Postgres.followLogs(ctx, "eu-central-h1", "orders-db", nil, &o, cmp.Or(s.held, maxHeldLogs)) {
		if err != nil {
			return found, err
		}
		found = append(found, text(line))
		if s.read != nil {
			s.read()
		}
	}
	return found, nil
}

func text(e *PostgresLogEntry) string { return e.Timestamp.Format(time.RFC3339) + " " + e.Message }

func (s *logStore) since(start time.Time) (lines []string) {
	for _, line := range s.lines {
		if !line.received.Before(start) {
			lines = append(lines, text(&line.entry))
		}
	}
	return lines
}

// TestFollowOldLogs: FollowLogs reads the lines of several days in ranges that
// the service accepts and that fit into memory. It reports lines that the
// service no longer keeps.
func TestFollowOldLogs(t *testing.T) {
	t.Parallel()
	const day, week = 24 * time.Hour, 7 * 24 * time.Hour
	for name, tt := range map[string]struct {
		start    time.Duration // how long ago; 0 means the default
		oldest   time.Duration // the age of the first line
		ahead    time.Duration // of the service's clock
		options  FollowOptions
		held     int
		requests int // at most
	}{
		"nothing":             {0, 30*time.Minute + time.Second/2, 0, FollowOptions{}, 0, 4},
		"50 hours":            {50 * time.Hour, 50 * time.Hour, 0, FollowOptions{}, 0, 8},
		"almost a week":       {week, week, 0, FollowOptions{}, 0, 14},
		"a week":              {week + 1, week - logsArriving, 0, FollowOptions{}, 0, 15},
		"more than a week":    {week + day, week - logsArriving, 0, FollowOptions{}, 0, 15},
		"in the future":       {-time.Hour, 0, 0, FollowOptions{}, 0, 2},
		"a fast clock":        {time.Hour, 0, -9 * time.Hour, FollowOptions{}, 0, 2},
		"the longest overlap": {6 * day, 6 * day, 0, FollowOptions{Overlap: 12 * time.Hour}, 0, 15},
		"little memory":       {6 * day, 6 * day, 0, FollowOptions{}, 1008 * logEntrySize, 17},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &logStore{t: t, ahead: tt.ahead, held: tt.held}
				for i := range 9 * 240 { // for 9 days
					s.receive(fmt.Sprint(i), 0, 0)
					for range map[int]int{1000: 400}[i] { // once, many lines
						s.receive("a burst", 0, 0)
					}
					stub.Elapse(6 * time.Minute)
				}
				stub.Elapse(time.Second / 2) // a Date has whole seconds
				if tt.start != 0 {
					tt.options.Marker.Start = time.Now().Add(-tt.start)
				}
				var reported []error
				tt.options.UntilNow = true
				tt.options.Progress = func(p Progress) {
					if p.Operation != "Postgres.FollowLogs" || p.Resource != "eu-central-h1/orders-db" || p.Record != nil {
						t.Errorf("progress: %+v", p)
					}
					if p.Err != nil {
						reported = append(reported, p.Err)
					}
				}
				tt.options.Checkpoint = func(m LogMarker) {
					if m.Start.After(s.now()) {
						t.Errorf("a marker in the future: %v", m.Start)
					}
				}
				found, err := s.follow(t.Context(), tt.options)
				if want := s.since(s.now().Add(-tt.oldest)); err != nil || !slices.Equal(found, want) {
					t.Errorf("%d lines, want %d: %v", len(found), len(want), err)
				}
				if err := errors.Join(reported...); len(reported) > 1 || errors.Is(err, ErrLogsExpired) != (tt.start > week) {
					t.Errorf("reported: %v", err)
				}
				if len(s.requests) > tt.requests {
					t.Errorf("%d requests", len(s.requests))
				}
			})
		})
	}
}

// TestFollowLogsOfABurst: more lines than a range usually has can be in the
// shortest range.
func TestFollowLogsOfABurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &logStore{t: t}
		for i := range maxRangeLines + 1000 {
			s.receive(fmt.Sprint(i), 0, 0)
		}
		stub.Elapse(time.Second)
		found, err := s.follow(t.Context(), FollowOptions{UntilNow: true})
		if err != nil || !slices.Equal(found, s.since(time.Time{})) {
			t.Errorf("%d lines of %d: %v", len(found), len(s.lines), err)
		}
	})
}

// TestFollowLogsGetsOn: a program that is killed after some lines, and continues
// from its last marker, gets each line of a long backlog at least once, in
// order. A run yields no line twice, and has a marker after each 10,000 lines.
// Only lines since the last marker come again.
func TestFollowLogsGetsOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		hours, after   int // with a line each second; after how many lines each run ends
		runs, requests int // at most
	}{
		{48, 50_000, 4, 400},
		{12, 5_000, 14, 250},
		{3, 500, 46, 150},
	} {
		if testing.Short() && tt.after > 500 {
			continue
		}
		t.Run(fmt.Sprint(tt.after), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &logStore{t: t}
				stub.Elapse(time.Second / 2)
				start, total := time.Now(), tt.hours*3600
				for i := range total {
					s.receive(fmt.Sprint(i), 0, 0)
					stub.Elapse(time.Second)
				}
				o := FollowOptions{UntilNow: true, Marker: LogMarker{Start: start}}
				next, marked, runs := 0, 0, 0 // the next line; the first after the marker
				isKilled := false
				o.Checkpoint = func(m LogMarker) {
					if next-marked > maxRangeLines {
						t.Errorf("a marker after %d lines", next-marked)
					}
					if !isKilled {
						o.Marker, marked = m, next
					}
				}
				for isOver := false; !isOver && runs <= tt.runs; runs++ {
					next, isOver, isKilled = marked, true, false
					lines := 0
					for line, err := range s.client().Postgres.FollowLogs(t.Context(), "eu-central-h1", "orders-db", nil, &o) {
						if err != nil || line.Message != fmt.Sprint(next) {
							t.Fatalf("run %d: line %v instead of %d: %v", runs, line, next, err)
						}
						next++
						if lines++; lines == tt.after {
							isOver, isKilled = false, true
							break
						}
					}
				}
				if next != total || runs > tt.runs || len(s.requests) > tt.requests {
					t.Errorf("line %d of %d in %d runs, %d requests", next, total, runs, len(s.requests))
				}
			})
		})
	}
}

// TestFollowLogsOfSlowServers: a line that came after the request, and before a
// slow server looked for lines, isn't yielded again after a restart.
func TestFollowLogsOfSlowServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &logStore{t: t, slow: 2 * time.Minute}
		s.answer = func(_ map[string][]string, header http.Header) (*http.Response, error) {
			header.Del("Date")
			return nil, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		var receiving sync.WaitGroup
		receiving.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				s.receive(fmt.Sprint(i), 0, 0)
				stub.Elapse(10 * time.Second)
			}
		})
		o := FollowOptions{UntilNow: true}
		o.Checkpoint = func(m LogMarker) { o.Marker = m }
		var got []string
		for range 5 {
			found, err := s.follow(ctx, o)
			if err != nil {
				t.Error(err)
			}
			got = append(got, found...)
		}
		cancel()
		receiving.Wait()
		if want := s.since(time.Time{}); len(got) < 100 || !slices.Equal(got, want[:len(got)]) {
			t.Errorf("%d lines of %d: %q", len(got), len(want), got)
		}
	})
}

// TestFollowLogsEnds: transient failures are reported and tolerated, even if
// there are many. The sequence ends with the context, with any other error, and
// if lists stall or lines expire three times in a row. After at least one
// response, a 404 means that the database is gone, not that the server has no
// logs.
func TestFollowLogsEnds(t *testing.T) {
	t.Parallel()
	const (
		stalled = `{"logs":[],"pagination_key":"x"}`
		noSuch  = `{"error":{"code":404,"type":"ResourceNotFound","message":"Sorry, we couldn’t find the resource you’re looking for."}}`
		many    = 20 // stands for 20 or more requests
	)
	always := func(int) bool { return true }
	sometimes := func(request int) bool { return request%4 > 1 }
	after := func(n int) func(int) bool { return func(request int) bool { return request > n } }
	for name, tt := range map[string]struct {
		fails    func(request int) bool // or nil
		status   int
		body     string
		header   http.Header
		jump     time.Duration // of the service's clock, with each request
		isLeft   bool          // the context ends after the first line
		options  FollowOptions
		held     int
		want     error
		text     string // in the error
		requests int
	}{
		"a line":              {isLeft: true, want: context.Canceled, requests: 2},
		"the context":         {fails: always, status: 503, want: context.DeadlineExceeded, requests: many},
		"a long pause":        {fails: always, status: 503, header: http.Header{"Retry-After": {"55"}}, want: context.DeadlineExceeded, requests: 11},
		"until now":           {fails: always, status: 503, options: FollowOptions{UntilNow: true}, want: ErrServer, requests: 1},
		"bad filters":         {fails: after(1), status: 400, body: stub.Envelope(400), want: ErrInvalidRequest, requests: 2},
		"never there":         {fails: always, status: 404, body: noSuch, want: ErrMaybeUnsupported, requests: 1},
		"deleted meanwhile":   {fails: after(4), status: 404, body: noSuch, want: ErrNotFound, requests: 5},
		"stray now and then":  {fails: sometimes, status: 404, body: "no such backend", want: context.DeadlineExceeded, requests: many},
		"three stalls":        {fails: always, status: 200, body: stalled, want: ErrPaginationStalled, requests: 7},
		"stalls sometimes":    {fails: sometimes, status: 200, body: stalled, want: context.DeadlineExceeded, requests: many},
		"a clock that jumps":  {jump: 8 * 24 * time.Hour, want: ErrLogsExpired, requests: 4},
		"too many lines":      {held: 9 * logEntrySize, want: ErrPaginationStalled, text: "use filters, a shorter Overlap", requests: 4},
		"too long an overlap": {options: FollowOptions{Overlap: 13 * time.Hour}, want: ErrInvalidArgument, text: `Overlap "13h0m0s"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &logStore{t: t, held: tt.held}
				for range 9 {
					s.receive("a line", 0, 0)
				}
				s.answer = func(map[string][]string, http.Header) (*http.Response, error) {
					s.ahead += tt.jump
					if tt.fails == nil || !tt.fails(len(s.requests)) {
						return nil, nil
					}
					resp := stub.Respond(tt.status, tt.body)
					maps.Copy(resp.Header, tt.header)
					return resp, nil
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				if tt.isLeft {
					s.read = cancel
				}
				tt.options.Marker.Start = time.Now() // when the lines came
				reports := 0
				tt.options.Progress = func(Progress) { reports++ }
				found, err := s.follow(ctx, tt.options)
				if tt.isLeft && len(found) != 1 || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) || errors.Is(err, ErrMaybeUnsupported) != (tt.want == ErrMaybeUnsupported) {
					t.Errorf("%v, want %v", err, tt.want)
				}
				if n := len(s.requests); min(n, many) != tt.requests && n != tt.requests || (reports == 0) != (n == 0 || tt.isLeft) {
					t.Errorf("%d requests and %d reports, want %d", n, reports, tt.requests)
				}
			})
		})
	}
}

// TestFollowLogsUntilNow: FollowLogs yields all lines up to the time it began,
// and ends although lines come faster than the program processes them.
func TestFollowLogsUntilNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &logStore{t: t, held: 40 * logEntrySize}
		began := time.Now().Add(time.Hour)
		for time.Now().Before(began) {
			s.receive("a line", 0, 0)
			stub.Elapse(10 * time.Second)
		}
		before := s.since(began.Add(-time.Hour))
		s.read = func() { s.receive("another", 0, 0); stub.Elapse(11 * time.Second) }
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		found, err := s.follow(ctx, FollowOptions{UntilNow: true, Marker: LogMarker{Start: began.Add(-time.Hour)}})
		if n := len(before); err != nil || len(found) < n || len(found) > 2*n || !slices.Equal(found[:n], before) {
			t.Errorf("%d lines, %v; want %d and a few", len(found), err, n)
		}
	})
}

// TestFollowLogsPauses: the pauses grow while no line comes, and are short
// again after a line. A week without lines isn't reported as lost lines.
func TestFollowLogsPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &logStore{t: t}
		ctx, cancel := context.WithTimeout(t.Context(), 8*24*time.Hour)
		defer cancel()
		go func() {
			stub.Elapse(8*24*time.Hour - time.Hour)
			s.receive("a line", 0, 0)
		}()
		var after []time.Duration // the pauses after the line
		found, err := s.follow(ctx, FollowOptions{Interval: time.Second, MaxInterval: 10 * time.Minute, Progress: func(p Progress) {
			if p.Err != nil {
				t.Error(p.Err)
			}
			if n := len(s.requests); p.Done == 1 {
				after = append(after, s.requests[n-1].Sub(s.requests[n-2]))
			}
		}})
		if !errors.Is(err, context.DeadlineExceeded) || len(found) != 1 || len(s.requests) > 2000 || after[0] < 8*time.Minute || after[1] > 2*time.Second || len(after) > 30 {
			t.Errorf("%d lines in %d requests, %v; the pauses are %v", len(found), len(s.requests), err, after)
		}
	})
}

// TestFollowLogsFilters: each request has the filters of the options, and a
// range that ends in the future.
func TestFollowLogsFilters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var targets []string
		client := mockClient(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			targets = append(targets, req.URL.RawQuery)
			return stub.Respond(200, `{"logs":[]}`), nil
		}))
		filter := PostgresLogsOptions{StreamName: "postgres", SeverityLevel: "ERROR", ServerRole: "standby", QueryPattern: "a b"}
		_, err := Collect(client.Postgres.FollowLogs(t.Context(), "eu-central-h1", "orders-db", &filter, &FollowOptions{UntilNow: true}))
		want := []string{"max_log_lines=1"}
		for _, span := range [][2]string{{"1999-12-31T23%3A30", "1999-12-31T23%3A32"}, {"1999-12-31T23%3A31", "1999-12-31T23%3A39"}, {"1999-12-31T23%3A38", "2000-01-01T23%3A38"}} {
			want = append(want, "end="+span[1]+"%3A00Z&max_log_lines=500&query_pattern=a+b&server_role=standby&severity_level=ERROR&start="+span[0]+"%3A00Z&stream_name=postgres")
		}
		if err != nil || !slices.Equal(targets, want) {
			t.Errorf("%q, %v", targets, err)
		}
	})
}

// TestLogHashes: lines that differ have different hashes. A line has the same
// one in another time zone, and after its server has another role.
func TestLogHashes(t *testing.T) {
	t.Parallel()
	line := PostgresLogEntry{Timestamp: time.Unix(1, 2), StreamName: "ab", ServerID: "c", Message: "d", Context: map[string]string{"e": "f", "g": "h"}}
	for i, tt := range []struct {
		change func(*PostgresLogEntry)
		isSame bool
	}{
		{func(e *PostgresLogEntry) {
			e.Timestamp, e.ServerRole = e.Timestamp.In(time.FixedZone("", 3600)), "standby"
		}, true},
		{func(e *PostgresLogEntry) { e.Timestamp = time.Unix(1, 3) }, false},
		{func(e *PostgresLogEntry) { e.StreamName, e.ServerID = "a", "bc" }, false},
		{func(e *PostgresLogEntry) { e.Message = "" }, false},
		{func(e *PostgresLogEntry) { e.Context = nil }, false},
		{func(e *PostgresLogEntry) { e.Context = map[string]string{"e": "h", "g": "f"} }, false},
	} {
		other := line
		if tt.change(&other); (other.hash() == line.hash()) != tt.isSame || len(other.hash()) != 11 {
			t.Errorf("%d: %s and %s", i, other.hash(), line.hash())
		}
	}
}

// TestFollowBusyLogs: with a wrong clock, too, FollowLogs reaches the present of
// a log with more lines than a range may have between the two clocks.
func TestFollowBusyLogs(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute} {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &logStore{t: t, ahead: ahead}
				receive := func(takes time.Duration) {
					for range takes / time.Second {
						for i := range 10 {
							s.receive(fmt.Sprint(i), 0, 0)
						}
						stub.Elapse(time.Second)
					}
				}
				receive(12 * time.Minute)
				last := LogMarker{Start: s.lines[0].entry.Timestamp}
				options := FollowOptions{Marker: last, UntilNow: true, Checkpoint: func(m LogMarker) { last = m }}
				found, err := s.follow(t.Context(), options)
				if err != nil || !slices.Equal(found, s.since(time.Time{})) {
					t.Errorf("%d of %d lines until now: %v", len(found), len(s.lines), err)
				}
				stored := false
				for _, hashes := range last.Seen {
					stored = stored || hashes[s.lines[len(s.lines)-1].entry.hash()] > 0
				}
				if !stored {
					t.Error("the marker doesn't have the last line")
				}

				// While the program follows, lines come.
				before := len(s.lines)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var receiving sync.WaitGroup
				receiving.Go(func() { receive(time.Minute) })
				options.Marker, options.UntilNow = last, false
				found, err = s.follow(ctx, options)
				receiving.Wait()
				if n := len(s.lines) - before; !errors.Is(err, context.DeadlineExceeded) || len(found) < n-150 || len(found) > n {
					t.Errorf("%d of %d lines in a minute: %v", len(found), n, err)
				}
			})
		})
	}
}

// TestFollowElsewhere: a marker from a machine whose clock is right continues on
// one whose clock is slow.
func TestFollowElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &logStore{t: t, ahead: 10 * time.Minute}
		marker, seen := LogMarker{}, map[string]int{}
		for i := range 120 {
			s.receive(fmt.Sprint(i), 0, 0)
			if i >= 60 {
				seen[s.lines[i].entry.hash()]++
			}
			stub.Elapse(time.Second)
		}
		marker.Start = s.lines[60].entry.Timestamp
		marker.Seen = map[int64]map[string]int{s.now().Unix(): seen}
		if found, err := s.follow(t.Context(), FollowOptions{Marker: marker, UntilNow: true}); len(found) > 0 || err != nil {
			t.Errorf("%d lines again, %v", len(found), err)
		}
	})
}

// TestFollowWithoutStart: a marker without a Start is no position, so the loop
// begins at the default.
func TestFollowWithoutStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &logStore{t: t}
		s.receive("a line", 0, 0)
		stub.Elapse(time.Second)
		found, err := s.follow(t.Context(), FollowOptions{Marker: LogMarker{Seen: map[int64]map[string]int{}}, UntilNow: true})
		if err != nil || len(found) != 1 || len(s.requests) > 5 {
			t.Errorf("%q in %d requests: %v", found, len(s.requests), err)
		}
	})
}

// TestFollowApart: if the clocks differ by more than a range can have, FollowLogs
// pauses between the ranges nevertheless.
func TestFollowApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &logStore{t: t, ahead: 20 * time.Hour, slow: time.Second}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		_, err := s.follow(ctx, FollowOptions{Overlap: 12 * time.Hour})
		if n := len(s.requests); !errors.Is(err, context.DeadlineExceeded) || n > 30 {
			t.Errorf("%d requests in two minutes, %v", n, err)
		}
	})
}
