// Package teardown deletes the resources of a project. It finds them, plans the
// order of deletion, shows the plan, and runs it:
//
//	plan, err := teardown.NewPlan(ctx, client, nil)
//	if err != nil {
//		return err
//	}
//	fmt.Print(plan) // nothing has been deleted yet
//	return plan.Run(ctx)
//
// A run deletes the resources in the plan and nothing else. It identifies
// resources by ID: it deletes a renamed resource, and spares a new resource
// that has taken an old name. There are two exceptions. The server deletes a
// private subnet together with its load balancers. So before Run deletes a
// subnet, it looks for load balancers that aren't in the plan, and keeps the
// subnet if it finds any. It can't find those that the token may not see: the
// server deletes them with their subnet, as it does for PrivateSubnets.Delete.
// And the API deletes a private location by name: see [Plan.Run].
//
// The server creates subnets, firewalls and load balancers for Kubernetes
// clusters and databases; their names begin with the ID of the cluster or
// database. It deletes them together with the cluster or database, but keeps a
// subnet or firewall that was renamed, or that something else uses. So the plan
// also contains all of these resources, after the cluster or database, and Run
// deletes those that the server has kept.
package teardown

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

// Options sets what a teardown keeps and how it deletes the rest. A nil
// *Options keeps only the project itself. Changes after NewPlan have no effect.
type Options struct {
	// Keep reports whether to keep a resource. NewPlan calls it once for each
	// resource in the project's lists.
	//
	// A teardown also keeps what a kept resource needs: the machine image of a VM;
	// the subnet of a VM, load balancer or private link service; the database of a
	// private link service; the firewalls of a subnet; the subnet,
	// firewall and load balancers that the server created for a database or
	// cluster, unless they were renamed; the private location of any resource in
	// it; and the project. A read replica doesn't need its parent, and a load
	// balancer doesn't need its VMs. A cluster or database is also kept if
	// something in its subnet, or something that the server created for it, is
	// kept.
	Keep func(cloudapi.Resource) bool

	// DeleteProject also deletes the project, after everything in it. The project
	// stays if Keep returns true for anything.
	DeleteProject bool

	// Concurrency is the maximum number of concurrent requests. Zero and negative
	// values mean 8.
	Concurrency int

	// Progress is called when a deletion begins, at each poll, and when it ends,
	// but never concurrently. Operation is "Teardown". Done and Total count the
	// resources of the plan. State is the record's state, "deleting", "deleted",
	// or a [State] whose reason is in Err. The deletion of the resource waits
	// until Progress returns.
	Progress func(cloudapi.Progress)
}

// Plan contains the resources to delete, as [NewPlan] found them, in an order
// in which they can be deleted. A Plan doesn't change.
type Plan struct {
	client  *cloudapi.Client // of which gate limits the concurrent requests
	once    *cloudapi.Client // the same, without retries
	gate    gate
	options Options
	graph   graph
}

// NewPlan finds the resources of the client's project and an order in which
// they can be deleted. It changes nothing.
//
// The plan contains everything that [cloudapi.Client.Resources] lists,
// including the default subnets and firewalls of VMs and subnets. What
// [cloudapi.GitHubService] lists, such as the cache entries of runners, stays.
// Rules, node pools and the like are deleted with their resource; Run deletes
// a machine image's versions before the image. The server deletes a cluster's
// nodes with the cluster. If the token may not see a cluster or database, the plan keeps it
// and its network. If the token may see it, but not its network, the server
// deletes both; the plan's text says so.
//
// A plan must be complete, so NewPlan returns an error if a list fails, such as
// [cloudapi.ErrForbidden] if the token may not see SSH keys. But most lists of
// the real server don't fail: they leave out the resources that the token may
// not see, and so does the plan. If the lists are empty, NewPlan returns an
// error unless the token may see the project itself. If a server lacks a list
// that others have, such as machine images, NewPlan treats the list as empty.
func NewPlan(ctx context.Context, client *cloudapi.Client, opts *Options) (*Plan, error) {
	switch {
	case ctx == nil:
		return nil, argumentError("NewPlan", "ctx", "must not be nil")
	case client == nil:
		return nil, argumentError("NewPlan", "client", "must not be nil")
	}
	p := &Plan{}
	if opts != nil {
		p.options = *opts
	}
	if err := p.connect(client); err != nil {
		return nil, err
	}
	l := lists{client: p.client}
	all, err := l.survey(ctx, dependants(cloudapi.KindProject), "")
	if err != nil {
		return nil, err
	}
	if len(all) == 0 { // the project is empty, or the token can't see anything in it
		if err := p.client.CheckAccess(ctx); err != nil {
			return nil, err
		}
	}
	if p.options.DeleteProject {
		project, err := p.client.Projects.Get(ctx, p.project())
		if err != nil {
			return nil, err
		}
		all = append(all, item{Resource: cloudapi.Resource{Kind: cloudapi.KindProject, ID: project.ID, Name: project.Name}})
	}
	hidden, err := l.hidden(ctx, all)
	if err != nil {
		return nil, err
	}
	p.graph = arrange(slices.Concat(hidden, all), p.project(), p.options.Keep)
	return p, nil
}

