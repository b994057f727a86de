package cloudapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/logtail"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// logStore is a service that keeps the lines of a database for a week, in the
// order in which it received them.
type logStore struct {
	t           *testing.T
	ahead       time.Duration // how far its clock is ahead of this machine's
	byTimestamp bool          // whether it selects lines by their timestamps, and not by when it received them
	undated     bool          // whether its responses have no Date
	misdated    bool          // whether some have a wrong one, so that requests may ask for the future
	mu          sync.Mutex    // guards the lines, which come while requests do
	lines       []storedLine
	requests    int
	fault       func(request int) (*http.Response, error) // replaces a response, unless it returns neither
}

type storedLine struct {
	entry    PostgresLogEntry
	received time.Time
}

func (s *logStore) now() time.Time { return time.Now().Add(s.ahead).UTC() }

// receive adds a line with a timestamp of the given age. Its level is ERROR if it
// begins with "error", and INFO otherwise.
func (s *logStore) receive(server, message string, age time.Duration) {
	level := PostgresLogSeverityInfo
	if strings.HasPrefix(message, "error") {
		level = PostgresLogSeverityError
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, storedLine{
		PostgresLogEntry{Timestamp: s.now().Add(-age).Truncate(time.Millisecond), ServerUBID: server, StreamName: "postgres", SeverityLevel: level, Message: message},
		s.now(),
	})
}

func (s *logStore) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.fault != nil {
		if resp, err := s.fault(s.requests); resp != nil || err != nil {
			return resp, err
		}
	}
	query, now := req.URL.Query(), s.now()
	start, end, size, before := now.Add(-30*time.Minute), now, 50, len(s.lines)
	if text := query.Get("start"); text != "" {
		start, _ = time.Parse(time.RFC3339, text)
		end, _ = time.Parse(time.RFC3339, query.Get("end"))
	}
	if text := query.Get("max_log_lines"); text != "" {
		size, _ = strconv.Atoi(text)
	}
	if text := query.Get("pagination_key"); text != "" {
		before, _ = strconv.Atoi(text)
	}
	if start.Before(now.Add(-7*24*time.Hour)) || end.Sub(start) > 24*time.Hour || !end.After(start) || end.After(now) && !s.misdated {
		s.t.Errorf("at %v it is asked for %v to %v", now, start, end)
	}
	page, key := []*PostgresLogEntry{}, ""
	for i := before - 1; i >= 0; i-- {
		at := s.lines[i].received
		if s.byTimestamp {
			at = s.lines[i].entry.Timestamp
		}
		if at.Before(start) || at.After(end) || now.Sub(s.lines[i].received) > 7*24*time.Hour {
			continue
		}
		if level := query.Get("severity_level"); level != "" && s.lines[i].entry.SeverityLevel != level {
			continue
		}
		if len(page) == size {
			key = strconv.Itoa(i + 1)
			break
		}
		page = append(page, &s.lines[i].entry)
	}
	slices.Reverse(page)
	body, err := json.Marshal(map[string]any{"logs": page, "pagination_key": key})
	resp := stub.Respond(200, string(body))
	if !s.undated {
		resp.Header.Set("Date", now.Format(http.TimeFormat))
	}
	return resp, err
}

// client returns a client that sends each request once.
func (s *logStore) client(opts ...Option) *Client {
	return mockClient(s.t, s, append(opts, WithRetry(RetryPolicy{MaxAttempts: 1}))...)
}

// followed ranges over new lines until it has the given number, or an error.
func followed(ctx context.Context, client *Client, lines int, o *PostgresFollowLogsOptions) (found []PostgresLogEntry, marker PostgresLogMarker, err error) {
	for line, err := range client.Postgres.FollowLogs(ctx, "eu-central-h1", "orders-db", o) {
		if err != nil {
			return found, marker, err
		}
		found, marker = append(found, *line.PostgresLogEntry), line.Marker
		if len(found) == lines {
			break
		}
	}
	return found, marker, nil
}

