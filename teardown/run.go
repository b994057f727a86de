package teardown

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// Run deletes the resources in the plan and nothing else, and waits until
// they're gone. It returns nil if all of them are gone, whoever deleted them,
// and otherwise an [*Error] that reports each resource that is left. It's safe
// to run a plan again.
//
// Run deletes by ID, so it never deletes another resource with the same name,
// even if a private location is renamed and another takes its name. The
// exception is a private location itself, which the API deletes by name. Run
// looks the name up immediately before the deletion. If another private
// location takes the name between the two requests, and is empty, the server
// deletes that one.
//
// Run deletes a resource once everything that needs it is gone. It keeps the
// resource if something outside the plan needs it by then: for example a new
// load balancer in a subnet, a subnet that uses a firewall, or any resource
// that would be deleted with the project. Run looks for these immediately
// before each attempt. It can't find what the token may not see.
//
// Run attempts a deletion up to 6 times within about 13 seconds if it fails
// with a transient error, or if the server refuses it because of the resource's
// state, as for a VM that is being copied to a machine image. It attempts a
// forbidden deletion twice, since the server forbids a deletion during another
// deletion of the same resource. A resource that can't be deleted blocks only
// the resources that it needs. Once the server has accepted a deletion, Run
// waits for it until the context ends.
//
// The servers of a deleted database stay in its subnet for a while, and until
// they're gone the server refuses to delete the subnet. Run waits for that until
// the context ends if the subnet has the state "deleting". Otherwise, for
// example if the subnet was renamed, it makes more than 6 attempts, for two
// minutes, if it has deleted a cluster or database in the subnet's location. It
// reports a subnet that is left as [UnderWay].
//
// A deletion fails with [cloudapi.ErrForbidden] if the token loses its
// permission for the resource. The exception is an inference API key, which Run
// then treats as gone, because the server responds as if it were. If the token
// can no longer see the project, the rest fails with [cloudapi.ErrNotFound],
// unless the project is in the plan.
//
// The server keeps a private location until the backups of its databases are
// gone, which takes days after the last database is deleted. Run reports such a
// location as [UnderWay] after two minutes, or as [Failed] if the server
// refuses to delete it. Run the plan again later.
//
// If the context ends during a deletion, the deletion's error matches the
// context's error, and also the last attempt's or poll's if that failed.
func (p *Plan) Run(ctx context.Context) error {
	switch {
	case p.client == nil:
		return argumentError("Run", "plan", "was not created by NewPlan")
	case ctx == nil:
		return argumentError("Run", "ctx", "must not be nil")
	}
	steps := p.graph.steps
	r := run{
		plan:      p,
		lists:     lists{p.client, p.graph.subnets},
		started:   time.Now(),
		index:     map[string]int{},
		ended:     make([]chan struct{}, len(steps)),
		failures:  make([]*Failure, len(steps)),
		userReads: map[cloudapi.Resource]*reads[map[string][]cloudapi.Resource]{},
		locations: newReads[[]item](),
		reporting: make(chan struct{}, 1),
	}
	for i, s := range steps {
		r.index[s.resource.ID] = i
		r.ended[i] = make(chan struct{})
	}
	r.all(ctx)

	report := &Error{Project: p.project()}
	for i, failure := range r.failures {
		if failure != nil {
			report.Failed = append(report.Failed, *failure)
		} else {
			report.Deleted = append(report.Deleted, steps[i].resource)
		}
	}
	if len(report.Failed) == 0 {
		return nil
	}
	return report
}

// run is a run of a plan.
type run struct {
	plan     *Plan
	lists    lists
	started  time.Time
	index    map[string]int  // indexes of the steps, by resource ID
	ended    []chan struct{} // closed when the step ends
	failures []*Failure      // by step; nil if the resource is gone, or the step hasn't ended

	// Deletions share these reads: of what needs the resources of one kind and
	// location, and of the list of private locations.
	mu        sync.Mutex // guards userReads
	userReads map[cloudapi.Resource]*reads[map[string][]cloudapi.Resource]
	locations *reads[[]item]

	reporting chan struct{} // holds a value while Progress is called
	silent    bool          // true during a call of Progress, and for ever if Progress panics
	deleted   int           // number of resources reported as deleted
}

// all runs all steps. It calls [forEach], which uses WaitAll, so that the steps
// share polls, and the caller can recover from a step's panic.
func (r *run) all(ctx context.Context) {
	indexes := make([]int, len(r.failures))
	for i := range indexes {
		indexes[i] = i
	}
	forEach(ctx, indexes, func(ctx context.Context, i int) *Failure {
		r.failures[i] = r.step(ctx, &r.plan.graph.steps[i])
		close(r.ended[i]) // not reached after a panic, which cancels the other steps
		return nil
	})
}

func (r *run) step(ctx context.Context, s *step) *Failure {
	for _, other := range s.before {
		select {
		case <-r.ended[other]:
		case <-ctx.Done():
		}
	}
	failure := r.delete(ctx, &task{step: s})
	if failure != nil {
		r.report(s.resource, cloudapi.Progress{State: string(failure.State), Err: failure.Err})
	} else {
		r.report(s.resource, cloudapi.Progress{State: stateDeleted})
	}
	return failure
}

const (
	stateDeleting = "deleting"
	stateDeleted  = "deleted"
)

func (r *run) report(resource cloudapi.Resource, p cloudapi.Progress) {
	r.reporting <- struct{}{}
	defer func() { <-r.reporting }()
	if p.State == stateDeleted {
		r.deleted++
	}
	progress := r.plan.options.Progress
	if progress == nil || r.silent {
		return
	}
	p.Operation, p.Resource, p.Done, p.Total, p.Elapsed = "Teardown", resource.String(), r.deleted, len(r.failures), time.Since(r.started)
	r.silent = true
	progress(p)
	r.silent = false
}

