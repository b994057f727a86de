package api

import (
	"strconv"
	"testing"
	"time"
)

func TestLogIsBoundedAndInOrder(t *testing.T) {
	t.Parallel()
	c := newCall(t)
	const n = 3*maxLog + 1
	for i := range n {
		c.Moment = new(*c.Moment) // the moment of another request, within the same microsecond
		c.Now = c.Now.Add(300 * time.Nanosecond)
		c.Log(strconv.Itoa(i), "vm0000000000000000000000zz")
	}
	entries := c.Project.Entries()
	if len(entries) < maxLog || len(entries) > 2*maxLog || entries[len(entries)-1].Verb != strconv.Itoa(n-1) {
		t.Errorf("of %d entries there are the last %d", n, len(entries))
	}
	for i := range entries[1:] {
		if !entries[i].At.Before(entries[i+1].At) {
			t.Fatalf("entry %d is of %v, the next one of %v", i, entries[i].At, entries[i+1].At)
		}
	}
	c.Moment = new(*c.Moment)
	c.Log("create", c.Project.ID)
	if last := c.Project.Entries()[len(c.Project.Entries())-1]; last.Kind != "pj" || len(last.Objects) != 0 {
		t.Errorf("the project is among the objects of %+v", last)
	}
}