// checkFollowed compares lines with those of the store.
func (s *logStore) checkFollowed(what string, found []PostgresLogEntry, want []storedLine) {
	s.t.Helper()
	for i := range max(len(found), len(want)) {
		if i >= len(found) || i >= len(want) || !found[i].equal(&want[i].entry) {
			s.t.Errorf("%s: of %d lines %d came, and line %d is wrong", what, len(want), len(found), i)
			return
		}
	}
}

func compareEntries(a, b *PostgresLogEntry) int {
	return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.ServerUBID, b.ServerUBID), cmp.Compare(a.Message, b.Message))
}

// TestFollowLogs: every line comes once and in the order of the service, whatever
// the clock of this machine says and however the service selects lines, with
// equal lines, late ones, full pages, several servers, failures, and restarts of
// the program after any line.
func TestFollowLogs(t *testing.T) {
	t.Parallel()
	for _, byTimestamp := range []bool{true, false} {
		for _, ahead := range []time.Duration{0, 5 * time.Minute, -5 * time.Minute} {
			for _, restart := range []int{0, 1, 7, 300} { // after how many lines
				if restart == 1 && ahead != 0 {
					continue // it takes long
				}
				// Some lines are more than the overlap behind the last one.
				seconds, burst := 200, maxLogLines+12
				if restart == 1 || restart == 7 {
					seconds, burst = 70, 12
				}
				name := fmt.Sprintf("by timestamp %v, %v ahead, restart after %d", byTimestamp, ahead, restart)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						s := &logStore{t: t, ahead: ahead, byTimestamp: byTimestamp}
						s.fault = func(request int) (*http.Response, error) {
							switch request % 13 {
							case 3:
								return stub.Respond(502, "<html>Bad Gateway</html>"), nil
							case 6:
								page := stub.Respond(200, "<html>We'll be back</html>")
								page.Header.Set("Content-Type", "text/html")
								return page, nil
							case 9:
								return nil, io.ErrUnexpectedEOF
							}
							return nil, nil
						}
						for i := range 20 {
							s.receive("pv1", fmt.Sprint("before ", i), 0)
						}
						go func() {
							for second := range seconds {
								stub.Elapse(time.Second)
								s.receive("pv1", fmt.Sprint("at ", second), 0)
								switch second % 10 {
								case 1:
									s.receive("pv1", "twice", 0)
									s.receive("pv2", "twice", 0)
									s.receive("pv1", "twice", 0)
								case 5:
									s.receive("pv2", fmt.Sprint("late ", second), 40*time.Second)
									s.receive("pv2", fmt.Sprint("at ", second), 0)
								case 8:
									s.receive("pv1", "at "+fmt.Sprint(second-1), time.Second) // as before
								}
								if second == 50 {
									for i := range burst {
										s.receive("pv1", fmt.Sprint("burst ", i/2), 0)
									}
								}
							}
						}()
						ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
						defer cancel()
						client := s.client(WithPrefetch(restart % 2))
						total := 20 + seconds + seconds/10*(3+2+1) + burst
						var found []PostgresLogEntry
						var o PostgresFollowLogsOptions
						for len(found) < total {
							some, marker, err := followed(ctx, client, min(cmp.Or(restart, total), total-len(found)), &o)
							found = append(found, some...)
							if err != nil {
								s.checkFollowed(name, found, s.lines)
								t.Fatal(err)
							}
							stored, err := json.Marshal(marker)
							if err != nil {
								t.Fatal(err)
							}
							o = PostgresFollowLogsOptions{}
							if err := json.Unmarshal(stored, &o.Marker); err != nil {
								t.Fatal(err)
							}
						}
						stub.Elapse(time.Hour) // until no more lines come
						synctest.Wait()
						if want := slices.Clone(s.lines); byTimestamp {
							// A line past the End of a request comes after one that the
							// service received later and whose timestamp is older.
							slices.SortFunc(found, func(a, b PostgresLogEntry) int { return compareEntries(&a, &b) })
							slices.SortFunc(want, func(a, b storedLine) int { return compareEntries(&a.entry, &b.entry) })
							s.checkFollowed(name, found, want)
						} else {
							s.checkFollowed(name, found, want)
						}
						o.UntilNow, s.fault = true, nil
						if more, _, err := followed(t.Context(), client, 0, &o); err != nil || len(more) > 0 {
							t.Errorf("%d lines come again, %v", len(more), err)
						}
					})
				})
			}
		}
	}
}

