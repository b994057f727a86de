package cloudapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// auditStore is a service that keeps all entries of a project. As the real one,
// it lists three months, and lists nothing for an End out of its range.
type auditStore struct {
	t      *testing.T
	ahead  time.Duration // how far its clock is ahead of this machine's
	size   int           // number of entries in a page; 0 means what the client asks for
	slow   time.Duration // how long it takes to answer
	answer func(query map[string][]string, header http.Header) (*http.Response, error)

	mu       sync.Mutex // guards the entries, which arrive during requests
	entries  []storedEntry
	requests int
}

type storedEntry struct {
	at, visible time.Time
	entry       AuditLogEntry
}

func (s *auditStore) now() time.Time { return time.Now().Add(s.ahead).UTC() }

// receive adds an entry whose time is now. Responses contain it after the lag.
func (s *auditStore) receive(action string, lag time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.entries = append(s.entries, storedEntry{now, now.Add(lag),
		AuditLogEntry{At: now.Truncate(time.Second), Action: action, SubjectID: "ac1", ObjectIDs: []string{"vm1", "ps1"}}})
}

// months returns a day some months later, as the service computes it: the 31st
// becomes the last day of a shorter month.
func months(day time.Time, n int) time.Time {
	y, m, d := day.Date()
	first := time.Date(y, m+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	return first.AddDate(0, 0, min(d, first.AddDate(0, 1, -1).Day())-1)
}

func (s *auditStore) RoundTrip(req *http.Request) (*http.Response, error) {
	if s.slow > 0 {
		stub.Elapse(s.slow)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	query, now, header := req.URL.Query(), s.now(), http.Header{}
	header.Set("Date", now.Format(http.TimeFormat))
	if s.answer != nil {
		if resp, err := s.answer(query, header); resp != nil || err != nil {
			return resp, err
		}
	}
	today := months(now, 0)
	end := today
	if text := query.Get("end"); text != "" {
		end, _ = time.Parse(time.DateOnly, text)
	}
	size, _ := strconv.Atoi(query.Get("limit"))
	if size = min(size, 1000); size == 0 {
		size = 1000
	}
	if s.size > 0 && size > 1 {
		size = s.size
	}
	isGood := !end.Before(months(today, -3)) && !end.After(months(today, 3))
	start, after, before := months(end, -3).AddDate(0, 0, 1), end.AddDate(0, 0, 1), len(s.entries)
	if text := query.Get("pagination_key"); text != "" {
		before, _ = strconv.Atoi(text)
		after = now // the key replaces the upper bound
	}
	items, body := []*AuditLogEntry{}, map[string]any{}
	for i := before - 1; i >= 0 && isGood && !s.entries[i].at.Before(start); i-- {
		if e := &s.entries[i]; e.at.Before(after) && !e.visible.After(now) {
			if len(items) == size {
				body["pagination_key"] = strconv.Itoa(i + 1)
				break
			}
			items = append(items, &e.entry)
		}
	}
	body["items"] = items
	text, err := json.Marshal(body)
	resp := stub.Respond(200, string(text))
	resp.Header["Date"] = header["Date"]
	return resp, err
}

// client returns a client that sends each request once.
func (s *auditStore) client(opts ...Option) *Client {
	return mockClient(s.t, s, append(opts, WithRetry(RetryPolicy{MaxAttempts: 1}))...)
}

func entryText(e *AuditLogEntry) string { return e.At.Format(time.RFC3339) + " " + e.Action }

// between returns the entries of a period, the oldest first.
func (s *auditStore) between(start, end time.Time) (texts []string) {
	for _, e := range s.entries {
		if at := e.entry.At; !at.Before(start.Truncate(time.Second)) && at.Before(end) {
			texts = append(texts, entryText(&e.entry))
		}
	}
	return texts
}

// TestFollowOldAuditLog: Follow reports entries that are too old, and yields the
// others, whatever the day, and with few requests.
func TestFollowOldAuditLog(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, tt := range []struct {
		start, oldest time.Duration // how long ago; the oldest entry
		slow          time.Duration
		maxHeld       int
		requests      int // at most
	}{
		{0, 30*time.Minute + time.Second/2, 0, 0, 2},
		{day, day, 0, 0, 2},
		{auditLogKept, auditLogKept, 0, 0, 5},
		{auditLogKept, auditLogKept, 50 * time.Second, 0, 50},
		{auditLogKept, auditLogKept, 0, 1000 * logEntrySize, 21},
		{auditLogKept + 13*time.Hour, auditLogKept + 13*time.Hour, 0, 0, 7}, // it's one o'clock in the afternoon
		{auditLogKept + 14*time.Hour, auditLogKept + 13*time.Hour, 0, 0, 8},
		{300 * day, auditLogKept + 13*time.Hour, 0, 0, 7},
		{300 * day, auditLogKept + 13*time.Hour, 50 * time.Second, 0, 50},
		{-time.Hour, 0, 0, 0, 2},
	} {
		for after := range 6 { // on some last days of months
			if testing.Short() && after > 0 {
				continue
			}
			t.Run(fmt.Sprint(tt.start, tt.slow, tt.maxHeld, after), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					stub.Elapse(time.Until(time.Date(2001, time.Month(after+1), 0, 13, 0, 0, 0, time.UTC)))
					s := &auditStore{t: t, slow: tt.slow}
					for i := range 100 * 24 {
						s.receive(fmt.Sprint("vm/", i), 0)
						stub.Elapse(time.Hour)
					}
					if stub.Elapse(time.Second / 2); tt.slow > 0 { // a Date has whole seconds
						s.size = 100
					}
					expired, began := 0, s.now()
					o := FollowOptions{UntilNow: true, Progress: func(p Progress) {
						if errors.Is(p.Err, ErrLogsExpired) {
							expired++
						}
					}}
					if tt.start != 0 {
						o.Marker.Start = time.Now().Add(-tt.start)
					}
					var got []string
					for entry, err := range s.client().AuditLog.follow(t.Context(), nil, &o, cmp.Or(tt.maxHeld, maxHeldLogs)) {
						got = append(got, entryText(stub.Must(entry, err)(t)))
					}
					if want := s.between(began.Add(-tt.oldest), s.now()); !slices.Equal(got, want) || expired > 1 || (expired == 1) != (tt.start > auditLogKept+13*time.Hour) || s.requests > tt.requests {
						t.Errorf("%d entries, want %d; %d reports, %d requests", len(got), len(want), expired, s.requests)
					}
				})
			})
		}
	}
}

