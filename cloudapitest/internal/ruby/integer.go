package ruby

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// blanks are the characters that Ruby strips from both ends of a string.
const blanks = "\t\n\v\f\r "

// Integer parses all of s as an integer, as Kernel#Integer does: in decimal, or
// with the prefix of another base, where a leading 0 means octal, and with
// underscores between digits. A number that is too large for an int64 becomes
// the nearest int64.
func Integer(s string) (int64, bool) {
	digits := strings.Trim(s, blanks)
	n, err := strconv.ParseInt(digits, 0, 64)
	return n, (err == nil || errors.Is(err, strconv.ErrRange)) && !misplaced.MatchString(digits)
}

// misplaced matches an underscore that Go accepts and Ruby doesn't.
var misplaced = regexp.MustCompile(`^[+-]?0[a-zA-Z]_`)

var leading = regexp.MustCompile(`^\s*([+-]?[0-9]+(?:_[0-9]+)*)`)

// LeadingInteger parses the decimal integer at the start of s, 0 if there is
// none, as String#to_i does. It reports whether it fits into an int64.
func LeadingInteger(s string) (int64, bool) {
	m := leading.FindStringSubmatch(s)
	if m == nil {
		return 0, true
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(m[1], "_", ""), 10, 64)
	return n, err == nil
}
