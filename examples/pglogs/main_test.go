package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/internal/demo"
)

func TestMain(m *testing.M) {
	demo.Isolate()
	m.Run()
}

func TestPrintsLines(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), []string{"--since", "30m", "eu-central-h1/orders"}, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	if len(lines) < 180 || !slices.IsSorted(lines) {
		t.Errorf("%d lines:\n%s", len(lines), stdout.String())
	}
	if !strings.Contains(stdout.String(), " ERROR primary postgres postgres@postgres: relation ") {
		t.Errorf("no error in\n%s", stdout.String())
	}
}

func TestPrintsLinesOfSeveralLines(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	line := cloudapi.PostgresLogEntry{
		Timestamp: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC), SeverityLevel: cloudapi.PostgresLogSeverityError,
		StreamName: cloudapi.PostgresLogStreamPostgres, ServerRole: cloudapi.PostgresServerRolePrimary, Message: "deadlock detected\nProcess 7",
	}
	const want = "2026-08-01 12:00:00.000 ERROR primary postgres: deadlock detected\n\tProcess 7\n"
	if err := printText(&stdout)(&line); err != nil || stdout.String() != want {
		t.Errorf("printed %q, want %q", stdout.String(), want)
	}
}

// TestPrintsNothingThatATerminalExecutes: a client of the database chooses
// parts of its lines.
func TestPrintsNothingThatATerminalExecutes(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	line := cloudapi.PostgresLogEntry{
		Timestamp: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC), SeverityLevel: "INFO", StreamName: "postgres", ServerRole: "primary",
		Message: "relation \"\x1b[2J\x1b]0;title\a\" is\r\u009b31m \u202efake\tgrün\n2026", Context: map[string]string{"user": "a\n2026", "dbname": "\x1b[1m"},
	}
	const want = "2026-08-01 12:00:00.000 INFO  primary postgres a\\n2026@\\x1b[1m: " +
		"relation \"\\x1b[2J\\x1b]0;title\\a\" is\\r\\u009b31m \\u202efake\tgrün\n\t2026\n"
	if err := printText(&stdout)(&line); err != nil || stdout.String() != want {
		t.Errorf("printed %q, want %q", stdout.String(), want)
	}
}

