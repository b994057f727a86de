package logtail

import (
	"net/http"
	"time"
)

// Clock is the clock of a server, as the Date of its responses shows it, at most
// about a second late. This machine's clock may be wrong.
type Clock struct {
	date time.Time // of the last response
	at   time.Time // when it arrived
}

// Set sets the clock from the header of a response that has just arrived, or
// from this machine's clock if there is no Date.
func (c *Clock) Set(header http.Header) {
	c.at = time.Now()
	c.date = c.at
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		c.date = date
	}
}

// IsSet reports whether there was a response.
func (c *Clock) IsSet() bool { return !c.at.IsZero() }

// Now returns the time.
func (c *Clock) Now() time.Time { return c.date.Add(time.Since(c.at)).UTC() }
