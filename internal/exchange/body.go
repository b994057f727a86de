package exchange

import (
	"errors"
	"io"
	"math"
	"net/http"
	"sync"
)

const (
	// Room for so much is made at once for a body that announces it, and for
	// all of a larger one when as much has arrived, so that an announcement
	// alone does not cost memory.
	maxTrustedLength = 1 << 20

	// Room for more than this is made as it fills, however much is announced.
	maxAnnounced = 64 << 20

	// A buffer grows by doubling up to this size, and then by pieces, so that
	// it never has much more memory than there are bytes.
	minPiece = 64 << 10

	// Larger buffers are not kept.
	maxPooledBuffer = 4 << 20

	// minRead is the least room to read into that is made.
	minRead = 512
)

// ErrTooLarge says that a body has more bytes than it may have.
var ErrTooLarge = errors.New("the body is too large")

// Buffer is where a body is read into, and what bounds that.
type Buffer struct {
	data   []byte
	before [][]byte // the pieces before data, while a long body is read
	size   int      // of the pieces
}

var buffers = sync.Pool{New: func() any { return new(Buffer) }}

// NewBuffer returns an empty buffer.
func NewBuffer() *Buffer { return buffers.Get().(*Buffer) }

// Release gives the buffer back. Its bytes must not be used after that.
func (buf *Buffer) Release() {
	if cap(buf.data) <= maxPooledBuffer {
		*buf = Buffer{data: buf.data[:0]}
		buffers.Put(buf)
	}
}

// Bytes returns what was read, or the beginning of it if it was too large.
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

// ReadBody reads the body of a response, or returns [ErrTooLarge] if it has more
// than limit bytes. It takes at most half as much memory again as the limit to
// find that out.
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

// grow makes room behind what was read.
func (buf *Buffer) grow() {
	if cap(buf.data) < minPiece {
		buf.reserve(max(cap(buf.data), minRead))
		return
	}
	buf.before = append(buf.before, buf.data)
	buf.size += len(buf.data)
	buf.data = make([]byte, 0, max(buf.size/4, minPiece))
}

// reserve makes room for n bytes behind what was read.
func (buf *Buffer) reserve(n int) {
	if cap(buf.data)-len(buf.data) < n {
		buf.data = append(make([]byte, 0, len(buf.data)+n), buf.data...)
	}
}

// join puts the pieces together, with room for a longer body the next time.
func (buf *Buffer) join() {
	if len(buf.before) == 0 {
		return
	}
	whole := make([]byte, 0, (buf.size+len(buf.data))/4*5)
	for _, piece := range append(buf.before, buf.data) {
		whole = append(whole, piece...)
	}
	*buf = Buffer{data: whole}
}
