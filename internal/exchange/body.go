package exchange

import (
	"errors"
	"io"
	"math"
	"net/http"
	"sync"
)

const (
	// Memory of up to this size is allocated at once for a body whose length is
	// announced. For a longer body the rest is allocated when this much has
	// arrived, so that the announcement alone does not take memory.
	maxTrustedLength = 1 << 20

	// At most this much memory is allocated because of an announcement.
	maxAnnounced = 64 << 20

	// A buffer doubles up to this size, and then grows by pieces, so that it
	// never has much more memory than it needs.
	minPiece = 64 << 10

	// Larger buffers are not reused.
	maxPooledBuffer = 4 << 20

	// minRead is the minimum free space for a read.
	minRead = 512
)

// ErrTooLarge says that a body is larger than its limit.
var ErrTooLarge = errors.New("the body is too large")

// Buffer is a buffer into which bodies are read, with limits.
type Buffer struct {
	data   []byte
	before [][]byte // the pieces before data, while a large body is read
	size   int      // of the pieces
}

var buffers = sync.Pool{New: func() any { return new(Buffer) }}

// NewBuffer returns an empty buffer.
func NewBuffer() *Buffer { return buffers.Get().(*Buffer) }

// Release returns the buffer to a pool. Its bytes must not be used after that.
func (buf *Buffer) Release() {
	if cap(buf.data) <= maxPooledBuffer {
		*buf = Buffer{data: buf.data[:0]}
		buffers.Put(buf)
	}
}

// Bytes returns the bytes that were read, or only the first of them if the body
// was too large.
func (buf *Buffer) Bytes() []byte {
	if len(buf.before) > 0 {
		return buf.before[0]
	}
	return buf.data
}

// ReadAtMost reads up to n bytes of a body.
func (buf *Buffer) ReadAtMost(body io.Reader, n int64) error {
	err := buf.read(body, n)
	buf.join()
	return err
}

// ReadBody reads the body of a response, or returns [ErrTooLarge] if it has
// more than limit bytes, which takes at most one and a half times the limit of
// memory. A body whose length is not announced takes up to two and a quarter
// times its size, since it is joined from pieces.
func (buf *Buffer) ReadBody(resp *http.Response, limit int64) error {
	announced := resp.ContentLength
	if announced > limit {
		return ErrTooLarge
	}
	if announced > 0 {
		buf.reserve(int(min(announced, maxTrustedLength)) + minRead)
	}
	if announced > maxTrustedLength {
		if err := buf.read(resp.Body, maxTrustedLength); err != nil || len(buf.data) < maxTrustedLength {
			return err
		}
		buf.reserve(int(min(announced-maxTrustedLength, maxAnnounced)) + minRead)
	}
	more := limit - int64(len(buf.data))
	if more < math.MaxInt64 {
		more++
	}
	if err := buf.read(resp.Body, more); err != nil {
		return err
	}
	if int64(buf.size+len(buf.data)) > limit {
		return ErrTooLarge
	}
	buf.join()
	return nil
}

// read reads up to n bytes more.
func (buf *Buffer) read(body io.Reader, n int64) error {
	for n > 0 {
		if len(buf.data) == cap(buf.data) {
			buf.grow()
		}
		room := buf.data[len(buf.data):cap(buf.data)]
		m, err := body.Read(room[:min(int64(len(room)), n)])
		buf.data = buf.data[:len(buf.data)+m]
		n -= int64(m)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// grow adds free space.
func (buf *Buffer) grow() {
	if cap(buf.data) < minPiece {
		buf.reserve(max(cap(buf.data), minRead))
		return
	}
	buf.before = append(buf.before, buf.data)
	buf.size += len(buf.data)
	buf.data = make([]byte, 0, max(buf.size/4, minPiece))
}

// reserve adds free space for n bytes.
func (buf *Buffer) reserve(n int) {
	if cap(buf.data)-len(buf.data) < n {
		buf.data = append(make([]byte, 0, len(buf.data)+n), buf.data...)
	}
}

// join joins the pieces into one. If the buffer is reused it gets free space for
// a larger body.
func (buf *Buffer) join() {
	if len(buf.before) == 0 {
		return
	}
	size := buf.size + len(buf.data)
	whole := make([]byte, 0, max(size, min(size/4*5, maxPooledBuffer)))
	for _, piece := range append(buf.before, buf.data) {
		whole = append(whole, piece...)
	}
	*buf = Buffer{data: whole}
}
