package exchange

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"sync"
)

const (
	// A buffer of up to this size is made at once for a body that announces
	// it, and a larger one when as much has arrived, so that an announcement
	// alone does not cost memory.
	maxTrustedLength = 1 << 20

	// A larger one than this is made as it fills, however much is announced.
	maxAnnounced = 64 << 20

	// Larger buffers are not kept.
	maxPooledBuffer = 4 << 20
)

// ErrTooLarge says that a body has more bytes than it may have.
var ErrTooLarge = errors.New("the body is too large")

// Buffer is where a body is read into, and what bounds that.
type Buffer struct {
	bytes.Buffer
	source io.LimitedReader
}

var buffers = sync.Pool{New: func() any { return new(Buffer) }}

// NewBuffer returns an empty buffer.
func NewBuffer() *Buffer { return buffers.Get().(*Buffer) }

// Release gives the buffer back. Its bytes must not be used after that.
func (buf *Buffer) Release() {
	if buf.Cap() <= maxPooledBuffer {
		buf.Reset()
		buf.source.R = nil
		buffers.Put(buf)
	}
}

// ReadAtMost reads up to n bytes of a body.
func (buf *Buffer) ReadAtMost(body io.Reader, n int64) error {
	buf.source = io.LimitedReader{R: body, N: n}
	_, err := buf.ReadFrom(&buf.source)
	return err
}

// ReadBody reads the body of a response, or returns [ErrTooLarge] if it has more
// than limit bytes.
func (buf *Buffer) ReadBody(resp *http.Response, limit int64) error {
	announced := resp.ContentLength
	if announced > limit {
		return ErrTooLarge
	}
	bound := limit
	if bound < math.MaxInt64 {
		bound++
	}
	if announced > 0 {
		buf.Grow(int(min(announced, maxTrustedLength)) + bytes.MinRead)
	}
	if announced > maxTrustedLength {
		if err := buf.ReadAtMost(resp.Body, maxTrustedLength); err != nil || buf.Len() < maxTrustedLength {
			return err
		}
		buf.Grow(int(min(announced-maxTrustedLength, maxAnnounced)) + bytes.MinRead)
		bound -= maxTrustedLength
	}
	if err := buf.ReadAtMost(resp.Body, bound); err != nil {
		return err
	}
	if int64(buf.Len()) > limit {
		return ErrTooLarge
	}
	return nil
}
