package teardown

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// Run deletes the resources in the plan and nothing else, and waits until
// they're gone. It returns nil if all of them are gone, whoever deleted them,
// and otherwise an [*Error] that reports each resource that is left. It's safe
// to run a plan again.
//
// Run deletes by ID, so it never deletes another resource with the same name,
// even if a private location is renamed and another takes its name. Only
// private locations are deleted by name, which Run looks up immediately before
// the deletion. Run deletes a resource once everything that needs it is gone.
// It keeps the resource if something outside the plan needs it by then: for
// example a new load balancer in a subnet, a subnet that uses a firewall, or
// any resource that would be deleted with the project. Run looks for these
// immediately before each attempt. It can't find what the token may not see.
//
// Run attempts a deletion up to 6 times within about 13 seconds if it fails
// with a transient error, or if the server refuses it because of the resource's
// state, as for a VM that is being copied to a machine image. It attempts a
// forbidden deletion twice, since the server forbids a deletion during another
// deletion of the same resource. A resource that can't be deleted blocks only
// the resources that it needs. Once the server has accepted a deletion, Run
// waits for it until the context ends.
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
func (p *Plan) Run(ctx context.Context) error {
	switch {
	case p.client == nil:
		return argumentError("Run", "plan", "was not created by NewPlan")
	case ctx == nil:
		return argumentError("Run", "ctx", "must not be nil")
	}
	r := run{
		Plan:      p,
		started:   time.Now(),
		index:     map[string]int{},
		ended:     make([]chan struct{}, len(p.steps)),
		failures:  make([]*Failure, len(p.steps)),
		users:     map[cloudapi.Resource]*reads[map[string][]cloudapi.Resource]{},
		locations: newReads[[]item](),
		reporting: make(chan struct{}, 1),
	}
	for i, s := range p.steps {
		r.index[s.resource.ID] = i
		r.ended[i] = make(chan struct{})
	}
	r.steps(ctx)

	report := &Error{Project: p.project()}
	for i, failure := range r.failures {
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

type run struct {
	*Plan
	started  time.Time
	index    map[string]int  // indexes of the steps, by resource ID
	ended    []chan struct{} // closed when the step ends
	failures []*Failure      // by step; nil if the resource is gone, or the step hasn't ended

	// Deletions share these reads. The reads in users find out what needs the
	// resources of one kind and location, and locations lists the private
	// locations.
	mu        sync.Mutex // guards users
	users     map[cloudapi.Resource]*reads[map[string][]cloudapi.Resource]
	locations *reads[[]item]

	reporting chan struct{} // holds a value while Progress is called
	silent    bool          // true during a call of Progress, and for ever if Progress panics
	deleted   int           // number of resources reported as deleted
}

// steps runs all steps. It calls [forEach], which uses WaitAll, so that the
// steps share polls, and the caller can recover from a step's panic.
func (r *run) steps(ctx context.Context) {
	indexes := make([]int, len(r.Plan.steps))
	for i := range indexes {
		indexes[i] = i
	}
	forEach(ctx, indexes, func(ctx context.Context, i int) *Failure {
		r.failures[i] = r.step(ctx, &r.Plan.steps[i])
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
	failure := (&deletion{run: r, resource: s.resource}).delete(ctx)
	if failure != nil {
		r.report(s.resource, cloudapi.Progress{State: string(failure.Outcome), Err: failure.Err})
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
	if r.options.Progress == nil || r.silent {
		return
	}
	p.Operation, p.Resource, p.Done, p.Total, p.Elapsed = "Teardown", resource.String(), r.deleted, len(r.Plan.steps), time.Since(r.started)
	r.silent = true
	r.options.Progress(p)
	r.silent = false
}

// maxRetryAfter is the maximum pause, even if the server asks for a longer one.
const maxRetryAfter = time.Minute

// tries is the maximum number of attempts of a deletion. With the pauses in
// between they take about 13 seconds.
const tries = 6

type deletion struct {
	*run
	resource  cloudapi.Resource
	requested bool // whether the server may have accepted a request to delete the resource
}

func (d *deletion) delete(ctx context.Context) *Failure {
	if ctx.Err() != nil {
		return d.notTried(ctx)
	}
	d.report(d.resource, cloudapi.Progress{State: stateDeleting})
	pauses := pace.Pauses{First: time.Second, Longest: 5 * time.Second}
	var last *Failure
	for tried := 1; ; tried++ {
		failure := d.try(ctx)
		if failure == nil {
			return nil
		}
		if last != nil && failure.Outcome == NotTried { // the previous failure says more
			return last
		}
		last = failure
		// The server can forbid a deletion during another deletion of the resource.
		again := tried == 1 && failure.Outcome == Failed && errors.Is(failure.Err, cloudapi.ErrForbidden)
		pause := pauses.Next()
		if e, ok := errors.AsType[*cloudapi.Error](failure.Err); ok {
			pause = max(pause, min(e.RetryAfter, maxRetryAfter))
		}
		if tried == tries || !again && !d.mayBecomePossible(failure) || pace.Sleep(ctx, pause) != nil {
			return failure
		}
	}
}

func (d *deletion) notTried(ctx context.Context) *Failure {
	return &Failure{Resource: d.resource, Outcome: NotTried, Err: pace.Err(ctx)}
}

func (d *deletion) try(ctx context.Context) *Failure {
	if d.resource.Kind == cloudapi.KindMachineImage {
		if failure := d.deleteVersions(ctx); failure != nil {
			return failure
		}
	}
	at, failure := d.request(ctx, (*cloudapi.Client).Delete)
	if failure != nil || at.ID == "" {
		return failure
	}
	if err := d.wait(ctx, at); err != nil {
		return &Failure{Resource: d.resource, Outcome: UnderWay, Err: err}
	}
	switch now, err := d.locate(ctx, d.resource); {
	case err != nil:
		return &Failure{Resource: d.resource, Outcome: UnderWay, Err: err}
	case now.ID != "" && now != at: // the private location was renamed during the wait, which looked for the old name
		return &Failure{Resource: d.resource, Outcome: Failed, Err: renamed(now)}
	}
	return nil
}

// renamed returns the error for a resource whose private location was renamed
// during the deletion. The argument has the new name of the location.
func renamed(resource cloudapi.Resource) error {
	return fmt.Errorf("it is now %v: %w", resource, cloudapi.ErrLocationNotFound)
}

// maxLocationWait limits the wait for the deletion of a private location: the
// server keeps it until the backups in it are gone.
const maxLocationWait = 2 * time.Minute

// wait waits until the resource is gone, or its private location is renamed.
// The argument requested has the name that the private location had when the
// deletion was requested.
func (d *deletion) wait(ctx context.Context, requested cloudapi.Resource) error {
	if requested.Kind != cloudapi.KindPrivateLocation {
		return d.client.WaitDeleted(ctx, requested, d.waitOptions())
	}
	start := time.Now()
	_, err := cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.Resource, error) {
		now, err := d.locate(ctx, d.resource)
		return &now, err
	}, func(now *cloudapi.Resource) (bool, error) {
		if *now == requested && time.Since(start) > maxLocationWait {
			return false, errors.New("the server keeps it until the backups of its databases are gone, which takes days")
		}
		return *now != requested, nil
	}, d.waitOptions())
	return err
}

func (d *deletion) waitOptions() *cloudapi.WaitOptions {
	return &cloudapi.WaitOptions{Progress: func(p cloudapi.Progress) {
		if p.Done < p.Total {
			p.State = cmp.Or(p.State, stateDeleting)
			d.report(d.resource, p)
		}
	}}
}

func (d *deletion) deleteVersions(ctx context.Context) *Failure {
	at, err := d.locate(ctx, d.resource)
	if err != nil || at.ID == "" {
		return nil // d.request looks again, and reports the error
	}
	versions, err := cloudapi.Collect(d.client.MachineImages.AllVersions(ctx, at.Location, at.ID, nil))
	if err != nil {
		versions = nil // what was read before the error isn't all: delete none of it
	}
	for _, v := range versions {
		if v.State == cloudapi.MachineImageVersionStateDestroying {
			continue
		}
		if _, failure := d.request(ctx, func(client *cloudapi.Client, ctx context.Context, at cloudapi.Resource) error {
			return client.MachineImages.DeleteVersion(ctx, at.Location, at.ID, v.Version)
		}); failure != nil {
			return failure
		}
	}
	for _, v := range versions {
		err = cmp.Or(err, d.client.MachineImages.WaitVersionDeleted(ctx, at.Location, at.ID, v.Version, d.waitOptions()))
	}
	switch {
	case err == nil || cloudapi.IsGone(err):
		return nil
	case ctx.Err() != nil && len(versions) == 0:
		return d.notTried(ctx)
	}
	return &Failure{Resource: d.resource, Outcome: Failed, Err: err}
}

// request calls delete unless the resource has users, which are resources that
// need it. It returns the resource under its present name, or the zero value if
// it's already gone.
//
// A list of users may be outdated if it was read long before the request. So
// the deletion gets its slot before it reads the list, and the client doesn't
// retry the request: another attempt reads the list again.
func (d *deletion) request(ctx context.Context, delete func(*cloudapi.Client, context.Context, cloudapi.Resource) error) (at cloudapi.Resource, _ *Failure) {
	client := d.client
	if len(dependants(d.resource.Kind)) > 0 {
		client = d.once
	}
	var users []cloudapi.Resource
	requested := false
	err := d.gate.withSlot(ctx, func(ctx context.Context) (err error) {
		if at, err = d.locate(ctx, d.resource); err != nil || at.ID == "" {
			return err
		}
		if users, err = d.usersOf(ctx, at); err != nil {
			return err
		}
		if len(users) > 0 {
			if _, gone := d.client.Fetch(ctx, at); cloudapi.IsGone(gone) { // the server may have deleted it with its cluster
				users = nil
			}
			return nil
		}
		if at.Kind == cloudapi.KindPrivateLocation { // a private location is deleted by name
			if now, err := d.locate(ctx, d.resource); err != nil || now != at {
				return cmp.Or(err, renamed(now))
			}
		}
		requested = true
		err = delete(client, ctx, at)
		if e, ok := errors.AsType[*cloudapi.Error](err); !ok || e.Type == "" {
			d.requested = true // the API didn't refuse the request
		}
		return err
	})
	if cloudapi.IsGone(err) || errors.Is(err, cloudapi.ErrMaybeUnsupported) { // ErrMaybeUnsupported means the same: the server has the operation, since a list had the resource
		err = d.checkProject(ctx)
	}
	switch {
	case ctx.Err() != nil && !requested:
		return at, d.notTried(ctx)
	case err != nil:
		return at, &Failure{Resource: d.resource, Outcome: Failed, Err: err}
	case len(users) > 0 && d.requested:
		return at, &Failure{Resource: d.resource, Outcome: Failed, Err: fmt.Errorf("an earlier request may have deleted it: %w", d.blocked(users))}
	case len(users) > 0:
		return at, &Failure{Resource: d.resource, Outcome: Blocked, BlockedBy: users, Err: d.blocked(users)}
	}
	return at, nil
}

// usersOf returns the resources that currently need the given one, according to
// the lists and to the plan.
func (r *run) usersOf(ctx context.Context, resource cloudapi.Resource) (users []cloudapi.Resource, err error) {
	if len(dependants(resource.Kind)) > 0 {
		users, err = r.listedUsers(ctx, resource)
	}
	for _, i := range r.Plan.steps[r.index[resource.ID]].neededBy { // these may need it even if the token no longer sees them in lists
		by := r.Plan.steps[i].resource
		if err != nil || r.failureOf(by) == nil || slices.ContainsFunc(users, func(user cloudapi.Resource) bool { return user.ID == by.ID }) {
			continue
		}
		if _, err := r.client.Fetch(ctx, by); !cloudapi.IsGone(err) {
			users = append(users, by)
		}
	}
	return users, err
}

// listedUsers returns the resources whose records show that they need the
// resource. Concurrent deletions of resources of one kind and location share
// the reads.
func (r *run) listedUsers(ctx context.Context, resource cloudapi.Resource) ([]cloudapi.Resource, error) {
	key := cloudapi.Resource{Kind: resource.Kind, Location: resource.Location}
	if resource.Kind == cloudapi.KindPrivateLocation {
		key.Name = resource.Name
	}
	r.mu.Lock()
	shared := r.users[key]
	if shared == nil {
		shared = newReads[map[string][]cloudapi.Resource]()
		r.users[key] = shared
	}
	r.mu.Unlock()
	users, err := shared.take(ctx, func(ctx context.Context) (map[string][]cloudapi.Resource, error) {
		return r.surveyor.users(ctx, resource, r.planned(resource))
	})
	if cloudapi.IsGone(err) { // the project is gone, or the server sent the 404 by mistake
		if _, project := r.client.Projects.Get(ctx, r.project()); !cloudapi.IsGone(project) {
			err = fmt.Errorf("%w: a list is missing: %v", cloudapi.ErrInvalidResponse, err)
		}
	}
	return slices.Clone(users[resource.ID]), err
}

// planned returns the plan's resources of the resource's kind and location, and
// finally the resource itself. In all of them, the location has its present
// name, which can differ from the name in the plan.
func (r *run) planned(resource cloudapi.Resource) (all []cloudapi.Resource) {
	location := r.Plan.steps[r.index[resource.ID]].resource.Location // in the plan; resource has the present name
	for _, s := range r.Plan.steps {
		if other := s.resource; other.Kind == resource.Kind && other.Location == location {
			other.Location = resource.Location
			all = append(all, other)
		}
	}
	return append(all, resource)
}

func (r *run) mayBecomePossible(f *Failure) bool {
	if f.Outcome == Blocked {
		return !slices.ContainsFunc(f.BlockedBy, func(by cloudapi.Resource) bool { return r.failureOf(by) != nil })
	}
	e, ok := errors.AsType[*cloudapi.Error](f.Err)
	if ok && !cloudapi.IsGone(e) && (e.Method == http.MethodGet || e.StatusCode == http.StatusNotFound) {
		return true // a resource can be forbidden while it's being deleted, and a gateway's 404 proves nothing
	}
	return cloudapi.IsTransient(f.Err) || errors.Is(f.Err, cloudapi.ErrInvalidResponse) || errors.Is(f.Err, cloudapi.ErrConflict) ||
		errors.Is(f.Err, cloudapi.ErrInvalidRequest) || // for example a VM that is being copied to a machine image
		errors.Is(f.Err, cloudapi.ErrLocationNotFound) // gone or renamed since the lookup
}

func (r *run) blocked(users []cloudapi.Resource) error {
	for _, by := range users {
		if failure := r.failureOf(by); failure != nil {
			return fmt.Errorf("%v, which needs it, is still there: %w", by, unprefixed{failure.Err})
		}
	}
	return fmt.Errorf("%v needs it and is not in the plan: a new plan includes it", users[0])
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

// locate returns the resource under the present name of its private location,
// since another private location may have taken the old name. The result has no
// ID if the private location is gone, and with it everything inside.
func (r *run) locate(ctx context.Context, resource cloudapi.Resource) (cloudapi.Resource, error) {
	private := r.private[resource.Location]
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
	err := r.gate.withSlot(ctx, func(ctx context.Context) (err error) {
		locations, err = r.locations.take(ctx, func(ctx context.Context) ([]item, error) {
			return r.list(ctx, cloudapi.KindPrivateLocation, "")
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
	if r.options.DeleteProject {
		return nil // the project may be gone
	}
	if _, err := r.client.Projects.Get(ctx, r.project()); cloudapi.IsGone(err) {
		return fmt.Errorf("the project is gone, or the token may not see it: %w", err)
	}
	return nil
}
