package cidr

import "testing"

// TestParsePorts: a port and a range are valid if they are in order and in
// range.
func TestParsePorts(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][2]uint16{
		"": {0, 65535}, "80": {80, 80}, "80..80": {80, 80}, "0..65535": {0, 65535}, "1..2": {1, 2},
	} {
		if first, last, ok := ParsePorts(s); !ok || first != want[0] || last != want[1] {
			t.Errorf("%q: %d to %d, %v", s, first, last, ok)
		}
	}
	for _, s := range []string{"a", "-1", "65536", "2..1", "1..", "..1", "1...2", "1-2", " 1", "1..2..3", "+80", "8 0", "80..65536", "0..x", " "} {
		if first, last, ok := ParsePorts(s); ok {
			t.Errorf("%q: %d to %d", s, first, last)
		}
	}
}