// TestFollowLongAuditLog: a program has a marker after each 10,000 entries, even
// if there are more in a day.
func TestFollowLongAuditLog(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		entries  int
		every    time.Duration
		requests int // at most
	}{
		{25_000, 3 * time.Second, 300},
		{25_000, time.Minute, 300},
		{200_000, 430 * time.Millisecond, 700}, // a day
	} {
		if testing.Short() && tt.every != time.Minute {
			continue
		}
		t.Run(tt.every.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &auditStore{t: t}
				start := time.Now()
				for i := range tt.entries {
					s.receive(fmt.Sprint("vm/", i), 0)
					stub.Elapse(tt.every)
				}
				stub.Elapse(48 * time.Hour)
				var got []string
				marked := 0
				o := FollowOptions{UntilNow: true, Marker: LogMarker{Start: start}, Checkpoint: func(LogMarker) {
					if len(got)-marked > maxRangeLines {
						t.Errorf("a marker after %d entries", len(got)-marked)
					}
					marked = len(got)
				}}
				for entry, err := range s.client().AuditLog.Follow(t.Context(), nil, &o) {
					got = append(got, entryText(stub.Must(entry, err)(t)))
				}
				if !slices.Equal(got, s.between(start, s.now())) || s.requests > tt.requests {
					t.Errorf("%d entries of %d in %d requests", len(got), len(s.entries), s.requests)
				} else {
					t.Logf("%d entries in %d requests", len(got), s.requests)
				}
			})
		})
	}
}

// TestAuditLogFromStart: All yields each entry since the Start once, the newest
// first, although a response covers three months. It says that the service
// lists no entries from before.
func TestAuditLogFromStart(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, month := range []time.Month{1, 3, 4, 6, 7, 9, 12} {
		if testing.Short() && month != 3 {
			continue
		}
		t.Run(month.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stub.Elapse(time.Until(time.Date(2001, month, 0, 23, 59, 59, 0, time.UTC))) // the last second of a month
				s := &auditStore{t: t}
				for i := range 200 * 8 {
					s.receive(fmt.Sprint("vm/", i%3), 0)
					s.receive(fmt.Sprint("vm/", i%3), 0)
					stub.Elapse(3 * time.Hour)
				}
				stub.Elapse(time.Second / 2)
				now := s.now()
				tomorrow := now.Truncate(day).Add(day)
				for _, tt := range []struct {
					start, end time.Duration // how long ago; 0 means the default
					ahead      time.Duration // the clock of the service
					want       error
				}{
					{time.Minute, 0, 0, nil},
					{30 * day, 0, 0, nil},
					{30 * day, 29 * day, 0, nil},
					{auditLogSpan - 1, 0, 0, nil},
					{auditLogSpan + 1, 0, 0, nil},
					{120 * day, 0, 0, nil},
					{120 * day, 0, day, nil},
					{120 * day, 60 * day, 0, nil},
					{120 * day, 110 * day, 0, nil},
					{2*auditLogSpan - day, 0, 0, nil},
					{2*auditLogSpan - day, 86 * day, -time.Hour, nil},
					{190 * day, 0, 0, ErrLogsExpired},
					{190 * day, 180 * day, 0, ErrLogsExpired},
					{20 * day, 30 * day, 0, nil},
				} {
					s.ahead = tt.ahead
					o := &AuditLogOptions{Start: now.Add(-tt.start)}
					end := tomorrow
					if tt.end != 0 {
						o.End = now.Add(-tt.end)
						end = o.End.Truncate(day).Add(day)
					}
					want := s.between(later(o.Start, now.Add(-2*auditLogSpan)), end)
					slices.Reverse(want)
					for _, ahead := range []int{0, 2} {
						var got []string
						var last error
						for entry, err := range s.client(WithPrefetch(ahead)).AuditLog.All(t.Context(), o) {
							if last = err; err == nil {
								got = append(got, entryText(entry))
							}
						}
						if !slices.Equal(got, want) || !errors.Is(last, tt.want) {
							t.Errorf("%v to %v: %d entries, want %d: %v", tt.start, tt.end, len(got), len(want), last)
						}
					}
				}
				s.size, s.ahead, s.requests = 100, 0, 0
				first := stub.Must(s.client().AuditLog.List(t.Context(), nil))(t)
				rest := stub.Must(Collect(s.client().AuditLog.All(t.Context(), &AuditLogOptions{Start: now.Add(-120 * day), PaginationKey: first.Next})))(t)
				if n := len(s.between(now.Add(-120*day), tomorrow)); len(first.Items)+len(rest) != n || s.requests > n/100+3 {
					t.Errorf("%d entries, and then %d; want %d; %d requests", len(first.Items), len(rest), n, s.requests)
				}
				page := stub.Must(s.client().AuditLog.List(t.Context(), &AuditLogOptions{Start: now.Add(-day)}))(t)
				if n := len(s.between(now.Add(-day), tomorrow)); len(page.Items) != n || page.Next != "" {
					t.Errorf("a page of a day has %d entries, want %d", len(page.Items), n)
				}
			})
		})
	}
}

