package attachment

import (
	"net/http"
	"strings"
	"testing"
)

// TestCheck: a page, a JSON error, a part or an unknown encoding isn't a file.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status         int
		kind, encoding string
		body           string
		valid          bool
	}{
		{200, "text/plain", "", "a: b\n", true},
		{200, "", "", `{"a":1}`, true}, // YAML may be JSON
		{200, "text/plain", "", `{"error":{"code":404}}`, false},
		{200, "application/problem+json; charset=utf-8", "", "x", false},
		{200, "text/html", "", "x", false},
		{200, "text/plain", "", " <html>", false},
		{200, "text/plain", "", " \n", false},
		{206, "text/plain", "", "a", false},
		{200, "text/plain", "br", "a", false},
	} {
		header := http.Header{"Content-Type": {tt.kind}}
		if tt.encoding != "" {
			header.Set("Content-Encoding", tt.encoding)
		}
		if err := Check(tt.status, header, []byte(tt.body)); (err == nil) != tt.valid || err != nil && !strings.HasPrefix(err.Error(), "it") {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}
