package ruby

import (
	"regexp"
	"strings"
	"time"
)

var zoneForm = regexp.MustCompile(`(?i) ?(?:([+-])(\d\d):?(\d\d)?|z|utc|gmt)$`)

// ParseDate parses a date in one of the common formats. The default zone is
// UTC.
func ParseDate(s string) (time.Time, bool) {
	date, offset := cutZone(strings.TrimSpace(s))
	date = spaceBeforeClock(date)
	for _, day := range []string{time.DateOnly, "20060102", "2/1/2006", "Mon Jan 2 2006", "Jan 2 2006", "2 Jan 2006"} {
		for _, clock := range []string{"", " 15:04", " 15:04:05"} {
			if t, err := time.Parse(day+clock, date); err == nil {
				return t.Add(-offset), true
			}
		}
	}
	return time.Time{}, false
}

var timeForm = regexp.MustCompile(`(?i)^.{10}[t\s].{8}(?:\.\d+)?(?:z|[+-]\d\d:\d\d)$`)

// ParseTime parses a time in RFC 3339, with any number of hours in its zone.
func ParseTime(s string) (time.Time, bool) {
	clock, offset := cutZone(s)
	t, err := time.Parse(time.DateTime, spaceBeforeClock(clock))
	return t.Add(-offset), err == nil && timeForm.MatchString(s)
}

// cutZone returns a time without its zone, and the zone's offset from UTC. It
// doesn't take the day of a date for a zone.
func cutZone(s string) (string, time.Duration) {
	m := zoneForm.FindStringSubmatchIndex(s)
	if m == nil || m[2] >= 0 && s[m[2]] == '-' && !strings.Contains(s[:m[0]], ":") {
		return s, 0
	}
	var offset time.Duration
	if m[2] >= 0 {
		offset, _ = time.ParseDuration(s[m[4]:m[5]] + "h")
		if m[6] >= 0 {
			minutes, _ := time.ParseDuration(s[m[6]:m[7]] + "m")
			offset += minutes
		}
		if s[m[2]] == '-' {
			offset = -offset
		}
	}
	return s[:m[0]], offset
}

// spaceBeforeClock replaces the T between the date and the time.
func spaceBeforeClock(s string) string {
	const date = len(time.DateOnly)
	if len(s) > date && (s[date] == 'T' || s[date] == 't') {
		return s[:date] + " " + s[date+1:]
	}
	return s
}

// FormatTime returns a time in the format of messages, "" for the zero time.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateTime + " -0700")
}
