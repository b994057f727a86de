// Package version has the versions of the API that the server implements.
package version

// Version is the month of a version of the API. Later versions are greater.
type Version string

const (
	October2025 Version = "2025-10"
	August2026  Version = "2026-08"
)

// never is later than all versions.
const never Version = "9999-12"

// API is what a server offers: a version of the API and, if Contract is set,
// what only the contract has.
type API struct {
	Version  Version
	Contract bool
}

// Span is the range of versions that have an operation or a field. The zero
// Span contains all versions.
type Span struct {
	first, last Version
	contract    bool // whether the contract has it, whatever the version
}

// ContractOnly is the span of what no version has.
var ContractOnly = Span{first: never, contract: true}

// Since returns the versions of the span from v on.
func (s Span) Since(v Version) Span { s.first = v; return s }

// Until returns the versions of the span up to v.
func (s Span) Until(v Version) Span { s.last = v; return s }

// OrContract returns the span of what the contract has as well.
func (s Span) OrContract() Span { s.contract = true; return s }

// Has reports whether the API is in the span.
func (s Span) Has(a API) bool {
	return s.contract && a.Contract || a.Version >= s.first && (s.last == "" || a.Version <= s.last)
}
