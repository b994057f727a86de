package main

import (
	"net/http"
	"sync"
	"time"
)

// clock is the clock of the service, which the Date of its responses shows. The
// clock of this machine may be wrong.
type clock struct {
	http.RoundTripper

	mu   sync.Mutex // guards the following fields
	date time.Time  // of the last response; zero if there was none
	at   time.Time  // when it arrived
}

// RoundTrip sends a request, and notes the time of the response.
func (c *clock) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.date, c.at = date, time.Now()
	}
	return resp, nil
}

// now returns the time of the service, at most a second late, or the zero time
// if no response has shown it.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.date.IsZero() {
		return time.Time{}
	}
	return c.date.Add(time.Since(c.at))
}
