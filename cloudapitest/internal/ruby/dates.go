package ruby

import (
	"strings"
	"time"
)

// ParseDate reads a date in one of the forms that people write. It is in UTC if
// it does not say otherwise.
func ParseDate(s string) (time.Time, bool) {
	s = SpaceBeforeClock(strings.TrimSpace(s))
	for _, clock := range []string{"", " 15:04", " 15:04:05"} {
		for _, zone := range []string{"", "Z07:00", "Z0700", "Z07", " UTC", " Z07:00", " Z0700"} {
			if t, err := time.Parse(time.DateOnly+clock+zone, s); err == nil {
				return t, true
			}
		}
	}
	return time.Time{}, false
}

// FormatTime is a time in the spelling of messages, "" if there is none.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateTime + " -0700")
}

// SpaceBeforeClock replaces the T between the date and the time. RFC 3339 allows
// either, and small letters.
func SpaceBeforeClock(s string) string {
	const date = len(time.DateOnly)
	if len(s) > date && s[date] == 'T' {
		return s[:date] + " " + s[date+1:]
	}
	return s
}
