package cloudapitest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

// find returns the object of the kind that a path parameter refers to in the
// call's project and location, if the token may act on it.
func find[T stored](c *call, kind cloudapi.Kind, param string) (T, error) {
	var none T
	o, ok := lookUp[T](c, kind, param)
	switch {
	case !ok:
		return none, notFound()
	case !c.permitted():
		return none, forbidden()
	}
	return o, nil
}

// lookUp is [find] without regard to permissions. A parameter whose name ends in
// _reference may be an ID or a name.
func lookUp[T stored](c *call, kind cloudapi.Kind, param string) (T, bool) {
	ref := c.params[param]
	o, ok := findByID[T](c, kind, ref)
	if ok && o.core().location != c.location {
		ok = false
	}
	if !ok && strings.HasSuffix(param, "_reference") && !isIDOf(kind, ref) {
		o, ok = findByName[T](c, kind, ref)
	}
	return o, ok
}

// findByID returns the object of the kind with the ID in the call's project, in
// whatever location. It serves IDs in bodies.
func findByID[T stored](c *call, kind cloudapi.Kind, id string) (T, bool) {
	var none T
	if !isIDOf(kind, id) {
		return none, false
	}
	canonical, _ := cloudapi.ParseID(id)
	o, ok := c.state.byID[canonical.String()].(T)
	if !ok || o.core().project != c.project {
		return none, false
	}
	return o, true
}

// findByName returns the object of the kind with the name in the call's project
// and location.
func findByName[T stored](c *call, kind cloudapi.Kind, name string) (T, bool) {
	var first T
	found := c.state.index.named(scope{kind, c.project, c.location}, name)
	if len(found) > 0 {
		first = found[0].(T)
	}
	return first, len(found) > 0
}

// isIDOf reports whether the server takes s for the ID of an object of the kind
// where a name may stand too.
func isIDOf(kind cloudapi.Kind, s string) bool {
	return looksLikeID(kind, s) && validID(s)
}

var idLike = regexp.MustCompile(`^[a-z0-9]{26}$`)

// looksLikeID reports whether s cannot be a name of the kind because it could be
// taken for an ID.
func looksLikeID(kind cloudapi.Kind, s string) bool {
	return strings.HasPrefix(s, kind.Prefix()) && idLike.MatchString(s)
}

// idLikeName is the refusal of a name that could be taken for an ID.
func idLikeName(kind cloudapi.Kind) string {
	return fmt.Sprintf("name cannot be exactly 26 numbers/lowercase characters starting with %s to avoid overlap with id format", kind.Prefix())
}

// newReference returns the name under which an object of the kind is to be
// created, from the path parameter, if the token may create it there.
func (c *call) newReference(kind cloudapi.Kind, param string) (string, error) {
	name := c.params[param]
	switch {
	case isIDOf(kind, name):
		return "", notFound()
	case c.location.hidden:
		return "", c.invalidLocation()
	case !c.permitted():
		return "", forbidden()
	}
	return name, nil
}

// checkName checks that an object of a kind with locations may get the name. Self is
// the object that is to be renamed, or nil.
func checkName[T stored](c *call, kind cloudapi.Kind, name string, self *object) error {
	if looksLikeID(kind, name) {
		return invalidRequest("%s", idLikeName(kind))
	}
	if o, ok := findByName[T](c, kind, name); ok && o.core() != self {
		return alreadyTaken("project_id and location_id and name")
	}
	return nil
}

var nameForm = regexp.MustCompile(referencePattern)

const nameRule = "must only contain lowercase letters, numbers, and hyphens and have max length 63."

// checkNewName checks the name in a body, as all operations but those of SSH
// keys and init scripts do.
func checkNewName(name string) error {
	if !nameForm.MatchString(name) {
		return invalidField("name", "Name %s", nameRule)
	}
	return nil
}

// nameProblems says what is wrong with the name of an SSH key or init script.
func nameProblems(kind cloudapi.Kind, name string) []string {
	switch {
	case name == "":
		return []string{"name is not present"}
	case looksLikeID(kind, name):
		return []string{idLikeName(kind)}
	case !nameForm.MatchString(name):
		return []string{"name " + nameRule}
	}
	return nil
}

// newName returns the name in the body if it has the form of one.
func (c *call) newName() (string, error) {
	name, err := c.body.nonEmpty("name")
	if err == nil {
		err = checkNewName(name)
	}
	return name, err
}

// rename gives an object of a kind with locations the name in the body.
func rename[T stored](c *call, kind cloudapi.Kind, o T) error {
	name, err := c.newName()
	if err == nil {
		err = checkName[T](c, kind, name, o.core())
	}
	if err == nil {
		c.state.index.rename(o, name)
	}
	return err
}

// newObject returns what a new object of the kind has in common with all
// others, in the call's project and location.
func (c *call) newObject(kind cloudapi.Kind, name string) object {
	return object{
		id:       cloudapi.NewID(kind).String(),
		name:     name,
		project:  c.project,
		location: c.location,
		created:  c.now,
	}
}
