package wire_test

import (
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func projectCases() []wireCase {
	const full = `{"id":"` + stub.Project + `","name":"Acme-Prod","credit":25.4,"discount":10}`
	return []wireCase{
		{do("Projects.List", nil), "GET /project", list(full)},
		{do("Projects.All", nil), "GET /project?page_size=1000", list(full)},
		{do("Projects.Create", "Acme-Prod"), `POST /project {"name":"Acme-Prod"}`, full},
		{do("Projects.Get", stub.Project), "GET " + projectPath, full},
		{do("Projects.Get", stub.Project), "GET " + projectPath, `{"id":"` + stub.Project + `","name":"Acme-Prod"}`},
		{do("Projects.Delete", stub.Project), "DELETE " + projectPath, nil},
		{do("Projects.ObjectInfo", stub.Project, stub.VMID), "GET " + projectPath + "/object-info/" + stub.VMID,
			`{"type":"vm","location":"eu-central-h1","name":"web-1"}`},
	}
}
