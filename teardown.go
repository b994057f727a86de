package cloudapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// TeardownOptions says what a teardown spares and how it goes about the rest. A
// nil *TeardownOptions spares nothing but the project itself.
type TeardownOptions struct {
	// Keep reports whether a resource stays. What it needs stays as well: the
	// subnet of a VM or load balancer, the firewalls of a subnet, the private
	// location of whatever is in one, and the project. A read replica does
	// not need its parent, and a load balancer not its VMs. PlanTeardown
	// calls it once for each resource.
	Keep func(Resource) bool

	// Project has the project itself deleted, behind everything in it. It
	// stays if Keep keeps anything.
	Project bool

	// Concurrency is how many requests are under way at a time. 8 if it is
	// not positive.
	Concurrency int

	// Progress is called for each beginning, poll and end of a deletion, on the
	// goroutine of Run: Operation is "Teardown", Done and Total count the
	// resources of the plan, State is that of the record, "deleting", "deleted",
	// or an outcome with the reason in Err. What is reported does not go on until
	// it returns.
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
// The plan has everything that a list of the project shows, with the default
// subnets and firewalls that VMs and subnets leave behind. Rules, node pools and
// the like go with what they are a part of; the nodes of clusters and the
// networks of databases are the server's. A list that fails is an error, since
// a plan must not miss anything; ErrForbidden for example, if the token may not
// see SSH keys. Most lists of the real server do not fail, though, but leave out
// what the token must not see: that is in no plan. A kind that the server does
// not know, as the real one does not know init scripts, is none that a project
// could contain.
func (c *Client) PlanTeardown(ctx context.Context, opts *TeardownOptions) (*TeardownPlan, error) {
	if ctx == nil {
		return nil, noContext("PlanTeardown")
	}
	p := &TeardownPlan{client: c, private: map[string]string{}}
	if opts != nil {
		p.options = *opts
	}
	all, err := p.surveyor().survey(ctx, dependants(KindProject), "")
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
	needs := needs(all, c.Project())
	neededBy := p.keep(all, needs)
	index := map[string]int{}
	for _, item := range all {
		if by, ok := neededBy[item.ID]; ok {
			p.kept = append(p.kept, keptResource{item.Resource, by})
		} else {
			index[item.ID] = len(p.steps)
			p.steps = append(p.steps, teardownStep{resource: item.Resource})
		}
		if item.Kind == KindPrivateLocation {
			p.private[item.Name] = item.ID
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
// It returns nil if everything is, be it by others; else a [*TeardownError] that
// accounts for each resource of the plan. It may be run again.
//
// Resources go by ID, so that one that has taken over a name is safe; that holds
// for private locations too, but for the moment between looking up the name that
// one has and using it. A resource goes when all that needs it has gone. If
// something that is not in the plan needs it by then, it stays: a load balancer
// that was made in the subnet since, a subnet that uses the firewall, anything
// that the project would take with it. What fails for a reason that may pass is
// tried again for a quarter of a minute; what fails for good holds up only what
// it needs. Deletions that the server has accepted are waited for until the
// context ends, which ends everything. In a project that the token cannot see
// any more nothing is found, which looks like the end of it.
func (p *TeardownPlan) Run(ctx context.Context) error {
	if p.client == nil {
		return &ArgumentError{Operation: "Teardown", Name: "plan", Reason: "was not made by PlanTeardown"}
	}
	if ctx == nil {
		return noContext("Teardown")
	}
	run := teardownRun{
		surveyor: p.surveyor(),
		plan:     p,
		started:  time.Now(),
		ended:    make([]chan struct{}, len(p.steps)),
		failures: make([]*TeardownFailure, len(p.steps)),
		events:   make(chan Progress),
		seen:     make(chan struct{}),
	}
	for i := range run.ended {
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
	Outcome   string     // one of the Teardown constants
	BlockedBy []Resource // what needs the resource, if the outcome is TeardownBlocked
	Err       error      // the reason
}

// Values of [TeardownFailure.Outcome].
const (
	TeardownFailed   = "failed"    // the server refused, or no answer came
	TeardownUnderWay = "under way" // the end of the deletion was not seen; it may be gone by now
	TeardownBlocked  = "blocked"   // not tried, because of something that needs it
	TeardownNotTried = "not tried" // the context ended before its turn
)

// Error says in one line how much is left, and why for the first of it.
func (e *TeardownError) Error() string {
	var counts []string
	var first *TeardownFailure
	for _, outcome := range []string{TeardownFailed, TeardownUnderWay, TeardownBlocked, TeardownNotTried} {
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

// teardownRun is one run of a plan.
type teardownRun struct {
	surveyor
	plan     *TeardownPlan
	started  time.Time
	ended    []chan struct{}    // closed with the step
	failures []*TeardownFailure // of a step that has ended; nil: its resource is gone

	events chan Progress // from the steps
	seen   chan struct{} // answers each; closed when nobody listens any more
}

// steps does all steps, and reports what they say.
func (r *teardownRun) steps(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var steps sync.WaitGroup
	for i := range r.plan.steps {
		steps.Go(func() { r.step(ctx, i) })
	}
	go func() {
		steps.Wait()
		close(r.events)
	}()
	defer func() { // nothing goes on behind a Progress that panics
		cancel()
		close(r.seen)
		for range r.events {
		}
	}()
	deleted := 0
	for p := range r.events {
		if p.State == stateDeleted {
			deleted++
		}
		p.Operation, p.Done, p.Total, p.Elapsed = "Teardown", deleted, len(r.plan.steps), time.Since(r.started)
		if r.plan.options.Progress != nil {
			r.plan.options.Progress(p)
		}
		r.seen <- struct{}{}
	}
}

// step does a step when its turn has come.
func (r *teardownRun) step(ctx context.Context, i int) {
	defer close(r.ended[i])
	s := &r.plan.steps[i]
	for _, other := range s.before {
		select {
		case <-r.ended[other]:
		case <-ctx.Done():
		}
	}
	failure := r.delete(ctx, s.resource)
	r.failures[i] = failure
	if failure != nil {
		r.report(s.resource, Progress{State: failure.Outcome, Err: failure.Err})
	} else {
		r.report(s.resource, Progress{State: stateDeleted})
	}
}

// stateDeleted is the [Progress.State] of what is gone.
const stateDeleted = "deleted"

func (r *teardownRun) report(resource Resource, p Progress) {
	p.Resource = resource.String()
	r.events <- p
	<-r.seen
}

// teardownTries is how often a deletion is asked for that may yet be possible,
// with the pauses of a wait between them: 13 seconds together.
const teardownTries = 6

// delete deletes a resource and waits until it is gone.
func (r *teardownRun) delete(ctx context.Context, resource Resource) *TeardownFailure {
	if ctx.Err() != nil {
		return &TeardownFailure{Resource: resource, Outcome: TeardownNotTried, Err: contextError(ctx)}
	}
	r.report(resource, Progress{State: stateDeleting})
	at, failure := r.try(ctx, resource)
	pauses := waitQuick.pauses()
	for try := 1; failure != nil; try++ {
		if try == teardownTries || !r.mayPass(failure) || sleep(ctx, pauses.next()) != nil {
			return failure
		}
		last := failure
		if at, failure = r.try(ctx, resource); failure != nil && failure.Outcome == TeardownNotTried {
			return last
		}
	}
	if err := r.wait(ctx, resource, at); err != nil {
		return &TeardownFailure{Resource: resource, Outcome: TeardownUnderWay, Err: err}
	}
	return nil
}

// wait waits until a resource that is being deleted where it is now is gone, be
// it with its private location.
func (r *teardownRun) wait(ctx context.Context, resource, at Resource) error {
	f, _ := familyOf(at.Kind)
	if at.ID == "" || f.gone == nil {
		return nil
	}
	err := f.gone(ctx, r.client, at.Location, f.address(at), func(c *waitConfig) { c.slots = r.slots }, WaitProgress(func(p Progress) {
		if p.Done < p.Total {
			p.State = cmp.Or(p.State, stateDeleting)
			r.report(resource, p)
		}
	}))
	if !isInvalidLocation(err) {
		return err
	}
	if moved, failure := r.locate(ctx, resource); failure == nil && moved != at {
		return r.wait(ctx, resource, moved)
	}
	return err
}

// try asks for the deletion of a resource unless something needs it, and
// returns where it is; nothing if it is gone already.
func (r *teardownRun) try(ctx context.Context, resource Resource) (Resource, *TeardownFailure) {
	at, err := r.locate(ctx, resource)
	if err == nil && at.ID == "" {
		return Resource{}, nil
	}
	var users []Resource
	if err == nil {
		users, err = r.users(ctx, at)
	}
	switch {
	case ctx.Err() != nil:
		return at, &TeardownFailure{Resource: resource, Outcome: TeardownNotTried, Err: contextError(ctx)}
	case err != nil:
		return at, &TeardownFailure{Resource: resource, Outcome: TeardownFailed, Err: err}
	case len(users) > 0:
		return at, &TeardownFailure{Resource: resource, Outcome: TeardownBlocked, BlockedBy: users, Err: r.blocked(users)}
	}
	f, _ := familyOf(resource.Kind)
	err = r.slots.do(ctx, func() error { return f.remove(ctx, r.client, at.Location, f.address(at)) })
	switch {
	case err == nil || isGone(err):
		return at, nil
	case ctx.Err() != nil:
		return at, &TeardownFailure{Resource: resource, Outcome: TeardownUnderWay, Err: err}
	}
	return at, &TeardownFailure{Resource: resource, Outcome: TeardownFailed, Err: err}
}

// mayPass reports whether a further try can succeed.
func (r *teardownRun) mayPass(f *TeardownFailure) bool {
	if f.Outcome == TeardownBlocked {
		return !slices.ContainsFunc(f.BlockedBy, func(by Resource) bool { return r.failureOf(by) != nil })
	}
	e, isAnswer := errors.AsType[*Error](f.Err)
	switch {
	case isAnswer && e.Method == "GET" && e.Is(ErrForbidden): // for a moment, of what is being destroyed
		return true
	case isInvalidLocation(f.Err): // gone or renamed since it was looked for
		return true
	}
	return errors.Is(f.Err, ErrConflict) || isTransient(f.Err)
}

// blocked says why those that need a resource are still there.
func (r *teardownRun) blocked(users []Resource) error {
	for _, by := range users {
		if failure := r.failureOf(by); failure != nil {
			return fmt.Errorf("%v, which needs it, is still there: %w", by, within{failure.Err})
		}
	}
	return fmt.Errorf("%v needs it and is not in the plan", users[0])
}

// failureOf returns why a resource that was to be deleted before was not. It is
// nil for one that is not in the plan, or whose turn is not over.
func (r *teardownRun) failureOf(resource Resource) *TeardownFailure {
	i := slices.IndexFunc(r.plan.steps, func(s teardownStep) bool { return s.resource.ID == resource.ID })
	if i < 0 {
		return nil
	}
	select {
	case <-r.ended[i]:
		return r.failures[i]
	default:
		return nil
	}
}

// locate returns the resource with the name that its private location has by
// now: names of private locations are the one part of a path that may have come
// to stand for something else. The result has no ID if the private location is
// gone, and whatever was in it with it.
func (r *teardownRun) locate(ctx context.Context, resource Resource) (Resource, error) {
	private := r.plan.private[resource.Location]
	if resource.Kind == KindPrivateLocation {
		private = resource.ID
	}
	if private == "" {
		return resource, nil
	}
	places, err := r.survey(ctx, []Kind{KindPrivateLocation}, "")
	if err != nil && !isGone(err) {
		return resource, err
	}
	i := slices.IndexFunc(places, func(l surveyed) bool { return l.ID == private })
	switch {
	case i < 0:
		return Resource{}, nil
	case resource.Kind == KindPrivateLocation:
		return places[i].Resource, nil
	}
	resource.Location = places[i].Name
	return resource, nil
}

// surveyor looks at what a project contains.
type surveyor struct {
	client *Client
	slots  slots
}

func (p *TeardownPlan) surveyor() surveyor {
	concurrency := p.options.Concurrency
	if concurrency <= 0 {
		concurrency = 8
	}
	return surveyor{p.client, make(slots, concurrency)}
}

// surveyed is a resource that is there, with its record.
type surveyed struct {
	Resource
	record any
}

// survey lists what there is of some kinds, in one location unless that is "", in
// the order of the kinds. A kind of which the server has no list does not
// count, unless there is none at all.
func (s surveyor) survey(ctx context.Context, kinds []Kind, location string) ([]surveyed, error) {
	lists, errs := make([][]surveyed, len(kinds)), make([]error, len(kinds))
	var requests sync.WaitGroup
	for i, kind := range kinds {
		requests.Go(func() { lists[i], errs[i] = s.list(ctx, kind, location) })
	}
	requests.Wait()
	for _, err := range errs {
		if err != nil && !isGone(err) {
			return nil, err
		}
	}
	if !slices.Contains(errs, nil) {
		return nil, errs[0]
	}
	return slices.Concat(lists...), nil
}

// list lists a kind, by location and name. Load balancers come in their full
// form, which alone tells their subnet.
func (s surveyor) list(ctx context.Context, kind Kind, location string) ([]surveyed, error) {
	f, _ := familyOf(kind)
	var items []surveyed
	err := s.slots.do(ctx, func() error {
		for record, err := range f.all(ctx, s.client, &ListOptions{Location: location}) {
			if err != nil {
				return err
			}
			items = append(items, surveyed{record.(identified).identity(), record})
		}
		return nil
	})
	if err == nil && kind == KindLoadBalancer {
		items, err = s.complete(ctx, f, items)
	}
	slices.SortFunc(items, func(a, b surveyed) int {
		return cmp.Or(cmp.Compare(a.Location, b.Location), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return items, err
}

// complete gets the full form of the items that are still there.
func (s surveyor) complete(ctx context.Context, f *family, items []surveyed) ([]surveyed, error) {
	errs := make([]error, len(items))
	var requests sync.WaitGroup
	for i := range items {
		item := &items[i]
		requests.Go(func() {
			errs[i] = s.slots.do(ctx, func() (err error) {
				item.record, err = f.get(ctx, s.client, item.Location, f.address(item.Resource))
				return err
			})
		})
	}
	requests.Wait()
	for _, err := range errs {
		if err != nil && !isGone(err) {
			return nil, err
		}
	}
	return slices.DeleteFunc(items, func(item surveyed) bool { return item.record == nil }), nil
}

// users returns what needs a resource at the moment.
func (s surveyor) users(ctx context.Context, resource Resource) ([]Resource, error) {
	kinds := dependants(resource.Kind)
	if len(kinds) == 0 {
		return nil, nil
	}
	location := resource.Location
	if resource.Kind == KindPrivateLocation {
		location = resource.Name
	}
	all, err := s.survey(ctx, kinds, location)
	if isGone(err) {
		return nil, nil // with the project
	}
	if err != nil {
		return nil, err
	}
	if resource.Kind == KindPrivateLocation {
		all = append(all, surveyed{Resource: resource})
	}
	needs := needs(all, s.client.Project())
	var users []Resource
	for _, item := range all {
		if slices.Contains(needs[item.ID], resource.ID) {
			users = append(users, item.Resource)
		}
	}
	return users, nil
}

// dependants returns the kinds from whose records it can be seen what needs a
// resource of a kind.
func dependants(kind Kind) []Kind {
	switch kind {
	case KindPrivateSubnet:
		return []Kind{KindLoadBalancer, KindVM, KindPrivateSubnet} // a subnet's own record names its VMs
	case KindFirewall:
		return []Kind{KindPrivateSubnet}
	case KindPrivateLocation, KindProject:
		var kinds []Kind
		for _, f := range families() {
			if f.kind != KindProject && (f.inLocation || kind == KindProject) {
				kinds = append(kinds, f.kind)
			}
		}
		return kinds
	}
	return nil
}

// needs tells what each resource needs, both by their IDs: what cannot be
// deleted as long as it is there, or would take it along, or leave it without
// protection. It is always of a family behind its own.
func needs(all []surveyed, project string) map[string][]string {
	ids := map[Resource]string{}
	for _, item := range all {
		ids[Resource{Kind: item.Kind, Location: item.Location, Name: item.Name}] = item.ID
	}
	needs := map[string][]string{}
	need := func(user, needed string) {
		if user != "" && needed != "" {
			needs[user] = append(needs[user], needed)
		}
	}
	for _, item := range all {
		switch record := item.record.(type) {
		case *PrivateSubnet:
			for _, firewall := range record.Firewalls {
				need(item.ID, firewall.ID)
			}
			for _, nic := range record.NICs {
				need(ids[Resource{Kind: KindVM, Location: item.Location, Name: nic.VMName}], item.ID)
			}
		case *LoadBalancer:
			need(item.ID, ids[Resource{Kind: KindPrivateSubnet, Location: item.Location, Name: record.Subnet}])
		}
		if item.Location != "" {
			need(item.ID, ids[Resource{Kind: KindPrivateLocation, Name: item.Location}])
		}
		if item.Kind != KindProject {
			need(item.ID, project)
		}
	}
	return needs
}