func (p *Plan) connect(client *cloudapi.Client) (err error) {
	concurrency := p.options.Concurrency
	if concurrency <= 0 {
		concurrency = 8
	}
	p.gate = newGate(concurrency)
	if p.client, err = client.With(cloudapi.WithObserver(p.gate.observe)); err != nil {
		return err
	}
	p.once, err = p.client.With(cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
	return err
}

// Stages returns the resources to delete. Each stage can be deleted once all
// earlier stages are gone. Run is faster, since it deletes a resource as soon
// as nothing in the plan depends on it.
func (p *Plan) Stages() [][]cloudapi.Resource {
	stages := [][]cloudapi.Resource{}
	for _, s := range p.graph.steps {
		for len(stages) <= s.stage {
			stages = append(stages, nil)
		}
		stages[s.stage] = append(stages[s.stage], s.resource)
	}
	return stages
}

// GoesWith returns the load balancers that the server deletes together with a
// cluster of the plan, but can't list; see [cloudapi.UnlistedError]. They have no
// ID, so Run can't delete them or wait for them.
func (p *Plan) GoesWith(r cloudapi.Resource) []cloudapi.Resource {
	return slices.Clone(p.graph.unlisted[r.ID])
}

// Kept returns the resources that stay because of [Options.Keep]. It also
// returns a cluster or database that the token may not see, and its network, if
// the token may see the network. A load balancer of a kept cluster has no ID if
// the server can't list it.
func (p *Plan) Kept() []cloudapi.Resource {
	kept := make([]cloudapi.Resource, len(p.graph.kept))
	for i, k := range p.graph.kept {
		kept[i] = k.resource
	}
	return kept
}

// String describes the plan, with one resource per line.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "teardown of project %s: %d to delete, %d to keep\n", p.project(), len(p.graph.steps), len(p.graph.kept))
	for i, stage := range p.Stages() {
		fmt.Fprintf(&b, "stage %d\n", i+1)
		for _, r := range stage {
			fmt.Fprintf(&b, "  %v\n", r)
			for _, balancer := range p.graph.unlisted[r.ID] {
				fmt.Fprintf(&b, "    and %v, which goes with it\n", balancer)
			}
		}
		if slices.ContainsFunc(stage, hasServers) {
			b.WriteString("  and any networks of these clusters and databases that the token may not see\n")
		}
		if slices.ContainsFunc(stage, func(r cloudapi.Resource) bool { return r.Kind == cloudapi.KindPrivateSubnet }) {
			b.WriteString("  and any load balancers of these subnets that the token may not see\n")
		}
	}
	if len(p.graph.kept) > 0 {
		b.WriteString("kept\n")
	}
	for _, k := range p.graph.kept {
		fmt.Fprintf(&b, "  %v", k.resource)
		if k.neededBy.ID != "" {
			fmt.Fprintf(&b, ", needed by %v", k.neededBy)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// MarshalJSON encodes the project's ID, the stages, the kept resources, and, by
// cluster ID, the results of GoesWith.
func (p *Plan) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Project  string                         `json:"project"`
		Stages   [][]cloudapi.Resource          `json:"stages"`
		GoesWith map[string][]cloudapi.Resource `json:"goes_with,omitempty"`
		Kept     []cloudapi.Resource            `json:"kept"`
	}{p.project(), p.Stages(), p.graph.unlisted, p.Kept()})
}

func (p *Plan) project() string {
	if p.client == nil {
		return ""
	}
	return p.client.Project()
}

func argumentError(operation, name, reason string) error {
	return &cloudapi.ArgumentError{Operation: "teardown." + operation, Name: name, Reason: reason}
}
