package exchange

import (
	"bytes"
	"io"
	"net/http"
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
		if err := buf.ReadBody(response(text, announced), 64<<20); err != nil || buf.String() != text {
			t.Errorf("%d announced: read %q, %v", announced, buf.Bytes(), err)
		}
		if buf.Cap() > most {
			t.Errorf("%d announced: %d bytes were allocated", announced, buf.Cap())
		}
	}
}

// TestReadBodyOfAnyLength: the bytes read are those sent, whatever their pieces
// and the announced length.
func TestReadBodyOfAnyLength(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789abcdef", 1<<18+1) // 4 MiB and a little
	for _, length := range []int{1, bytes.MinRead, bytes.MinRead + 1, 300_000, maxTrustedLength - bytes.MinRead, maxTrustedLength, maxTrustedLength + 1, 3_000_000, len(text)} {
		for _, announced := range []int64{-1, int64(length), int64(len(text))} {
			for _, slow := range []bool{false, true} {
				resp := response(text[:length], announced)
				if slow {
					resp.Body = io.NopCloser(iotest.HalfReader(resp.Body))
				}
				var buf Buffer
				if err := buf.ReadBody(resp, 1<<40); err != nil || buf.String() != text[:length] {
					t.Errorf("%d bytes, %d announced: read %d, %v", length, announced, len(buf.Bytes()), err)
				}
				if most := 2*max(length, maxTrustedLength) + 4*bytes.MinRead; buf.Cap() > most {
					t.Errorf("%d bytes, %d announced, take %d", length, announced, buf.Cap())
				}
			}
		}
	}
}
