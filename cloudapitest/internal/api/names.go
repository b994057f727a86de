package api

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

var idLike = regexp.MustCompile(`^[a-z0-9]{26}$`)

func looksLikeID(kind cloudapi.Kind, s string) bool {
	return strings.HasPrefix(s, string(kind)) && idLike.MatchString(s)
}

// CheckNameIsFree checks that no other object of a kind with locations has the
// name, and that the name isn't like an ID. self is the object to rename, or nil.
func CheckNameIsFree[T Stored](c *Call, kind cloudapi.Kind, name string, self *Object) error {
	return reply.InvalidRecord(NameProblems[T](c, kind, name, self)...)
}

// NameProblems returns the problems that [CheckNameIsFree] reports, for callers
// that add other problems of the record.
func NameProblems[T Stored](c *Call, kind cloudapi.Kind, name string, self *Object) []string {
	var problems []string
	if o, ok := FindByName[T](c, kind, name); ok && o.Core() != self {
		problems = append(problems, reply.Taken("project_id and location_id and name"))
	}
	return append(problems, IDLikeNameProblems(kind, name)...)
}

// IDLikeNameProblems returns the problem with a name that looks like an ID, and
// nil for other names.
func IDLikeNameProblems(kind cloudapi.Kind, name string) []string {
	if !looksLikeID(kind, name) {
		return nil
	}
	return []string{fmt.Sprintf(
		"name cannot be exactly 26 numbers/lowercase characters starting with %s to avoid overlap with id format", string(kind))}
}

// TextProblems returns what is wrong with the name and the text of an SSH key or
// init script. field is the JSON name of the text, and textProblem is what the
// caller has found wrong with it, or "". self is the object to change, or nil.
func TextProblems(c *Call, kind cloudapi.Kind, name string, self Stored, field, text, textProblem string) []string {
	named, filled := strings.TrimSpace(name) != "", strings.TrimSpace(text) != ""
	holders := c.State.Index.Named(Scope{kind, c.Project, nil}, name)
	var problems []string
	if !named {
		problems = append(problems, "name is not present")
	}
	if !filled {
		problems = append(problems, field+" is not present")
	}
	if len(holders) > 0 && holders[0] != self {
		problems = append(problems, reply.Taken("project_id and name"))
	}
	if filled && textProblem != "" {
		problems = append(problems, field+" "+textProblem)
	}
	if named && !NameForm.MatchString(name) {
		problems = append(problems, "name "+nameRule)
	}
	return append(problems, IDLikeNameProblems(kind, name)...)
}

// NameForm is the form of most names.
var NameForm = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9\-]{0,61}[a-z0-9])?$`)

const nameRule = "must only contain lowercase letters, numbers, and hyphens and have max length 63."

// CheckNameForm checks the form of the name in a body. The form of a parameter in
// a path is checked before, for all operations; see [Config.Pattern].
func CheckNameForm(name string) error {
	if !NameForm.MatchString(name) {
		return reply.InvalidField("name", "Name %s", nameRule)
	}
	return nil
}

// Rename renames an object to the name in the body. The kind must have
// locations.
func Rename[T Stored](c *Call, kind cloudapi.Kind, o T) error {
	name, err := c.NewName()
	if err == nil {
		err = CheckNameIsFree[T](c, kind, name, o.Core())
	}
	if err == nil {
		c.Rename(o, name)
	}
	return err
}