// TestFollowOldLogs: lines of days come in ranges that the service accepts, and
// lines that it no longer keeps are reported.
func TestFollowOldLogs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &logStore{t: t}
		for i := range 9 * 24 * 10 { // for 9 days
			s.receive("pv1", fmt.Sprint(i), 0)
			stub.Elapse(6 * time.Minute)
		}
		s.receive("pv1", "the last", 0)
		for name, tt := range map[string]struct {
			options  PostgresFollowLogsOptions
			age      time.Duration // of the first line
			isReport bool
		}{
			"nothing":                {PostgresFollowLogsOptions{}, 30 * time.Minute, false},
			"a duration":             {PostgresFollowLogsOptions{Since: 50 * time.Hour}, 50 * time.Hour, false},
			"the longest":            {PostgresFollowLogsOptions{Since: 7 * 24 * time.Hour}, logsKept, false},
			"a time":                 {PostgresFollowLogsOptions{Start: time.Now().Add(-25 * time.Hour), Since: time.Hour}, 25 * time.Hour, false},
			"an old time":            {PostgresFollowLogsOptions{Start: time.Now().Add(-8 * 24 * time.Hour)}, logsKept, true},
			"a marker and a time":    {PostgresFollowLogsOptions{Marker: PostgresLogMarker{logtail.Place{From: time.Now().Add(-2 * time.Hour)}}, Start: time.Now()}, 2 * time.Hour, false},
			"an old marker":          {PostgresFollowLogsOptions{Marker: PostgresLogMarker{logtail.Place{From: time.Now().Add(-10 * 24 * time.Hour)}}}, logsKept, true},
			"a time in the future":   {PostgresFollowLogsOptions{Start: time.Now().Add(time.Hour)}, -1, false},
			"the longest overlap":    {PostgresFollowLogsOptions{Since: 100 * time.Hour, Overlap: 12 * time.Hour}, 100 * time.Hour, false},
			"an overlap of a day":    {PostgresFollowLogsOptions{Since: time.Hour, Overlap: 30 * time.Minute}, time.Hour, false},
			"a range without a line": {PostgresFollowLogsOptions{Since: time.Minute}, time.Minute, false},
		} {
			s.requests = 0
			var reported []error
			tt.options.UntilNow = true
			tt.options.Progress = func(p Progress) {
				if p.Operation != "Postgres.FollowLogs" || p.Resource != "eu-central-h1/orders-db" {
					t.Errorf("%s: progress of %s of %s", name, p.Operation, p.Resource)
				}
				if p.Err != nil {
					reported = append(reported, p.Err)
				}
			}
			found, _, err := followed(t.Context(), s.client(), 0, &tt.options)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			var want []storedLine
			for _, line := range s.lines {
				if time.Since(line.received) <= tt.age {
					want = append(want, line)
				}
			}
			s.checkFollowed(name, found, want)
			if tt.isReport != (len(reported) == 1 && errors.Is(reported[0], ErrLogsExpired)) || !tt.isReport && len(reported) > 0 {
				t.Errorf("%s: reported %v", name, reported)
			}
			if s.requests > 40 {
				t.Errorf("%s: %d requests", name, s.requests)
			}
		}
	})
}

