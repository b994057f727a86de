package wire_test

import (
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

func auditLogCases() []wireCase {
	const (
		path  = projectPath + "/audit-log"
		key   = "1795318043.270455/a1macd6kdppa2mcqzbr5azcvr7"
		entry = `{"at":"2026-11-22T03:27:26Z","action":"fw/associate","subject_id":"actn3bfg8kfy0gbzzaxxzedqnq",` +
			`"object_ids":["fw53tv73zfy23nv7kdq6d09s6x","ps9ac8ddhyte2k8vk9d2sz64qm"],"subject_name":"main"}`
		old = `{"at":"2026-11-21T03:27:26Z","action":"pj/destroy","subject_id":"actn3bfg8kfy0gbzzaxxzedqnq","object_ids":[]}`
	)
	end := time.Date(2026, 11, 23, 1, 0, 0, 0, time.FixedZone("", 2*60*60)) // in UTC it is the day before
	return []wireCase{
		{do("AuditLog.List", nil), "GET " + path, `{"items":[` + entry + `,` + old + `]}`},
		{
			do("AuditLog.List", &cloudapi.AuditLogOptions{Action: "fw/associate", Subject: "main@example.com",
				Object: "fw53tv73zfy23nv7kdq6d09s6x", End: end, PageSize: 2, PaginationKey: key}),
			"GET " + path + "?action=fw%2Fassociate&end=2026-11-22&limit=2&object=fw53tv73zfy23nv7kdq6d09s6x" +
				"&pagination_key=1795318043.270455%2Fa1macd6kdppa2mcqzbr5azcvr7&subject=main%40example.com",
			`{"pagination_key":"` + key + `","items":[` + entry + `]}`,
		},
		{do("AuditLog.All", &cloudapi.AuditLogOptions{End: end}), "GET " + path + "?end=2026-11-22", `{"items":[]}`},
	}
}
