package ubid

import (
	"fmt"
	"strings"
	"testing"
)

func TestPlanned(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	locations := []string{"", "eu-central-h1", "eu-north-h1"}
	for i := range 30 {
		locations = append(locations, fmt.Sprintf("own-%d", i))
	}
	for _, prefix := range []string{"vm", "fw"} {
		for _, location := range locations {
			for i := range 40 {
				name := fmt.Sprintf("x-%d", i)
				id, other := Planned(prefix, location, name, "a"), Planned(prefix, location, name, "b")
				if !IsPlanned(id) || !WellFormed(id) || !strings.HasPrefix(id, prefix+plannedMark) || id != Planned(prefix, location, name, "a") {
					t.Fatalf("the planned ID of %s %s/%s is %q", prefix, location, name, id)
				}
				if id == other || id[:withStart] != other[:withStart] || id[nameStart:Length-1] != other[nameStart:Length-1] {
					t.Fatalf("%q and %q should differ in 4 characters and a parity bit", id, other)
				}
				for with, want := range map[string]bool{"a": true, "b": false, "": false} {
					if PlannedWith(id, with) != want {
						t.Fatalf("PlannedWith(%q, %q) isn't %v", id, with, want)
					}
				}
				for _, in := range locations {
					if PlannedIn(id, in) != (in == location) {
						t.Fatalf("PlannedIn(%q, %q) is wrong", id, in)
					}
				}
				if seen[id] != "" {
					t.Fatalf("%s/%s and %s have the ID %q", location, name, seen[id], id)
				}
				seen[id] = location + "/" + name
			}
		}
	}
}

// TestPlannedIsNoID: no server creates a planned identifier, and one bit more
// or less makes it another thing.
func TestPlannedIsNoID(t *testing.T) {
	t.Parallel()
	id := Planned("vm", "eu-central-h1", "web-1", "")
	if value, err := Parse(id); err == nil || err.Error() != PlannedReason {
		t.Errorf("%q is %v, %v", id, value, err)
	}
	for i := PrefixLength; i < Length; i++ {
		for bit := range 5 {
			b := []byte(id)
			b[i] = Alphabet[strings.IndexByte(Alphabet, b[i])^1<<bit]
			if IsPlanned(string(b)) {
				t.Errorf("%s, which is %s but for a bit, is a planned ID", b, id)
			}
		}
	}
	for _, v := range vectors {
		if IsPlanned(v.id) {
			t.Errorf("%q is a planned ID", v.id)
		}
	}
	// An identifier of a server that happens to have the mark has the right parity.
	upper, _ := decodeGroup(id[PrefixLength:lowerStart])
	lower, _ := decodeGroup(id[lowerStart:])
	if marked := (Value{hi: upper<<prefixWidth | 27<<5 | 20, lo: lower}).String(); !strings.HasPrefix(marked, "vm"+plannedMark) || IsPlanned(marked) {
		t.Errorf("%q must have the mark and be no planned ID", marked)
	}
	for _, s := range []string{"", "vmp1anned", strings.ToUpper(id), id + "0", id[1:]} {
		if IsPlanned(s) {
			t.Errorf("%q is a planned ID", s)
		}
	}
}
