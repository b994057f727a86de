package families

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
	"github.com/cloudapi-sdk/cloudapi/internal/recordings"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

const (
	messageToday  = "the message is today's"
	settingsToday = "settings are checked as today"
	clusterToday  = "a cluster's version and kubeconfig are refused as today, and the kubeconfig is of today's type"
	noGETBody     = "the body of a GET isn't read"
	noSuchClient  = "no client of ours sends such parameters or credentials"
)

// exceptions are the exchanges for which our response differs on purpose, by
// seq. What the contract doesn't say may be as it is today. It's an error if the
// responses are equal, and the entry must be removed.
var exceptions = map[int]string{
	1028: "there are always metrics",
	1029: "the store of the metrics does not fail by itself",
	1030: "the store of the metrics does not fail by itself",
	90:   messageToday,
	1026: "there is one more series today",
	1041: "there is one more series today",
	1084: "the rules are sorted today",
	1136: messageToday,
	1143: messageToday,
	1167: messageToday,
	1190: "a subnet shows its deletion today",
	2763: messageToday,
	2769: messageToday,
	6001: "the scheme may be in lower case today",
	8113: "a subnet shows its deletion today",
	6048: "net/http refuses a path with a broken escape before any handler sees it",
	6088: "net/http takes any word for a method; the real web server refuses lower case",
	6089: "net/http takes any word for a method; the real web server knows a fixed set",
	6107: "there is no web console under other host names",
	6108: "there is no web console under other host names",
	6148: "the endpoint of the vendor's command line is not part of the API",
	6149: "the endpoint of the vendor's command line is not part of the API",
	8073: "what stood in for the provisioning promoted the database, but not its server",
	8076: "what stood in for the provisioning enlarged the disk, but kept the server",
	8093: "what stood in for the provisioning promoted the database, but not its server",
	8100: "what stood in for the provisioning enlarged the disk, but kept the server",
	1061: settingsToday, 1062: settingsToday, 1063: settingsToday, 1066: settingsToday,
	1135: clusterToday, 1147: clusterToday, 1149: clusterToday, 1150: clusterToday, 1151: clusterToday, 2806: clusterToday, 8040: clusterToday,
	2264: noGETBody, 3264: noGETBody, 3833: noGETBody, 4113: noGETBody, 4564: noGETBody, 4584: noGETBody, 6142: noGETBody,
	4943: noSuchClient, 4999: noSuchClient, 5048: noSuchClient, 5069: noSuchClient, 5153: noSuchClient, 5209: noSuchClient,
	6012: noSuchClient, 6078: noSuchClient,
}

// before contains what the recorder did to the real server between two
// exchanges.
var before = map[int]func(*replayer){
	186:  func(r *replayer) { r.place(vmA, vmB) },
	192:  func(r *replayer) { r.show(vmA, "stopped") },
	193:  func(r *replayer) { r.show(vmA, "waiting for capacity") },
	194:  func(r *replayer) { r.show(vmA, "no capacity available") },
	195:  func(r *replayer) { r.show(vmA, "starting") },
	196:  func(r *replayer) { r.show(vmA, "rebooting") },
	197:  func(r *replayer) { r.show(vmA, "creating") },
	198:  func(r *replayer) { r.show(vmA, "running") },
	248:  (*replayer).adoptLoadBalancers, // pages by ID follow
	1049: func(r *replayer) { r.agePostgres(pgA, 24*time.Hour) },
	1052: func(r *replayer) { r.show(pgA, "unavailable") },
	1053: func(r *replayer) { r.show(pgA, "") },
	1148: func(r *replayer) { r.buildCluster(k8sA) },
	1207: func(r *replayer) { r.join("pjh5999532w27kje0av8zz0fzf") },
	6162: (*replayer).fillAccount, // not all of the ten creates before it are in the recording

	8013: (*replayer).settle, // VM created
	8025: (*replayer).settle, // database created
	8038: (*replayer).settle, // cluster created
	8042: (*replayer).settle, // node pool resized
	8047: (*replayer).settle, // VM detached
	8059: (*replayer).settle, // VM restarted
	8071: (*replayer).settle, // replica created
	8073: (*replayer).settle, // replica promoted
	8076: (*replayer).settle, // database resized
	8083: (*replayer).settle, // VM deleted
	8089: (*replayer).settle, // load balancer deleted
	8096: (*replayer).settle, // former replica deleted
	8102: (*replayer).settle, // database deleted
	8109: (*replayer).settle, // cluster deleted
	8116: (*replayer).settle, // subnet deleted
}

func TestReplay(t *testing.T) {
	t.Parallel()
	story, matrix, layer := read(t, recordings.Story), read(t, recordings.Matrix), read(t, recordings.HTTP)
	synctest.Test(t, func(t *testing.T) {
		stub.Elapse(time.Until(recordedAt)) // requests contain dates
		r := newReplayer(t)
		r.replay(story, exact)
		r.replay(matrix, shapes) // a sample: what the omitted requests changed isn't known
		r.replay(layer, shapes)
		r.summarize()
	})
}

// TestReplayLifecycle replays another story, during which time passes.
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
	r := newReplayerOf(t, version.Contract, script{exceptions, before})
	r.service.Do(func(at *api.Moment) {
		stranger := at.State.Token(foreignToken)
		at.AddProject(mainProject, "main", r.account).Permissions[r.token] = api.Permissions{"*"}
		at.AddProject(bigProject, "big", r.account)
		at.AddProject(otherProject, "other", stranger.Account).Permissions[stranger] = api.Permissions{"*"}
	})
	return r
}
