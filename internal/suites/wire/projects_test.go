package wire_test

import (
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func TestProjectsWire(t *testing.T) {
	t.Parallel()
	const full = `{"id":"` + stub.Project + `","name":"Acme-Prod","credit":25.4,"discount":10}`
	record := &cloudapi.Project{ID: stub.Project, Name: "Acme-Prod", Credit: new(25.4), Discount: new(10)}
	runWireCases(t, "Projects", []wireCase{
		{
			method: "GET", target: "/project", reply: `{"items":[` + full + `],"count":3}`,
			call: calls("Projects.List", nil),
			want: &cloudapi.Page[cloudapi.Project]{Items: []*cloudapi.Project{record}, Count: new(3), Next: stub.Project},
		},
		{
			name: "all", method: "GET", target: "/project?page_size=1000", reply: `{"items":[` + full + `],"count":1}`,
			call: calls("Projects.All", nil),
			want: []*cloudapi.Project{record},
		},
		{
			name: "create", method: "POST", target: "/project", body: `{"name":"Acme-Prod"}`, reply: full,
			call: calls("Projects.Create", &cloudapi.ProjectCreateRequest{Name: "Acme-Prod"}),
			want: record,
		},
		{
			method: "GET", target: projectPath, reply: full,
			call: calls("Projects.Get", stub.Project),
			want: record,
		},
		{
			name: "get from the service", method: "GET", target: projectPath, reply: `{"id":"` + stub.Project + `","name":"Acme-Prod"}`,
			call: calls("Projects.Get", stub.Project),
			want: &cloudapi.Project{ID: stub.Project, Name: "Acme-Prod"},
		},
		{
			method: "DELETE", target: projectPath,
			call: calls("Projects.Delete", stub.Project),
		},
		{
			name: "object info", method: "GET", target: projectPath + "/object-info/" + stub.VMID,
			reply: `{"type":"vm","location":"eu-central-h1","name":"web-1"}`,
			call:  calls("Projects.ObjectInfo", stub.Project, stub.VMID),
			want:  &cloudapi.ObjectInfo{Type: cloudapi.ObjectTypeVM, Location: "eu-central-h1", Name: "web-1"},
		},
	})
}
