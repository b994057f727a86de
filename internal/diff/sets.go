package diff

// Set is how a set of items differs from the wanted one.
type Set[T any] struct {
	Kept     []T   // is in the set, and wanted
	Partial  []T   // is in the set, and wanted, but not whole
	Unwanted []T   // is in the set, and not wanted
	Missing  []int // the indexes of the wanted items that must be added; one of several with the same key
}

// Sets compares a set with the wanted items by their keys. Several items of the
// set with the same key are one; it isn't whole if isPartial, which may be nil,
// reports so, and must then be added again.
func Sets[T any](set, wanted []T, key func(T) string, isPartial func([]T) bool) (s Set[T]) {
	isWanted, there := map[string]bool{}, map[string][]T{}
	for _, item := range wanted {
		isWanted[key(item)] = true
	}
	for _, item := range set {
		there[key(item)] = append(there[key(item)], item)
	}
	for _, item := range set {
		switch k := key(item); {
		case !isWanted[k]:
			s.Unwanted = append(s.Unwanted, item)
		case isPartial != nil && isPartial(there[k]):
			s.Partial = append(s.Partial, item)
		default:
			s.Kept = append(s.Kept, item)
		}
	}
	for _, item := range s.Partial {
		delete(there, key(item))
	}
	for i, item := range wanted {
		if k := key(item); there[k] == nil {
			s.Missing = append(s.Missing, i)
			there[k] = []T{item}
		}
	}
	return s
}
