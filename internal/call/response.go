package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/envelope"
	"github.com/cloudapi-sdk/cloudapi/internal/exchange"
	"github.com/cloudapi-sdk/cloudapi/internal/mask"
	"github.com/cloudapi-sdk/cloudapi/internal/plain"
)

// Response is a complete response with a status below 300.
type Response struct {
	Status int
	Header http.Header
	Body   []byte // must not be kept, since the buffer is reused

	// UnmarkedEnd says that only the end of the connection marks the end of the
	// body, so that a truncated body can't be recognized.
	UnmarkedEnd bool
}

const (
	// MaxErrorBody is how many bytes of a refusal are read. Every envelope is
	// smaller.
	MaxErrorBody = 1 << 20

	// maxExcerpt is the maximum length, in bytes, of what a failure quotes from a
	// body or a header.
	maxExcerpt = 200

	// MaxSearched is how many bytes of a body are searched for secrets: more than
	// the excerpt has, since a secret that is cut at the end can't be recognized.
	MaxSearched = 16 << 10

	// quick is the size, in bytes, up to which decoding a body takes no time that
	// matters.
	quick = 32 << 10
)

// receive reads, decodes, checks and closes the response. It returns why the
// response isn't accepted, or nil.
func (c *call) receive(attempt *exchange.Attempt, resp *http.Response) *Failure {
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	buf := exchange.NewBuffer()
	defer buf.Release()
	var f *Failure
	switch {
	case resp.StatusCode < 200:
		f = c.broken(attempt, true, fmt.Errorf("unexpected status %d", resp.StatusCode))
	case resp.StatusCode >= 300:
		err := buf.ReadAtMost(resp.Body, MaxErrorBody) // a truncated error body is better than none
		f = c.refusal(resp, buf.Bytes())
		f.Truncated = err != nil && !f.isOwn()
	default:
		f = c.decode(attempt, resp, buf)
	}
	if id := resp.Header.Get("X-Request-Id"); f != nil && id != "" && (f.isOwn() || c.mayQuote()) {
		f.RequestID = c.quote(id)
	}
	if c.req.Received != nil {
		c.req.Received(c.received(resp, buf.Bytes()))
	}
	return f
}

// decode reads and decodes a response with a status below 300.
func (c *call) decode(attempt *exchange.Attempt, resp *http.Response, buf *exchange.Buffer) *Failure {
	var err error
	if c.req.NoContent {
		err = buf.ReadAtMost(resp.Body, MaxSearched)
	} else {
		err = buf.ReadBody(resp, c.cfg.MaxResponse)
	}
	if err == nil {
		err = c.req.Decode(Response{
			Status: resp.StatusCode, Header: resp.Header, Body: buf.Bytes(),
			UnmarkedEnd: resp.Close && resp.ContentLength < 0 && len(resp.TransferEncoding) == 0 && !resp.Uncompressed,
		})
	} else if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, exchange.ErrTooLarge) {
		return c.broken(attempt, true, err) // the connection failed before the response was complete
	}
	if ended := attempt.Request.Context().Err(); len(buf.Bytes()) > quick && ended != nil {
		return c.broken(attempt, true, ended)
	}
	if err == nil {
		return nil
	}
	f := &Failure{
		Status:  resp.StatusCode,
		Cause:   c.cause(err),
		Outcome: Outcome{Truncated: errors.Is(err, io.ErrUnexpectedEOF), IsJSON: json.Valid(buf.Bytes())},
	}
	if c.mayQuote() {
		f.ContentType = c.quote(resp.Header.Get("Content-Type"))
		f.Body = c.excerpt(buf.Bytes())
	}
	return f
}

// mayQuote reports whether a failure may quote a response that isn't the API's
// envelope. Such a response, for example the page of a gateway, may repeat the
// secrets of a request in any encoding, and those can't be masked.
func (c *call) mayQuote() bool {
	return !slices.ContainsFunc(c.req.Secrets, func(secret string) bool { return secret != "" })
}

// quote returns the beginning of a text from a response, for one line.
func (c *call) quote(text string) string {
	text, _ = plain.Excerpt(c.secrets().Mask(text), maxExcerpt)
	return text
}

func (c *call) received(resp *http.Response, body []byte) Received {
	header, secrets := resp.Header.Clone(), c.secrets()
	for name, values := range header {
		for i, value := range values {
			if values[i] = secrets.Mask(value); name == "Set-Cookie" {
				values[i] = mask.Redacted
			}
		}
	}
	return Received{c.sent, resp.StatusCode, header, body}
}

func (c *call) refusal(resp *http.Response, body []byte) *Failure {
	f := &Failure{Status: resp.StatusCode}
	if after := resp.Header.Get("Retry-After"); after != "" {
		now, err := http.ParseTime(resp.Header.Get("Date")) // by the clock that a date in Retry-After refers to
		if err != nil {
			now = time.Now()
		}
		f.RetryAfter, f.HasRetryAfter = parseRetryAfter(after, now)
		f.Pause = min(f.RetryAfter, c.cfg.MaxRetryAfter)
	}
	secrets := c.secrets()
	ok := f.Envelope.Parse(body)
	mayQuote := f.isOwn() || c.mayQuote()
	switch {
	case !mayQuote:
		f.Envelope = envelope.Envelope{}
	case !ok:
		f.Body = c.quote(string(body[:min(len(body), MaxSearched)]))
	}
	e := &f.Envelope
	f.noRetryOn500 = c.req.NoRetryOn500 && f.Status == http.StatusInternalServerError && f.isOwn()
	if f.Status < 400 && e.Message == "" {
		e.Message = "redirects are not followed, check the base URL"
		base := c.cfg.BaseURL
		if u, err := base.Parse(resp.Header.Get("Location")); err == nil && mayQuote && u.Host != "" && (u.Scheme != base.Scheme || u.Host != base.Host) {
			e.Message = "a redirect to " + u.Scheme + "://" + u.Host + " is not followed, check the base URL"
		}
	}
	e.Type, e.Message = secrets.Mask(e.Type), secrets.Mask(e.Message)
	if details := secrets.Mask(string(e.Details)); details != string(e.Details) {
		if e.Details = json.RawMessage(details); !json.Valid(e.Details) {
			e.Details = nil // masking has made it invalid JSON
		}
	}
	return f
}

// excerpt returns the beginning of a body. It masks the values in JSON, since
// they may be secrets.
func (c *call) excerpt(body []byte) string {
	text := strings.TrimSpace(string(body[:min(len(body), MaxSearched)]))
	switch {
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["), strings.HasPrefix(text, `"`):
		text = mask.Shape(text)
	case !strings.HasPrefix(text, "<"):
		return "" // the response may be a file with keys
	}
	return c.quote(text)
}
