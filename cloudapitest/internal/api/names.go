package api

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

var idLike = regexp.MustCompile(`^[a-z0-9]{26}$`)

// LooksLikeID reports whether s cannot be a name of the kind because it could be
// taken for an ID.
func LooksLikeID(kind cloudapi.Kind, s string) bool {
	return strings.HasPrefix(s, kind.Prefix()) && idLike.MatchString(s)
}

// IDLikeName is the refusal of a name that could be taken for an ID.
func IDLikeName(kind cloudapi.Kind) string {
	return fmt.Sprintf("name cannot be exactly 26 numbers/lowercase characters starting with %s to avoid overlap with id format", kind.Prefix())
}

// NewReference returns the name under which an object of the kind is to be
// created, from the path parameter, if the token may create it there.
func (c *Call) NewReference(kind cloudapi.Kind, param string) (string, error) {
	name := c.Params[param]
	switch {
	case isIDOf(kind, name):
		return "", reply.NotFound()
	case c.Location.Hidden:
		return "", c.invalidLocation()
	case !c.Permitted():
		return "", reply.Forbidden()
	}
	return name, nil
}

// CheckName checks that an object of a kind with locations may get the name. Self is
// the object that is to be renamed, or nil.
func CheckName[T Stored](c *Call, kind cloudapi.Kind, name string, self *Object) error {
	if LooksLikeID(kind, name) {
		return reply.InvalidRequest("%s", IDLikeName(kind))
	}
	if o, ok := FindByName[T](c, kind, name); ok && o.Core() != self {
		return reply.AlreadyTaken("project_id and location_id and name")
	}
	return nil
}

var NameForm = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9\-]{0,61}[a-z0-9])?$`)

const NameRule = "must only contain lowercase letters, numbers, and hyphens and have max length 63."

// CheckNewName checks the name in a body, as all operations but those of SSH
// keys and init scripts do.
func CheckNewName(name string) error {
	if !NameForm.MatchString(name) {
		return reply.InvalidField("name", "Name %s", NameRule)
	}
	return nil
}

// NameProblems says what is wrong with the name of an SSH key or init script.
func NameProblems(kind cloudapi.Kind, name string) []string {
	switch {
	case name == "":
		return []string{"name is not present"}
	case LooksLikeID(kind, name):
		return []string{IDLikeName(kind)}
	case !NameForm.MatchString(name):
		return []string{"name " + NameRule}
	}
	return nil
}

// NewName returns the name in the body if it has the form of one.
func (c *Call) NewName() (string, error) {
	name, err := c.Body.NonEmpty("name")
	if err == nil {
		err = CheckNewName(name)
	}
	return name, err
}

// Rename gives an object of a kind with locations the name in the body.
func Rename[T Stored](c *Call, kind cloudapi.Kind, o T) error {
	name, err := c.NewName()
	if err == nil {
		err = CheckName[T](c, kind, name, o.Core())
	}
	if err == nil {
		c.State.Index.Rename(o, name)
	}
	return err
}
