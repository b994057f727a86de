package cloudapi

// record is the type that a response is decoded into: a pointer to one of the
// record structs.
type record[T any] interface {
	*T

	// missing returns the name of a required field that is missing from this
	// record, or "".
	missing() string
}

// missingID implements missing for a record whose only required field is the
// ID.
func missingID(id string) string { return missingField("id", id) }

// missingField implements missing for a record with one required field.
func missingField(name, value string) string {
	if value == "" {
		return name
	}
	return ""
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
