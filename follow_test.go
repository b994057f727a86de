package cloudapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// followedLog is a log with entries, and the method that follows it.
type followedLog struct {
	receive func(text string, lag time.Duration) // adds an entry, which is in responses after the lag
	since   func(start time.Time) []string       // returns the entries, the oldest first
	follow  func(context.Context, FollowOptions) iter.Seq2[string, error]
	now     func() time.Time // by the service's clock
	kept    time.Duration    // how old the start of a loop can be

	// answer sets what answers the next requests, or changes the header of the
	// response if it returns nothing.
	answer func(func(query map[string][]string, header http.Header) (*http.Response, error))
}

// testHeld lets a loop hold up to 150 entries, so that it has to read shorter
// ranges.
const testHeld = 150 * logEntrySize

// newLogs are the kinds of logs that can be followed.
var newLogs = map[string]func(t *testing.T, ahead, slow time.Duration, size int) followedLog{
	"logs": func(t *testing.T, ahead, slow time.Duration, size int) followedLog {
		s := &logStore{t: t, ahead: ahead, slow: slow, size: size}
		ages := []time.Duration{0, 0, time.Minute, 2 * time.Hour}
		return followedLog{
			receive: func(text string, lag time.Duration) { s.receive(text, ages[int(text[len(text)-1])%len(ages)], lag) },
			since:   s.since,
			follow: func(ctx context.Context, o FollowOptions) iter.Seq2[string, error] {
				return texts(s.client().Postgres.followLogs(ctx, "eu-central-h1", "orders-db", nil, &o, testHeld), text)
			},
			now:    s.now,
			kept:   logsKept,
			answer: func(answer func(map[string][]string, http.Header) (*http.Response, error)) { s.answer = answer },
		}
	},
	"audit log": func(t *testing.T, ahead, slow time.Duration, size int) followedLog {
		s := &auditStore{t: t, ahead: ahead, slow: slow, size: size}
		return followedLog{
			receive: s.receive,
			since:   func(start time.Time) []string { return s.between(start, s.now().Add(time.Second)) },
			follow: func(ctx context.Context, o FollowOptions) iter.Seq2[string, error] {
				return texts(s.client().AuditLog.follow(ctx, nil, &o, testHeld), entryText)
			},
			now:    s.now,
			kept:   auditLogSpan - time.Hour,
			answer: func(answer func(map[string][]string, http.Header) (*http.Response, error)) { s.answer = answer },
		}
	},
}

// forEachLog calls test for each kind of log, with pages of four entries.
func forEachLog(t *testing.T, test func(*testing.T, followedLog)) {
	t.Helper()
	t.Parallel()
	for kind, newLog := range newLogs {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, newLog(t, 0, 0, 4)) })
		})
	}
}

func texts[T any](entries iter.Seq2[*T, error], text func(*T) string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for entry, err := range entries {
			if err != nil {
				yield("", err)
				return
			}
			if !yield(text(entry), nil) {
				return
			}
		}
	}
}

// copyOf returns a marker that was stored as JSON.
func copyOf(t *testing.T, m LogMarker) (c LogMarker) {
	t.Helper()
	if err := json.Unmarshal(stub.Must(json.Marshal(m))(t), &c); err != nil {
		t.Error(err)
	}
	return c
}

// receiveAll adds entries, of which many are equal within a second, also at the
// ends of pages.
func (l followedLog) receiveAll() (want []string) {
	stub.Elapse(time.Second - time.Duration(time.Now().Nanosecond()))
	start := time.Now()
	for _, text := range []string{"a", "a", "a", "a", "a", "b", "a", "", "b", "b", "c", "", "", "b", "a", "a", "b", "a"} {
		if text == "" {
			stub.Elapse(20 * time.Second)
			continue
		}
		l.receive(text, 0)
		stub.Elapse(time.Millisecond)
	}
	stub.Elapse(time.Second)
	return l.since(start)
}

// TestFollowAtRandom: a program gets each entry once, in the order of the
// service. It restarts at random with the JSON of the last marker, because it
// can't process an entry or its context ends. Also at random, requests fail or
// are slow, a clock is wrong, and entries are equal, late, or more than the loop
// holds.
func TestFollowAtRandom(t *testing.T) {
	t.Parallel()
	seeds := uint64(32)
	if testing.Short() {
		seeds = 4
	}
	for kind, newLog := range newLogs {
		for seed := range seeds {
			t.Run(fmt.Sprint(kind, seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { followAtRandom(t, rand.New(rand.NewPCG(seed, 0)), newLog) })
			})
		}
	}
}

