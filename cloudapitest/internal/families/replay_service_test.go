package families

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
	"github.com/cloudapi-sdk/cloudapi/internal/recordings"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// stories are the replayed stories in the service, with additional
// information about their exchanges by seq.
var stories = map[string]script{
	"vm-start-stop": {},
	"machine-images": {
		exceptions: map[int]string{
			21: "the pattern is another one",
			22: "the pattern is another one",
			91: "the label is the time of the recording",
			73: lateStart, 74: lateStart, 99: lateStart, 101: lateStart, 102: lateStart,
		},
		before: map[int]func(*replayer){
			6:  (*replayer).settle, // VM created; its polls aren't recorded
			11: (*replayer).settle, // VM created
			61: func(r *replayer) { r.show("mvtw2ft3vsza0jzzn2hbqgq6bd", "failed") },
			94: func(r *replayer) { r.adopt("mv02vw45gdza5jqbqszeqwc6ev", "mvtw2ft3vsza0jzzn2hbqgq6bd") }, // pages by ID follow
		},
	},
	"firewall-updates": {
		before: map[int]func(*replayer){27: func(r *replayer) {
			r.setNetworks("ps9q1v5r4tsp1q4k77ge0wg3nd", "172.25.4.128/26", "fd6e:ab26:47e:d704::/64")
		}},
		exceptions: map[int]string{
			60: "the order of a subnet's firewalls is not known",
			62: "the order of a subnet's firewalls is not known",
		},
	},
	"load-balancer-certificates": {},
	"audit-log":                  {exceptions: map[int]string{55: noSuchClient}},
	"rules-for-all": {
		before: map[int]func(*replayer){
			56: (*replayer).settle, // VM created; its polls aren't recorded
			62: (*replayer).settle, // image created
			71: (*replayer).settle, // VM and subnets deleted
		},
		exceptions: map[int]string{
			71: "the label is the time of the recording",
			11: noSuchClient, 12: noSuchClient, 15: noSuchClient, 18: noSuchClient,
			22: "net/http refuses a path with a broken escape before any handler sees it",
			26: "the addresses of the service are not part of the API",
			28: "the endpoint of the vendor's command line is not part of the API",
		},
	},
	"keys-and-lists": {},
	"postgres-create-and-change": {
		before: map[int]func(*replayer){
			25:  func(r *replayer) { r.resizeIn("main-db", 10*time.Minute) }, // upgraded long after it runs
			97:  (*replayer).settleLong,
			141: (*replayer).settleLong,
			147: (*replayer).settle, // database created; its polls aren't recorded
		},
		exceptions: map[int]string{
			1:   noPublicAWS,
			38:  lateCertificates,
			21:  noPublicAWS,
			70:  oneChange,
			71:  neverFull,
			72:  oneChange,
			73:  oneChange,
			99:  neverFull,
			100: neverFull,
			107: lateStart,
			108: lateStart,
			118: lateStart,
			119: lateStart,
			160: noPublicAWS,
			170: "the changes that only ours accepts are in it",
		},
	},
	"postgres-servers-and-upgrade": {
		before: map[int]func(*replayer){
			2:   (*replayer).settle,                                      // database created; its polls aren't recorded
			4:   func(r *replayer) { r.resizeIn("core", 8*time.Minute) }, // not recycled when it was to be upgraded
			26:  (*replayer).settleLong,
			27:  func(r *replayer) { r.resizeIn("core", time.Second) },
			48:  func(r *replayer) { r.resizeIn("core-r", 2*time.Minute) }, // not recycled when it was to be upgraded
			70:  (*replayer).settleLong,
			73:  func(r *replayer) { r.resizeIn("core", time.Hour); r.resizeIn("core-r", time.Hour) }, // upgrades until the end
			104: (*replayer).settle,                                                                   // database created; its polls aren't recorded
		},
		exceptions: map[int]string{
			8:   lateStart,
			9:   lateStart,
			49:  lateStart,
			50:  lateStart,
			100: neverFails,
			101: neverFails,
			102: neverFails,
			112: lateStart,
			113: lateStart,
		},
	},
	"postgres-replicas-and-public-certificates": {
		before: map[int]func(*replayer){ // the polls of what was created aren't recorded
			2:  (*replayer).settle,
			58: (*replayer).settle,
			68: (*replayer).settle,
		},
		exceptions: map[int]string{
			5:  lateStart,
			6:  lateStart,
			59: "what stood in for the measurements had one series for all modes",
			66: ownCertificates,
			67: ownCertificates,
			68: ownCertificates,
			69: ownCertificates,
			70: ownCertificates,
			72: ownCertificates,
			73: ownCertificates,
		},
	},
	"postgres-certificates-and-destinations": {
		exceptions: map[int]string{36: optionsAreFields, 37: optionsAreFields, 40: optionsAreFields, 49: optionsAreFields,
			50: optionsAreFields, 73: optionsAreFields, 75: optionsAreFields},
		before: map[int]func(*replayer){
			2: (*replayer).settle, // database created; its polls aren't recorded
			92: func(r *replayer) { // its subnet wasn't shown
				db := r.service.State.ByID[r.ids["pg6ws630rz9y4pbvjdy38p6sax"]].(*postgres)
				r.ids["psqm09zqx2mj0k7pnpr2a22pgy"] = db.subnet.ID
			},
		},
	},
	"postgres-logs": {
		before: map[int]func(*replayer){2: func(r *replayer) { r.agePostgres("pg4yqsxqqp0e0k3qbqt03mtvwk", 8*24*time.Hour) }},
		exceptions: map[int]string{
			7:  otherLines,
			12: otherLines,
			17: otherLines,
			23: otherLines,
			24: otherLines,
			46: otherLines,
			47: otherLines,
			52: "there are always logs",
			53: "the store of the logs does not fail by itself",
		},
	},
	"postgres-backups": {
		before: map[int]func(*replayer){
			4:  (*replayer).settle, // database created; its polls aren't recorded
			16: func(r *replayer) { r.agePostgres("pg13zhyafmee3k1634w2x36bt1", time.Hour) },
		},
		exceptions: map[int]string{
			5:  "there is one backup a day",
			9:  "the store of the backups does not fail by itself",
			11: "the store of the backups does not fail by itself",
			10: "the store of the backups does not fail by itself",
			12: "there is always a store of backups",
			41: "the request that only ours accepts is in it",
		},
	},
	"failures": {
		before: map[int]func(*replayer){
			1: (*replayer).seedGitHub,
			9: (*replayer).settle, // VM created; its polls aren't recorded
		},
		exceptions: map[int]string{
			126: "the pattern is another one",
		},
	},
	"kubernetes-nodepools": {
		before: map[int]func(*replayer){1: func(r *replayer) { r.service.Config.Quota.Kubernetes = 256 }}, // of a verified project
		exceptions: map[int]string{
			5: fewerSizes, 31: fewerSizes, 32: fewerSizes,
			95:  slowUpgrade,
			99:  slowUpgrade,
			105: slowUpgrade,
			106: slowUpgrade,
			109: slowUpgrade,
			112: slowUpgrade,
			135: slowUpgrade,
			136: slowUpgrade,
			127: "there are always metrics",
			128: "the store of the metrics does not fail by itself",
			129: "the store of the metrics does not fail by itself",
		},
	},
	"cluster-network": {
		before: map[int]func(*replayer){
			1: func(r *replayer) {
				r.service.Config.PortlessBalancers = true
				const id = "pj274rksmnat2j5h1h75h2rmzr"
				r.service.Do(func(at *api.Moment) {
					at.AddProject(id, "cluster", r.account).Permissions[r.token] = api.Permissions{"*"}
				})
				r.ids[id] = id
			},
			5:  (*replayer).settle,                                 // cluster created; its polls aren't recorded
			22: func(r *replayer) { stub.Elapse(3 * time.Second) }, // cluster deleted
			24: (*replayer).settle,
		},
	},
	"github": {
		before: map[int]func(*replayer){1: (*replayer).seedGitHub},
		exceptions: map[int]string{
			38: "the store of the cache does not fail by itself",
			39: "the store of the cache does not fail by itself",
			52: "the store of the cache does not fail by itself",
			50: "the other account has no installation",
			53: "a GitHub app is always there",
			54: "a GitHub app is always there",
			55: "a GitHub app is always there",
			56: "a GitHub app is always there",
		},
	},
	"inference-and-capabilities": {
		exceptions: map[int]string{
			2: "there are no private models",
			5: noPublicAWS,
		},
	},
}

