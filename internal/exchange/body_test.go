package exchange

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func response(body string, announced int64) *http.Response {
	return &http.Response{Body: io.NopCloser(strings.NewReader(body)), ContentLength: announced}
}

// TestAnnouncedLengthIsNotTrusted: it costs the server nothing.
func TestAnnouncedLengthIsNotTrusted(t *testing.T) {
	t.Parallel()
	const text = "a short body"
	for announced, most := range map[int64]int{60 << 20: 2 << 20, 5000: 12000, -1: 4096, 0: 4096} {
		var buf Buffer
		if err := buf.ReadBody(response(text, announced), 64<<20); err != nil || buf.String() != text {
			t.Errorf("%d announced: read %q, %v", announced, &buf, err)
		}
		if buf.Cap() > most {
			t.Errorf("%d announced: %d bytes were allocated", announced, buf.Cap())
		}
	}
}

// TestReadBody: a body may have as many bytes as the limit, and no more.
func TestReadBody(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		length    int
		announced int64
		want      error
	}{
		{100, -1, nil}, {100, 100, nil}, {101, -1, ErrTooLarge}, {101, 101, ErrTooLarge}, {0, 101, ErrTooLarge}, {0, 0, nil},
	} {
		var buf Buffer
		err := buf.ReadBody(response(strings.Repeat("x", tt.length), tt.announced), 100)
		if err != tt.want || err == nil && buf.Len() != tt.length {
			t.Errorf("%d bytes, %d announced: %d bytes, %v", tt.length, tt.announced, buf.Len(), err)
		}
	}
}
