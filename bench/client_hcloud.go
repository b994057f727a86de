package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/cloudapi-sdk/cloudapi/internal/test/byhand"
	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	"github.com/hetznercloud/hcloud-go/v2/hcloud/schema"
)

var hetzner = replies{
	vm:      sized(`{"server":`+server+`}`, len(ourReplies.vm)),
	created: sized(`{"server":`+server+`,"action":{"id":1,"command":"create_server","status":"running","progress":0,"started":"2025-10-01T12:00:00Z"}}`, len(ourReplies.vm)+160),
	missing: sized(`{"error":{"code":"not_found","message":"server with ID '42' not found~","details":null}}`, len(ourReplies.missing)),
	page: func(first, n, total int) string {
		var b bytes.Buffer
		b.WriteString(`{"servers":[`)
		for i := first; i < first+n; i++ {
			if i > first {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"id":%d,"name":"web-%04d","status":"running","created":"2025-10-01T12:00:00Z","public_net":{"ipv4":{"id":1,"ip":"198.51.100.17"},`+
				`"ipv6":{"id":2,"ip":"2001:db8::/64"}},"server_type":{"id":22,"name":"cx22"},"location":{"id":1,"name":"fsn1"}}`, 42+i, i)
		}
		page, next := first/pageSize+1, "null"
		if first+n < total {
			next = strconv.Itoa(page + 1)
		}
		fmt.Fprintf(&b, `],"meta":{"pagination":{"page":%d,"per_page":%d,"next_page":%s,"total_entries":%d}}}`, page, pageSize, next, total)
		return b.String()
	},
	first: func(query map[string][]string) int { // page numbers begin at 1
		if page := query["page"]; len(page) > 0 {
			n, _ := strconv.Atoi(page[0])
			return (n - 1) * pageSize
		}
		return 0
	},
}

const server = `{"id":42,"name":"web-1~","status":"running","created":"2025-10-01T12:00:00Z","public_net":{"ipv4":{"id":1,"ip":"198.51.100.17","blocked":false,"dns_ptr":"web-1.example.com"},"ipv6":{"id":2,"ip":"2001:db8::/64","blocked":false,"dns_ptr":[]},"floating_ips":[],"firewalls":[{"id":38,"status":"applied"}]},"private_net":[{"network":4711,"ip":"10.0.1.2","alias_ips":[],"mac_address":"86:00:ff:2a:7d:e1"}],"server_type":{"id":22,"name":"cx22","cores":2,"memory":4,"disk":40},"location":{"id":1,"name":"fsn1","network_zone":"eu-central"},"protection":{"delete":false,"rebuild":false},"labels":{"env":"prod"},"volumes":[],"primary_disk_size":40}`

func openHcloud(base string, transport http.RoundTripper) (*calls, error) {
	opts := []hcloud.ClientOption{hcloud.WithEndpoint(base), hcloud.WithToken(token)}
	if transport != nil {
		opts = append(opts, hcloud.WithHTTPClient(&http.Client{Transport: transport}))
	}
	client := hcloud.NewClient(opts...)
	return &calls{
		vm: func(ctx context.Context) error {
			server, _, err := client.Server.GetByID(ctx, 42)
			if err == nil && server == nil { // hcloud-go's way to say "not found"
				return errHcloud
			}
			return consume(server, err)
		},
		create: func(ctx context.Context) error {
			result, _, err := client.Server.Create(ctx, serverOptions)
			return consume(result.Server, err)
		},
		list: func(ctx context.Context) error {
			servers, err := client.Server.AllWithOpts(ctx, hcloud.ServerListOpts{ListOpts: hcloud.ListOpts{PerPage: pageSize}})
			return complete(len(servers), err)
		},
	}, nil
}

var (
	errHcloud = errors.New("the server wasn't found")

	serverOptions = hcloud.ServerCreateOpts{
		Name: vmName, ServerType: &hcloud.ServerType{Name: "cx22"}, Image: &hcloud.Image{Name: "ubuntu-24.04"},
		SSHKeys: []*hcloud.SSHKey{{ID: 1}}, Location: &hcloud.Location{Name: "fsn1"}, Labels: map[string]string{"env": "prod"},
	}
	serverRequest = &schema.ServerCreateRequest{
		Name: vmName, ServerType: schema.IDOrName{Name: "cx22"}, Image: schema.IDOrName{Name: "ubuntu-24.04"},
		SSHKeys: []int64{1}, Location: "fsn1", Labels: &map[string]string{"env": "prod"},
	}
)

func openHcloudByHand(base string, transport http.RoundTripper) (*calls, error) {
	f := newByHand(base, transport)
	return &calls{
		vm: func(ctx context.Context) error {
			return consume(byhand.Send[schema.ServerGetResponse, schema.ErrorResponse](ctx, f, "GET", "/servers/42", nil))
		},
		create: func(ctx context.Context) error {
			return consume(byhand.Send[schema.ServerCreateResponse, schema.ErrorResponse](ctx, f, "POST", "/servers", serverRequest))
		},
		list: func(ctx context.Context) error {
			n := 0
			for page := 1; page > 0; {
				reply, err := byhand.Send[serversReply, schema.ErrorResponse](ctx, f, "GET", "/servers?page="+strconv.Itoa(page)+"&per_page="+strconv.Itoa(pageSize), nil)
				if err != nil {
					return err
				}
				n += len(reply.Servers)
				page = reply.Meta.Pagination.NextPage
			}
			return complete(n, nil)
		},
	}, nil
}

type serversReply struct {
	schema.ServerListResponse
	schema.MetaResponse
}