const (
	noPublicAWS      = "there are no databases in the public locations of AWS"
	neverFails       = "an upgrade never fails"
	neverFull        = "there are always metrics, and no disk is full"
	lateStart        = "what stood in for the provisioning had not begun yet"
	lateCertificates = "a database has certificates when it runs"
	otherLines       = "the lines of the recording are others"
	ownCertificates  = "certificates of databases are never signed by a public authority"
	oneChange        = "servers are replaced once for an upgrade and a resize together"
	slowUpgrade      = "what stood in for the provisioning went on with an upgrade of a node pool when the cluster was running"
	fewerSizes       = "the message names only the sizes that ours offers"
	optionsAreFields = "the options of a destination are checked like other fields of a body"
	standIn          = "what stood in for the provisioning showed one more state"
)

// The service has changed since August 2026. These tables say where the
// recordings of August differ for that reason.
var (
	// Fields of all records of VMs, and of the project's.
	addedSince   = []string{"maintenance_window_start_at"}
	removedSince = []string{"credit", "discount"}

	// Kubernetes versions: the service always has the two latest ones.
	replacedSince = []string{"v1.34", "v1.35", "v1.35", "v1.36", "v1.36", "v1.37", "v1.37", "v1.38", "v1_35", "v1_36", "v1_36", "v1_37"}

	changedSince = map[string]map[int]string{
		"rules-for-all": {
			51: noProjects,
			52: noProjects,
			53: "the project wasn't created",
			54: noProjects,
		},
		"machine-images":             {67: newImage},
		"vm-start-stop":              {4: newImage},
		"postgres-create-and-change": {61: "a setting may be a number, so the message for null is another one"},
		"github": {
			26: "a cache entry that is being uploaded has the size null",
			27: "a cache entry that is being uploaded has the size null",
		},
	}
)

