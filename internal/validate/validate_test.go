package validate

import (
	"net/url"
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
