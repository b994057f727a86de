package cloudapi

import (
	"context"
	"testing"
)

func TestProjectsWire(t *testing.T) {
	t.Parallel()
	const full = `{"id":"` + testProject + `","name":"Acme-Prod","credit":25.4,"discount":10}`
	record := &Project{ID: testProject, Name: "Acme-Prod", Credit: 25.4, Discount: 10}
	runWireCases(t, "Projects", []wireCase{
		{
			method: "GET", target: "/project", reply: `{"items":[` + full + `],"count":3}`,
			call: func(ctx context.Context, c *Client) (any, error) { return c.Projects.List(ctx, nil) },
			want: &Page[Project]{Items: []*Project{record}, Count: new(3), NextStartAfter: testProject},
		},
		{
			name: "all", method: "GET", target: "/project?page_size=1000", reply: `{"items":[` + full + `],"count":1}`,
			call: func(ctx context.Context, c *Client) (any, error) { return collect(c.Projects.All(ctx, nil)) },
			want: []*Project{record},
		},
		{
			name: "create", method: "POST", target: "/project", body: `{"name":"Acme-Prod"}`, reply: full,
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Projects.Create(ctx, &ProjectCreateRequest{Name: "Acme-Prod"})
			},
			want: record,
		},
		{
			method: "GET", target: projectPath, reply: full,
			call: func(ctx context.Context, c *Client) (any, error) { return c.Projects.Get(ctx, testProject) },
			want: record,
		},
		{
			method: "DELETE", target: projectPath,
			call: func(ctx context.Context, c *Client) (any, error) {
				return nothing(c.Projects.Delete(ctx, testProject))
			},
		},
		{
			name: "object info", method: "GET", target: projectPath + "/object-info/" + testVMID,
			reply: `{"type":"vm","location":"eu-central-h1","name":"web-1"}`,
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Projects.ObjectInfo(ctx, testProject, testVMID)
			},
			want: &ObjectInfo{Type: ObjectTypeVM, Location: "eu-central-h1", Name: "web-1"},
		},
	})
}