// receiveForHours adds lines of 21 hours: with gaps, equal ones, late ones, and
// more than a page in one minute.
func (s *logStore) receiveForHours() {
	for minute := 0; minute < 21*60; minute += 6 {
		stub.Elapse(6*time.Minute + 317*time.Millisecond)
		if hour := minute / 60; hour == 3 || 11 <= hour && hour < 14 {
			continue
		}
		s.receive("pv1", fmt.Sprint("at ", minute), 0)
		switch minute % 30 {
		case 6:
			s.receive("pv1", "error: twice", 0)
			s.receive("pv2", "error: twice", 0)
			s.receive("pv1", "error: twice", 0)
		case 12:
			s.receive("pv2", fmt.Sprint("error: late ", minute), 40*time.Second)
		case 18:
			s.receive("pv1", "error: as before", 0)
		}
		if minute == 5*60 {
			for i := range maxLogLines + 12 {
				s.receive("pv2", fmt.Sprint("error: burst ", i/2), 0)
			}
		}
	}
	stub.Elapse(time.Second) // a Date has whole seconds
}

// TestFollowLogsRestartsWhileCatchingUp: old lines come once, although the
// program restarts after every few of them, or once from the marker of any line
// or of the progress.
func TestFollowLogsRestartsWhileCatchingUp(t *testing.T) {
	t.Parallel()
	for _, byTimestamp := range []bool{true, false} {
		for _, level := range []string{"", PostgresLogSeverityError} {
			for _, overlap := range []time.Duration{0, 3 * time.Hour} {
				name := fmt.Sprintf("by timestamp %v, level %q, overlap %v", byTimestamp, level, overlap)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						s := &logStore{t: t, byTimestamp: byTimestamp}
						s.receiveForHours()
						want := slices.DeleteFunc(slices.Clone(s.lines), func(l storedLine) bool { return level != "" && l.entry.SeverityLevel != level })
						if byTimestamp { // a late line can come in an earlier round
							slices.SortFunc(want, func(a, b storedLine) int { return compareEntries(&a.entry, &b.entry) })
						}
						check := func(what string, found []PostgresLogEntry) {
							t.Helper()
							if byTimestamp {
								slices.SortFunc(found, func(a, b PostgresLogEntry) int { return compareEntries(&a, &b) })
							}
							s.checkFollowed(what, found, want)
						}
						client := s.client()
						type place struct {
							lines  int // before it
							marker PostgresLogMarker
						}
						options := func(m PostgresLogMarker) *PostgresFollowLogsOptions {
							o := &PostgresFollowLogsOptions{UntilNow: true, SeverityLevel: level, Overlap: overlap, Since: 22 * time.Hour}
							if err := o.Marker.UnmarshalText([]byte(m.String())); err != nil {
								t.Error(err)
							}
							return o
						}
						for _, every := range []int{0, 67} { // lines until a restart
							var found []PostgresLogEntry
							var rounds, places []place
							var last PostgresLogMarker
							for {
								o, before := options(last), len(found)
								o.Progress = func(p Progress) {
									rounds = append(rounds, place{before + p.Done, p.Record.(PostgresLogMarker)})
								}
								n := 0
								for line, err := range client.Postgres.FollowLogs(t.Context(), "eu-central-h1", "orders-db", o) {
									if err != nil {
										t.Fatal(err)
									}
									found, last = append(found, *line.PostgresLogEntry), line.Marker
									if len(found)%(len(want)/5) == 0 {
										places = append(places, place{len(found), last})
									}
									if n++; n == every {
										break
									}
								}
								if n == 0 || n != every || len(found) > len(want) {
									break
								}
							}
							what := fmt.Sprintf("with a restart after every %d lines", every)
							check(what, slices.Clone(found))
							if t.Failed() {
								return
							}
							if every == 0 && len(rounds) < 3 || len(places) < 5 {
								t.Errorf("%d rounds and %d places", len(rounds), len(places))
							}
							for i, p := range append(rounds, places...) {
								rest, _, err := followed(t.Context(), client, 0, options(p.marker))
								if err != nil {
									t.Fatal(err)
								}
								check(fmt.Sprintf("%s, and then from place %d of %d rounds and %d lines", what, i, len(rounds), len(places)), append(slices.Clone(found[:p.lines]), rest...))
								if t.Failed() {
									return
								}
							}
						}
					})
				})
			}
		}
	}
}

