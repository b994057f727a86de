package api

import (
	"reflect"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

type thing struct{ Object }

// newCall returns a call in a new server's project and first location.
func newCall(t *testing.T) *Call {
	t.Helper()
	c := &Call{
		Moment: &Moment{State: newState([]string{"here", "there"}, nil), Now: time.Unix(1_000_000, 0)},
		Input:  Input{Params: map[string]string{}},
	}
	owner := NewAccount("own")
	c.Project = c.AddProject(NewID(cloudapi.KindProject).String(), "main", owner)
	c.Token = c.State.AddToken("pat-a", owner)
	c.Project.Permissions[c.Token] = Permissions{"*"}
	c.Location = c.State.Locations[0]
	return c
}

func TestDeletionsAreCompletedInTime(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	var gone []string
	for _, name := range []string{"slow", "fast", "stays"} {
		c.State.Add(&thing{c.NewObject(cloudapi.KindVM, name)})
	}
	remove := func(name string, after time.Duration) {
		o, _ := FindByName[*thing](c, cloudapi.KindVM, name)
		c.Remove(o, after, func() { gone = append(gone, name) })
	}
	remove("slow", 2*time.Minute)
	remove("fast", time.Minute)
	remove("fast", 0) // has already been requested

	names := func() (n []string) {
		for _, o := range InProject[*thing](c.State, cloudapi.KindVM, c.Project) {
			n = append(n, o.Name+":"+o.Shown("running"))
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
		c.State.Sweep(c.Now.Add(tt.after))
		if got := names(); !reflect.DeepEqual(got, tt.there) || !reflect.DeepEqual(gone, tt.gone) {
			t.Errorf("after %v: %q are there and %q gone, want %q and %q", tt.after, got, gone, tt.there, tt.gone)
		}
	}
}

func TestReferencesAreIDsOrNames(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	a := &thing{c.NewObject(cloudapi.KindVM, "a")}
	c.State.Add(a)
	elsewhere := &thing{c.NewObject(cloudapi.KindVM, "b")}
	elsewhere.Location = c.State.Locations[1]
	c.State.Add(elsewhere)
	const badParity = "vm164pbm96ba3grq6vbsvjb3ax"
	looksLikeOne := &thing{c.NewObject(cloudapi.KindVM, badParity)}
	c.State.Add(looksLikeOne)

	for _, tt := range []struct {
		ref  string
		want *thing
	}{
		{"a", a}, {a.ID, a}, {badParity, looksLikeOne},
		{"b", nil}, {elsewhere.ID, nil}, {"c", nil},
		{NewID(cloudapi.KindVM).String(), nil}, {c.Project.ID, nil},
	} {
		c.Params["vm_reference"] = tt.ref
		if got, _ := Find[*thing](c, cloudapi.KindVM, "vm_reference"); got != tt.want {
			t.Errorf("%s finds %v, want %v", tt.ref, got, tt.want)
		}
	}

	delete(c.Project.Permissions, c.Token)
	for ref, want := range map[string]string{"a": "Forbidden", "c": "ResourceNotFound"} {
		c.Params["vm_reference"] = ref
		if _, err := Find[*thing](c, cloudapi.KindVM, "vm_reference"); err.(*reply.Error).Type != want {
			t.Errorf("%s without permission: %v, want %s", ref, err, want)
		}
	}
	if got := Listed(cloudapi.KindVM)(c); len(got) > 0 {
		t.Errorf("%v are listed without permission", got)
	}
}

func TestNamesForNewObjects(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	c.State.Add(&thing{c.NewObject(cloudapi.KindVM, "taken")})
	self := &thing{c.NewObject(cloudapi.KindVM, "self")}
	c.State.Add(self)

	for name, want := range map[string]string{
		"free":  "",
		"self":  "",
		"taken": "400 InvalidRequest: project_id and location_id and name is already taken",
		"No":    "400 InvalidRequest: Validation failed for following fields: name",
		" ":     "400 InvalidRequest: empty string provided for parameter name",
		"vm164pbm96ba3grq6vbsvjb3ax": "400 InvalidRequest: name cannot be exactly 26 numbers/lowercase characters " +
			"starting with vm to avoid overlap with id format",
	} {
		before := self.Name
		c.Body = schema.Fields{"name": name}
		got := ""
		if err := Rename(c, cloudapi.KindVM, self); err != nil {
			got = err.Error()
		}
		if got != want || (want != "" && self.Name != before) {
			t.Errorf("renaming %q to %q: %s, want %s", before, name, got, want)
		}
		c.State.Index.Rename(self, "self")
	}

	for _, tt := range []struct {
		name, want string
		prepare    func()
	}{
		{"free", "", func() {}},
		{NewID(cloudapi.KindVM).String(), "ResourceNotFound", func() {}},
		{"free", "Forbidden", func() { delete(c.Project.Permissions, c.Token) }},
		{"free", "InvalidLocation", func() { c.Location = &Location{Name: "hidden", Hidden: true} }},
	} {
		tt.prepare()
		c.Params["vm_reference"] = tt.name
		got := ""
		if _, err := c.NewReference(cloudapi.KindVM, "vm_reference"); err != nil {
			got = err.(*reply.Error).Type
		}
		if got != tt.want {
			t.Errorf("creating %s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
