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
	"github.com/cloudapi-sdk/cloudapi/examples/demo/demotest"
)

func TestMain(m *testing.M) { demotest.Isolate(m) }

func TestPrintsLines(t *testing.T) {
	t.Parallel()
	stdout, _ := demotest.Runs(t, run, []string{"--since", "30m", "eu-central-h1/orders"}, " ERROR primary postgres postgres@postgres: relation ")
	if lines := strings.Split(strings.TrimSpace(stdout), "\n"); len(lines) < 180 || !slices.IsSorted(lines) {
		t.Errorf("%d lines:\n%s", len(lines), stdout)
	}
}

// TestPrintsNothingThatATerminalExecutes: parts of a line come from clients of
// the database.
func TestPrintsNothingThatATerminalExecutes(t *testing.T) {
	t.Parallel()
	for want, context := range map[string]map[string]string{": ": nil, " a\\n2026@\\x1b[1m: ": {"user": "a\n2026", "dbname": "\x1b[1m"}} {
		var stdout bytes.Buffer
		line := cloudapi.PostgresLogEntry{
			Timestamp: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC), SeverityLevel: "INFO", StreamName: "postgres", ServerRole: "primary",
			Message: "relation \"\x1b[2J\x1b]0;title\a\" is\r\u009b31m \u202efake\tgrün\n2026", Context: context,
		}
		want = "2026-08-01 12:00:00.000Z INFO  primary postgres" + want + "relation \"\\x1b[2J\\x1b]0;title\\a\" is\\r\\u009b31m \\u202efake\tgrün\n\t2026\n"
		if err := printText(&stdout)(&line); err != nil || stdout.String() != want {
			t.Errorf("printed %q, want %q", stdout.String(), want)
		}
	}
}

func TestLeastLevel(t *testing.T) {
	t.Parallel()
	stdout, _ := demotest.Runs(t, run, []string{"--since", "2h", "--level", "warn", "--json", "eu-central-h1/orders"})
	found := map[string]int{}
	var last time.Time
	for decoder := json.NewDecoder(strings.NewReader(stdout)); decoder.More(); {
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
	const db = "eu-central-h1/orders"
	other := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(other, []byte(`{"database":"eu-central-h1/other"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"use debug, info":           {"--level", "loud", db},
		"168h":                      {"--since", "168h", db},
		"name one database":         nil,
		"the state of another":      {"--state", other, db},
		"not a directory":           {"--state", filepath.Join(other, "state"), db},
		"no such file or directory": {"--state", filepath.Join(t.TempDir(), "missing", "state"), db},
		"not found":                 {"eu-central-h1/nobody"},
	} {
		demotest.Refuses(t, run, want, args...)
	}
}

const database = `{"id":"pggk8wzevxhe1gh7zjzfx5jn70","name":"orders","location":"eu-central-h1","state":"running"}`

// respond returns a response of a server whose clock shows the given time.
func respond(status int, body string, now time.Time) *http.Response {
	header := http.Header{"Content-Type": {"application/json"}, "Date": {now.UTC().Format(http.TimeFormat)}}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

// TestFollowEnds: following continues after transient failures, and ends when
// it's interrupted or the certificate isn't trusted.
func TestFollowEnds(t *testing.T) {
	t.Parallel()
	untrusted := &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
	for want, last := range map[error]error{nil: io.EOF, untrusted: untrusted} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			requests := 0
			client := newClient(t, roundTripper(func(req *http.Request) (*http.Response, error) {
				if !strings.HasSuffix(req.URL.Path, "/logs") {
					return respond(200, database, time.Now()), nil
				}
				if requests++; requests < 3 {
					return &http.Response{StatusCode: 503, Header: http.Header{}, Body: http.NoBody}, nil
				}
				if want == nil {
					cancel()
				}
				return nil, last
			}))
			var stderr bytes.Buffer
			o := options{database: "eu-central-h1/orders", since: time.Hour, every: 5 * time.Second, follow: true}
			if err := o.run(ctx, client, io.Discard, &stderr); !errors.Is(err, want) || strings.Count(stderr.String(), "looking again in 5s") != 2 || requests != 3 {
				t.Errorf("%v after %d requests:\n%s", err, requests, &stderr)
			}
		})
	}
}

// roundTripper makes a function a transport.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// newClient returns a client that sends each request once, with the transport.
func newClient(t *testing.T, transport http.RoundTripper) *cloudapi.Client {
	t.Helper()
	return demotest.Must(cloudapi.NewClient(cloudapi.WithBaseURL("https://api.example.com"), cloudapi.WithProject("pjahbwgme82j3qbwnsn4b3w1e9"),
		cloudapi.WithHTTPClient(&http.Client{Transport: transport}), cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1})))(t)
}

// TestContinues: with a state file each line is printed once, even if printing
// a line or a whole run fails. A gap is reported.
func TestContinues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var times []string // of the lines
		fails := false
		client := newClient(t, roundTripper(func(req *http.Request) (*http.Response, error) {
			query := req.URL.Query()
			switch {
			case !strings.HasSuffix(req.URL.Path, "/logs"):
				return respond(200, database, time.Now()), nil
			case fails:
				return respond(503, "", time.Now()), nil
			case query.Has("start") && query.Get("start") < time.Now().Add(-7*24*time.Hour).UTC().Format(time.RFC3339):
				return respond(400, `{"error":{"code":400,"type":"InvalidRequest","message":"Cannot query logs older than 7 days"}}`, time.Now()), nil
			}
			var lines []string
			for i, at := range times {
				if at >= query.Get("start") && at <= query.Get("end") {
					lines = append(lines, fmt.Sprintf(`{"timestamp":%q,"message":"line %d"}`, at, i))
				}
			}
			return respond(200, `{"logs":[`+strings.Join(lines, ",")+`]}`, time.Now()), nil
		}))
		file := filepath.Join(t.TempDir(), "state.json")
		var stdout, stderr bytes.Buffer
		catchUp := func(stdout io.Writer) error { // as after a restart of the program
			o := options{database: "eu-central-h1/orders", since: time.Hour, every: 5 * time.Second, file: file}
			return o.run(t.Context(), client, stdout, &stderr)
		}
		receive := func(age time.Duration) { times = append(times, time.Now().Add(-age).UTC().Format(time.RFC3339)) }
		check := func(what string, lines int) {
			t.Helper()
			stdout.Reset()
			if err := catchUp(&stdout); err != nil || strings.Count(stdout.String(), "line ") != lines {
				t.Errorf("%s: %v, %d lines:\n%s", what, err, lines, &stdout)
			}
			<-time.After(time.Minute)
		}
		receive(30 * time.Minute)
		receive(time.Minute)
		receive(0)
		check("the first time", 3)
		check("nothing new", 0)
		receive(90 * time.Second) // late
		receive(0)
		check("a late line", 2)
		receive(0)
		if err := catchUp(failing{}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("an output that fails: %v", err)
		}
		fails = true
		if err := catchUp(&stdout); !errors.Is(err, cloudapi.ErrServer) {
			t.Errorf("a service that fails: %v", err)
		}
		fails = false
		check("after failures", 1)
		if stderr.Len() > 0 {
			t.Errorf("there are complaints: %s", &stderr)
		}
		<-time.After(10 * 24 * time.Hour)
		receive(9 * 24 * time.Hour) // which isn't kept
		receive(24 * time.Hour)
		check("too late", 1)
		if !strings.Contains(stderr.String(), "no longer kept") {
			t.Errorf("the gap is not said: %q", &stderr)
		}
		if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
			t.Errorf("beside the state there are %v, %v", entries, err)
		}
	})
}

// failing is a writer that fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
