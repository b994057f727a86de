package cloudapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// followedLog is a log with entries, and the method that follows it.
type followedLog struct {
	receive func(text string)
	follow  func(ctx context.Context, m LogMarker, checkpoint func(LogMarker), progress func(Progress)) iter.Seq2[string, error] // until now
	answer  func(func(request int) (*http.Response, error))                                                                      // sets what answers the next requests instead, if it returns something
}

// forEachLog calls test for each kind of log that can be followed.
func forEachLog(t *testing.T, test func(*testing.T, followedLog)) {
	t.Helper()
	t.Parallel()
	t.Run("logs", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := &logStore{t: t, size: 4}
			test(t, followedLog{
				receive: func(text string) { s.receive(text, 0, 0) },
				follow: func(ctx context.Context, m LogMarker, checkpoint func(LogMarker), progress func(Progress)) iter.Seq2[string, error] {
					o := &PostgresFollowLogsOptions{Marker: m, UntilNow: true, Checkpoint: checkpoint, Progress: progress}
					return texts(s.client().Postgres.FollowLogs(ctx, "eu-central-h1", "orders-db", o), func(e *PostgresLogEntry) string { return e.Message })
				},
				answer: func(answer func(int) (*http.Response, error)) {
					n := 0
					s.answer = func(map[string][]string, http.Header) (*http.Response, error) { n++; return answer(n) }
				},
			})
		})
	})
	t.Run("audit log", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := &auditStore{t: t, size: 4}
			test(t, followedLog{
				receive: func(text string) { s.receive(text, 0) },
				follow: func(ctx context.Context, m LogMarker, checkpoint func(LogMarker), progress func(Progress)) iter.Seq2[string, error] {
					o := &AuditLogFollowOptions{Marker: m, UntilNow: true, Checkpoint: checkpoint, Progress: progress}
					return texts(s.client().AuditLog.Follow(ctx, o), func(e *AuditLogEntry) string { return e.Action })
				},
				answer: func(answer func(int) (*http.Response, error)) {
					n := 0
					s.answer = func(map[string][]string, http.Header) (*http.Response, error) { n++; return answer(n) }
				},
			})
		})
	})
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
	for _, text := range []string{"a", "a", "a", "a", "a", "b", "a", "", "b", "b", "c", "", "", "b", "a", "a", "b", "a"} {
		if text == "" {
			stub.Elapse(20 * time.Second)
			continue
		}
		l.receive(text)
		stub.Elapse(time.Millisecond)
		want = append(want, text)
	}
	stub.Elapse(time.Second)
	return want
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
					for text, err := range l.follow(ctx, copyOf(t, m), func(next LogMarker) { marks++; m = next }, nil) {
						if err != nil && !errors.Is(err, context.Canceled) {
							t.Error(err)
						}
						if err != nil || read == n {
							isOver = false
							break
						}
						got = append(got, text)
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
				l.answer(func(request int) (*http.Response, error) {
					if request == failing {
						isOver = false
						return fail()
					}
					return nil, nil
				})
				var got []string
				m, failures := LogMarker{Start: start}, 0
				for range 2 {
					for text, err := range l.follow(t.Context(), copyOf(t, m), func(next LogMarker) { m = next }, nil) {
						if err != nil {
							failures++
							break
						}
						got = append(got, text)
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
		for _, err := range l.follow(t.Context(), first, mark, report) {
			if err != nil {
				t.Error(err)
			}
		}
		last := marks[len(marks)-1]
		if seen := maps.Clone(last.Seen); last.End.Before(last.Start) || len(seen) == 0 {
			t.Errorf("the last marker is %+v", last)
		}
		l.receiveAll()
		for range l.follow(t.Context(), last, mark, nil) {
			break
		}
		for i, m := range marks {
			if text := string(stub.Must(json.Marshal(m))(t)); text != stored[i] {
				t.Errorf("marker %d was %s, and is %s", i, stored[i], text)
			}
		}
		marks, reports = nil, 0
		l.answer(func(int) (*http.Response, error) { return stub.Respond(500, stub.Envelope(500)), nil })
		for range l.follow(t.Context(), last, mark, report) {
		}
		if reports != 1 || len(marks) != 0 {
			t.Errorf("%d reports and %d markers of a failed poll", reports, len(marks))
		}
	})
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
			_, err := Collect(client.Postgres.FollowLogs(ctx, "eu-central-h1", "db", &PostgresFollowLogsOptions{UntilNow: true}))
			return err
		},
		"AuditLog.All": func(ctx context.Context) error {
			_, err := Collect(client.AuditLog.All(ctx, nil))
			return err
		},
		"AuditLog.Follow": func(ctx context.Context) error {
			_, err := Collect(client.AuditLog.Follow(ctx, &AuditLogFollowOptions{UntilNow: true}))
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
