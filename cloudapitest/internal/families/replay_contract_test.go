package families

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
	"github.com/cloudapi-sdk/cloudapi/internal/test/recordings"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const noSuchClient = "no client of ours sends such parameters or credentials"

// exceptions lists, by reason, the seq of each exchange for which our response
// differs from the recorded one on purpose: the contract says something else, or
// it leaves open what isn't worth a difference to the service of today; see
// cloudapitest.Contract. The test fails for an exchange in the list whose
// responses are equal.
var exceptions = map[string][]int{
	// As in the contract.
	"the contract has the operation":             {103, 139},
	"a page of the contract has 10 items":        {202, 203},
	"the stack is optional in the contract":      {209},
	"the settings in the contract are all texts": {1061, 1062, 1063, 1066},

	// As today.
	"an unknown version of Kubernetes is a 400 today":   {1135},
	"the message names only the sizes that ours offers": {1136, 2763, 2769},
	"there is one more series today":                    {1026, 1041},
	"the rules of a database are sorted today":          {1084},
	"the scheme may be in lower case today":             {6001},

	// Not imitated at all.
	"there are always metrics":                                                     {1028},
	"the store of the metrics does not fail by itself":                             {1029, 1030},
	"net/http refuses a path with a broken escape before any handler sees it":      {6048},
	"net/http takes any word for a method; the real web server refuses lower case": {6088},
	"net/http takes any word for a method; the real web server knows a fixed set":  {6089},
	"there is no web console under other host names":                               {6107, 6108},
	"the endpoint of the vendor's command line is not part of the API":             {6148, 6149},
	"what stood in for the provisioning promoted the database, but not its server": {8073, 8093},
	"what stood in for the provisioning enlarged the disk, but kept the server":    {8076, 8100},
	"the body of a GET isn't read":                                                 {2264, 3264, 3833, 4113, 4564, 4584, 6142},
	noSuchClient:                                                                   {4999, 5069, 5209, 6012, 6078},
}

// before contains what the recorder did to the real server between two
// exchanges.
var before = map[int]func(*replayer){
	104:  func(r *replayer) { r.drop(cloudapi.KindFirewall, "fw-proj") },  // created by 103
	210:  func(r *replayer) { r.drop(cloudapi.KindLoadBalancer, "lb-c") }, // created by 209
	186:  func(r *replayer) { r.place(vmA, vmB) },
	192:  func(r *replayer) { r.show(vmA, "stopped") },
	193:  func(r *replayer) { r.show(vmA, "waiting for capacity") },
	194:  func(r *replayer) { r.show(vmA, "no capacity available") },
	195:  func(r *replayer) { r.show(vmA, "starting") },
	196:  func(r *replayer) { r.show(vmA, "rebooting") },
	197:  func(r *replayer) { r.show(vmA, "creating") },
	198:  func(r *replayer) { r.show(vmA, "running") },
	248:  (*replayer).adoptLoadBalancers, // the next requests page by ID
	1049: func(r *replayer) { r.agePostgres(pgA, 24*time.Hour) },
	1052: func(r *replayer) { r.show(pgA, "unavailable") },
	1053: func(r *replayer) { r.show(pgA, "") },
	1148: func(r *replayer) { r.buildCluster(k8sA) },
	1207: func(r *replayer) { r.join("pjh5999532w27kje0av8zz0fzf") },
	6162: (*replayer).fillAccount, // not all of the ten creates before it are in the recording
}

// settled lists the exchanges of the lifecycle before which the recorder waited
// for a change.
var settled = []int{8013, 8025, 8038, 8042, 8047, 8059, 8071, 8073, 8076, 8083, 8089, 8096, 8102, 8109, 8116}

func TestReplay(t *testing.T) {
	t.Parallel()
	story, matrix, layer := read(t, recordings.Story), read(t, recordings.Matrix), read(t, recordings.HTTP)
	synctest.Test(t, func(t *testing.T) {
		stub.Elapse(time.Until(recordedAt)) // requests contain dates
		r := newReplayer(t)
		r.replay(story, exact)
		r.replay(matrix, shapes) // not all requests were recorded, so the exact values aren't known
		r.replay(layer, shapes)
		r.summarize()
	})
}

// TestReplayLifecycle replays another recording, during which time passes.
func TestReplayLifecycle(t *testing.T) {
	t.Parallel()
	lifecycle := read(t, recordings.Lifecycle)
	synctest.Test(t, func(t *testing.T) {
		r := newReplayer(t)
		r.replay(lifecycle, exact)
		r.summarize()
	})
}

var recordedAt = time.Date(2026, 11, 21, 10, 2, 45, 0, time.UTC)

const (
	mainProject  = "pj8r0dvyb26y6ma6y7n1sw0nzz"
	bigProject   = "pjzatsevwk966gjp1349j667ga"
	otherProject = "pj1xcg6nqjqe0q0vs4352awxgp"
	foreignToken = "pat-foreign"
	viewerToken  = "pat-viewer"
	editorToken  = "pat-editor"
	k8sA         = "kc290pf961ep1mysv0q61km3py"
	pgA          = "pgk7jq8jv1st3nmq3wycne7fcp"
	vmA          = "vmvy0yr3q0a21kesjyqn06h59a"
	vmB          = "vmcv33v315tj3pcvdmm405zaqa"
)

func newReplayer(t *testing.T) *replayer {
	r := newReplayerOf(t, version.Contract, script{exceptions, settled, before})
	r.service.Do(func(at *api.Moment) {
		stranger := at.State.Token(foreignToken)
		at.AddProject(mainProject, "main", r.account).Permissions[r.token] = api.Permissions{"*"}
		at.AddProject(bigProject, "big", r.account)
		at.AddProject(otherProject, "other", stranger.Account).Permissions[stranger] = api.Permissions{"*"}
	})
	return r
}