// TestFollowLogsWhenTheClockGoesBack: lines of the last second don't come again
// although the Date of the next response, which has whole seconds, is before
// them.
func TestFollowLogsWhenTheClockGoesBack(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &logStore{t: t}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			client := s.client()
			o := PostgresFollowLogsOptions{Interval: 10 * time.Millisecond, MaxInterval: 10 * time.Millisecond, Progress: func(p Progress) {
				if p.Done == 0 { // the Date of the response before this pause is right, that of the next one late
					stub.Elapse(950 * time.Millisecond)
				}
			}}
			go func() {
				stub.Elapse(930 * time.Millisecond)
				s.receive("pv1", "one", 0)
			}()
			var found []string
			for ctx.Err() == nil {
				for line, err := range client.Postgres.FollowLogs(ctx, "eu-central-h1", "orders-db", &o) {
					if err != nil {
						break // the context has ended
					}
					found, o.Marker = append(found, line.Message), line.Marker
					if restart {
						break
					}
				}
			}
			if !slices.Equal(found, []string{"one"}) {
				t.Errorf("restart %v: %q", restart, found)
			}
		})
	}
}

// TestFollowLogsAfterAWrongDate: lines come, and once, although the Date of one
// response was an hour ahead, as that of a server with a wrong clock.
func TestFollowLogsAfterAWrongDate(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		for wrong := 1; wrong <= 12; wrong++ { // the number of the request
			synctest.Test(t, func(t *testing.T) {
				s := &logStore{t: t, misdated: true}
				s.fault = func(request int) (*http.Response, error) {
					s.ahead = 0
					if request == wrong {
						s.ahead = time.Hour
					}
					return nil, nil
				}
				go func() {
					for i := range 40 {
						stub.Elapse(2 * time.Second)
						s.mu.Lock()
						s.ahead = 0
						s.mu.Unlock()
						s.receive("pv1", fmt.Sprint("line ", i), 0)
					}
				}()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				var found []PostgresLogEntry
				var o PostgresFollowLogsOptions
				for ctx.Err() == nil {
					lines := 0
					if restart {
						lines = 3
					}
					some, marker, _ := followed(ctx, s.client(), lines, &o)
					found, o.Marker = append(found, some...), marker
				}
				s.checkFollowed(fmt.Sprintf("restart %v, wrong Date in response %d", restart, wrong), found, s.lines)
			})
		}
	}
}

// TestFollowLogsWithoutDate: a server whose responses have no Date is followed by
// the clock of this machine.
func TestFollowLogsWithoutDate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &logStore{t: t, undated: true}
		s.receive("pv1", "one", time.Minute)
		if found, _, err := followed(t.Context(), s.client(), 1, nil); err != nil || len(found) != 1 {
			t.Errorf("%d lines, %v", len(found), err)
		}
	})
}

// TestFollowLogsFilters: requests have the filters of the options.
func TestFollowLogsFilters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var targets []string
		client := mockClient(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			targets = append(targets, req.URL.RawQuery)
			return stub.Respond(200, `{"logs":[]}`), nil
		}))
		_, _, err := followed(t.Context(), client, 0, &PostgresFollowLogsOptions{UntilNow: true, StreamName: "postgres", SeverityLevel: "ERROR", ServerRole: "standby", QueryPattern: "a b"})
		want := []string{"max_log_lines=1", "end=2000-01-01T00%3A00%3A00Z&max_log_lines=500&query_pattern=a+b&server_role=standby&severity_level=ERROR&start=1999-12-31T23%3A30%3A00Z&stream_name=postgres"}
		if err != nil || !slices.Equal(targets, want) {
			t.Errorf("%q, %v", targets, err)
		}
	})
}

