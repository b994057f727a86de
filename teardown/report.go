package teardown

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

// Error reports a run that didn't delete everything. It contains each resource
// of the plan once, in the plan's order.
type Error struct {
	Project string              // the project's ID
	Deleted []cloudapi.Resource // resources that are gone
	Failed  []Failure           // resources that are left, or may be left
}

// Failure says why a resource wasn't deleted.
type Failure struct {
	Resource  cloudapi.Resource
	State     State
	BlockedBy []cloudapi.Resource // the resources that need this one, if State is Blocked
	Err       error               // the reason
}

// State says how far the deletion of a resource got.
type State string

// Values of [Failure.State].
const (
	Failed   State = "failed"    // the deletion, or a request before it, failed
	UnderWay State = "under way" // the server accepted the deletion of it, or of a cluster or database in it, but may not have finished
	Blocked  State = "blocked"   // not tried, because another resource needs it
	NotTried State = "not tried" // the context ended before Run requested the deletion
)

// Error returns one line with the number of resources that are left, and the
// first failure.
func (e *Error) Error() string {
	var counts []string
	var first *Failure
	for _, state := range []State{Failed, UnderWay, Blocked, NotTried} {
		n := 0
		for i := range e.Failed {
			if e.Failed[i].State == state {
				n++
				first = cmp.Or(first, &e.Failed[i])
			}
		}
		if n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, state))
		}
	}
	text := fmt.Sprintf("teardown: project %s: %d of %d resources left: %s",
		e.Project, len(e.Failed), len(e.Failed)+len(e.Deleted), strings.Join(counts, ", "))
	if first != nil {
		text += fmt.Sprintf("; first %v", first)
	}
	return text
}

// Unwrap returns the reasons of all failures.
func (e *Error) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i := range e.Failed {
		errs[i] = e.Failed[i].Err
	}
	return errs
}

// String describes the failure in one line.
func (f Failure) String() string {
	return fmt.Sprintf("%v: %s: %v", f.Resource, f.State, unprefixed{f.Err})
}

type unprefixed struct{ error }

func (u unprefixed) Error() string { return strings.TrimPrefix(fmt.Sprint(u.error), "cloudapi: ") }
func (u unprefixed) Unwrap() error { return u.error }