func followAtRandom(t *testing.T, r *rand.Rand, newLog func(t *testing.T, ahead, slow time.Duration, size int) followedLog) {
	pick := func(d ...time.Duration) time.Duration { return d[r.IntN(len(d))] }
	ahead := pick(0, 5*time.Minute, -5*time.Minute, 3*time.Hour, -3*time.Hour)
	l := newLog(t, ahead, pick(0, 0, time.Minute), 5+r.IntN(60))
	maxLag, undated, calm, isDated := pick(0, 50*time.Second), ahead == 0 && r.IntN(2) == 0, false, false
	var choices sync.Mutex // guards r, which the program and the service use
	chance := func(n int) bool {
		choices.Lock()
		defer choices.Unlock()
		return r.IntN(n) == 0
	}
	l.answer(func(query map[string][]string, header http.Header) (*http.Response, error) {
		switch {
		case undated, !calm && isDated && chance(9):
			header.Del("Date")
		case !calm && chance(9): // does no harm, since it's in the past
			header.Set("Date", l.now().Add(-time.Hour).Format(http.TimeFormat))
		}
		switch {
		case !calm && chance(30):
			return stub.Respond(502, "<html>Bad Gateway</html>"), nil
		case !calm && chance(30):
			return nil, io.ErrUnexpectedEOF
		case !calm && chance(30), len(query["pagination_key"]) > 0 && query["pagination_key"][0] == "x":
			return stub.Respond(200, `{"items":[],"logs":[],"pagination_key":"x"}`), nil
		}
		isDated = isDated || header.Get("Date") != ""
		return nil, nil
	})
	receive := func(n int, gaps ...time.Duration) {
		for i := range n {
			choices.Lock()
			gap, lag, text := pick(gaps...), time.Duration(0), fmt.Sprint("entry ", i)
			if r.IntN(2) == 0 {
				text = fmt.Sprint("entry ", r.IntN(4)) // entries that look alike
			}
			if maxLag > 0 {
				lag = time.Duration(r.Int64N(int64(maxLag)))
			}
			choices.Unlock()
			l.receive(text, lag)
			stub.Elapse(gap)
		}
	}
	start := l.now()
	receive(400, 0, 300*time.Millisecond, time.Minute, l.kept/150) // they come in about two thirds of the time for which they are kept
	stub.Elapse(2 * time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	o := FollowOptions{Marker: LogMarker{Start: start}, MaxInterval: pick(0, 5*time.Minute)}
	go func() {
		defer cancel()
		receive(150, 0, 300*time.Millisecond, 7*time.Second, 10*time.Minute) // they come in about six hours
		stub.Elapse(2 * time.Hour)
	}()
	o.Checkpoint = func(m LogMarker) { o.Marker = copyOf(t, m) }
	o.Progress = func(p Progress) {
		if errors.Is(p.Err, ErrLogsExpired) || p.Record != nil {
			t.Errorf("progress: %+v", p)
		}
	}
	var got []string
	for isLast := false; !isLast; {
		isLast, isDated = ctx.Err() != nil, false
		run, stop := context.WithCancel(ctx)
		if isLast {
			run, calm, o.UntilNow = t.Context(), true, true
		}
		for entry, err := range l.follow(run, o) {
			if err != nil && isLast {
				t.Error(err)
			}
			if err != nil || !isLast && chance(200) {
				break
			}
			if got = append(got, entry); chance(200) {
				stop()
			}
		}
		stop()
	}
	want := l.since(start)
	if maxLag > 0 {
		slices.Sort(got)
		slices.Sort(want)
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%d of %d entries: entry %d is wrong", len(got), len(want), i)
		}
	}
}