// TestFollowLogsEnds: transient failures are reported and tolerated, also if
// there are many. The end of the context, another error, or the third stall in a
// row ends the sequence.
func TestFollowLogsEnds(t *testing.T) {
	t.Parallel()
	unavailable := func(int) (*http.Response, error) { return stub.Respond(503, stub.Envelope(503)), nil }
	stalled := func(int) (*http.Response, error) { return stub.Respond(200, `{"logs":[],"pagination_key":"x"}`), nil }
	stray := func(int) (*http.Response, error) { return stub.Respond(404, "no such backend"), nil }
	for name, tt := range map[string]struct {
		fault    func(int) (*http.Response, error)
		untilNow bool
		want     error // nil for a gateway's 404
		requests int
	}{
		"the context": {fault: unavailable, want: context.DeadlineExceeded, requests: 20},
		"until now":   {fault: unavailable, untilNow: true, want: ErrServer, requests: 1},
		"forbidden":   {fault: func(int) (*http.Response, error) { return stub.Respond(403, stub.Envelope(403)), nil }, want: ErrForbidden, requests: 1},
		"gone":        {fault: func(int) (*http.Response, error) { return stub.Respond(404, stub.Envelope(404)), nil }, want: ErrNotFound, requests: 1},
		"a gateway's 404 now and then": {fault: func(request int) (*http.Response, error) {
			if request%4 > 1 {
				return stray(request)
			}
			return nil, nil
		}, want: context.DeadlineExceeded, requests: 20},
		"three of a gateway's 404": {fault: stray, requests: 3},
		"three stalls":             {fault: stalled, want: ErrPaginationStalled, requests: 7}, // of the first request, which is for the clock, one page
		"a stall now and then": {fault: func(request int) (*http.Response, error) {
			if request%4 > 1 {
				return stalled(request)
			}
			return nil, nil
		}, want: context.DeadlineExceeded, requests: 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &logStore{t: t, fault: tt.fault}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				reports := 0
				_, _, err := followed(ctx, s.client(), 0, &PostgresFollowLogsOptions{UntilNow: tt.untilNow, Progress: func(p Progress) { reports++ }})
				e, _ := errors.AsType[*Error](err)
				if !errors.Is(err, tt.want) && (tt.want != nil || e == nil || e.StatusCode != 404 || e.Type != "") || s.requests < tt.requests || tt.requests < 20 && s.requests > tt.requests || reports == 0 {
					t.Errorf("%v after %d requests and %d reports", err, s.requests, reports)
				}
			})
		})
	}
}

// TestFollowLogsProgress: the marker in the progress stands behind all lines of
// the round, also while no line comes.
func TestFollowLogsProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &logStore{t: t}
		s.receive("pv1", "one", 0)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var marker PostgresLogMarker
		lines := 0
		_, _, err := followed(ctx, s.client(), 0, &PostgresFollowLogsOptions{Interval: 5 * time.Minute, MaxInterval: 5 * time.Minute, Progress: func(p Progress) {
			marker, lines = p.Record.(PostgresLogMarker), p.Done
			if p.Err != nil {
				t.Error(p.Err)
			}
			if time.Since(s.lines[0].received) > 8*24*time.Hour {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) || lines != 1 {
			t.Fatalf("%d lines, %v", lines, err)
		}
		s.receive("pv1", "two", 0)
		stub.Elapse(time.Second) // a Date has whole seconds
		found, _, err := followed(t.Context(), s.client(), 0, &PostgresFollowLogsOptions{UntilNow: true, Marker: marker, Progress: func(p Progress) {
			if p.Err != nil {
				t.Errorf("after a quiet week: %v", p.Err)
			}
		}})
		if len(found) != 1 || found[0].Message != "two" || err != nil {
			t.Errorf("then %v, %v", found, err)
		}
	})
}

