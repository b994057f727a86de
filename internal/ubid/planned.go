package ubid

import (
	"crypto/sha256"
	"strings"
)

// A planned identifier stands for an object that doesn't exist yet. It has the
// form of an identifier, but the parity of both groups is wrong, so no server
// creates it. After the prefix come
//
//   - plannedMark,
//   - 4 characters that depend on the location,
//   - 4 characters that depend on what the object is created with, and
//   - 9 characters that depend on the location and the name.
//
// The last bit of each group is chosen so that the parity is wrong.
const plannedMark = "p1anned"

const (
	withStart = lowerStart
	nameStart = withStart + 4
)

// PlannedReason says why something other than a dry run refuses a planned
// identifier. It follows the identifier, as the text of an error of [Parse].
const PlannedReason = "is only planned: a dry run returned this ID for what it would create, and only other dry runs accept the ID"

// Planned returns the planned identifier of the object with a location and a
// name. Only [PlannedWith] reads what is in with.
func Planned(prefix, location, name, with string) string {
	upper := plannedMark + digest(location, lowerStart-PrefixLength-len(plannedMark))
	lower := digest(with, nameStart-withStart) + digest(location+"/"+name, Length-nameStart)
	return prefix + mistype(upper) + mistype(lower)
}

// IsPlanned reports whether s is a planned identifier, of any prefix.
func IsPlanned(s string) bool {
	return WellFormed(s) && strings.HasPrefix(s[PrefixLength:], plannedMark) &&
		mistype(s[PrefixLength:lowerStart]) == s[PrefixLength:lowerStart] && mistype(s[lowerStart:]) == s[lowerStart:]
}

// FindPlanned returns the first planned identifier in a text, or "".
func FindPlanned[T string | []byte](text T) string {
	for start := range len(text) - Length + 1 {
		if text[start+PrefixLength] == plannedMark[0] && IsPlanned(string(text[start:start+Length])) {
			return string(text[start : start+Length])
		}
	}
	return ""
}

// PlannedIn reports whether a planned identifier is of an object in a location.
func PlannedIn(s, location string) bool {
	return s[:lowerStart] == Planned(s[:PrefixLength], location, "", "")[:lowerStart]
}

// PlannedWith reports whether with was passed to [Planned].
func PlannedWith(s, with string) bool {
	return s[withStart:nameStart] == digest(with, nameStart-withStart)
}

// digest returns n characters that depend on the text.
func digest(text string, n int) string {
	sum := sha256.Sum256([]byte(text))
	for i, b := range sum[:n] {
		sum[i] = Alphabet[b%32]
	}
	return string(sum[:n])
}

// mistype returns a group with the wrong parity: the group itself, or the group
// with another last bit.
func mistype(group string) string {
	if _, ok := decodeGroup(group); !ok {
		return group
	}
	last := len(group) - 1
	return group[:last] + string(Alphabet[digit(group[last])^1])
}