// TestLogsAfterBreaks: a program that leaves the loop after n entries gets the
// rest with the last marker, for every n: from the next entry if it left the
// loop there, or if its context ended, in the loop or in a pause.
func TestLogsAfterBreaks(t *testing.T) {
	forEachLog(t, func(t *testing.T, l followedLog) {
		start := time.Now().Add(-time.Minute)
		want := l.receiveAll()
		for n := 1; n <= len(want); n++ {
			for _, isCanceled := range []bool{false, true} {
				var got []string
				m, runs := LogMarker{Start: start}, 0
				for isOver := false; !isOver && runs < 50; runs++ {
					ctx, cancel := context.WithCancel(t.Context())
					marks, read := 0, 0
					isOver = true
					for entry, err := range l.follow(ctx, FollowOptions{Marker: copyOf(t, m), UntilNow: true, Checkpoint: func(next LogMarker) { marks++; m = next }}) {
						if err != nil && !errors.Is(err, context.Canceled) {
							t.Error(err)
						}
						if err != nil || read == n {
							isOver = false
							break
						}
						got = append(got, entry)
						if read++; isCanceled && read == n {
							cancel()
						}
					}
					cancel()
					if marks == 0 {
						t.Errorf("after %d of %d entries there's no marker", read, n)
					}
				}
				if !slices.Equal(got, want) || runs > len(want)/n+2 {
					t.Errorf("%d entries at a time in %d runs, canceled: %v: %q, want %q", n, runs, isCanceled, got, want)
				}
			}
		}
	})
}

