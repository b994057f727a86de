package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// withMadeUpLogs returns a client that gets made-up logs if it is a client of
// the embedded server, which has none.
func withMadeUpLogs(client *cloudapi.Client) (*cloudapi.Client, error) {
	if os.Getenv(cloudapi.EnvBaseURL) != "" {
		return client, nil
	}
	return client.With(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if op, _ := cloudapi.OperationFromContext(req.Context()); op.Name != "Postgres.Logs" {
				return next.RoundTrip(req)
			}
			return madeUp(req)
		})
	}))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// tick is the time between two lines.
const tick = 10 * time.Second

// madeUp responds with the newest lines of the time in the request, the oldest
// first, and with the key of the page before.
func madeUp(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	start, err := time.Parse(time.RFC3339, query.Get("start"))
	if err != nil {
		return nil, err
	}
	end, err := time.Parse(time.RFC3339, query.Get("end"))
	if err != nil {
		return nil, err
	}
	if key := query.Get("pagination_key"); key != "" {
		nanos, err := strconv.ParseInt(strings.TrimPrefix(key, "before-"), 10, 64)
		if err != nil {
			return nil, err
		}
		end = time.Unix(0, nanos-1)
	}
	size, err := strconv.Atoi(query.Get("max_log_lines"))
	if err != nil {
		return nil, err
	}
	var reply struct {
		Logs []*cloudapi.PostgresLogEntry `json:"logs"`
		Key  string                       `json:"pagination_key,omitempty"`
	}
	reply.Logs = []*cloudapi.PostgresLogEntry{}
	for at := start.Truncate(tick); !at.After(end); at = at.Add(tick) {
		line := lineAt(at.UTC())
		if level := query.Get("severity_level"); !at.Before(start) && (level == "" || level == line.SeverityLevel) {
			reply.Logs = append(reply.Logs, line)
		}
	}
	if surplus := len(reply.Logs) - size; surplus > 0 {
		reply.Logs = reply.Logs[surplus:]
		reply.Key = fmt.Sprintf("before-%d", reply.Logs[0].Timestamp.UnixNano())
	}
	text, err := json.Marshal(reply)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(text))), ContentLength: int64(len(text)), Request: req,
	}, nil
}

// lineAt returns the line at a time.
func lineAt(at time.Time) *cloudapi.PostgresLogEntry {
	n := at.Unix() / int64(tick/time.Second)
	line := &cloudapi.PostgresLogEntry{
		Timestamp: at, StreamName: cloudapi.PostgresLogStreamPostgres, SeverityLevel: cloudapi.PostgresLogSeverityInfo,
		Message: fmt.Sprintf("checkpoint complete: wrote %d buffers", n%97), ServerUBID: "pvjey6g253fa4n1dbgbsps0nk8", ServerRole: cloudapi.PostgresServerRolePrimary,
	}
	switch {
	case n%30 == 0:
		line.SeverityLevel = cloudapi.PostgresLogSeverityError
		line.Message = fmt.Sprintf("deadlock detected\nProcess %d waits for ShareLock", 4000+n%97)
		line.Context = map[string]string{"user": "app", "dbname": "orders", "pid": strconv.FormatInt(4000+n%97, 10)}
	case n%12 == 0:
		line.SeverityLevel, line.Message = cloudapi.PostgresLogSeverityWarn, "checkpoints are occurring too frequently"
	case n%6 == 0:
		line.StreamName, line.Message = cloudapi.PostgresLogStreamPgBouncer, fmt.Sprintf("stats: %d xacts/s", n%50)
	}
	return line
}
