package logtail

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Place is a place in a log. The zero Place is none.
type Place struct {
	From, Until time.Time // the range; the next range has all of it
	Seen        []Key     // of the yielded lines of the range; shared, so not to be changed
}

// Key is a hash of a line.
type Key [6]byte

// KeyOf returns the hash of a line with the given time and texts.
func KeyOf(at time.Time, texts ...string) Key {
	number := binary.LittleEndian.AppendUint64
	line := number(number(nil, uint64(at.Unix())), uint64(at.Nanosecond()))
	for _, text := range texts {
		line = append(number(line, uint64(len(text))), text...)
	}
	hash := sha256.Sum256(line)
	return Key(hash[:len(Key{})])
}

// IsZero reports whether it is no place.
func (p Place) IsZero() bool { return p.From.IsZero() }

// version begins the text of a place.
const version = "1"

// String returns the text of the place, "" for the zero Place.
func (p Place) String() string {
	if p.IsZero() {
		return ""
	}
	var seen []byte
	for _, key := range p.Seen {
		seen = append(seen, key[:]...)
	}
	text := fmt.Sprintf("%s.%d.%d.%s", version, p.From.UnixNano(), p.Until.UnixNano(), base64.RawURLEncoding.EncodeToString(seen))
	return text + "." + checksum(text)
}

// checksum returns the end of a place's text. It detects a text that a database
// has cut off, for example.
func checksum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:len(Key{})])
}

// Parse reads the text of a place. It reports whether the text is that of a
// place, unchanged and whole.
func Parse(text string) (Place, bool) {
	if text == "" {
		return Place{}, true
	}
	parts := strings.Split(text, ".")
	if len(parts) != 5 || parts[0] != version || checksum(strings.Join(parts[:4], ".")) != parts[4] {
		return Place{}, false
	}
	from, err := strconv.ParseInt(parts[1], 10, 64)
	until, untilErr := strconv.ParseInt(parts[2], 10, 64)
	seen, seenErr := base64.RawURLEncoding.DecodeString(parts[3])
	if err != nil || untilErr != nil || seenErr != nil || len(seen)%len(Key{}) != 0 {
		return Place{}, false
	}
	p := Place{From: time.Unix(0, from).UTC(), Until: time.Unix(0, until).UTC()}
	for key := range slices.Chunk(seen, len(Key{})) {
		p.Seen = append(p.Seen, Key(key))
	}
	return p, true
}
