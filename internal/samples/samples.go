// Package samples reads and writes the JSON of samples: pairs such as
// [1759512000.5,"0.42"] of a Unix time and a value, which is in a string since
// it may be "NaN".
//
// There may be hundreds of thousands, so the reader is written by hand: it
// makes one pass, and allocates one slice.
package samples

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// sample is a pair of a time and a value. Times are exact to the nanosecond.
type sample = struct {
	Time  time.Time
	Value float64
}

// Read reads an array of pairs. A number beyond the range of a field becomes the
// nearest value in range.
func Read[S ~sample](data []byte) ([]S, error) {
	r := reader{data}
	if !r.token('[') {
		return nil, errors.New("samples are not an array")
	}
	// Every pair has two commas, except the last one, and at least the 8 bytes of
	// `[0,"1"],`. So this is the exact number of pairs in valid JSON, and limits
	// the memory for invalid JSON.
	samples := make([]S, 0, min(bytes.Count(data, []byte(","))/2+1, len(data)/8))
	for !r.token(']') {
		first := len(samples) == 0
		pair, ok := sample{}, first || r.token(',')
		if ok {
			pair, ok = r.pair()
		}
		if !ok {
			return nil, fmt.Errorf("sample %d is not a pair of a Unix time and a number in a string", len(samples))
		}
		samples = append(samples, S(pair))
	}
	if r.next(); len(r.rest) > 0 {
		return nil, errors.New("samples are followed by something else")
	}
	return samples, nil
}

// JSON returns the array of pairs that Read reads.
func JSON[S ~sample](samples []S) []byte {
	const usual = len(`[1759512000,"12.3456789"],`)
	b := make([]byte, 0, 2+usual*len(samples))
	b = append(b, '[')
	for i, s := range samples {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = appendUnixTime(b, sample(s).Time)
		b = append(b, `,"`...)
		b = strconv.AppendFloat(b, sample(s).Value, 'f', -1, 64)
		b = append(b, `"]`...)
	}
	return append(b, ']')
}

// reader reads JSON from the front.
type reader struct{ rest []byte }

// next skips white space and returns the following character, or 0.
func (r *reader) next() byte {
	for len(r.rest) > 0 {
		switch c := r.rest[0]; c {
		case ' ', '\t', '\r', '\n':
			r.rest = r.rest[1:]
		default:
			return c
		}
	}
	return 0
}

// token reads the character c if it is the next one.
func (r *reader) token(c byte) bool {
	if r.next() != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *reader) pair() (s sample, ok bool) {
	if !r.token('[') {
		return s, false
	}
	if s.Time, ok = parseUnixTime(r.number()); !ok || !r.token(',') {
		return s, false
	}
	if s.Value, ok = r.quotedNumber(); !ok {
		return s, false
	}
	return s, r.token(']')
}

// number reads the characters that a JSON number may have.
func (r *reader) number() []byte {
	r.next()
	end := 0
	for end < len(r.rest) {
		if c := r.rest[end]; !isDigit(c) && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			break
		}
		end++
	}
	number := r.rest[:end]
	r.rest = r.rest[end:]
	return number
}

// quotedNumber reads a JSON string that contains a number.
func (r *reader) quotedNumber() (value float64, ok bool) {
	if !r.token('"') {
		return 0, false
	}
	text, rest, closed := bytes.Cut(r.rest, []byte(`"`))
	if !closed {
		return 0, false
	}
	r.rest = rest
	if bytes.IndexByte(text, '\\') >= 0 {
		// Some encoders write "+Inf" as "\u002bInf".
		var unescaped string
		if json.Unmarshal(fmt.Appendf(nil, `"%s"`, text), &unescaped) != nil {
			return 0, false
		}
		text = []byte(unescaped)
	}
	value, err := strconv.ParseFloat(string(text), 64)
	return value, err == nil || errors.Is(err, strconv.ErrRange)
}

const (
	maxUnixTime     = 1 << 62 // time.Time can hold it
	maxExponent     = 99      // larger exponents are out of range in any case
	nanosecondsWide = 9       // digits behind the decimal point
)

// parseUnixTime parses a JSON number of seconds digit by digit: a float would
// be wrong by about 100 nanoseconds for times of this century. It cuts off
// fractions of a nanosecond, and limits times to maxUnixTime.
func parseUnixTime(number []byte) (time.Time, bool) {
	mantissa, negative := bytes.CutPrefix(number, []byte("-"))
	exponent := 0
	if i := max(bytes.IndexByte(mantissa, 'e'), bytes.IndexByte(mantissa, 'E')); i >= 0 {
		var err error
		exponent, err = strconv.Atoi(string(mantissa[i+1:]))
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return time.Time{}, false
		}
		most := maxExponent + len(number)
		exponent = max(-most, min(exponent, most))
		mantissa = mantissa[:i]
	}
	whole, fraction, pointed := bytes.Cut(mantissa, []byte("."))
	if len(whole) == 0 || len(whole) > 1 && whole[0] == '0' || pointed && len(fraction) == 0 {
		return time.Time{}, false // not JSON
	}
	var seconds, nanos int64
	tooMuch := false
	point := len(whole) + exponent // the digits before this index are seconds
	end := max(len(whole)+len(fraction), point+nanosecondsWide)
	for i := min(0, point); i < end; i++ {
		digit := byte('0')
		if 0 <= i && i < len(whole) {
			digit = whole[i]
		} else if j := i - len(whole); 0 <= j && j < len(fraction) {
			digit = fraction[j]
		}
		switch {
		case !isDigit(digit):
			return time.Time{}, false
		case i < point:
			tooMuch = tooMuch || seconds > maxUnixTime/10-1
			if !tooMuch {
				seconds = seconds*10 + int64(digit-'0')
			}
		case i < point+nanosecondsWide:
			nanos = nanos*10 + int64(digit-'0')
		}
	}
	if tooMuch {
		seconds, nanos = maxUnixTime, 0
	}
	if negative {
		seconds, nanos = -seconds, -nanos
	}
	return time.Unix(seconds, nanos).UTC(), true
}

// appendUnixTime appends the number that parseUnixTime parses.
func appendUnixTime(b []byte, t time.Time) []byte {
	seconds, nanos := t.Unix(), t.Nanosecond()
	if seconds < 0 {
		b, seconds = append(b, '-'), -seconds
		if nanos > 0 { // nanos count up from the previous second
			seconds, nanos = seconds-1, int(time.Second)-nanos
		}
	}
	b = strconv.AppendInt(b, seconds, 10)
	if nanos > 0 {
		b = bytes.TrimRight(fmt.Appendf(b, ".%09d", nanos), "0")
	}
	return b
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
