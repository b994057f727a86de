// Package version names the versions of the service that the server speaks.
package version

import "slices"

// Version is the month that a version of the service is of. A later one is the
// greater one.
type Version string

const (
	October2025 Version = "2025-10" // the contract's
	August2026  Version = "2026-08"
)

// Known reports whether there is such a version.
func Known(v Version) bool { return slices.Contains([]Version{October2025, August2026}, v) }

// Span is the versions that have an operation or a field, which are all versions
// if it is zero.
type Span struct{ first, last Version }

// Since returns the versions of the span from v on.
func (s Span) Since(v Version) Span { s.first = v; return s }

// Until returns the versions of the span up to v.
func (s Span) Until(v Version) Span { s.last = v; return s }

// Has reports whether a version is in the span.
func (s Span) Has(v Version) bool { return v >= s.first && (s.last == "" || v <= s.last) }
