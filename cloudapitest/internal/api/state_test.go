package api

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

type thing struct {
	Object
	gone    *[]string // the names of the things that are gone, each with the time
	blocker Stored    // isn't gone before this
}

func (t *thing) Blocked(at *Moment) bool {
	return t.blocker != nil && at.State.ByID[t.blocker.Core().ID] != nil
}

func (t *thing) Gone(at *Moment) {
	*t.gone = append(*t.gone, t.Name+at.Now.Sub(time.Unix(1_000_000, 0)).String())
}

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
		c.State.Add(&thing{c.NewObject(cloudapi.KindVM, name), &gone, nil})
	}
	remove := func(name string, after time.Duration) {
		o, _ := FindByName[*thing](c, cloudapi.KindVM, name)
		c.Remove(o, after)
	}
	remove("slow", 2*time.Minute)
	remove("fast", time.Minute)
	remove("fast", 0) // its deletion was already requested

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
		{time.Minute, []string{"slow:deleting", "stays:running"}, []string{"fast1m0s"}},
		{time.Hour, []string{"stays:running"}, []string{"fast1m0s", "slow2m0s"}},
	} {
		then := *c.Moment
		then.Now = c.Now.Add(tt.after)
		then.Sweep()
		if got := names(); !reflect.DeepEqual(got, tt.there) || !reflect.DeepEqual(gone, tt.gone) {
			t.Errorf("after %v: %q are there and %q gone, want %q and %q", tt.after, got, gone, tt.there, tt.gone)
		}
	}
}

func TestBlockedDeletions(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	var gone []string
	blocker := &thing{c.NewObject(cloudapi.KindVM, "blocker"), &gone, nil}
	blocked := &thing{c.NewObject(cloudapi.KindVM, "blocked"), &gone, blocker}
	c.State.Add(blocked)
	c.State.Add(blocker)
	c.Remove(blocked, 0)
	if len(gone) != 0 {
		t.Errorf("%q are gone", gone)
	}
	c.Remove(blocker, time.Minute)
	c.Now = c.Now.Add(time.Hour)
	if c.Sweep(); !reflect.DeepEqual(gone, []string{"blocker1m0s", "blocked0s"}) {
		t.Errorf("%q are gone", gone)
	}
}

func TestScheduledChanges(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	var gone []string
	o := &thing{c.NewObject(cloudapi.KindVM, "thing"), &gone, nil}
	c.State.Add(o)
	c.Remove(o, time.Second)
	begin := c.Now
	for _, after := range []time.Duration{3 * time.Minute, time.Minute, 2 * time.Minute} {
		c.Schedule(begin.Add(after), func(at *Moment) {
			gone = append(gone, at.Now.Sub(begin).String())
			if after == time.Minute {
				at.Schedule(at.Now.Add(90*time.Second), func(*Moment) { gone = append(gone, "90 seconds later") })
			}
		})
	}
	c.Now = begin.Add(time.Hour)
	c.Sweep()
	if c.Sweep(); !reflect.DeepEqual(gone, []string{"1m0s", "2m0s", "90 seconds later", "3m0s", "thing1s"}) {
		t.Errorf("the changes are %q", gone)
	}
}

// TestSettled: what is in progress is complete at the settled moment, and still
// in progress at the present one.
func TestSettled(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	var gone []string
	add := func(name string, blocker Stored) *thing {
		o := &thing{c.NewObject(cloudapi.KindVM, name), &gone, blocker}
		c.State.Add(o)
		return o
	}
	stays := add("stays", nil)
	for i, o := range []*thing{add("held", stays), add("late", nil), add("early", nil)} {
		c.Remove(o, time.Duration(3-i)*time.Hour)
	}
	c.Remove(add("due", stays), 0)
	c.Schedule(c.Now.Add(time.Minute), func(*Moment) { gone = append(gone, "scheduled") })
	there := func(at *Moment) (names []string) {
		for _, o := range InProject[*thing](at.State, cloudapi.KindVM, c.Project) {
			if at.State.ByID[o.ID] == nil || len(at.State.Index.Named(Scope{cloudapi.KindVM, c.Project, c.Location}, o.Name)) != 1 {
				t.Errorf("%s is only in a part of the state", o.Name)
			}
			names = append(names, o.Name)
		}
		return names
	}
	settled := c.Settled()
	if now, then := there(c.Moment), there(settled); len(now) != 5 || !reflect.DeepEqual(then, []string{"stays"}) || gone != nil {
		t.Errorf("%q are there now, and %q then; changes: %q", now, then, gone)
	}
	if took := settled.Now.Sub(c.Now); took < math.MaxInt64 {
		t.Errorf("it is %v later", took)
	}
	c.Now = c.Now.Add(24 * time.Hour)
	if c.Sweep(); !reflect.DeepEqual(there(c.Moment), []string{"stays", "held", "due"}) || !reflect.DeepEqual(gone, []string{"scheduled", "early1h0m0s", "late2h0m0s"}) {
		t.Errorf("later %q are there; changes: %q", there(c.Moment), gone)
	}
}
