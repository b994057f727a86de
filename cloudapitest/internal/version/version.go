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

// Select returns the operations or fields that the API has. describe returns the
// only version that has an item, or "" if both have it. If each version has an
// item with the same name, Select returns the item of a.Version.
func Select[T any](a API, all []T, describe func(*T) (only Version, name string)) []T {
	inVersion := map[string]bool{} // the names of the items of a.Version
	for i := range all {
		if only, name := describe(&all[i]); only == "" || only == a.Version {
			inVersion[name] = true
		}
	}
	var selected []T
	for i := range all {
		only, name := describe(&all[i])
		if only == "" || only == a.Version || a.Both && !inVersion[name] {
			selected = append(selected, all[i])
		}
	}
	return selected
}
