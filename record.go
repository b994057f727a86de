package cloudapi

// record is the type that a response is decoded into: a pointer to one of the
// record structs.
type record[T any] interface {
	*T

	// lacks returns the name of a required field that the record lacks, or "".
	lacks() string
}

// lacksID implements lacks for a record whose only required field is the ID.
func lacksID(id string) string { return lacksField("id", id) }

// lacksField implements lacks for a record with one required field.
func lacksField(name, value string) string { return unless(value != "", name) }

// unless returns the name of a field unless the record has it.
func unless(hasField bool, name string) string {
	if hasField {
		return ""
	}
	return name
}

// Values of [ListOptions.OrderColumn].
const (
	OrderByID   = "id"
	OrderByName = "name"
)

// idOrName implements cursor for a record that can be listed by name.
func idOrName(orderColumn, id, name string) string {
	if orderColumn == OrderByName {
		return name
	}
	return id
}

// subject is what a request says about the records in its response. Empty
// fields say nothing.
type subject struct {
	location string
	kinds    kinds // of a record with the ID or the name; "" for any kind
	id, name string
}

// other returns the field of a record in which it differs from the subject, or
// "". Servers may leave out the name and the location.
func (s *subject) other(r Resource) string {
	differs := func(want, got string) bool { return want != "" && got != "" && want != got }
	isKind := s.kinds == "" || s.kinds.has(r.Kind)
	switch {
	case isKind && differs(s.id, r.ID):
		return "id"
	case isKind && differs(s.name, r.Name):
		return "name"
	case differs(s.location, r.Location):
		return "location"
	}
	return ""
}

// firstOther returns the index of the first record that isn't what the call
// asks for, and the field that shows it, or "". Caches and gateways can mix up
// responses.
func firstOther[T any](about *subject, records []*T) (i int, field string) {
	for i, record := range records {
		if r, ok := any(record).(identified); ok {
			if field := about.other(r.identity()); field != "" {
				return i, field
			}
		}
	}
	return 0, ""
}
