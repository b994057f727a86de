// Package version has the versions of the service that the server implements.
package version

import "slices"

// Version is the month of a version of the service. Later versions are greater.
type Version string

const (
	October2025 Version = "2025-10" // that of the contract
	August2026  Version = "2026-08"
)

// Known reports whether the version exists.
func Known(v Version) bool { return slices.Contains([]Version{October2025, August2026}, v) }

// Span is the range of versions that have an operation or a field. The zero
// Span contains all versions.
type Span struct{ first, last Version }

// Since returns the versions of the span from v on.
func (s Span) Since(v Version) Span { s.first = v; return s }

// Until returns the versions of the span up to v.
func (s Span) Until(v Version) Span { s.last = v; return s }

// Has reports whether a version is in the span.
func (s Span) Has(v Version) bool { return v >= s.first && (s.last == "" || v <= s.last) }