// TestAuditLogEntryWithoutTime: a Start needs the times of entries.
func TestAuditLogEntryWithoutTime(t *testing.T) {
	t.Parallel()
	_, err := answering(t, 200, "application/json", `{"items":[{"action":"vm/create"}]}`).AuditLog.List(t.Context(), nil)
	if !errors.Is(err, ErrInvalidResponse) || !strings.Contains(err.Error(), "item 0 has no at") {
		t.Error(err)
	}
}

// TestAuditLogHashes: entries that differ have different hashes. An entry has
// the same one in another time zone, and after its account has left.
func TestAuditLogHashes(t *testing.T) {
	t.Parallel()
	entry := AuditLogEntry{At: time.Unix(1, 0), Action: "vm/create", SubjectID: "ac1", SubjectName: "own", ObjectIDs: []string{"a", "b"}}
	for i, tt := range []struct {
		change func(*AuditLogEntry)
		isSame bool
	}{
		{func(e *AuditLogEntry) { e.At, e.SubjectName = e.At.In(time.FixedZone("", 3600)), "" }, true},
		{func(e *AuditLogEntry) { e.At = time.Unix(2, 0) }, false},
		{func(e *AuditLogEntry) { e.Action = "vm/destroy" }, false},
		{func(e *AuditLogEntry) { e.SubjectID = "ac2" }, false},
		{func(e *AuditLogEntry) { e.ObjectIDs = []string{"ab"} }, false},
		{func(e *AuditLogEntry) { e.ObjectIDs = []string{"b", "a"} }, false},
	} {
		other := entry
		if tt.change(&other); (other.hash() == entry.hash()) != tt.isSame {
			t.Errorf("%d: %s and %s", i, other.hash(), entry.hash())
		}
	}
}

// TestFollowAuditLogFilters: each request has the filters of the options, and
// only a range that ends in the past has an End.
func TestFollowAuditLogFilters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &auditStore{t: t}
		start := time.Now()
		stub.Elapse(80 * 24 * time.Hour)
		s.receive("vm/create", 0)
		var targets []string
		client := mockClient(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			if targets = append(targets, req.URL.RawQuery); len(targets) == 2 {
				return stub.Respond(200, `{"items":[`+strings.Repeat(`{"at":"2000-03-01T00:00:00Z","action":"vm/create"},`, 20)+`{"at":"2000-03-01T00:00:00Z","action":"vm/create"}]}`), nil
			}
			return stub.Respond(200, `{"items":[]}`), nil
		}))
		filter := AuditLogOptions{Action: "vm", Subject: "own@example.com", Object: "vm1"}
		o := FollowOptions{UntilNow: true, Marker: LogMarker{Start: start}}
		_, err := Collect(client.AuditLog.follow(t.Context(), &filter, &o, 20*logEntrySize))
		const filters = "&object=vm1&subject=own%40example.com"
		want := []string{"action=vm&limit=1" + filters, "action=vm" + filters, "action=vm&end=2000-01-11" + filters, "action=vm&end=2000-02-24" + filters, "action=vm" + filters}
		if err != nil || !slices.Equal(targets, want) {
			t.Errorf("%q, %v", targets, err)
		}
	})
}
