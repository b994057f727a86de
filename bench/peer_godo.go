package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/cloudapi-sdk/cloudapi/internal/floor"
	"github.com/digitalocean/godo"
	"github.com/hashicorp/go-retryablehttp"
	"golang.org/x/oauth2"
)

// digitalOcean are the responses of godo's API.
var digitalOcean = replies{
	vm:      sized(`{"droplet":`+droplet+`}`, len(our.vm)),
	created: sized(`{"droplet":`+droplet+`,"links":{}}`, len(our.vm)),
	missing: sized(`{"id":"not_found","message":"The resource you requested could not be found.~","request_id":"4851a473-1621-42ea-b2f9-5071c0ea8414"}`, len(our.missing)),
	database: sized(`{"database":{"id":"9cc10173-e9ea-4176-9dbc-a4cee4c4ff30","name":"orders-db","engine":"pg","version":"17","connection":{"protocol":"","uri":"postgres://doadmin:secret@orders-db.example.com:25060/defaultdb?sslmode=require","database":"","host":"orders-db.example.com","port":25060,"user":"doadmin","password":"secret","ssl":true},"users":[{"name":"doadmin","role":"primary","password":"~"}],"db_names":["defaultdb"],"num_nodes":2,"region":"nyc3","status":"online","maintenance_window":{"day":"saturday","hour":"08:45:12","pending":true,"description":["Update TimescaleDB to version 1.2.1"]},"size":"db-s-2vcpu-4gb","tags":["payments"],"created_at":"2025-10-01T02:15:09Z","private_network_uuid":"d455e75d-4858-4eec-8c95-da2f0a5f93a7","storage_size_mib":65536}}`,
		len(our.database)),
	page: func(first, n, total int) string {
		var b bytes.Buffer
		b.WriteString(`{"droplets":[`)
		for i := first; i < first+n; i++ {
			if i > first {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"id":%d,"name":"web-%04d","memory":2048,"vcpus":2,"disk":50,"status":"active","size_slug":"s-2vcpu-2gb",`+
				`"created_at":"2025-10-01T12:00:00Z","region":{"slug":"fra1"},"networks":{"v4":[{"ip_address":"198.51.100.17","type":"public"}]}}`, 3164444+i, i)
		}
		fmt.Fprintf(&b, `],"links":{`)
		if next := first + n; next < total {
			fmt.Fprintf(&b, `"pages":{"next":"https://api.example.com/v2/droplets?page=%d&per_page=%d"}`, next/n+1, n)
		}
		fmt.Fprintf(&b, `},"meta":{"total":%d}}`, total)
		return b.String()
	},
	first: byPageNumber,
}

// byPageNumber returns the index of the first item of a page. Page numbers
// begin at 1.
func byPageNumber(query map[string][]string) int {
	if page := query["page"]; len(page) > 0 {
		n, _ := strconv.Atoi(page[0])
		return (n - 1) * largePage
	}
	return 0
}

const droplet = `{"id":3164444,"name":"web-1~","memory":2048,"vcpus":2,"disk":50,"locked":false,"status":"active","size_slug":"s-2vcpu-2gb","created_at":"2025-10-01T12:00:00Z","features":["ipv6"],"backup_ids":[53893572],"networks":{"v4":[{"ip_address":"10.128.192.124","netmask":"255.255.0.0","gateway":"","type":"private"},{"ip_address":"198.51.100.17","netmask":"255.255.240.0","gateway":"198.51.96.1","type":"public"}],"v6":[{"ip_address":"2604:a880:0:1010::18a:a001","netmask":64,"gateway":"2604:a880:0:1010::1","type":"public"}]},"region":{"name":"Frankfurt 1","slug":"fra1","available":true},"tags":["web"],"vpc_uuid":"760e09ef-dc84-11e8-981e-3cfdfeaae000"}`

func openGodo(base string, transport http.RoundTripper) (*calls, error) {
	address, err := url.Parse(base + "/")
	if err != nil {
		return nil, err
	}
	client := godo.NewFromToken(token)
	client.BaseURL = address
	if transport != nil {
		// Below its retries and its token.
		client.HTTPClient.Transport.(*oauth2.Transport).Base.(*retryablehttp.RoundTripper).Client.HTTPClient.Transport = transport
	}
	return &calls{
		vm: func(ctx context.Context) error {
			droplet, _, err := client.Droplets.Get(ctx, 3164444)
			return keep(droplet, err)
		},
		database: func(ctx context.Context) error {
			database, _, err := client.Databases.Get(ctx, "9cc10173-e9ea-4176-9dbc-a4cee4c4ff30")
			return keep(database, err)
		},
		create: func(ctx context.Context) error {
			droplet, _, err := client.Droplets.Create(ctx, dropletRequest)
			return keep(droplet, err)
		},
		list: func(ctx context.Context) error {
			n := 0
			opts := &godo.ListOptions{Page: 1, PerPage: largePage}
			for {
				droplets, resp, err := client.Droplets.List(ctx, opts)
				if err != nil {
					return err
				}
				n += len(droplets)
				if resp.Links == nil || resp.Links.IsLastPage() {
					return counted(n, listLength, nil)
				}
				opts.Page++
			}
		},
	}, nil
}

var dropletRequest = &godo.DropletCreateRequest{
	Name: vmName, Region: "fra1", Size: "s-2vcpu-2gb", Image: godo.DropletCreateImage{Slug: "ubuntu-24-04-x64"},
	SSHKeys: []godo.DropletCreateSSHKey{{Fingerprint: "3b:16:bf:e4:8b:00:8b:b8:59:8c:a9:d3:f0:19:45:fa"}}, IPv6: true,
}

func isNotFoundGodo(err error) bool {
	e, ok := errors.AsType[*godo.ErrorResponse](err)
	return ok && e.Response.StatusCode == http.StatusNotFound
}

type (
	dropletReply  struct{ Droplet *godo.Droplet }
	databaseReply struct{ Database *godo.Database }
	dropletsReply struct {
		Droplets []godo.Droplet
		Links    *godo.Links
		Meta     *godo.Meta
	}
	godoError struct {
		ID        string `json:"id"`
		Message   string `json:"message"`
		RequestID string `json:"request_id"`
	}
)

func openGodoFloor(base string, transport http.RoundTripper) (*calls, error) {
	f := newFloor(base, transport)
	return &calls{
		vm: func(ctx context.Context) error {
			return keep(floor.Send[dropletReply, godoError](ctx, f, "GET", "/v2/droplets/3164444", nil))
		},
		database: func(ctx context.Context) error {
			return keep(floor.Send[databaseReply, godoError](ctx, f, "GET", "/v2/databases/9cc10173-e9ea-4176-9dbc-a4cee4c4ff30", nil))
		},
		create: func(ctx context.Context) error {
			return keep(floor.Send[dropletReply, godoError](ctx, f, "POST", "/v2/droplets", dropletRequest))
		},
		list: func(ctx context.Context) error {
			n := 0
			for page := 1; ; page++ {
				reply, err := floor.Send[dropletsReply, godoError](ctx, f, "GET", "/v2/droplets?page="+strconv.Itoa(page)+"&per_page="+strconv.Itoa(largePage), nil)
				if err != nil {
					return err
				}
				n += len(reply.Droplets)
				if reply.Links == nil || reply.Links.IsLastPage() {
					return counted(n, listLength, nil)
				}
			}
		},
	}, nil
}
