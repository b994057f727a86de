package families

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/internal/test/recordings"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestReplayOnACopy stops the replay of a recording in many places, copies the projects, and
// goes on with the copy: the statuses are the same as without.
func TestReplayOnACopy(t *testing.T) {
	t.Parallel()
	for _, name := range []string{recordings.Story, recordings.Lifecycle} {
		all := read(t, name)
		want := map[int]int{}
		synctest.Test(t, func(t *testing.T) { want = statusesOf(t, all, len(all)) })
		every := len(all) / 12
		if testing.Short() {
			every = len(all) / 3
		}
		for at := every / 2; at < len(all); at += every {
			t.Run(fmt.Sprint(name, " from ", all[at].Seq), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					got := statusesOf(t, all, at)
					for _, x := range all {
						if got[x.Seq] != want[x.Seq] && !slices.Contains(onlyOnACopy, x.Seq) {
							t.Errorf("seq %d %s %s: %s %s: %d, want %d", x.Seq, x.Operation, x.Case, x.Request.Method, x.Request.Path, got[x.Seq], want[x.Seq])
						}
					}
				})
			})
		}
	}
}

// onlyOnACopy are the exchanges that a copy may respond to with another status,
// since no GET shows what they depend on.
var onlyOnACopy = []int{
	86,               // whether two subnets are connected
	8048, 8089, 8116, // how far a detachment or deletion has come
}

// statusesOf returns the statuses of the responses, by seq. Before exchange n it
// goes on with a copy.
func statusesOf(t *testing.T, all []recordings.Exchange, n int) map[int]int {
	stub.Elapse(time.Until(recordedAt))
	r := newReplayer(t)
	for i, x := range all {
		if i == n {
			r.copy()
		}
		if slices.Contains(r.script.settled, x.Seq) {
			r.settle()
		}
		if do := r.script.before[x.Seq]; do != nil {
			do(r)
		}
		if !incomplete(&x) {
			r.differences(&x, exact)
		}
	}
	return r.statuses
}

// copy replaces the service by one with copies of all projects.
func (r *replayer) copy() {
	old := r.service
	var projects []*api.Project
	var snapshots []*Snapshot
	old.Do(func(at *api.Moment) {
		for _, o := range old.State.Index.All(api.Scope{Kind: cloudapi.KindProject}) {
			projects = append(projects, o.(*api.Project))
			snapshots = append(snapshots, ReadItself(old, at, o.(*api.Project)))
		}
	})
	r.service = New(old.Config)
	r.service.Do(func(at *api.Moment) {
		tokens := map[*api.Token]*api.Token{}
		for _, value := range []string{"pat-admin", "pat-powerless", viewerToken, editorToken, foreignToken} {
			if t := old.State.Token(value); t != nil {
				tokens[t] = at.State.AddToken(value, t.Account)
			}
		}
		r.token = tokens[r.token]
		for i, p := range projects {
			copied := at.AddProject(p.ID, p.Name, p.Account)
			for _, f := range snapshots[i].Load(at, copied) {
				r.t.Error(f)
			}
			copied.Unpaid, copied.Features = p.Unpaid, p.Features
			for t := range maps.Keys(p.Permissions) {
				copied.Permissions[tokens[t]] = p.Permissions[t]
			}
		}
	})
}
