package cloudapitest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
)

// TestBeforeCount changes a list after the items of a page were taken and before
// they are counted.
func TestBeforeCount(t *testing.T) {
	t.Parallel()
	tb := &recorder{TB: t}
	srv := New(tb, WithDelays(Delays{}))
	client := srv.Client()
	ctx := t.Context()
	create := func() { srv.AddVMs(here, fmt.Sprint("load-", len(srv.Requests())), 1) }
	remove := func() {
		page, err := client.VMs.List(ctx, nil)
		if err != nil {
			t.Error(err)
			return
		}
		if err := client.VMs.Delete(ctx, here, page.Items[0].ID); err != nil {
			t.Error(err)
		}
	}
	for i, step := range []struct {
		change       func()
		items, count int
	}{
		{create, 0, 1},
		{create, 1, 2},
		{remove, 2, 1},
		{func() {}, 1, 1},
	} {
		srv.Fail(Match{Operation: "VMs.List"}, BeforeCount(step.change))
		page, err := client.VMs.List(ctx, &cloudapi.ListOptions{PageSize: 2})
		if err != nil || len(page.Items) != step.items || *page.Count != step.count {
			t.Errorf("step %d: %+v, %v, want %d items and a count of %d", i, page, err, step.items, step.count)
		}
	}
	if tb.reports != nil {
		t.Errorf("reported %q", tb.reports)
	}

	srv.Fail(Match{}, BeforeCount(create), BeforeCount(create).Optional(), BeforeCount(create).Repeating())
	for range 3 {
		do(t, srv, "GET", "/project/"+srv.ProjectID(), "")
	}
	if len(tb.reports) != 1 || !strings.Contains(tb.reports[0], "no page with a count") {
		t.Errorf("reported %q, want that one fault had no effect", tb.reports)
	}
}
