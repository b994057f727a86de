package ubid

import (
	"bytes"
	"strings"
)

// plannedMark is the first half of each planned identifier, after its prefix. As
// a UUID, it has the version 0, which no server creates.
const plannedMark = "p1anned0000"

// Planned returns the identifier of an object that exists only in a plan. It's
// valid, but no server creates it.
func Planned(prefix string, n uint64) string {
	var lower [Length - lowerStart]byte
	encodeGroup(lower[:], n)
	return prefix + plannedMark + string(lower[:])
}

// IsPlanned reports whether an identifier is the result of [Planned].
func IsPlanned(s string) bool {
	return len(s) == Length && strings.HasPrefix(s[PrefixLength:], plannedMark)
}

// HasPlanned reports whether a text may contain the result of [Planned].
func HasPlanned(text []byte) bool { return bytes.Contains(text, []byte(plannedMark)) }
