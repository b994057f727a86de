package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

const (
	// maxTrustedLength is the maximum size of a buffer before anything has arrived,
	// whatever the Content-Length says.
	maxTrustedLength = 1 << 20

	maxPooledBuffer = 16 << 20
)

// ErrTooLarge says that a body exceeds its limit.
var ErrTooLarge = errors.New("response exceeds the limit")

// Buffer is a buffer into which bodies are read, with limits.
type Buffer struct {
	bytes.Buffer
	body io.LimitedReader
}

var buffers = sync.Pool{New: func() any { return new(Buffer) }}

// NewBuffer returns an empty buffer.
func NewBuffer() *Buffer { return buffers.Get().(*Buffer) }

// Release returns the buffer to a pool. Its bytes must not be used any more.
func (buf *Buffer) Release() {
	if buf.Cap() <= maxPooledBuffer {
		buf.Reset()
		buf.body.R = nil
		buffers.Put(buf)
	}
}

// ReadAtMost reads up to n bytes of a body.
func (buf *Buffer) ReadAtMost(body io.Reader, n int64) error {
	buf.body = io.LimitedReader{R: body, N: n}
	_, err := buf.ReadFrom(&buf.body)
	return err
}

// ReadBody reads the body of a response. It returns [ErrTooLarge] if the body
// has more than limit bytes. Since the buffer doubles as data arrives, it holds
// at most three times the limit.
func (buf *Buffer) ReadBody(resp *http.Response, limit int64) error {
	var err error
	if resp.ContentLength <= limit {
		buf.Grow(int(min(max(resp.ContentLength, 0), maxTrustedLength)) + bytes.MinRead)
		// One more byte shows that the body is too large, but limit+1 may overflow.
		err = buf.ReadAtMost(resp.Body, max(limit, limit+1))
	}
	if err == nil && max(resp.ContentLength, int64(buf.Len())) > limit {
		err = fmt.Errorf("%w of %d bytes", ErrTooLarge, limit)
	}
	return err
}
