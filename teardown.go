package cloudapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// TeardownOptions sets what a teardown keeps and how it deletes the rest. A nil
// *TeardownOptions keeps nothing but the project itself.
type TeardownOptions struct {
	// Keep reports whether a resource stays. The resources that it needs stay
	// as well: the machine image of a VM, the subnet of a VM or load balancer,
	// the firewalls of a subnet, the subnet, firewall and load balancers that
	// the service made for a database or cluster, unless they were renamed, the
	// private location of any resource in it, and the project. A read replica
	// does not need its parent, nor a load balancer its VMs. PlanTeardown calls
	// Keep once for each resource.
	Keep func(Resource) bool

	// Project deletes the project itself after everything in it. The project
	// stays if Keep keeps anything.
	Project bool

	// Concurrency is the maximum number of concurrent requests. The default,
	// for 0 or less, is 8.
	Concurrency int

	// Progress is called for the beginning, each poll and the end of a
	// deletion, on the goroutine of Run. Operation is "Teardown". Done and
	// Total count the resources of the plan. State is that of the record,
	// "deleting", "deleted", or a [TeardownOutcome] with the reason in Err. The
	// deletion of the resource waits until Progress returns.
	Progress func(Progress)
}

// TeardownPlan contains the resources to delete, as [Client.PlanTeardown] found
// them, in a possible order. It does not change.
type TeardownPlan struct {
	client  *Client
	options TeardownOptions
	steps   []teardownStep    // each after those that must end before it
	kept    []keptResource    // the rest
	private map[string]string // the IDs of the private locations, by name
	subnets map[string]string // see surveyor
}

// teardownStep is a resource to be deleted.
type teardownStep struct {
	resource Resource
	before   []int // the indexes of the steps that must end before
	stage    int   // one more than the highest stage of those, from 0
}

// keptResource is a resource that stays, because Keep keeps it or because
// another one needs it.
type keptResource struct{ resource, neededBy Resource }

// PlanTeardown finds the resources of the client's project and an order in
// which they can be deleted. It changes nothing.
//
// The plan contains everything that the lists of the project show, including
// the default subnets and firewalls of VMs and subnets. Rules, node pools and
// other parts are deleted with their resource, and the versions of a machine
// image before it. The server itself deletes the nodes of clusters and the
// networks of databases.
//
// A plan must be complete, so a list that fails is an error, for example
// [ErrForbidden] if the token may not see SSH keys. But most lists of the real
// server do not fail: they leave out the resources that the token may not see,
// and so does the plan. If the server does not have a list, such as that of
// machine images in October 2025, it counts as empty.
func (c *Client) PlanTeardown(ctx context.Context, opts *TeardownOptions) (*TeardownPlan, error) {
	if ctx == nil {
		return nil, noContext("PlanTeardown")
	}
	p := &TeardownPlan{client: c, private: map[string]string{}, subnets: map[string]string{}}
	if opts != nil {
		p.options = *opts
	}
	surveyor := p.surveyor()
	all, err := surveyor.survey(ctx, dependants(KindProject), "")
	if err != nil {
		return nil, err
	}
	if p.options.Project {
		project, err := c.Projects.Get(ctx, c.Project())
		if err != nil {
			return nil, err
		}
		all = append(all, surveyed{project.identity(), project})
	}
	needs := surveyor.needs(all)
	neededBy := p.keep(all, needs)
	index := map[string]int{}
	for _, item := range all {
		if by, ok := neededBy[item.ID]; ok {
			p.kept = append(p.kept, keptResource{item.Resource, by})
		} else {
			index[item.ID] = len(p.steps)
			p.steps = append(p.steps, teardownStep{resource: item.Resource})
		}
		switch item.Kind {
		case KindPrivateLocation:
			p.private[item.Name] = item.ID
		case KindLoadBalancer:
			for _, id := range needs[item.ID] {
				if IsID(id, KindPrivateSubnet) {
					p.subnets[item.ID] = id
				}
			}
		}
	}
	for i, s := range p.steps {
		for _, id := range needs[s.resource.ID] {
			if needed, ok := index[id]; ok && i < needed {
				p.steps[needed].before = append(p.steps[needed].before, i)
			}
		}
	}
	for i := range p.steps {
		p.steps[i].finish(p.steps[:i])
	}
	return p, nil
}

