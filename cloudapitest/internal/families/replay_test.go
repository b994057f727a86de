package families

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
	"github.com/cloudapi-sdk/cloudapi/internal/memnet"
	"github.com/cloudapi-sdk/cloudapi/internal/test/recordings"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// The recordings contain exchanges with the real server. TestReplay sends their
// requests to ours and compares the responses.

// script contains additional information about recorded exchanges, by seq.
type script struct {
	exceptions map[string][]int // where our response differs on purpose, by reason
	settled    []int            // exchanges before which all changes are complete; the polls in between aren't recorded
	before     map[int]func(*replayer)
}

func read(t *testing.T, name string) []recordings.Exchange {
	t.Helper()
	exchanges := stub.Must(recordings.Read(name))(t)
	return exchanges
}

// incomplete reports whether the recording left out part of the exchange.
func incomplete(x *recordings.Exchange) bool {
	return x.Request.BodyBase64 != "" || x.Request.BodyTruncated || x.Response.BodyTruncated ||
		strings.Contains(x.Request.Path, "<truncated") || x.Request.Headers["X-Big"] != ""
}

// replayer sends recorded requests and maps recorded IDs to ours.
type replayer struct {
	t        *testing.T
	service  *api.Service
	memory   *memnet.Listener
	account  *api.Account // the account of most exchanges
	token    *api.Token
	tokens   *strings.Replacer
	ids      map[string]string // recorded to ours
	keys     map[string]string // keys of next pages, recorded to ours
	alike    int               // exchanges with the same response
	left     int               // exchanges that differ on purpose, or that were recorded only partly
	script   script
	statuses map[int]int       // of our responses, by seq
	since    *strings.Replacer // names of versions that the service has replaced since
}

func newReplayerOf(t *testing.T, v version.Version, s script) *replayer {
	const admin, powerless = "pat-admin", "pat-powerless"
	const d = 3 * time.Second
	r := &replayer{
		t:      t,
		script: s,
		service: New(api.Config{
			API:       version.API{Version: v},
			Locations: []string{"eu-central-h1", "eu-north-h1", "us-east-a2"},
			PageCap:   1000,
			Delays:    api.Delays{Create: d, Backup: d, Restart: d, Resize: d, Promote: d, Detach: d, Delete: d, Vacate: d, SerialLog: d},
			Quota:     api.Quota{VM: 32, Postgres: 128, Kubernetes: 256, Projects: 10}, // of a verified project
		}),
		memory: memnet.Listen(),
		tokens: strings.NewReplacer(
			"pat-<admin-token>", admin,
			"pat-<powerless-token>", powerless,
			"pat-<other-token>", foreignToken,
			"pat-<revoked-token>", "pat-revoked",
			"pat-<unknown-token>", "pat-unknown",
			"pat-<viewer-token>", viewerToken,
			"pat-<editor-token>", editorToken,
			"pat-<token>", "pat-unknown",
			"PAT-<token>", strings.ToUpper(admin)),
		ids:      map[string]string{otherProject: otherProject},
		statuses: map[int]int{},
		keys:     map[string]string{},
	}
	r.service.Do(func(at *api.Moment) {
		r.account = api.NewAccount("main")
		stranger := api.NewAccount("foreign")
		r.token = at.State.AddToken(admin, r.account)
		for _, t := range []string{powerless, viewerToken, editorToken} {
			at.State.AddToken(t, r.account)
		}
		at.State.AddToken(foreignToken, stranger)
	})
	server := &http.Server{Handler: http.HandlerFunc(r.serve)}
	t.Cleanup(func() { server.Close() })
	go server.Serve(r.memory)
	return r
}

func (r *replayer) serve(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		r.t.Error(err)
	}
	op, params := r.service.Match(request.Method, request.URL.EscapedPath())
	answer, _ := r.service.Execute(api.Request{Request: request, Operation: op, Params: params, Body: body})
	answer.Write(w)
}

// show sets the state that an object shows.
func (r *replayer) show(recordedID, state string) {
	r.service.Do(func(at *api.Moment) { SetState(at, r.ids[recordedID], state) })
}