// TestPostgresLogMarker: the text and the JSON of a marker lead back to it.
// Other text is an error that names it, and so is a marker's text with any
// character changed, missing or cut off.
func TestPostgresLogMarker(t *testing.T) {
	t.Parallel()
	entry := PostgresLogEntry{Timestamp: time.Unix(1, 2), Message: "password hunter2", Context: map[string]string{"a": "b"}}
	for _, m := range []PostgresLogMarker{{}, {logtail.Place{From: time.Unix(7, 8)}}, {logtail.Place{From: time.Unix(7, 8), Seen: []logtail.Key{entry.key(), {1}, entry.key()}}}} {
		text, err := json.Marshal(map[string]any{"marker": m})
		var back struct{ Marker PostgresLogMarker }
		if err != nil || json.Unmarshal(text, &back) != nil || back.Marker.String() != m.String() || back.Marker.IsZero() != m.IsZero() || strings.Contains(string(text), "hunter2") {
			t.Errorf("%s becomes %v, %v", text, back.Marker, err)
		}
	}
	marker := PostgresLogMarker{logtail.Place{From: time.Unix(7, 8), Until: time.Unix(9, 0), Seen: []logtail.Key{entry.key(), {1}, entry.key()}}}.String()
	texts := []string{"x", "1", "1...", "1....", "2" + marker[1:], marker + "\n", marker + ".", "." + marker}
	for i := range marker {
		other := "0"
		if marker[i] == '0' {
			other = "1"
		}
		texts = append(texts, marker[:i]+other+marker[i+1:], marker[:i]+marker[i+1:])
		if i > 0 {
			texts = append(texts, marker[:i]) // as a column that is too short cuts it off
		}
	}
	for _, text := range texts {
		var m PostgresLogMarker
		if err := m.UnmarshalText([]byte(text)); !errors.Is(err, ErrInvalidArgument) || !strings.Contains(err.Error(), "marker "+strconv.Quote(text)[:2]) || !m.IsZero() {
			t.Errorf("%q: %v, %v", text, m, err)
		}
	}
	client := mockClient(t, stub.RoundTripper(func(*http.Request) (*http.Response, error) {
		t.Error("a request was sent")
		return nil, io.EOF
	}))
	if _, _, err := followed(t.Context(), client, 0, &PostgresFollowLogsOptions{Overlap: 13 * time.Hour}); !errors.Is(err, ErrInvalidArgument) || !strings.Contains(err.Error(), `Overlap "13h0m0s"`) {
		t.Errorf("an overlap of 13 hours: %v", err)
	}
}

// TestLineKeys: what differs in any field that identifies a line has another key.
func TestLineKeys(t *testing.T) {
	t.Parallel()
	line := func(change func(*PostgresLogEntry)) logtail.Key {
		e := PostgresLogEntry{Timestamp: time.Unix(1, 2), StreamName: "ab", ServerUBID: "c", Message: "d", Context: map[string]string{"e": "f", "g": "h"}}
		change(&e)
		return e.key()
	}
	keys := map[logtail.Key]int{}
	for i, change := range []func(*PostgresLogEntry){
		func(*PostgresLogEntry) {},
		func(e *PostgresLogEntry) { e.Timestamp = time.Unix(1, 3) },
		func(e *PostgresLogEntry) { e.StreamName, e.ServerUBID = "a", "bc" },
		func(e *PostgresLogEntry) { e.Message = "" },
		func(e *PostgresLogEntry) { e.Context = nil },
		func(e *PostgresLogEntry) { e.Context = map[string]string{"e": "h", "g": "f"} },
	} {
		if before, ok := keys[line(change)]; ok {
			t.Errorf("line %d has the key of line %d", i, before)
		}
		keys[line(change)] = i
	}
	if line(func(e *PostgresLogEntry) { e.Timestamp = e.Timestamp.UTC() }) != line(func(*PostgresLogEntry) {}) {
		t.Error("the key depends on the time zone")
	}
}