// keep returns the resources that stay, each with the one that needs it, or
// with none if Keep keeps it.
func (p *TeardownPlan) keep(all []surveyed, needs map[string][]string) map[string]Resource {
	kept := map[string]Resource{}
	if p.options.Keep == nil {
		return kept
	}
	for _, item := range all {
		if p.options.Keep(item.Resource) {
			kept[item.ID] = Resource{}
		}
	}
	for _, item := range all { // each comes before the resources that it needs
		if _, ok := kept[item.ID]; !ok {
			continue
		}
		for _, id := range needs[item.ID] {
			if _, ok := kept[id]; !ok {
				kept[id] = item.Resource
			}
		}
	}
	return kept
}

// finish completes a step, given the preceding ones.
//
// Clusters and databases may be in subnets of the project, but no record tells
// in which. So a subnet comes after all of them in its location.
func (s *teardownStep) finish(preceding []teardownStep) {
	for i, other := range preceding {
		mayBeInside := other.resource.Kind == KindKubernetesCluster || other.resource.Kind == KindPostgres
		if mayBeInside && s.resource.Kind == KindPrivateSubnet && other.resource.Location == s.resource.Location {
			s.before = append(s.before, i)
		}
	}
	for _, i := range s.before {
		s.stage = max(s.stage, preceding[i].stage+1)
	}
}

// Stages returns the resources to delete. Those of a stage can be deleted when
// those of the stages before are gone. Run is faster, since a resource does not
// wait for others that it does not depend on.
func (p *TeardownPlan) Stages() [][]Resource {
	stages := [][]Resource{}
	for _, s := range p.steps {
		for len(stages) <= s.stage {
			stages = append(stages, nil)
		}
		stages[s.stage] = append(stages[s.stage], s.resource)
	}
	return stages
}

// Kept returns the resources that stay because of [TeardownOptions.Keep].
func (p *TeardownPlan) Kept() []Resource {
	kept := make([]Resource, len(p.kept))
	for i, k := range p.kept {
		kept[i] = k.resource
	}
	return kept
}

// String describes the plan, with one resource per line.
func (p *TeardownPlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "teardown of project %s: %d to delete, %d to keep\n", p.project(), len(p.steps), len(p.kept))
	for i, stage := range p.Stages() {
		fmt.Fprintf(&b, "stage %d\n", i+1)
		for _, r := range stage {
			fmt.Fprintf(&b, "  %v\n", r)
		}
	}
	if len(p.kept) > 0 {
		b.WriteString("kept\n")
	}
	for _, k := range p.kept {
		fmt.Fprintf(&b, "  %v", k.resource)
		if k.neededBy.ID != "" {
			fmt.Fprintf(&b, ", needed by %v", k.neededBy)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// MarshalJSON encodes the project's ID, the stages and the kept resources.
func (p *TeardownPlan) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Project string       `json:"project"`
		Stages  [][]Resource `json:"stages"`
		Kept    []Resource   `json:"kept"`
	}{p.project(), p.Stages(), p.Kept()})
}

func (p *TeardownPlan) project() string {
	if p.client == nil {
		return ""
	}
	return p.client.Project()
}

