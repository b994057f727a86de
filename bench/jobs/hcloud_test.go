package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	"github.com/hetznercloud/hcloud-go/v2/hcloud/schema"
)

// hcloud returns hcloud-go's client.
func (w *world) hcloud() *hcloud.Client {
	a := hetzner{newAdapter(w)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /servers", a.create)
	mux.HandleFunc("GET /actions", a.actions)
	mux.HandleFunc("DELETE /servers/{number}", a.deleteServer)
	mux.HandleFunc("DELETE /{kind}/{number}", a.delete)
	mux.HandleFunc("GET /{kind}", a.list)
	return hcloud.NewClient(hcloud.WithEndpoint("http://hetzner.localhost"), hcloud.WithToken("token"),
		hcloud.WithHTTPClient(w.counted(answeredBy(mux))))
}

// provisionHcloud creates servers and waits for their actions, as described in
// the comment of WaitFor.
func provisionHcloud(ctx context.Context, w *world) error {
	client := w.hcloud()
	var actions []*hcloud.Action
	for _, name := range names() {
		result, _, err := client.Server.Create(ctx, hcloud.ServerCreateOpts{
			Name: name, ServerType: &hcloud.ServerType{Name: "cx22"}, Image: &hcloud.Image{Name: "ubuntu-24.04"}, Location: &hcloud.Location{Name: "fsn1"},
		})
		if err != nil {
			return err
		}
		actions = append(append(actions, result.Action), result.NextActions...)
	}
	if err := client.Action.WaitFor(ctx, actions...); err != nil {
		return err
	}
	servers, err := client.Server.All(ctx)
	if err != nil {
		return err
	}
	for _, server := range servers {
		if server.Status != hcloud.ServerStatusRunning {
			return fmt.Errorf("%s is %s", server.Name, server.Status)
		}
	}
	return expect(provisioned, len(servers))
}

// watchHcloud lists all servers at intervals: hcloud-go has no helper for it.
func watchHcloud(ctx context.Context, w *world) error {
	client := w.hcloud()
	return w.eachInterval(ctx, func() error {
		servers, err := client.Server.All(ctx)
		return errors.Join(err, expect(watched, len(servers)))
	})
}

// tearDownHcloud deletes what it lists, in the order of the list, and waits for
// the actions.
func tearDownHcloud(ctx context.Context, w *world) error {
	client := w.hcloud()
	servers, err := client.Server.All(ctx)
	if err != nil {
		return err
	}
	var actions []*hcloud.Action
	for _, server := range servers {
		result, _, err := client.Server.DeleteWithResult(ctx, server)
		if err != nil {
			return err
		}
		actions = append(actions, result.Action)
	}
	if err := client.Action.WaitFor(ctx, actions...); err != nil {
		return err
	}
	networks, err := client.Network.All(ctx)
	if err != nil {
		return err
	}
	for _, network := range networks {
		if _, err := client.Network.Delete(ctx, network); err != nil {
			return err
		}
	}
	firewalls, err := client.Firewall.All(ctx)
	if err != nil {
		return err
	}
	for _, firewall := range firewalls {
		if _, err := client.Firewall.Delete(ctx, firewall); err != nil {
			return err
		}
	}
	return expect(tornDown, len(servers)+len(networks)+len(firewalls))
}

func listHcloud(ctx context.Context, w *world) error {
	servers, err := w.hcloud().Server.All(ctx)
	return errors.Join(err, expect(listed, len(servers)))
}

// hetzner is an adapter for hcloud-go. Its pages have 50 items, which is what
// the client asks for, and the maximum of Hetzner.
type hetzner struct{ *adapter }

func (a hetzner) create(w http.ResponseWriter, r *http.Request) {
	var request schema.ServerCreateRequest
	must(0, json.NewDecoder(r.Body).Decode(&request))
	number := a.createVM(r.Context(), request.Name)
	answer(w, http.StatusCreated, schema.ServerCreateResponse{Server: a.server(number), Action: a.action(r.Context(), creation(number))})
}

func (a hetzner) deleteServer(w http.ResponseWriter, r *http.Request) {
	number := a.deleteNumber(r)
	answer(w, http.StatusOK, schema.ServerDeleteResponse{Action: a.action(r.Context(), deletion(number))})
}

func (a hetzner) delete(w http.ResponseWriter, r *http.Request) {
	a.deleteNumber(r)
	w.WriteHeader(http.StatusNoContent)
}

func (a hetzner) actions(w http.ResponseWriter, r *http.Request) {
	var reply struct {
		schema.ActionListResponse
		schema.MetaResponse
	}
	for _, id := range r.URL.Query()["id"] {
		reply.Actions = append(reply.Actions, a.action(r.Context(), must(strconv.Atoi(id))))
	}
	answer(w, http.StatusOK, reply)
}

func (a hetzner) list(w http.ResponseWriter, r *http.Request) {
	page, numbers, total := a.page(r, 50)
	var reply struct {
		Servers   []schema.Server   `json:"servers,omitempty"`
		Networks  []schema.Network  `json:"networks,omitempty"`
		Firewalls []schema.Firewall `json:"firewalls,omitempty"`
		schema.MetaResponse
	}
	for _, number := range numbers {
		switch r.PathValue("kind") {
		case "servers":
			reply.Servers = append(reply.Servers, a.server(number))
		case "networks":
			reply.Networks = append(reply.Networks, schema.Network{ID: int64(number), Name: "network"})
		case "firewalls":
			reply.Firewalls = append(reply.Firewalls, schema.Firewall{ID: int64(number), Name: "firewall"})
		}
	}
	reply.Meta.Pagination = &schema.MetaPagination{Page: page, PerPage: 50, TotalEntries: total}
	if page*50 < total {
		reply.Meta.Pagination.NextPage = page + 1
	}
	answer(w, http.StatusOK, reply)
}

// server returns the record of a VM that is running, or will be.
func (a hetzner) server(number int) schema.Server {
	return schema.Server{
		ID: int64(number), Name: fmt.Sprintf("web-%d", number), Status: "running", Created: time.Now(),
		PublicNet:  schema.ServerPublicNet{IPv4: schema.ServerPublicNetIPv4{ID: 1, IP: "198.51.100.17"}, IPv6: schema.ServerPublicNetIPv6{ID: 2, IP: "2001:db8::/64"}},
		ServerType: schema.ServerType{ID: 22, Name: "cx22"},
	}
}

func (a hetzner) action(ctx context.Context, action int) schema.Action {
	status := "running"
	if a.isDone(ctx, action) {
		status = "success"
	}
	return schema.Action{ID: int64(action), Status: status, Command: "create_server", Started: time.Now()}
}
