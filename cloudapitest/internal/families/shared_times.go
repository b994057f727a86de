package families

import "time"

func parseDate(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateTime + "Z07:00", time.DateTime + "Z07", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// formatTime returns a time in the format of messages, "" for the zero time.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateTime + " -0700")
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// addMonths returns the same day of another month, or its last day if it's
// shorter.
func addMonths(day time.Time, n int) time.Time {
	first := time.Date(day.Year(), day.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1)
	return first.AddDate(0, 0, min(day.Day(), last.Day())-1)
}

// seconds returns a time in the form that records have: UTC, in whole seconds.
func seconds(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