// Run deletes the resources in the plan, and nothing else, and waits until they
// are gone. It returns nil if all are gone, whoever deleted them. Otherwise the
// error is a [*TeardownError] that reports each resource of the plan that is
// left. Run may be called again.
//
// Run deletes by ID, so it never deletes another resource with the same name.
// It deletes private locations by name, which it looks up immediately before.
// Run deletes a resource when everything that needs it is gone. If something
// outside the plan needs it at that time, the resource stays. Examples are a
// load balancer that was made in the subnet since, a subnet that uses the
// firewall, and any other resource of a project that would be deleted with it.
//
// If a deletion fails with a transient error, or is refused because of the
// state of the resource, Run tries it 6 times within about 13 seconds: a VM,
// for example, cannot be deleted while a machine image is made of it. A
// deletion that fails permanently blocks only the resources that the failed one
// needs. Run waits until the context ends for deletions that the server has
// accepted. If the token can no longer see the project it finds nothing, so the
// resources count as gone.
//
// The server keeps a private location for days after its last database is gone,
// as long as there are backups. Such a location is reported as
// [TeardownFailed]: run the plan again then.
func (p *TeardownPlan) Run(ctx context.Context) error {
	if p.client == nil {
		return &ArgumentError{Operation: "Teardown", Name: "plan", Reason: "was not made by PlanTeardown"}
	}
	if ctx == nil {
		return noContext("Teardown")
	}
	run := teardownRun{
		surveyor:     p.surveyor(),
		plan:         p,
		started:      time.Now(),
		index:        map[string]int{},
		ended:        make([]chan struct{}, len(p.steps)),
		failures:     make([]*TeardownFailure, len(p.steps)),
		surveys:      map[Resource]*rounds[map[string][]Resource]{},
		locations:    newRounds[[]surveyed](nil),
		events:       make(chan Progress),
		acknowledged: make(chan struct{}),
	}
	for i, s := range p.steps {
		run.index[s.resource.ID] = i
		run.ended[i] = make(chan struct{})
	}
	run.steps(ctx)

	report := &TeardownError{Project: p.project()}
	for i, failure := range run.failures {
		if failure != nil {
			report.Failed = append(report.Failed, *failure)
		} else {
			report.Deleted = append(report.Deleted, p.steps[i].resource)
		}
	}
	if len(report.Failed) == 0 {
		return nil
	}
	return report
}

// TeardownError is the report of a teardown that did not delete everything. It
// contains each resource of the plan once, in the plan's order.
type TeardownError struct {
	Project string            // the project's ID
	Deleted []Resource        // resources that are gone
	Failed  []TeardownFailure // resources that are left, or may be
}

// TeardownFailure says why a resource was not deleted.
type TeardownFailure struct {
	Resource  Resource
	Outcome   TeardownOutcome
	BlockedBy []Resource // the resources that need this one, if the outcome is TeardownBlocked
	Err       error      // the reason
}

// TeardownOutcome says how far the deletion of a resource got.
type TeardownOutcome string

// Values of [TeardownFailure.Outcome].
const (
	TeardownFailed   TeardownOutcome = "failed"    // the server refused, or there was no response
	TeardownUnderWay TeardownOutcome = "under way" // the deletion was accepted, but its end was not seen
	TeardownBlocked  TeardownOutcome = "blocked"   // not tried, because another resource needs it
	TeardownNotTried TeardownOutcome = "not tried" // the context ended before its turn
)

// Error returns in one line how many resources are left, and the reason for the
// first.
func (e *TeardownError) Error() string {
	var counts []string
	var first *TeardownFailure
	for _, outcome := range []TeardownOutcome{TeardownFailed, TeardownUnderWay, TeardownBlocked, TeardownNotTried} {
		n := 0
		for i := range e.Failed {
			if e.Failed[i].Outcome == outcome {
				n++
				first = cmp.Or(first, &e.Failed[i])
			}
		}
		if n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	text := fmt.Sprintf("cloudapi: Teardown of project %s: %d of %d resources left: %s",
		e.Project, len(e.Failed), len(e.Failed)+len(e.Deleted), strings.Join(counts, ", "))
	if first != nil {
		text += fmt.Sprintf("; first %v", first)
	}
	return text
}

// Unwrap returns the reasons of all failures.
func (e *TeardownError) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i := range e.Failed {
		errs[i] = e.Failed[i].Err
	}
	return errs
}

// String describes the failure in one line.
func (f TeardownFailure) String() string {
	return fmt.Sprintf("%v: %s: %v", f.Resource, f.Outcome, within{f.Err})
}
