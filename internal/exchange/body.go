package exchange

import (
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

	// maxAnnounced is the announced length up to which the buffer grows in one
	// step. For a longer body, the buffer doubles as data arrives.
	maxAnnounced = 64 << 20

	maxPooledBuffer = 16 << 20

	// minRead is added to the announced length, so that there is room for the read
	// that finds the end of the body.
	minRead = 512
)

// ErrTooLarge says that a body exceeds its limit.
var ErrTooLarge = errors.New("response exceeds the limit")

// Buffer is a buffer into which bodies are read, with limits.
type Buffer struct{ data []byte }

var buffers = sync.Pool{New: func() any { return new(Buffer) }}

// NewBuffer returns an empty buffer.
func NewBuffer() *Buffer { return buffers.Get().(*Buffer) }

// Release returns the buffer to a pool. Its bytes must not be used any more.
func (buf *Buffer) Release() {
	if cap(buf.data) <= maxPooledBuffer {
		buf.data = buf.data[:0]
		buffers.Put(buf)
	}
}

// Bytes returns the bytes that were read.
func (buf *Buffer) Bytes() []byte { return buf.data }

// ReadAtMost reads up to n bytes of a body.
func (buf *Buffer) ReadAtMost(body io.Reader, n int64) error { return buf.read(body, n, 0) }

// ReadBody reads the body of a response. It returns [ErrTooLarge] if the body
// has more than limit bytes. It allocates at most twice the limit, and holds at
// most one and a half times the limit at a time.
func (buf *Buffer) ReadBody(resp *http.Response, limit int64) error {
	var err error
	if resp.ContentLength <= limit {
		// One more byte shows that the body is too large, but limit+1 may overflow.
		err = buf.read(resp.Body, max(limit, limit+1), resp.ContentLength)
	}
	if err == nil && max(resp.ContentLength, int64(len(buf.data))) > limit {
		err = fmt.Errorf("%w of %d bytes", ErrTooLarge, limit)
	}
	return err
}

// read reads up to n bytes of a body. announced is the Content-Length, or 0 or
// -1 if it's unknown.
func (buf *Buffer) read(body io.Reader, n, announced int64) error {
	announced = min(max(announced, 0), maxAnnounced) + minRead
	for int64(len(buf.data)) < n {
		if full := int64(len(buf.data)); full == int64(cap(buf.data)) {
			size := 2 * full
			if size > n/2 {
				size = n // so that the buffer grows only once more
			}
			if full < maxTrustedLength {
				size = max(size, min(announced, maxTrustedLength))
			} else {
				size = max(size, announced)
			}
			buf.data = append(make([]byte, 0, min(size, n)), buf.data...)
		}
		room := buf.data[len(buf.data):cap(buf.data)]
		m, err := body.Read(room[:min(int64(len(room)), n-int64(len(buf.data)))])
		buf.data = buf.data[:len(buf.data)+m]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
