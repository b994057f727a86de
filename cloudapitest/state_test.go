package cloudapitest

import (
	"reflect"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

type thing struct{ object }

// newCall returns a call in a new server's project and first location.
func newCall(t *testing.T) *call {
	t.Helper()
	cfg, err := newConfig(nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_000_000, 0)
	s := newState(cfg, now)
	return &call{
		config:   &cfg,
		state:    s,
		now:      now,
		params:   map[string]string{},
		token:    s.tokens[cfg.token],
		project:  s.byID[cfg.projectID].(*project),
		location: s.locations[0],
	}
}

func TestDeletionsAreCompletedInTime(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	var gone []string
	for _, name := range []string{"slow", "fast", "stays"} {
		c.state.add(&thing{c.newObject(cloudapi.KindVM, name)})
	}
	remove := func(name string, after time.Duration) {
		o, _ := findByName[*thing](c, cloudapi.KindVM, name)
		c.remove(o, after, func() { gone = append(gone, name) })
	}
	remove("slow", 2*time.Minute)
	remove("fast", time.Minute)
	remove("fast", 0) // has been asked for already

	names := func() (n []string) {
		for _, o := range inProject[*thing](c.state, cloudapi.KindVM, c.project) {
			n = append(n, o.name+":"+o.shown("running"))
		}
		return n
	}
	for _, tt := range []struct {
		after time.Duration
		there []string
		gone  []string
	}{
		{59 * time.Second, []string{"slow:deleting", "fast:deleting", "stays:running"}, nil},
		{time.Minute, []string{"slow:deleting", "stays:running"}, []string{"fast"}},
		{time.Hour, []string{"stays:running"}, []string{"fast", "slow"}},
	} {
		c.state.sweep(c.now.Add(tt.after))
		if got := names(); !reflect.DeepEqual(got, tt.there) || !reflect.DeepEqual(gone, tt.gone) {
			t.Errorf("after %v: %q are there and %q gone, want %q and %q", tt.after, got, gone, tt.there, tt.gone)
		}
	}
}

func TestReferencesAreIDsOrNames(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	a := &thing{c.newObject(cloudapi.KindVM, "a")}
	c.state.add(a)
	elsewhere := &thing{c.newObject(cloudapi.KindVM, "b")}
	elsewhere.location = c.state.locations[1]
	c.state.add(elsewhere)
	const badParity = "vm164pbm96ba3grq6vbsvjb3ax"
	looksLikeOne := &thing{c.newObject(cloudapi.KindVM, badParity)}
	c.state.add(looksLikeOne)

	for _, tt := range []struct {
		ref  string
		want *thing
	}{
		{"a", a}, {a.id, a}, {badParity, looksLikeOne},
		{"b", nil}, {elsewhere.id, nil}, {"c", nil},
		{cloudapi.NewID(cloudapi.KindVM).String(), nil}, {c.project.id, nil},
	} {
		c.params["vm_reference"] = tt.ref
		if got, _ := find[*thing](c, cloudapi.KindVM, "vm_reference"); got != tt.want {
			t.Errorf("%s finds %v, want %v", tt.ref, got, tt.want)
		}
	}

	delete(c.project.members, c.token)
	for ref, want := range map[string]string{"a": "Forbidden", "c": "ResourceNotFound"} {
		c.params["vm_reference"] = ref
		if _, err := find[*thing](c, cloudapi.KindVM, "vm_reference"); err.(*apiError).Type != want {
			t.Errorf("%s without permission: %v, want %s", ref, err, want)
		}
	}
	if got := listed(c, cloudapi.KindVM); got != nil {
		t.Errorf("%v are listed without permission", got)
	}
}

func TestNamesForNewObjects(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	c.state.add(&thing{c.newObject(cloudapi.KindVM, "taken")})
	self := &thing{c.newObject(cloudapi.KindVM, "self")}
	c.state.add(self)

	for name, want := range map[string]string{
		"free":  "",
		"self":  "",
		"taken": "400 InvalidRequest: project_id and location_id and name is already taken",
		"No":    "400 InvalidRequest: Validation failed for following fields: name",
		" ":     "400 InvalidRequest: empty string provided for parameter name",
		"vm164pbm96ba3grq6vbsvjb3ax": "400 InvalidRequest: name cannot be exactly 26 numbers/lowercase characters " +
			"starting with vm to avoid overlap with id format",
	} {
		before := self.name
		c.body = fields{"name": name}
		got := ""
		if err := rename(c, cloudapi.KindVM, self); err != nil {
			got = err.Error()
		}
		if got != want || (want != "" && self.name != before) {
			t.Errorf("renaming %q to %q: %s, want %s", before, name, got, want)
		}
		c.state.index.rename(self, "self")
	}

	for _, tt := range []struct {
		name, want string
		prepare    func()
	}{
		{"free", "", func() {}},
		{cloudapi.NewID(cloudapi.KindVM).String(), "ResourceNotFound", func() {}},
		{"free", "Forbidden", func() { delete(c.project.members, c.token) }},
		{"free", "InvalidLocation", func() { c.location = &location{name: "hidden", hidden: true} }},
	} {
		tt.prepare()
		c.params["vm_reference"] = tt.name
		got := ""
		if _, err := c.newReference(cloudapi.KindVM, "vm_reference"); err != nil {
			got = err.(*apiError).Type
		}
		if got != tt.want {
			t.Errorf("creating %s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
