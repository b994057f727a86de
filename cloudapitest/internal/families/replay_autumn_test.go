package families

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/internal/test/recordings"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// autumnStories is like [stories], for the recordings of autumn 2026.
var autumnStories = map[string]script{
	"vm-serial-log": {
		before: map[int]func(*replayer){
			7:  console(0, boots(11)),
			16: console(63*time.Second, ""),
			17: console(0, boots(12)),
			21: console(time.Hour, boots(13)),
			40: func(r *replayer) {
				stub.Elapse(time.Minute)
				r.service.Do(func(at *api.Moment) { SetSerialLog(at, r.ids[serialVM], "", true) })
			},
			46: console(time.Minute, "plain\r\n\x1b[0;32mOK\x1b[0m green\r\n\xff\xfe broken \xc3( bytes\r\n\ttab nul? café 😀\r\n"),
			49: console(time.Minute, ""),
			56: console(time.Minute, boots(16)),
			61: (*replayer).settle, // VM deleted
		},
	},
	"vm-maintenance-window": {},
	"projects-removed":      {},
	"github-cache-size-and-runners": {
		before: map[int]func(*replayer){
			1: (*replayer).seedUpload,
			4: func(r *replayer) {
				r.service.State.ByID["ge8345rb51va3g01nbat2wjkg7"].(*githubCacheEntry).uploading = false
			},
		},
		exceptions: map[string][]int{
			"the list of runners may not have been published": {5, 6, 7, 8, 9},
		},
	},
	"postgres-failing-over": {
		settled: []int{2},
		before: map[int]func(*replayer){
			3: func(r *replayer) { r.show("pvvtyh3efe122q623wtw5e1c6m", "failing_over") },
			6: func(r *replayer) { r.show("pvwpanwkkphy7j0vhfdzjjjr9j", "unavailable") },
			7: func(r *replayer) {
				r.show("pvvtyh3efe122q623wtw5e1c6m", "")
				r.show("pvwpanwkkphy7j0vhfdzjjjr9j", "")
			},
		},
		exceptions: map[string][]int{
			"what stood in for the backups had one from the start": {1},
		},
	},
	"postgres-config-numbers": { // continues with the database of the previous story
		before: map[int]func(*replayer){1: func(r *replayer) {
			before := recordings.Stories(read(r.t, recordings.Autumn2026))["postgres-failing-over"]
			r.differences(&before[0], exact) // creates the database
			r.settle()
			r.differences(&before[1], exact) // lists its servers
		}},
		exceptions: map[string][]int{
			"the pattern in the message is the stand-in's own": {20},
		},
	},
	"kubernetes-versions": {
		settled: []int{5},
	},
}

// seedUpload adds a repository with cache entries, one of which is being
// uploaded. The list that shows them is in the recording.
func (r *replayer) seedUpload() {
	r.service.Do(func(at *api.Moment) {
		p := at.State.Project("pjqf13dc3vgp6pzgc15pnq2xvz")
		object := func(id, name string) api.Object {
			r.ids[id] = id
			return api.Object{ID: id, Name: name, Project: p}
		}
		acme := &githubInstallation{object("g1wcypy8grgy4g3d521sca3yfg", "acme-4cce7908")}
		repository := &githubRepository{object("gpcbaga0fhtt3n94nzcwv3bdwj", "api"), acme}
		at.State.Add(acme)
		at.State.Add(repository)
		var entries struct{ Items []githubCacheEntryRecord }
		list := recordings.Stories(read(r.t, recordings.Autumn2026))["github-cache-size-and-runners"][2]
		if err := json.Unmarshal([]byte(list.Response.Body), &entries); err != nil {
			r.t.Fatal(err)
		}
		for _, record := range entries.Items {
			e := &githubCacheEntry{Object: object(record.ID, ""), repository: repository, key: record.Key, scope: record.Scope, size: 7340032, created: at.Now}
			e.uploading = record.Size == nil
			if record.Size != nil {
				e.size = *record.Size
			}
			if record.LastAccessedAt != nil {
				e.accessed = *record.LastAccessedAt
			}
			at.State.Add(e)
		}
	})
}

var projectOf = regexp.MustCompile(`pj[0-9a-z]{24}`)

// seedAutumn adds the projects of a story. A token of the recording could only
// view VMs, and another one only edit them.
func (r *replayer) seedAutumn(story []recordings.Exchange) {
	r.service.Config.Quota = api.Quota{VM: 32, Postgres: 128, Kubernetes: 32, MachineImageVersions: 16, Projects: 10}
	r.service.Do(func(at *api.Moment) {
		for _, x := range story {
			id := projectOf.FindString(x.Request.Path)
			if id == "" || r.ids[id] != "" || id == "pj00000000000000000000000a" { // this project doesn't exist
				continue
			}
			r.ids[id] = id
			p := at.AddProject(id, "big-4ac35845", r.account)
			p.Permissions[r.token] = api.Permissions{"*"}
			p.Permissions[at.State.Token(viewerToken)] = api.Permissions{"Vm:view"}
			p.Permissions[at.State.Token(editorToken)] = api.Permissions{"Vm:edit"}
		}
	})
}

const serialVM = "vm6t3jh4ax162ny9yndb2bdqkx"

// boots returns what the recorded VM wrote to its console at its n-th boot.
func boots(n int) string {
	return fmt.Sprintf("[    0.000000] Linux version 6.8.0 (stand-in) boot %d\r\n[    0.512345] Run /init as init process\r\n"+
		"[\x1b[0;32m  OK  \x1b[0m] Reached target multi-user.target\r\n\r\nUbuntu 24.04 LTS  ttyS0\r\n\r\n login: ", n)
}

// console lets time pass, so that the last serial log gets older, and sets the
// text that the next fetch returns.
func console(age time.Duration, output string) func(*replayer) {
	return func(r *replayer) {
		stub.Elapse(age)
		r.service.Do(func(at *api.Moment) { SetSerialLog(at, r.ids[serialVM], output, false) })
	}
}
