// Package version has the two versions of the API that the server implements.
package version

// Version is a version of the API: the contract, or the service of today. The
// zero Version stands for both.
type Version string

const (
	// Contract is version 0.1.0 of the contract, with the behavior of the
	// service in October 2025 in what the contract leaves open.
	Contract Version = "contract"
	// Service is the service of today.
	Service Version = "service"
)

// API is what a server offers: a version and, if Both is set, the operations
// and fields that only the other version has.
type API struct {
	Version Version
	Both    bool
}

// Select returns the operations or fields that the API has. describe returns an
// item's version, or "" if both versions have the item, and the item's name. If
// the versions have different items with the same name, Select returns only the
// item of a.Version.
func Select[T any](a API, all []T, describe func(*T) (Version, string)) []T {
	var selected []T
	names := map[string]bool{}
	for i := range all {
		if v, name := describe(&all[i]); v == "" || v == a.Version {
			names[name] = true
		}
	}
	for i := range all {
		v, name := describe(&all[i])
		if v == "" || v == a.Version || a.Both && !names[name] {
			selected = append(selected, all[i])
		}
	}
	return selected
}
