package wire_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// waitCase is a Wait method and the responses to its polls, all of which must
// be needed.
type waitCase struct {
	name  string
	path  string // after the path of the cases
	wait  func(context.Context, *cloudapi.Client) (any, error)
	polls []string // records, or error envelopes
	slow  bool     // whether the wait takes minutes
	want  any
	err   error // what the error must match, or nil
}

// runWaitCases runs the cases, which poll the path, or one that begins with it.
func runWaitCases(t *testing.T, path string, cases []waitCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { c.run(t, path+c.path) })
		})
	}
}

func (c *waitCase) run(t *testing.T, path string) {
	polled := 0
	client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Method != http.MethodGet || req.URL.RequestURI() != path {
			t.Errorf("asked for %s %s, want GET %s", req.Method, req.URL.RequestURI(), path)
		}
		if polled++; polled > len(c.polls) {
			t.Fatalf("poll %d, after the one that should have been the last", polled)
		}
		reply := c.polls[polled-1]
		resp := &http.Response{
			StatusCode: http.StatusOK,
			Header:     http.Header{"Content-Type": {"application/json"}},
			Body:       io.NopCloser(strings.NewReader(reply)),
		}
		for _, status := range []int{400, 403, 404, 500} {
			if reply == stub.Envelope(status) {
				resp.StatusCode = status
			}
		}
		return resp, nil
	}), cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))

	start := time.Now()
	got, err := c.wait(t.Context(), client)
	took := time.Since(start)

	if polled != len(c.polls) {
		t.Errorf("%d polls, want %d", polled, len(c.polls))
	}
	first, longest := time.Second, 5*time.Second
	if c.slow {
		first, longest = 5*time.Second, 15*time.Second
	}
	pauses := time.Duration(len(c.polls) - 1)
	if least, most := pauses*first*4/5, pauses*longest*6/5; took < least || took > most {
		t.Errorf("took %v, want %v to %v", took, least, most)
	}
	if c.err != nil {
		_, isWaitError := errors.AsType[*cloudapi.WaitError](err)
		if !isWaitError || !errors.Is(err, c.err) {
			t.Errorf("the error is %v, want a wait error that is %v", err, c.err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, c.want) {
		t.Errorf("the result differs:\n got %s\nwant %s", stub.JSON(got), stub.JSON(c.want))
	}
}
