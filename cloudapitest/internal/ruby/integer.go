package ruby

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// blanks is what Ruby strips from both ends of a string.
const blanks = "\t\n\v\f\r "

// Integer reads all of s as an integer, as Kernel#Integer does: in decimal, or
// with the prefix of another base, of which a bare 0 is that of octal numbers,
// and with underscores between digits. What is too large for an int64 becomes
// the nearest one.
func Integer(s string) (int64, bool) {
	digits := strings.Trim(s, blanks)
	n, err := strconv.ParseInt(digits, 0, 64)
	return n, (err == nil || errors.Is(err, strconv.ErrRange)) && !misplaced.MatchString(digits)
}

// misplaced is an underscore that Go accepts and Ruby does not.
var misplaced = regexp.MustCompile(`^[+-]?0[a-zA-Z]_`)

var leading = regexp.MustCompile(`^\s*([+-]?[0-9]+(?:_[0-9]+)*)`)

// LeadingInteger reads the decimal integer at the start of s, 0 if there is
// none, as String#to_i does. It reports whether that fits into an int64.
func LeadingInteger(s string) (int64, bool) {
	m := leading.FindStringSubmatch(s)
	if m == nil {
		return 0, true
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(m[1], "_", ""), 10, 64)
	return n, err == nil
}