// TestLogsAfterFailures: whichever request fails, and however, a program that
// continues from the last marker gets each entry once.
func TestLogsAfterFailures(t *testing.T) {
	forEachLog(t, func(t *testing.T, l followedLog) {
		start := time.Now().Add(-time.Minute)
		want := l.receiveAll()
		failures := []func() (*http.Response, error){
			func() (*http.Response, error) { return stub.Respond(500, stub.Envelope(500)), nil },
			func() (*http.Response, error) { return stub.Respond(200, `{"items":[`), nil },
			func() (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		}
		for i, fail := range failures {
			for failing, isOver := 1, false; !isOver && failing < 50; failing++ {
				isOver = true
				request := 0
				l.answer(func(map[string][]string, http.Header) (*http.Response, error) {
					if request++; request == failing {
						isOver = false
						return fail()
					}
					return nil, nil
				})
				var got []string
				m, failures := LogMarker{Start: start}, 0
				for range 2 {
					for entry, err := range l.follow(t.Context(), FollowOptions{Marker: copyOf(t, m), UntilNow: true, Checkpoint: func(next LogMarker) { m = next }}) {
						if err != nil {
							failures++
							break
						}
						got = append(got, entry)
					}
				}
				if !slices.Equal(got, want) || failures > 1 || isOver && failing < 6 {
					t.Errorf("failure %d of request %d: %q after %d failures", i, failing, got, failures)
				}
			}
		}
	})
}

// TestCheckpoints: there's a marker after each complete poll, before the report
// of the poll, and none after a failed one. The loop changes neither the marker
// in the options nor one that the program has got.
func TestCheckpoints(t *testing.T) {
	forEachLog(t, func(t *testing.T, l followedLog) {
		first := LogMarker{Start: time.Now().Add(-time.Minute)}
		l.receiveAll()
		var marks []LogMarker
		var stored []string
		reports := 0
		mark := func(m LogMarker) {
			marks, stored = append(marks, m), append(stored, string(stub.Must(json.Marshal(m))(t)))
		}
		report := func(p Progress) {
			if reports++; (p.Err == nil) != (len(marks) > 0) || p.Err == nil && len(marks) != reports || p.Record != nil {
				t.Errorf("report %d after %d markers: %+v", reports, len(marks), p)
			}
		}
		for _, err := range l.follow(t.Context(), FollowOptions{Marker: first, UntilNow: true, Checkpoint: mark, Progress: report}) {
			if err != nil {
				t.Error(err)
			}
		}
		last := marks[len(marks)-1]
		if seen := maps.Clone(last.Seen); last.Start.IsZero() || len(seen) == 0 {
			t.Errorf("the last marker is %+v", last)
		}
		l.receiveAll()
		for range l.follow(t.Context(), FollowOptions{Marker: last, UntilNow: true, Checkpoint: mark}) {
			break
		}
		for i, m := range marks {
			if text := string(stub.Must(json.Marshal(m))(t)); text != stored[i] {
				t.Errorf("marker %d was %s, and is %s", i, stored[i], text)
			}
		}
		marks, reports = nil, 0
		l.answer(func(map[string][]string, http.Header) (*http.Response, error) {
			return stub.Respond(500, stub.Envelope(500)), nil
		})
		for range l.follow(t.Context(), FollowOptions{Marker: last, UntilNow: true, Checkpoint: mark, Progress: report}) {
		}
		if reports != 1 || len(marks) != 0 {
			t.Errorf("%d reports and %d markers of a failed poll", reports, len(marks))
		}
	})
}

// TestFollowShorterPolls: one response in five lacks entries that an earlier one
// had, and each entry comes once nevertheless, even if the program clears the
// markers that it gets.
func TestFollowShorterPolls(t *testing.T) {
	forEachLog(t, func(t *testing.T, l followedLog) {
		ctx, cancel := context.WithCancel(t.Context())
		start, responses := time.Now(), 0
		l.answer(func(map[string][]string, http.Header) (*http.Response, error) {
			if responses++; responses%5 == 0 {
				return stub.Respond(200, `{"items":[],"logs":[]}`), nil
			}
			return nil, nil
		})
		go func() {
			for i := range 300 {
				l.receive(fmt.Sprint(i), 0)
				stub.Elapse(2 * time.Second)
			}
			stub.Elapse(5 * time.Minute)
			cancel()
		}()
		var got []string
		for entry, err := range l.follow(ctx, FollowOptions{Checkpoint: func(m LogMarker) {
			for _, hashes := range m.Seen {
				clear(hashes)
			}
			clear(m.Seen)
		}}) {
			if err == nil {
				got = append(got, entry)
			}
		}
		if want := l.since(start); !slices.Equal(got, want) {
			t.Errorf("%d entries, want %d", len(got), len(want))
		}
	})
}

// TestFollowFilters: where a loop begins is in the marker alone.
func TestFollowFilters(t *testing.T) {
	t.Parallel()
	client := mockClient(t, stub.RoundTripper(func(*http.Request) (*http.Response, error) { panic("a request") }))
	for _, o := range []PostgresLogsOptions{{Start: time.Now()}, {End: time.Now()}, {PageSize: 1}, {PaginationKey: "x"}} {
		_, ofLogs := Collect(client.Postgres.FollowLogs(t.Context(), "eu-central-h1", "db", &o, nil))
		_, ofAudits := Collect(client.AuditLog.Follow(t.Context(), &AuditLogOptions{Start: o.Start, End: o.End, PageSize: o.PageSize, PaginationKey: o.PaginationKey}, nil))
		if !errors.Is(ofLogs, ErrInvalidArgument) || !errors.Is(ofAudits, ErrInvalidArgument) {
			t.Errorf("%+v: %v, %v", o, ofLogs, ofAudits)
		}
	}
}

// TestEndlessEmptyPages: a server that always announces another page, but sends
// no entries, ends the loops soon.
func TestEndlessEmptyPages(t *testing.T) {
	t.Parallel()
	requests := 0
	client := mockClient(t, stub.RoundTripper(func(*http.Request) (*http.Response, error) {
		requests++
		return stub.Respond(http.StatusOK, fmt.Sprintf(`{"items":[],"pagination_key":"%d"}`, requests)), nil
	}))
	for name, call := range map[string]func(context.Context) error{
		"AllLogs": func(ctx context.Context) error {
			_, err := Collect(client.Postgres.AllLogs(ctx, "eu-central-h1", "db", nil))
			return err
		},
		"FollowLogs": func(ctx context.Context) error {
			_, err := Collect(client.Postgres.FollowLogs(ctx, "eu-central-h1", "db", nil, &FollowOptions{UntilNow: true}))
			return err
		},
		"AuditLog.All": func(ctx context.Context) error {
			_, err := Collect(client.AuditLog.All(ctx, nil))
			return err
		},
		"AuditLog.Follow": func(ctx context.Context) error {
			_, err := Collect(client.AuditLog.Follow(ctx, nil, &FollowOptions{UntilNow: true}))
			return err
		},
	} {
		requests = 0
		if err := call(t.Context()); !errors.Is(err, ErrPaginationStalled) || requests < maxEmptyPages || requests > 8*maxEmptyPages {
			t.Errorf("%s: %v after %d requests", name, err, requests)
		}
	}
}

// TestManyEmptyPages: pages without entries don't end a list if there are
// entries in between, or if it then has no other page.
func TestManyEmptyPages(t *testing.T) {
	t.Parallel()
	requests := 0
	client := mockClient(t, stub.RoundTripper(func(*http.Request) (*http.Response, error) {
		requests++
		lines, key := "", fmt.Sprint(requests)
		if requests%maxEmptyPages == 0 {
			lines = `{"timestamp":"2000-01-01T00:00:00Z"}`
		}
		if requests == 4*maxEmptyPages {
			lines, key = "", ""
		}
		return stub.Respond(http.StatusOK, fmt.Sprintf(`{"logs":[%s],"pagination_key":%q}`, lines, key)), nil
	}))
	if lines, err := Collect(client.Postgres.AllLogs(t.Context(), "eu-central-h1", "db", nil)); err != nil || len(lines) != 3 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}
