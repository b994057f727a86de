package syntax

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestEveryByteOfASegment: only bytes that need no escaping are accepted in a
// path.
func TestEveryByteOfASegment(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		segment := "a" + string([]byte{byte(c)}) + "b"
		unescaped := url.PathEscape(segment) == segment && url.QueryEscape(segment) == segment
		if accepted := Segment(segment) == ""; accepted != unescaped {
			t.Errorf("%q is accepted: %v", segment, accepted)
		}
	}
}

func TestSegment(t *testing.T) {
	t.Parallel()
	for s, valid := range map[string]bool{
		"": false, ".": false, "..": false, "...": true, "a": true, "A-z_0.9~": true,
		strings.Repeat("a", 255): true, strings.Repeat("a", 256): false,
	} {
		if reason := Segment(s); (reason == "") != valid {
			t.Errorf("%q: %q", s, reason)
		}
	}
}

// TestBaseURL: a valid address loses only the slash at its end. What an error
// shows of another contains no password.
func TestBaseURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://a.example":             "https://a.example",
		"http://a.example:8080/":        "http://a.example:8080",
		"https://[::1]:8/api/v1/":       "https://[::1]:8/api/v1",
		"a.example":                     "",
		"localhost:8080":                "",
		"ftp://a.example":               "",
		"https://":                      "",
		"https://:80":                   "",
		"https://u:hunter2@a.example":   "",
		"https://a.example?p=hunter2":   "",
		"https://a.example#hunter2":     "",
		"https://a.example/?":           "",
		"https://a.example/%2fhunter":   "",
		"https://a.example/../b":        "",
		"https://a.example/a//b":        "",
		"u:hunter2@a.example":           "",
		"https://u:hunter2@a.example%z": "",
	} {
		u, shown, reason := BaseURL(address)
		if want == "" && (u != nil || reason == "" || strings.Contains(shown+reason, "hunter2")) || want != "" && (reason != "" || u.String() != want) {
			t.Errorf("%s: %v, %q, %q", address, u, shown, reason)
		}
	}
}

// TestHeaders: what is valid can be sent by net/http, and a header with which
// that would behave differently is invalid.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, value string
		valid       bool
	}{
		{"X-Tenant", "a b\té", true}, {"X-Tenant", "", true}, {"Authorization", "Basic eA==", true},
		{"X-Tenant", "a\nb", false}, {"X-Tenant", "\x7f", false}, {"", "a", false}, {"A B", "a", false}, {"A:", "a", false}, {"É", "a", false},
		{"Host", "a", false}, {"Te", "a", false}, {"Idempotency-Key", "a", false}, {"X-Idempotency-Key", "a", false},
		{"Authorization", "Bearer [redacted]", false},
	} {
		if reason := Header(http.CanonicalHeaderKey(tt.name), tt.value); (reason == "") != tt.valid {
			t.Errorf("%q: %q: %q", tt.name, tt.value, reason)
		}
	}
	for token, valid := range map[string]bool{"": false, "pat-a": true, "pat a": false, "pat-\n": false, "é": false, "[redacted]": false} {
		if reason := Token(token); (reason == "") != valid || token != "" && strings.Contains(reason, token) {
			t.Errorf("the token %q: %q", token, reason)
		}
	}
	for text, valid := range map[string]bool{"": true, "job/1.4 (a)": true, "a\n": false, "é": false} {
		if reason := UserAgent(text); (reason == "") != valid {
			t.Errorf("the user agent %q: %q", text, reason)
		}
	}
	if !IsName("PATCH") || IsName("") || IsName("GET ") {
		t.Error("names are wrong")
	}
}
