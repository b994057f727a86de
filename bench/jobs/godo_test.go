package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/digitalocean/godo"
	"github.com/digitalocean/godo/util"
)

const droplets = "http://digitalocean.localhost/"

// largestPage is the largest page that DigitalOcean serves.
var largestPage = &godo.ListOptions{PerPage: 200}

// godo returns godo's client.
func (w *world) godo() *godo.Client {
	a := digitalOcean{newAdapter(w)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v2/droplets", a.create)
	mux.HandleFunc("GET /v2/actions/{action}", a.action)
	mux.HandleFunc("DELETE /v2/{kind}/{number}", a.delete)
	mux.HandleFunc("GET /v2/{kind}", a.list)
	client := godo.NewClient(w.counted(answeredBy(mux)))
	client.BaseURL = must(url.Parse(droplets))
	return client
}

// provisionGodo creates ten droplets per request, the maximum of DigitalOcean,
// and waits for one action after another.
func provisionGodo(ctx context.Context, w *world) error {
	client := w.godo()
	var actions []string
	for some := range slices.Chunk(names(), 10) {
		_, resp, err := client.Droplets.CreateMultiple(ctx, &godo.DropletMultiCreateRequest{
			Names: some, Region: "fra1", Size: "s-2vcpu-2gb", Image: godo.DropletCreateImage{Slug: "ubuntu-24-04-x64"},
		})
		if err != nil {
			return err
		}
		for _, action := range resp.Links.Actions {
			actions = append(actions, action.HREF)
		}
	}
	for _, action := range actions {
		if err := util.WaitForActive(ctx, client, action); err != nil {
			return err
		}
	}
	all, _, err := client.Droplets.List(ctx, largestPage)
	return errors.Join(err, expect(provisioned, len(all)))
}

// watchGodo lists all droplets at intervals: godo has no helper for it.
func watchGodo(ctx context.Context, w *world) error {
	client := w.godo()
	return w.eachInterval(ctx, func() error {
		all, err := everyPage(ctx, client.Droplets.List)
		return errors.Join(err, expect(watched, len(all)))
	})
}

// tearDownGodo deletes what it lists, and lists the droplets until there are
// none: godo has no helper for that.
func tearDownGodo(ctx context.Context, w *world) error {
	client := w.godo()
	droplets, err := everyPage(ctx, client.Droplets.List)
	if err != nil {
		return err
	}
	for _, droplet := range droplets {
		if _, err := client.Droplets.Delete(ctx, droplet.ID); err != nil {
			return err
		}
	}
	for {
		left, err := everyPage(ctx, client.Droplets.List)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			break
		}
		if err := pause(ctx, 5*time.Second); err != nil {
			return err
		}
	}
	vpcs, err := everyPage(ctx, client.VPCs.List)
	if err != nil {
		return err
	}
	for _, vpc := range vpcs {
		if _, err := client.VPCs.Delete(ctx, vpc.ID); err != nil {
			return err
		}
	}
	firewalls, err := everyPage(ctx, client.Firewalls.List)
	if err != nil {
		return err
	}
	for _, firewall := range firewalls {
		if _, err := client.Firewalls.Delete(ctx, firewall.ID); err != nil {
			return err
		}
	}
	return expect(tornDown, len(droplets)+len(vpcs)+len(firewalls))
}

func listGodo(ctx context.Context, w *world) error {
	all, err := everyPage(ctx, w.godo().Droplets.List)
	return errors.Join(err, expect(listed, len(all)))
}

// everyPage follows the pages of a list, as shown in godo's README.
func everyPage[T any](ctx context.Context, list func(context.Context, *godo.ListOptions) ([]T, *godo.Response, error)) (all []T, err error) {
	opts := *largestPage
	for {
		items, resp, err := list(ctx, &opts)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if resp.Links == nil || resp.Links.IsLastPage() {
			return all, nil
		}
		page, err := resp.Links.CurrentPage()
		if err != nil {
			return nil, err
		}
		opts.Page = page + 1
	}
}

// digitalOcean is an adapter for godo.
type digitalOcean struct{ *adapter }

func (a digitalOcean) create(w http.ResponseWriter, r *http.Request) {
	var request struct{ Names []string }
	must(0, json.NewDecoder(r.Body).Decode(&request))
	var reply struct {
		Droplets []godo.Droplet `json:"droplets"`
		Links    godo.Links     `json:"links"`
	}
	last := 0
	for _, name := range request.Names {
		last = a.createVM(r.Context(), name)
		reply.Droplets = append(reply.Droplets, a.droplet(last))
	}
	action := creation(last)
	reply.Links.Actions = []godo.LinkAction{{ID: action, Rel: "multiple_create", HREF: fmt.Sprint(droplets, "v2/actions/", action)}}
	answer(w, http.StatusAccepted, reply)
}

func (a digitalOcean) action(w http.ResponseWriter, r *http.Request) {
	action := must(strconv.Atoi(r.PathValue("action")))
	var reply struct {
		Action godo.Action `json:"action"`
	}
	reply.Action = godo.Action{ID: action, Status: godo.ActionInProgress, Type: "create", ResourceID: action / 2, ResourceType: "droplet"}
	if a.isDone(r.Context(), action) {
		reply.Action.Status = godo.ActionCompleted
	}
	answer(w, http.StatusOK, reply)
}

func (a digitalOcean) delete(w http.ResponseWriter, r *http.Request) {
	a.deleteNumber(r)
	w.WriteHeader(http.StatusNoContent)
}

func (a digitalOcean) list(w http.ResponseWriter, r *http.Request) {
	page, numbers, total := a.page(r, largestPage.PerPage)
	var reply struct {
		Droplets  []godo.Droplet  `json:"droplets,omitempty"`
		VPCs      []godo.VPC      `json:"vpcs,omitempty"`
		Firewalls []godo.Firewall `json:"firewalls,omitempty"`
		Links     godo.Links      `json:"links"`
		Meta      godo.Meta       `json:"meta"`
	}
	for _, number := range numbers {
		switch r.PathValue("kind") {
		case "droplets":
			reply.Droplets = append(reply.Droplets, a.droplet(number))
		case "vpcs":
			reply.VPCs = append(reply.VPCs, godo.VPC{ID: strconv.Itoa(number), Name: "vpc"})
		case "firewalls":
			reply.Firewalls = append(reply.Firewalls, godo.Firewall{ID: strconv.Itoa(number), Name: "firewall"})
		}
	}
	reply.Meta.Total = total
	if page*largestPage.PerPage < total {
		at := func(page int) string {
			return fmt.Sprintf("%sv2/%s?page=%d&per_page=%d", droplets, r.PathValue("kind"), page, largestPage.PerPage)
		}
		reply.Links.Pages = &godo.Pages{Next: at(page + 1), Last: at((total + largestPage.PerPage - 1) / largestPage.PerPage)}
		if page > 1 {
			reply.Links.Pages.Prev = at(page - 1)
		}
	}
	answer(w, http.StatusOK, reply)
}

func (a digitalOcean) droplet(number int) godo.Droplet {
	return godo.Droplet{
		ID: number, Name: fmt.Sprintf("web-%d", number), Memory: 2048, Vcpus: 2, Disk: 50, Status: "active", SizeSlug: "s-2vcpu-2gb",
		Region: &godo.Region{Slug: "fra1"}, Created: "2025-10-01T12:00:00Z",
		Networks: &godo.Networks{V4: []godo.NetworkV4{{IPAddress: "198.51.100.17", Netmask: "255.255.240.0", Gateway: "198.51.96.1", Type: "public"}}},
	}
}