// join gives the token of most exchanges permissions in a project.
func (r *replayer) join(recordedID string) {
	r.service.State.Project(r.ids[recordedID]).Permissions[r.token] = api.Permissions{"*"}
}

// place ends the creation of some VMs; others stay without a host.
func (r *replayer) place(recordedIDs ...string) {
	for _, id := range recordedIDs {
		r.age(r.service.State.ByID[r.ids[id]].(*vm))
	}
}

// age ends the creation of VMs.
func (r *replayer) age(vms ...*vm) {
	for _, v := range vms {
		v.placed = v.placed.Add(-r.service.Config.Delays.Create)
	}
}

// buildCluster ends the creation of one cluster; others stay without nodes.
func (r *replayer) buildCluster(recordedID string) {
	k := r.service.State.ByID[r.ids[recordedID]].(*kubernetesCluster)
	k.running = time.Now()
	r.age(slices.Concat(k.controlPlane.nodes, k.pools[0].nodes)...)
}

// adoptLoadBalancers gives our load balancers the recorded IDs and their order.
func (r *replayer) adoptLoadBalancers() {
	s := r.service.State
	for recorded, ours := range r.ids {
		if l, ok := s.ByID[ours].(*loadBalancer); ok {
			s.Drop(l)
			l.ID, r.ids[recorded] = recorded, recorded
			s.Add(l)
		}
	}
}

// drop removes an object that the real server doesn't have.
func (r *replayer) drop(kind cloudapi.Kind, name string) {
	project := r.service.State.Project(mainProject)
	r.service.State.Drop(r.service.State.Index.Named(api.Scope{Kind: kind, Project: project}, name)[0])
}

// settle lets all changes in progress complete.
func (r *replayer) settle() { stub.Elapse(time.Minute) }

// fillAccount creates as many projects as an account may have.
func (r *replayer) fillAccount() {
	r.service.Do(func(at *api.Moment) {
		for i := range at.Config.Quota.Projects {
			at.AddProject(api.NewID(cloudapi.KindProject).String(), fmt.Sprint("filler-", i), r.account)
		}
	})
}

// agePostgres lets time pass for one database only.
func (r *replayer) agePostgres(recordedID string, d time.Duration) {
	p := r.service.State.ByID[r.ids[recordedID]].(*postgres)
	for _, t := range []*time.Time{&p.running, &p.due, &p.backup} {
		*t = t.Add(-d)
	}
}

// strictness says how much of a successful response must be equal. Errors must
// be completely equal.
type strictness int

const (
	exact  strictness = iota // everything that doesn't depend on chance
	shapes                   // only which fields there are, and of which types
)

func (r *replayer) replay(all []recordings.Exchange, s strictness) {
	for _, x := range all {
		if slices.Contains(r.script.settled, x.Seq) {
			r.settle()
		}
		if do := r.script.before[x.Seq]; do != nil {
			do(r)
		}
		if incomplete(&x) {
			r.left++
			continue
		}
		r.check(&x, s)
	}
}

func (r *replayer) check(x *recordings.Exchange, s strictness) {
	differences := r.differences(x, s)
	reason := ""
	for why, exceptions := range r.script.exceptions {
		if slices.Contains(exceptions, x.Seq) {
			reason = why
		}
	}
	switch {
	case reason != "" && differences == nil:
		r.t.Errorf("seq %d is answered like the real server, the exception %q has to go", x.Seq, reason)
	case reason != "":
		r.left++
	case differences != nil:
		r.t.Errorf("seq %d %s %s: %s %s %q\n\t%s", x.Seq, x.Operation, x.Case,
			x.Request.Method, x.Request.Path, deref(x.Request.Body), strings.Join(differences, "\n\t"))
	default:
		r.alike++
	}
}

// summarize logs the totals, and fails the test if nothing was compared.
func (r *replayer) summarize() {
	r.t.Logf("%d alike, %d left out", r.alike, r.left)
	if r.alike == 0 {
		r.t.Error("no exchange was compared")
	}
}