func TestLeastLevel(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), []string{"--since", "2h", "--level", "warn", "--json"}, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	found := map[string]int{}
	var last time.Time
	for decoder := json.NewDecoder(&stdout); decoder.More(); {
		var line cloudapi.PostgresLogEntry
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if line.Timestamp.Before(last) {
			t.Errorf("%v comes behind %v", line.Timestamp, last)
		}
		last = line.Timestamp
		found[line.SeverityLevel]++
	}
	if len(found) != 2 || found["WARN"] < 30 || found["ERROR"] < 20 {
		t.Errorf("lines by level: %v", found)
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(bad, []byte(`{"database":"eu-central-h1/other"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--level", "loud"}, {"--since", "0s"}, {"--state", bad}, {"eu-central-h1/nobody"}} {
		var stdout, stderr bytes.Buffer
		if err := run(t.Context(), args, &stdout, &stderr); err == nil || stdout.Len() > 0 {
			t.Errorf("%v: %v, %s", args, err, stdout.String())
		}
	}
}

// store is a service that keeps logs for a week.
type store struct {
	t     *testing.T
	now   time.Time
	lines []time.Time // in their order
	fails bool
}

func (s *store) RoundTrip(req *http.Request) (*http.Response, error) {
	if s.fails {
		return &http.Response{StatusCode: 503, Header: http.Header{}, Body: http.NoBody}, nil
	}
	query := req.URL.Query()
	start, _ := time.Parse(time.RFC3339, query.Get("start"))
	end, _ := time.Parse(time.RFC3339, query.Get("end"))
	if start.Before(s.now.Add(-7*24*time.Hour)) || end.Sub(start) > 24*time.Hour || !end.After(start) {
		s.t.Errorf("asked for %v to %v", start, end)
	}
	before := len(s.lines)
	fmt.Sscanf(query.Get("pagination_key"), "%d", &before)
	var found []string
	first := before
	for first > 0 && len(found) < 3 {
		first--
		if at := s.lines[first]; !at.Before(start) && !at.After(end) {
			found = append(found, fmt.Sprintf(`{"timestamp":%q,"message":"line %d"}`, at.Format(time.RFC3339), at.Unix()))
		}
	}
	slices.Reverse(found)
	key := ""
	if first > 0 {
		key = fmt.Sprintf(`,"pagination_key":"%d"`, first)
	}
	body := `{"logs":[` + strings.Join(found, ",") + `]` + key + `}`
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// roundTripper is a function that sends a request.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// TestFollowEnds: following goes on after transient failures, and ends when it
// is interrupted or the certificate is not trusted.
func TestFollowEnds(t *testing.T) {
	t.Parallel()
	untrusted := &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
	for want, last := range map[error]error{nil: io.EOF, untrusted: untrusted} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			requests := 0
			client := newClient(t, roundTripper(func(*http.Request) (*http.Response, error) {
				if requests++; requests < 3 {
					return &http.Response{StatusCode: 503, Header: http.Header{}, Body: http.NoBody}, nil
				}
				if want == nil {
					cancel()
				}
				return nil, last
			}))
			state, err := loadState(filepath.Join(t.TempDir(), "state.json"), "eu-central-h1/orders", time.Now().Add(-time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			f := follower{client: client, db: &cloudapi.Postgres{ID: "pggk8wzevxhe1gh7zjzfx5jn70", Location: "eu-central-h1"},
				overlap: time.Minute, stderr: &stderr, state: state, now: time.Now}
			if err := f.follow(ctx, 5*time.Second); !errors.Is(err, want) || strings.Count(stderr.String(), "looking again in 5s") != 2 || requests != 3 {
				t.Errorf("%v after %d requests:\n%s", err, requests, &stderr)
			}
		})
	}
}

// newClient returns a client that sends each request once, with the transport.
func newClient(t *testing.T, transport http.RoundTripper) *cloudapi.Client {
	t.Helper()
	client, err := cloudapi.NewClient(cloudapi.WithBaseURL("https://api.example.com"), cloudapi.WithProject("pjahbwgme82j3qbwnsn4b3w1e9"),
		cloudapi.WithHTTPClient(&http.Client{Transport: transport}), cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestFollowsTheClockOfTheService: it prints each line whatever this machine's
// clock says, and ends with an interrupt without an error.
func TestFollowsTheClockOfTheService(t *testing.T) {
	for _, ahead := range []time.Duration{5 * time.Minute, 0, -5 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			var printed, want []string
			server := roundTripper(func(req *http.Request) (*http.Response, error) {
				now := time.Now().Add(-ahead).UTC()
				body := `{"id":"pggk8wzevxhe1gh7zjzfx5jn70","name":"orders","location":"eu-central-h1","state":"running"}`
				if strings.HasSuffix(req.URL.Path, "/logs") {
					want = append(want, now.Format(time.RFC3339))
					var lines []string
					for _, at := range want {
						if at >= req.URL.Query().Get("start") && at <= req.URL.Query().Get("end") {
							lines = append(lines, fmt.Sprintf(`{"timestamp":%q,"message":"x"}`, at))
						}
					}
					body = `{"logs":[` + strings.Join(lines, ",") + `]}`
				}
				return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}, "Date": {now.Format(http.TimeFormat)}}, Body: io.NopCloser(strings.NewReader(body))}, nil
			})
			client := newClient(t, server)
			var stdout onLine = func(line string) {
				at, _ := time.Parse(time.DateTime, line[:len(time.DateTime)])
				if printed = append(printed, at.Format(time.RFC3339)); len(printed) == 60 {
					interrupt()
				}
			}
			time.AfterFunc(time.Hour, interrupt)
			o := options{args: []string{"eu-central-h1/orders"}, since: 30 * time.Minute, every: 5 * time.Second, follow: true}
			if err := o.run(ctx, client, stdout, io.Discard); err != nil {
				t.Errorf("%v ahead: error %v", ahead, err)
			}
			if len(printed) != 60 || !slices.Equal(printed, want[:len(printed)]) {
				t.Errorf("%v ahead: printed %d of %d lines", ahead, len(printed), len(want))
			}
		})
	}
}

// onLine is a writer that calls a function.
type onLine func(line string)

func (f onLine) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}

// TestFollows: every line is printed once, in order except for a late one, over
// days, a failure of the service and restarts of the program.
func TestFollows(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	s := &store{t: t, now: start}
	client := newClient(t, s)
	file := filepath.Join(t.TempDir(), "state.json")
	var printed []time.Time
	var stderr bytes.Buffer
	catchUp := func() error { // as a program that starts anew does
		t.Helper()
		state, err := loadState(file, "eu-central-h1/orders", start)
		if err != nil {
			t.Fatal(err)
		}
		f := follower{client: client, db: &cloudapi.Postgres{ID: "pggk8wzevxhe1gh7zjzfx5jn70", Location: "eu-central-h1"},
			overlap: time.Minute, stderr: &stderr, state: state,
			print: func(line *cloudapi.PostgresLogEntry) error { printed = append(printed, line.Timestamp); return nil }}
		return f.catchUp(t.Context(), s.now)
	}
	var want []time.Time
	add := func(ages ...time.Duration) {
		for _, age := range ages {
			s.lines = append(s.lines, s.now.Add(-age))
			want = append(want, s.now.Add(-age))
		}
		slices.SortFunc(s.lines, time.Time.Compare)
	}
	check := func(what string) {
		t.Helper()
		if err := catchUp(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if !slices.Equal(printed, want) {
			t.Fatalf("%s: printed are %v, want %v", what, printed, want)
		}
	}
	s.now = s.now.Add(time.Hour)
	add(59*time.Minute, 50*time.Minute, 40*time.Minute, 30*time.Minute, 20*time.Minute, 10*time.Minute, 5*time.Second, 0)
	check("the first time")
	check("nothing new")
	s.now = s.now.Add(5 * time.Second)
	add(8*time.Second, time.Second) // one that is late
	check("a late line")
	s.now = s.now.Add(time.Second)
	add(0, 0)
	check("two equal lines")
	s.now = s.now.Add(time.Second)
	add(time.Second)
	check("an equal line that is late")
	s.fails = true
	s.now = s.now.Add(time.Second)
	if err := catchUp(); !cloudapi.IsTransient(err) {
		t.Fatalf("a failure is %v", err)
	}
	s.fails = false
	s.now = s.now.Add(6 * 24 * time.Hour)
	add(100*time.Hour, 50*time.Hour, 48*time.Hour, 24*time.Hour, time.Hour, 0)
	check("days later")
	if stderr.Len() > 0 {
		t.Errorf("there are complaints: %s", &stderr)
	}
	s.now = s.now.Add(10 * 24 * time.Hour)
	s.lines = append(s.lines, s.now.Add(-9*24*time.Hour)) // which is not kept
	add(24 * time.Hour)
	check("too late")
	if !strings.Contains(stderr.String(), "not kept any more") {
		t.Errorf("the gap is not said: %q", &stderr)
	}
	if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
		t.Errorf("beside the state there are %v, %v", entries, err)
	}
}