const (
	noProjects = "projects can't be listed or created"
	newImage   = "there is another boot image in the message"
)

func TestReplayService(t *testing.T) {
	t.Parallel()
	for _, name := range recordings.Service() {
		for story, exchanges := range recordings.Stories(read(t, name)) {
			t.Run(story, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					stub.Elapse(time.Until(recordedIn2026)) // requests contain dates
					r := newReplayerOf(t, version.Service, stories[story])
					if name == recordings.Autumn2026 {
						r.script = autumnStories[story]
						r.seedAutumn(exchanges)
					} else {
						r.since = strings.NewReplacer(replacedSince...)
						r.seed2026()
					}
					r.replayPolls(exchanges)
					r.summarize()
				})
			})
		}
	}
}

// recordedIn2026 is the end of the last story.
var recordedIn2026 = time.Date(2026, 11, 22, 3, 31, 0, 0, time.UTC)

// seed2026 adds the projects at the beginning of each story.
func (r *replayer) seed2026() {
	r.service.Config.Quota = api.Quota{VM: 32, Postgres: 128, Kubernetes: 32, MachineImageVersions: 16, Projects: 10}
	r.service.Do(func(at *api.Moment) {
		for id, name := range map[string]string{
			"pj7fqp3fdhma2nvw50wbd91521": "main", "pjkq13vqymqt2nyzx063yhj7fg": "big", "pj597knrqegt0j0nz4zcy78jm9": "flags",
		} {
			p := at.AddProject(id, name, r.account)
			p.Permissions[r.token] = api.Permissions{"*"}
			r.ids[id] = id
			if name == "flags" {
				p.Features = []string{FeatureBackupDownloads, FeatureLantern, FeatureMaintenanceWindowDays}
			}
		}
		const foreign = "pjrxamngzcr61qfbhasn8xap9g"
		token := at.State.Token(foreignToken)
		at.AddProject(foreign, "other", token.Account).Permissions[token] = api.Permissions{"*"}
		r.ids[foreign] = foreign
	})
}

