package cloudapi

import "strings"

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
func lacksField(name, value string) string {
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

// subject is what the path of a request says about the records in the response.
// Empty fields say nothing.
type subject struct{ id, name, location string }

// subject returns what the path says about records of the kind: the value of the
// first placeholder that stands for this kind, and the location.
func (in *invocation) subject(kind Kind) (s subject) {
	for route, path := in.op.Route, in.request.Path; ; {
		literal, placeholder, found := strings.Cut(route, "{")
		if !found {
			break
		}
		var name, value string
		name, route, _ = strings.Cut(placeholder, "}")
		value, _, _ = strings.Cut(path[len(literal):], "/")
		path = path[len(literal)+len(value):]
		if name == "location" {
			s.location = value
		} else if param := in.op.param(name); s.id == "" && s.name == "" && param.kinds.has(kind) {
			if id, ok := param.id(value); ok {
				s.id = id
			} else {
				s.name = value
			}
		}
	}
	if kind == KindLoadBalancer && in.op.class.has(once) && strings.HasSuffix(in.op.Route, "}") {
		s.location = "" // a load balancer is created in the location of its subnet
	}
	if in.newName != "" && (s.id == "" || in.op.class.has(once)) {
		s.id, s.name = "", in.newName
	}
	return s
}

// other returns the field of a record in which it differs from the subject, or
// "". Servers may leave out the name and the location.
func (s subject) other(r Resource) string {
	differs := func(want, got string) bool { return want != "" && got != "" && want != got }
	switch {
	case differs(s.id, r.ID):
		return "id"
	case differs(s.name, r.Name):
		return "name"
	case differs(s.location, r.Location):
		return "location"
	}
	return ""
}

// firstOther returns the index of the first record that isn't what the call
// asks for, and the field that shows it, or "". Caches and gateways can mix up
// responses.
func firstOther[T any](in *invocation, records []*T) (i int, field string) {
	var want subject
	for i, record := range records {
		r, ok := any(record).(identified)
		if !ok {
			return 0, ""
		}
		got := r.identity()
		if i == 0 {
			want = in.subject(got.Kind)
		}
		if field := want.other(got); field != "" {
			return i, field
		}
	}
	return 0, ""
}
