package cloudapi

import (
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/samples"
)

// Samples are the values of a series, sorted by time. Their JSON is pairs such
// as [1759512000.5,"0.42"]: a Unix time, and a value in a string, since it may
// be "NaN".
type Samples []Sample

// Sample is a value at one time. A value beyond the range of a field becomes
// the nearest value in range.
type Sample struct {
	Time  time.Time // with a precision of one nanosecond
	Value float64   // may be NaN, or infinite
}

// UnmarshalJSON reads an array of pairs; null is left alone.
func (s *Samples) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	read, err := samples.Read[Sample](data)
	if err == nil {
		*s = read
	}
	return err
}

// MarshalJSON writes an array of pairs.
func (s Samples) MarshalJSON() ([]byte, error) { return samples.JSON(s), nil }
