// Package ubid encodes and decodes identifiers. An identifier is a UUID in
// another form: 26 characters of a base-32 alphabet.
//
// The first two characters are the prefix, which is the object's kind and takes
// 10 of the upper 64 bits. The next 11 characters contain the other 54
// upper bits and a parity bit. The last 13 characters contain the lower 64 bits
// and a parity bit. With its parity bit, each of these two groups has an even
// number of ones.
//
// The version and the variant of the UUID are ordinary bits. A server creates
// identifiers with version 8 and the variant bits 10, or 11 for an identifier
// with a mark for routing. Identifiers with other bits are also valid.
package ubid

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"strings"
)

const (
	// Length is the number of characters of an identifier.
	Length = 26

	// PrefixLength is the number of characters of the prefix.
	PrefixLength = 2

	// Alphabet contains the characters in the order of their values.
	Alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

	lowerStart  = 13 // start of the group with the lower 64 bits
	prefixWidth = 10 // bits
)

// Value has the 128 bits of an identifier.
type Value struct{ hi, lo uint64 }

// WellFormed reports whether s has the length of an identifier and only
// characters of the alphabet, in lower case. It doesn't check the parity.
func WellFormed(s string) bool {
	if len(s) != Length {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z' || c == 'i' || c == 'l' || c == 'o' || c == 'u') {
			return false
		}
	}
	return true
}

// Parse parses an identifier. It ignores case, and accepts "o" for 0, and "i"
// and "l" for 1. The text of the error is meant to follow the identifier,
// such as "has 25 characters, an ID has 26".
func Parse(s string) (Value, error) {
	if len(s) != Length {
		return Value{}, fmt.Errorf("has %d characters, an ID has %d", len(s), Length)
	}
	for i := range len(s) {
		if digit(s[i]) < 0 {
			return Value{}, fmt.Errorf("has a character at position %d that no ID has", i+1)
		}
	}
	upper, ok := decodeGroup(s[PrefixLength:lowerStart])
	if !ok {
		return Value{}, errors.New("is mistyped: the parity of its first half is wrong")
	}
	lower, ok := decodeGroup(s[lowerStart:])
	if !ok {
		return Value{}, errors.New("is mistyped: the parity of its second half is wrong")
	}
	prefix := uint64(digit(s[0]))<<5 | uint64(digit(s[1]))
	return Value{hi: upper<<prefixWidth | prefix, lo: lower}, nil
}

// New returns a random identifier with a prefix, version 8 and variant bits 10.
// It returns false if the prefix isn't two characters of the alphabet.
func New(prefix string) (v Value, ok bool) {
	if len(prefix) != PrefixLength {
		return Value{}, false
	}
	first, second := digit(prefix[0]), digit(prefix[1])
	if first < 0 || second < 0 {
		return Value{}, false
	}
	var b [16]byte
	rand.Read(b[:])
	v = fromBytes(b[:])
	const version, variant = 8, 2
	v.hi = v.hi&^(0xf<<12|0x3ff) | version<<12 | uint64(first)<<5 | uint64(second)
	v.lo = v.lo&^(3<<62) | variant<<62
	return v, true
}

func fromBytes(b []byte) Value {
	return Value{hi: binary.BigEndian.Uint64(b[:8]), lo: binary.BigEndian.Uint64(b[8:])}
}

// String returns the 26 characters.
func (v Value) String() string {
	var s [Length]byte
	s[0] = Alphabet[v.hi>>5&31]
	s[1] = Alphabet[v.hi&31]
	encodeGroup(s[PrefixLength:lowerStart], v.hi>>prefixWidth)
	encodeGroup(s[lowerStart:], v.lo)
	return string(s[:])
}

// UUID returns the UUID in lower-case hexadecimal digits.
func (v Value) UUID() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], v.hi)
	binary.BigEndian.PutUint64(b[8:], v.lo)
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// encodeGroup writes value and its parity bit as 5-bit digits, the most
// significant first. The last digit has the parity and 4 bits of value, so 13
// digits have room for all 64 bits.
func encodeGroup(dst []byte, value uint64) {
	last := len(dst) - 1
	dst[last] = Alphabet[value&15<<1|uint64(bits.OnesCount64(value)&1)]
	value >>= 4
	for i := last - 1; i >= 0; i-- {
		dst[i] = Alphabet[value&31]
		value >>= 5
	}
}

// decodeGroup reverses encodeGroup. It returns false if the parity is wrong.
func decodeGroup(s string) (value uint64, ok bool) {
	last := len(s) - 1
	for i := range last {
		value = value<<5 | uint64(digit(s[i]))
	}
	d := uint64(digit(s[last]))
	value = value<<4 | d>>1
	return value, uint64(bits.OnesCount64(value)&1) == d&1
}

// digit returns the value of a character, or -1.
func digit(c byte) int {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	switch c {
	case 'o':
		c = '0'
	case 'i', 'l':
		c = '1'
	}
	return strings.IndexByte(Alphabet, c)
}