// failureOf returns why a resource of the plan wasn't deleted. It returns nil
// if the resource isn't in the plan, or its step hasn't ended.
func (r *run) failureOf(resource cloudapi.Resource) *Failure {
	i, ok := r.index[resource.ID]
	if !ok {
		return nil
	}
	select {
	case <-r.ended[i]:
		return r.failures[i]
	default:
		return nil
	}
}

// users returns the resources that currently need the task's resource, according
// to the lists and to the plan. at is the resource under its present name.
func (r *run) users(ctx context.Context, t *task, at cloudapi.Resource) (users []cloudapi.Resource, err error) {
	if len(dependants(at.Kind)) > 0 {
		users, err = r.listedUsers(ctx, t, at)
	}
	for _, i := range t.step.neededBy { // these may need it even if the token no longer sees them in lists
		by := r.plan.graph.steps[i].resource
		if err != nil || r.failureOf(by) == nil || slices.ContainsFunc(users, func(user cloudapi.Resource) bool { return user.ID == by.ID }) {
			continue
		}
		if _, err := r.plan.client.Fetch(ctx, by); !cloudapi.IsGone(err) {
			users = append(users, by)
		}
	}
	return users, err
}

// listedUsers returns the resources whose records show that they need the
// task's resource. Concurrent deletions of resources of one kind and location
// share the reads.
func (r *run) listedUsers(ctx context.Context, t *task, at cloudapi.Resource) ([]cloudapi.Resource, error) {
	key, location := cloudapi.Resource{Kind: at.Kind, Location: at.Location}, at.Location
	if at.Kind == cloudapi.KindPrivateLocation {
		key.Name, location = at.Name, at.Name
	}
	r.mu.Lock()
	shared := r.userReads[key]
	if shared == nil {
		shared = newReads[map[string][]cloudapi.Resource]()
		r.userReads[key] = shared
	}
	r.mu.Unlock()
	users, err := shared.take(ctx, func(ctx context.Context) (map[string][]cloudapi.Resource, error) {
		listed, err := r.lists.survey(ctx, dependants(at.Kind), location)
		if err != nil {
			return nil, err
		}
		all := append(r.unlisted(t, at, listed), listed...) // the listed ones last, since only their names are sure to be current: see needs
		return usersOf(all, r.plan.project()), nil
	})
	if cloudapi.IsGone(err) { // the project is gone, or the server sent the 404 by mistake
		if _, project := r.plan.client.Projects.Get(ctx, r.plan.project()); !cloudapi.IsGone(project) {
			err = fmt.Errorf("%w: a list is missing: %v", cloudapi.ErrInvalidResponse, unprefixed{err})
		}
	}
	return slices.Clone(users[at.ID]), err
}

// unlisted returns the task's resource, and the plan's resources of its kind
// and location, except those in listed. The server's lists may lack them,
// although others need them. In all of them, the location has its present name.
// Subnets have no name: they may be gone, and another may have got the name.
func (r *run) unlisted(t *task, at cloudapi.Resource, listed []item) (unlisted []item) {
	isListed := map[string]bool{}
	for _, item := range listed {
		isListed[item.ID] = true
	}
	add := func(resource cloudapi.Resource) {
		if !isListed[resource.ID] {
			resource.Location = at.Location
			if resource.Kind == cloudapi.KindPrivateSubnet {
				resource.Name = ""
			}
			unlisted = append(unlisted, item{Resource: resource})
		}
	}
	planned := t.step.resource // its location has the name from the time of the plan
	for _, s := range r.plan.graph.steps {
		if s.resource.Kind == planned.Kind && s.resource.Location == planned.Location {
			add(s.resource)
		}
	}
	add(at)
	return unlisted
}

// target returns the resource under the present name of its private location,
// since another private location may have taken the old name. The result has no
// ID if the private location is gone, and with it everything inside.
func (r *run) target(ctx context.Context, resource cloudapi.Resource) (cloudapi.Resource, error) {
	private := r.plan.graph.locations[resource.Location]
	if resource.Kind == cloudapi.KindPrivateLocation {
		private = resource.ID
	}
	if private == "" {
		return resource, nil
	}
	var locations []item
	// Hold a slot before calling take. Otherwise, the goroutine that reads the
	// list for all callers of take could wait for a slot, while the callers that
	// hold the slots wait for the list.
	err := r.plan.gate.withSlot(ctx, func(ctx context.Context) (err error) {
		locations, err = r.locations.take(ctx, func(ctx context.Context) ([]item, error) {
			return r.lists.list(ctx, cloudapi.KindPrivateLocation, "")
		})
		return err
	})
	if cloudapi.IsGone(err) {
		return cloudapi.Resource{}, r.checkProject(ctx)
	}
	if err != nil {
		return resource, err
	}
	i := slices.IndexFunc(locations, func(l item) bool { return l.ID == private })
	switch {
	case i < 0:
		return cloudapi.Resource{}, nil
	case resource.Kind == cloudapi.KindPrivateLocation:
		return locations[i].Resource, nil
	}
	resource.Location = locations[i].Name
	return resource, nil
}

// checkProject returns an error if the token can no longer see the project. In
// that case, a 404 doesn't mean that a resource is gone.
func (r *run) checkProject(ctx context.Context) error {
	if r.plan.options.DeleteProject {
		return nil // the project may be gone
	}
	if _, err := r.plan.client.Projects.Get(ctx, r.plan.project()); cloudapi.IsGone(err) {
		return fmt.Errorf("the project is gone, or the token may not see it: %w", unprefixed{err})
	}
	return nil
}
