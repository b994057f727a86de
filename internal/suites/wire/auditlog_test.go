package wire_test

import (
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

func TestAuditLogWire(t *testing.T) {
	t.Parallel()
	const (
		target = projectPath + "/audit-log"
		key    = "1795318043.270455/a1macd6kdppa2mcqzbr5azcvr7"
		entry  = `{"at":"2026-11-22T03:27:26Z","action":"fw/associate","subject_id":"actn3bfg8kfy0gbzzaxxzedqnq",` +
			`"object_ids":["fw53tv73zfy23nv7kdq6d09s6x","ps9ac8ddhyte2k8vk9d2sz64qm"],"subject_name":"main"}`
		old = `{"at":"2026-11-21T03:27:26Z","action":"pj/destroy","subject_id":"actn3bfg8kfy0gbzzaxxzedqnq","object_ids":[]}`
	)
	entries := []*cloudapi.AuditLogEntry{
		{
			At: time.Date(2026, 11, 22, 3, 27, 26, 0, time.UTC), Action: "fw/associate",
			SubjectID: "actn3bfg8kfy0gbzzaxxzedqnq", SubjectName: "main",
			ObjectIDs: []string{"fw53tv73zfy23nv7kdq6d09s6x", "ps9ac8ddhyte2k8vk9d2sz64qm"},
		},
		{At: time.Date(2026, 11, 21, 3, 27, 26, 0, time.UTC), Action: "pj/destroy", SubjectID: "actn3bfg8kfy0gbzzaxxzedqnq", ObjectIDs: []string{}},
	}
	// In UTC it is the day before.
	end := time.Date(2026, 11, 23, 1, 0, 0, 0, time.FixedZone("", 2*60*60))
	runWireCases(t, "AuditLog", []wireCase{
		{
			method: "GET", target: target, reply: `{"items":[` + entry + `,` + old + `]}`,
			call: calls("AuditLog.List", nil),
			want: &cloudapi.Page[cloudapi.AuditLogEntry]{Items: entries},
		},
		{
			name: "a page of some entries", method: "GET",
			target: target + "?action=fw%2Fassociate&end=2026-11-22&limit=2&object=fw53tv73zfy23nv7kdq6d09s6x" +
				"&pagination_key=1795318043.270455%2Fa1macd6kdppa2mcqzbr5azcvr7&subject=main%40example.com",
			reply: `{"pagination_key":"` + key + `","items":[` + entry + `]}`,
			call: calls("AuditLog.List", &cloudapi.AuditLogOptions{Action: "fw/associate", Subject: "main@example.com",
				Object: "fw53tv73zfy23nv7kdq6d09s6x", End: end, PageSize: 2, PaginationKey: key}),
			want: &cloudapi.Page[cloudapi.AuditLogEntry]{Items: entries[:1], Next: key},
		},
		{
			name: "nothing", method: "GET", target: target + "?end=2026-11-22", reply: `{"items":[]}`,
			call: calls("AuditLog.All", &cloudapi.AuditLogOptions{End: end}),
			want: []*cloudapi.AuditLogEntry{},
		},
	})
}
