package wire_test

import (
	"context"
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
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) { return c.Projects.List(ctx, nil) },
			want: &cloudapi.Page[cloudapi.Project]{Items: []*cloudapi.Project{record}, Count: new(3), NextStartAfter: stub.Project},
		},
		{
			name: "all", method: "GET", target: "/project?page_size=1000", reply: `{"items":[` + full + `],"count":1}`,
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) { return collect(c.Projects.All(ctx, nil)) },
			want: []*cloudapi.Project{record},
		},
		{
			name: "create", method: "POST", target: "/project", body: `{"name":"Acme-Prod"}`, reply: full,
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) {
				return c.Projects.Create(ctx, &cloudapi.ProjectCreateRequest{Name: "Acme-Prod"})
			},
			want: record,
		},
		{
			method: "GET", target: projectPath, reply: full,
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) {
				return c.Projects.Get(ctx, stub.Project)
			},
			want: record,
		},
		{
			name: "get from the service", method: "GET", target: projectPath, reply: `{"id":"` + stub.Project + `","name":"Acme-Prod"}`,
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) {
				return c.Projects.Get(ctx, stub.Project)
			},
			want: &cloudapi.Project{ID: stub.Project, Name: "Acme-Prod"},
		},
		{
			method: "DELETE", target: projectPath,
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) {
				return nothing(c.Projects.Delete(ctx, stub.Project))
			},
		},
		{
			name: "object info", method: "GET", target: projectPath + "/object-info/" + stub.VMID,
			reply: `{"type":"vm","location":"eu-central-h1","name":"web-1"}`,
			call: func(ctx context.Context, c *cloudapi.Client) (any, error) {
				return c.Projects.ObjectInfo(ctx, stub.Project, stub.VMID)
			},
			want: &cloudapi.ObjectInfo{Type: cloudapi.ObjectTypeVM, Location: "eu-central-h1", Name: "web-1"},
		},
	})
}