// adopt gives our image versions the recorded IDs and their order.
func (r *replayer) adopt(recordedIDs ...string) {
	s := r.service.State
	for _, id := range recordedIDs {
		v := s.ByID[r.ids[id]].(*machineImageVersion)
		for _, e := range v.Project.Entries() {
			if i := slices.Index(e.Objects, v.ID); i >= 0 {
				e.Objects[i] = id
			}
		}
		s.Drop(v)
		v.ID, r.ids[id] = id, id
		s.Add(v)
	}
}

// seedGitHub adds the first GitHub objects of each story, with the recorded
// IDs.
func (r *replayer) seedGitHub() {
	r.service.Do(func(at *api.Moment) {
		p := at.State.Project("pj7fqp3fdhma2nvw50wbd91521")
		object := func(id, name string) api.Object {
			r.ids[id] = id
			return api.Object{ID: id, Name: name, Project: p}
		}
		acme := &githubInstallation{object("g1bb13th3gve6phz1nwvjpeg1n", "acme")}
		widgets := &githubInstallation{object("g1z3cfw6cy4a4qtsaqk4n9pd52", "Widgets_Inc")}
		at.State.Add(acme)
		at.State.Add(widgets)
		at.State.Add(&githubRepository{object("gpyqkwq9txwa0p030jpv0kqm8q", "one"), widgets})
		repository := func(id, name string) *githubRepository {
			g := &githubRepository{object(id, name), acme}
			at.State.Add(g)
			return g
		}
		entry := func(g *githubRepository, id, key, scope string, size int64, accessed bool) {
			e := &githubCacheEntry{Object: object(id, ""), repository: g, key: key, scope: scope, size: size, uploading: size < 0, created: at.Now}
			if accessed {
				e.accessed = at.Now
			}
			at.State.Add(e)
		}
		repository("gp73wax1ds5y4n5b0acd7gw5hv", "Caps_Repo.js")
		repository("gpxwkb1egt4a6mcg13rcwep2zz", "empty")
		entry(repository("gphj64p3dqn21mvw2w5ah0dwhn", "pending"), "ge9nw2xt6dn22qyg2k4gvjsx05", "k", "main", -1, false)
		entry(repository("gppgh93mr2tp1g341env0sj0ss", "broken-store"), "gehbbt0zmts24qj2dznsv1ypjd", "k", "main", 10, false)
		api := repository("gpsp2s9x14re1krpry05e658eg", "api")
		entry(api, "ge2ha17atgxt6jqdhp6g18m1xf", "node-3", "feature/x", 5, true)
		entry(api, "ge5vpka2heqp4n5bt9hddan0xv", "go-mod-1", "main", 1048576, true)
		entry(api, "gegwjct9j6qt5qasan18emac3n", "go-mod-2", "main", 2097152, false)
		entry(repository("gpt7dpk6es025n0pevhvjq05q7", "web"), "gepekwxwd8xa1qx5jhw419znqg", "npm-1", "main", 12345678901, false)
	})
}

// setNetworks gives one of our subnets the recorded networks.
func (r *replayer) setNetworks(recordedID, net4, net6 string) {
	s := r.service.State.ByID[r.ids[recordedID]].(*privateSubnet)
	s.net4, s.net6 = netip.MustParsePrefix(net4), netip.MustParsePrefix(net6)
}

// poll matches the case of an exchange that waits: the number of distinct
// states seen.
var poll = regexp.MustCompile(`^(.*)-poll-(\d+)(-again)?$`)

// replayPolls replays a story. Of its polls it sends the first one, in the old
// state, and the last one, after all changes are complete.
func (r *replayer) replayPolls(story []recordings.Exchange) {
	for i, x := range story {
		m := poll.FindStringSubmatch(x.Case)
		last := m != nil && (i+1 == len(story) || !strings.HasPrefix(story[i+1].Case, m[1]+"-poll-"))
		switch {
		case last:
			r.settle()
		case m != nil && m[2] != "1":
			r.leave(&x, standIn)
			continue
		}
		r.replay([]recordings.Exchange{x}, exact)
	}
}

// resizeIn sets how long replacing the servers of a database takes.
func (r *replayer) resizeIn(name string, d time.Duration) {
	delays := r.service.Config.Delays
	delays.Resize = d
	r.service.State.SetDelays(cloudapi.KindPostgres, name, delays)
}

// settleLong is [replayer.settle] for long changes.
func (r *replayer) settleLong() { stub.Elapse(time.Hour) }
