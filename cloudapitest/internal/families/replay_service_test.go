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
	"github.com/cloudapi-sdk/cloudapi/internal/test/recordings"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// stories contains the names of the recorded stories that are replayed, and
// what each replay needs besides the recording. A story is a sequence of
// exchanges with the service; the numbers are their seq.
var stories = map[string]script{
	"vm-start-stop": {exceptions: map[string][]int{newImage: {4}}},
	"machine-images": {
		exceptions: map[string][]int{
			"the pattern is another one":             {21, 22},
			"the label is the time of the recording": {91},
			newImage:                                 {67},
			lateStart:                                {73, 74, 99, 101, 102},
		},
		settled: []int{6, 11},
		before: map[int]func(*replayer){
			58: func(r *replayer) { // the version fails before it's ready
				r.service.State.SetDelays(cloudapi.KindMachineImageVersion, "fails-1", api.Delays{Create: time.Hour})
			},
			61: func(r *replayer) { r.show("mvtw2ft3vsza0jzzn2hbqgq6bd", "failed") },
			94: func(r *replayer) { r.adopt("mv02vw45gdza5jqbqszeqwc6ev", "mvtw2ft3vsza0jzzn2hbqgq6bd") }, // the next requests page by ID
		},
	},
	"firewall-updates": {
		before: map[int]func(*replayer){27: func(r *replayer) {
			r.setNetworks("ps9q1v5r4tsp1q4k77ge0wg3nd", "172.25.4.128/26", "fd6e:ab26:47e:d704::/64")
		}},
		exceptions: map[string][]int{
			"the order of a subnet's firewalls is not known": {60, 62},
		},
	},
	"load-balancer-certificates": {},
	"audit-log":                  {exceptions: map[string][]int{noSuchClient: {55}}},
	"rules-for-all": {
		settled: []int{56, 62, 71},
		exceptions: map[string][]int{
			"the label is the time of the recording":    {71},
			noSuchClient:                                {11, 12, 15, 18},
			"projects can't be listed or created today": {51, 52, 53, 54},
			"net/http refuses a path with a broken escape before any handler sees it": {22},
			"the addresses of the service are not part of the API":                    {26},
			"the endpoint of the vendor's command line is not part of the API":        {28},
		},
	},
	"keys-and-lists": {},
	"postgres-create-and-change": {
		settled: []int{147},
		before: map[int]func(*replayer){
			25:  func(r *replayer) { r.resizeIn("main-db", 10*time.Minute) }, // the upgrade takes longer than the creation
			97:  (*replayer).settleLong,
			141: (*replayer).settleLong,
		},
		exceptions: map[string][]int{
			noPublicAWS: {1, 21, 160},
			"a database has certificates when it runs":                       {38},
			"servers are replaced once for an upgrade and a resize together": {70, 72, 73},
			"there are always metrics, and no disk is full":                  {71, 99, 100},
			lateStart: {107, 108, 118, 119},
			"the changes that only ours accepts are in it":                            {170},
			"a setting may be a number today, so the message for null is another one": {61},
		},
	},
	"postgres-servers-and-upgrade": {
		settled: []int{2, 104},
		before: map[int]func(*replayer){
			4:  func(r *replayer) { r.resizeIn("core", 8*time.Minute) }, // the recycling isn't complete when the upgrade is requested
			26: (*replayer).settleLong,
			27: func(r *replayer) { r.resizeIn("core", time.Second) },
			48: func(r *replayer) { r.resizeIn("core-r", 2*time.Minute) }, // the recycling isn't complete when the upgrade is requested
			70: (*replayer).settleLong,
			73: func(r *replayer) { r.resizeIn("core", time.Hour); r.resizeIn("core-r", time.Hour) }, // the upgrades aren't complete before the end
		},
		exceptions: map[string][]int{
			lateStart:                {8, 9, 49, 50, 112, 113},
			"an upgrade never fails": {100, 101, 102},
		},
	},
	"postgres-replicas-and-public-certificates": {
		settled: []int{2, 58, 68},
		exceptions: map[string][]int{
			lateStart: {5, 6},
			"what stood in for the measurements had one series for all modes":  {59},
			"certificates of databases are never signed by a public authority": {66, 67, 68, 69, 70, 72, 73},
		},
	},
	"postgres-certificates-and-destinations": {
		settled: []int{2},
		before: map[int]func(*replayer){
			92: func(r *replayer) { // no response has shown the subnet of the database
				db := r.service.State.ByID[r.ids["pg6ws630rz9y4pbvjdy38p6sax"]].(*postgres)
				r.ids["psqm09zqx2mj0k7pnpr2a22pgy"] = db.subnet.ID
			},
		},
	},
	"postgres-logs": {
		before: map[int]func(*replayer){2: func(r *replayer) { r.agePostgres("pg4yqsxqqp0e0k3qbqt03mtvwk", 8*24*time.Hour) }},
		exceptions: map[string][]int{
			"the lines of the recording are others":         {7, 12, 17, 23, 24, 46, 47},
			"there are always logs":                         {52},
			"the store of the logs does not fail by itself": {53},
		},
	},
	"postgres-backups": {
		settled: []int{4},
		before: map[int]func(*replayer){
			16: func(r *replayer) { r.agePostgres("pg13zhyafmee3k1634w2x36bt1", time.Hour) },
		},
		exceptions: map[string][]int{
			"there is one backup a day":                        {5},
			"the store of the backups does not fail by itself": {9, 11, 10},
			"there is always a store of backups":               {12},
			"the request that only ours accepts is in it":      {41},
		},
	},
	"failures": {
		settled: []int{9},
		before: map[int]func(*replayer){
			1: (*replayer).seedGitHub,
		},
		exceptions: map[string][]int{
			"the pattern is another one": {126},
		},
	},
	"kubernetes-nodepools": {
		before: map[int]func(*replayer){1: func(r *replayer) { r.service.Config.Quota.Kubernetes = 256 }}, // of a verified project
		exceptions: map[string][]int{
			"the message names only the sizes that ours offers":                                                      {5, 31, 32},
			"what stood in for the provisioning went on with an upgrade of a node pool when the cluster was running": {95, 99, 105, 106, 109, 112, 135, 136},
			"there are always metrics":                         {127},
			"the store of the metrics does not fail by itself": {128, 129},
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
		exceptions: map[string][]int{
			"the store of the cache does not fail by itself":               {38, 39, 52},
			"the other account has no installation":                        {50},
			"a cache entry that is being uploaded has the size null today": {26, 27},
			"a GitHub app is always there":                                 {53, 54, 55, 56},
		},
	},
	"inference-and-capabilities": {
		exceptions: map[string][]int{
			"there are no private models": {2},
			noPublicAWS:                   {5},
		},
	},
}

const (
	noPublicAWS = "there are no databases in the public locations of AWS"
	lateStart   = "what stood in for the provisioning had not begun yet"
	newImage    = "there is another boot image in the message today"
)

// The service has changed since August 2026. These tables say where the
// recordings of August differ for that reason, besides the exceptions.
var (
	// Fields that were added to all records of VMs, and fields that were removed
	// from the records of projects.
	addedSince   = []string{"maintenance_window_start_at"}
	removedSince = []string{"credit", "discount"}

	// Pairs of an old Kubernetes version and the one that has replaced it: the
	// service always has the two latest.
	replacedSince = []string{"v1.34", "v1.35", "v1.35", "v1.36", "v1.36", "v1.37", "v1.37", "v1.38", "v1_35", "v1_36", "v1_36", "v1_37"}
)

// renamedSince replaces the name of a setting before its merge, and the name of a
// certificate user that the service refuses since.
var renamedSince = strings.NewReplacer("shared_memory_percent", sharedMemory, `Big User \"x\"`, "big-user")

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
					for i := range exchanges {
						x := &exchanges[i]
						if x.Request.Body != nil {
							x.Request.Body = new(renamedSince.Replace(*x.Request.Body))
						}
						x.Response.Body = renamedSince.Replace(x.Response.Body)
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

// poll matches the name of an exchange that polls. It contains the number of
// different states seen so far.
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
			r.left++ // shows a state in between, which the test server may not have
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
