package wire_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// waitCase is a wait and the responses to its polls. The wait must need all of
// them.
type waitCase struct {
	name  string
	wait  sdktest.Call
	polls polls
	err   error  // what the error must match, or nil
	want  string // the JSON of the result, by default the last poll
}

// polls are records or error envelopes, one for each poll. If a poll sends two
// requests, the responses are in two lines.
type polls []string

// The first and the longest pause between polls.
var (
	quick = [2]time.Duration{time.Second, 5 * time.Second}
	slow  = [2]time.Duration{5 * time.Second, 15 * time.Second}
)

// runWaits runs the cases. Each poll requests the paths in path, one after the
// other.
func runWaits(t *testing.T, pauses [2]time.Duration, path string, cases []waitCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { c.run(t, pauses, strings.Fields(path)) })
		})
	}
}

func (c *waitCase) run(t *testing.T, pauses [2]time.Duration, paths []string) {
	var replies []string
	for _, poll := range c.polls {
		replies = append(replies, strings.Split(poll, "\n")...)
	}
	asked := 0
	client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
		if want := paths[asked%len(paths)]; req.Method != http.MethodGet || req.URL.RequestURI() != want {
			t.Errorf("asked for %s %s, want GET %s", req.Method, req.URL.RequestURI(), want)
		}
		if asked++; asked > len(replies) {
			t.Fatalf("request %d, after the one that should have been the last", asked)
		}
		for _, status := range []int{400, 403, 404, 500} {
			if replies[asked-1] == stub.Envelope(status) {
				return stub.Respond(status, replies[asked-1]), nil
			}
		}
		return stub.Respond(http.StatusOK, replies[asked-1]), nil
	}), cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))

	start := time.Now()
	got, err := c.wait.On(t.Context(), client)
	took, n := time.Since(start), time.Duration(len(c.polls)-1)
	if least, most := n*pauses[0]*4/5, n*pauses[1]*6/5; asked != len(replies) || took < least || took > most {
		t.Errorf("%d requests in %v, want %d in %v to %v", asked, took, len(replies), least, most)
	}
	if _, isWaitError := errors.AsType[*cloudapi.WaitError](err); !errors.Is(err, c.err) || isWaitError != (c.err != nil) {
		t.Errorf("the error is %v, want %v", err, c.err)
	}
	if c.want == "" {
		c.want, _, _ = strings.Cut(c.polls[len(c.polls)-1], "\n")
	}
	if got != nil {
		for _, loss := range sdktest.Losses(t, c.want, got) {
			t.Error(loss)
		}
	}
}
