package cloudapi

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"
)

const (
	// maxErrorBody is more than any envelope needs.
	maxErrorBody = 1 << 20

	// A buffer of up to this size is made at once for a reply that announces
	// it, and a larger one when as much has arrived, so that an announcement
	// alone does not cost memory.
	maxTrustedLength = 1 << 20

	// A larger one than this is made as it fills, however much is announced.
	maxAnnounced = defaultResponseLimit

	// Larger buffers are not kept.
	maxPooledBuffer = 4 << 20
)

// bodyBuffer is where a body is read into, and what bounds that.
type bodyBuffer struct {
	bytes.Buffer
	source io.LimitedReader
}

var buffers = sync.Pool{New: func() any { return new(bodyBuffer) }}

func (buf *bodyBuffer) release() {
	if buf.Cap() <= maxPooledBuffer {
		buf.Reset()
		buf.source.R = nil
		buffers.Put(buf)
	}
}

// readAtMost reads up to n bytes of a body.
func (buf *bodyBuffer) readAtMost(body io.Reader, n int64) error {
	buf.source = io.LimitedReader{R: body, N: n}
	_, err := buf.ReadFrom(&buf.source)
	return err
}

// readBody reads a body of at most limit bytes.
func (buf *bodyBuffer) readBody(resp *http.Response, limit int64) error {
	announced := resp.ContentLength
	if announced > limit {
		return tooLarge(limit)
	}
	bound := limit
	if bound < math.MaxInt64 {
		bound++
	}
	if announced > 0 {
		buf.Grow(int(min(announced, maxTrustedLength)) + bytes.MinRead)
	}
	if announced > maxTrustedLength {
		if err := buf.readAtMost(resp.Body, maxTrustedLength); err != nil || buf.Len() < maxTrustedLength {
			return err
		}
		buf.Grow(int(min(announced-maxTrustedLength, maxAnnounced)) + bytes.MinRead)
		bound -= maxTrustedLength
	}
	if err := buf.readAtMost(resp.Body, bound); err != nil {
		return err
	}
	if int64(buf.Len()) > limit {
		return tooLarge(limit)
	}
	return nil
}

func tooLarge(limit int64) error { return fmt.Errorf("%w of %d bytes", ErrResponseTooLarge, limit) }
