package cloudapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// TeardownOptions says what a teardown spares and how it goes about the rest. A
// nil *TeardownOptions spares nothing but the project itself.
type TeardownOptions struct {
	// Keep reports whether a resource stays. What it needs stays as well: the
	// machine image of a VM, the subnet of a VM or load balancer, the firewalls
	// of a subnet, the private location of whatever is in one, and the project.
	// A read replica does not need its parent, and a load balancer not its VMs.
	// PlanTeardown calls it once for each resource.
	Keep func(Resource) bool

	// Project has the project itself deleted, behind everything in it. It
	// stays if Keep keeps anything.
	Project bool

	// Concurrency is the largest number of requests at a time. The default, for 0
	// or less, is 8.
	Concurrency int

	// Progress is called for each beginning, poll and end of a deletion, on the
	// goroutine of Run: Operation is "Teardown", Done and Total count the
	// resources of the plan, State is that of the record, "deleting", "deleted",
	// or a [TeardownOutcome] with the reason in Err. The deletion of the resource
	// waits until Progress returns.
	Progress func(Progress)
}

// TeardownPlan is what [Client.PlanTeardown] found to be deleted, in an order in
// which it can be. It does not change.
type TeardownPlan struct {
	client  *Client
	options TeardownOptions
	steps   []teardownStep    // each behind those that have to end before it
	kept    []keptResource    // the rest
	private map[string]string // the IDs of the private locations, by name
	subnets map[string]string // see surveyor
}

// teardownStep is a resource to be deleted.
type teardownStep struct {
	resource Resource
	before   []int // the steps that have to end before, by index
	stage    int   // one more than the last of theirs, from 0
}

// keptResource is one that stays, since Keep says so or for another that needs it.
type keptResource struct{ resource, neededBy Resource }

// PlanTeardown finds out what the client's project contains and in which order
// it can be deleted. It changes nothing.
//
// The plan has everything that a list of the project shows, the default subnets
// and firewalls of VMs and subnets included. Rules, node pools and the like are
// deleted with the resource that they belong to, and the versions of a machine
// image before it. The server itself deletes the nodes of clusters and the
// networks of databases.
//
// A plan must not miss anything, so a list that fails is an error: [ErrForbidden],
// for example, if the token may not see SSH keys. Most lists of the real server do
// not fail but leave out what the token may not see; that is in no plan. A list
// that the server does not have, such as that of machine images in October 2025,
// is taken for empty.
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

// keep returns what stays, with what needs it: nothing for what Keep keeps.
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
	for _, item := range all { // each comes before what it needs
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

// finish completes a step, given those that precede it.
//
// Where a server lets clusters and databases be in a project's own subnets no
// record tells in which: so subnets come behind all of their location.
func (s *teardownStep) finish(preceding []teardownStep) {
	for i, other := range preceding {
		within := other.resource.Kind == KindKubernetesCluster || other.resource.Kind == KindPostgres
		if within && s.resource.Kind == KindPrivateSubnet && other.resource.Location == s.resource.Location {
			s.before = append(s.before, i)
		}
	}
	for _, i := range s.before {
		s.stage = max(s.stage, preceding[i].stage+1)
	}
}

// Stages returns what is to be deleted. What is in a stage can go when what is
// in those before it has gone. Run is quicker than that: nothing waits for what
// does not need it.
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

// Kept returns what stays because of [TeardownOptions.Keep].
func (p *TeardownPlan) Kept() []Resource {
	kept := make([]Resource, len(p.kept))
	for i, k := range p.kept {
		kept[i] = k.resource
	}
	return kept
}

// String describes the plan, one resource a line.
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

// MarshalJSON encodes the project's ID, the stages and what is kept.
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

// Run deletes what the plan lists, and nothing else, and waits until it is gone.
// It returns nil if everything is gone, whoever deleted it. Otherwise the error is
// a [*TeardownError] that accounts for each resource of the plan. Run may be
// called again.
//
// Run deletes by ID, so a resource that has taken over a name is safe. A private
// location is deleted by name, which Run looks up immediately before. A resource
// is deleted when everything that needs it is gone. If something that is not in
// the plan needs it by then, it stays: a load balancer that was made in the subnet
// since, a subnet that uses the firewall, anything that would be deleted with the
// project.
//
// A deletion that fails for a reason that may pass is tried again for a quarter of
// a minute. A deletion that fails for good holds up only the resources that the
// failed one needs. Run waits for deletions that the server has accepted until the
// context ends. A token that cannot see the project any more finds nothing, so the
// resources count as gone.
//
// The server keeps a private location for days after a database in it is gone, as
// long as there are backups of it. Such a location is in the report as
// [TeardownFailed]: run the plan again then.
func (p *TeardownPlan) Run(ctx context.Context) error {
	if p.client == nil {
		return &ArgumentError{Operation: "Teardown", Name: "plan", Reason: "was not made by PlanTeardown"}
	}
	if ctx == nil {
		return noContext("Teardown")
	}
	run := teardownRun{
		surveyor:  p.surveyor(),
		plan:      p,
		started:   time.Now(),
		index:     map[string]int{},
		ended:     make([]chan struct{}, len(p.steps)),
		failures:  make([]*TeardownFailure, len(p.steps)),
		surveys:   map[Resource]*rounds[map[string][]Resource]{},
		locations: newRounds[[]surveyed](nil),
		events:    make(chan Progress),
		seen:      make(chan struct{}),
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

// TeardownError is the report of a teardown that did not delete everything.
// Each resource of the plan is in it once, in the plan's order.
type TeardownError struct {
	Project string            // the project's ID
	Deleted []Resource        // what is gone
	Failed  []TeardownFailure // what is not, or not known to be
}

// TeardownFailure says why a resource was not deleted.
type TeardownFailure struct {
	Resource  Resource
	Outcome   TeardownOutcome
	BlockedBy []Resource // what needs the resource, if the outcome is TeardownBlocked
	Err       error      // the reason
}

// TeardownOutcome says how far the deletion of a resource has come.
type TeardownOutcome string

// Values of [TeardownFailure.Outcome].
const (
	TeardownFailed   TeardownOutcome = "failed"    // the server refused, or no answer came
	TeardownUnderWay TeardownOutcome = "under way" // the end of the deletion was not seen; it may be gone by now
	TeardownBlocked  TeardownOutcome = "blocked"   // not tried, because of something that needs it
	TeardownNotTried TeardownOutcome = "not tried" // the context ended before its turn
)

// Error says in one line how much is left, and why for the first of it.
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
	text := fmt.Sprintf("cloudapi: Teardown of project %s: %d of %d resources are left: %s",
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
