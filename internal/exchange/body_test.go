package exchange

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func response(body string, announced int64) *http.Response {
	return &http.Response{Body: io.NopCloser(strings.NewReader(body)), ContentLength: announced}
}

// TestAnnouncedLengthIsNotTrusted: an announcement costs the server nothing.
func TestAnnouncedLengthIsNotTrusted(t *testing.T) {
	t.Parallel()
	const text = "a short body"
	for announced, most := range map[int64]int{60 << 20: 2 << 20, 5000: 12000, -1: 4096, 0: 4096} {
		var buf Buffer
		if err := buf.ReadBody(response(text, announced), 64<<20); err != nil || string(buf.Bytes()) != text {
			t.Errorf("%d announced: read %q, %v", announced, buf.Bytes(), err)
		}
		if cap(buf.data) > most {
			t.Errorf("%d announced: %d bytes were allocated", announced, cap(buf.data))
		}
	}
}

// TestReadBody: a body may have as many bytes as the limit, but no more.
func TestReadBody(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		length    int
		announced int64
		want      error
	}{
		{100, -1, nil}, {100, 100, nil}, {101, -1, ErrTooLarge}, {101, 101, ErrTooLarge}, {0, 101, ErrTooLarge}, {0, 0, nil}, {99, -1, nil},
	} {
		var buf Buffer
		err := buf.ReadBody(response(strings.Repeat("x", tt.length), tt.announced), 100)
		if err != tt.want || err == nil && len(buf.Bytes()) != tt.length {
			t.Errorf("%d bytes, %d announced: %d bytes, %v", tt.length, tt.announced, len(buf.Bytes()), err)
		}
	}
}

// TestReadBodyOfAnyLength: the bytes read are those sent, whatever their pieces
// and the announced length.
func TestReadBodyOfAnyLength(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789abcdef", 1<<18+1) // 4 MiB and a little
	for _, length := range []int{1, minRead, minRead + 1, 300_000, maxTrustedLength - minRead, maxTrustedLength, maxTrustedLength + 1, 3_000_000, len(text)} {
		for _, announced := range []int64{-1, int64(length), int64(len(text))} {
			for _, slow := range []bool{false, true} {
				resp := response(text[:length], announced)
				if slow {
					resp.Body = io.NopCloser(iotest.HalfReader(resp.Body))
				}
				buf := NewBuffer()
				if err := buf.ReadBody(resp, 1<<40); err != nil || string(buf.Bytes()) != text[:length] {
					t.Errorf("%d bytes, %d announced: read %d, %v", length, announced, len(buf.Bytes()), err)
				}
				buf.Release()
			}
		}
	}
}

// allocated returns how many bytes of memory f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestEndlessBody: detecting that a body is too large takes at most twice the
// limit of memory. The beginning of the body is kept.
func TestEndlessBody(t *testing.T) {
	for _, limit := range []int64{256 << 10, 1<<20 + 1000, 16 << 20, 33 << 20, 64 << 20} {
		var buf Buffer
		var err error
		n := allocated(func() {
			err = buf.ReadBody(&http.Response{Body: io.NopCloser(endless{}), ContentLength: -1}, limit)
		})
		if err != ErrTooLarge || len(buf.Bytes()) < 16<<10 {
			t.Errorf("limit %d: %v, and %d bytes", limit, err, len(buf.Bytes()))
		}
		if n > limit*2+16<<10 { // sizes are rounded up
			t.Errorf("limit %d: %d bytes were allocated", limit, n)
		}
	}
}
