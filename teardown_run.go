package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/parallel"
)

// teardownRun is one run of a plan.
type teardownRun struct {
	surveyor
	plan     *TeardownPlan
	started  time.Time
	index    map[string]int     // index of the steps by the IDs of their resources
	ended    []chan struct{}    // closed at the end of the step
	failures []*TeardownFailure // of steps that have ended; nil: the resource is gone

	// Lookups that many steps share.
	mu        sync.Mutex
	surveys   map[Resource]*rounds[map[string][]Resource] // users of resources, by kind and location
	locations *rounds[[]surveyed]                         // private locations

	events       chan Progress // from the steps
	acknowledged chan struct{} // confirms each event; closed when no one receives any more
}

// steps runs all steps, and reports their events.
func (r *teardownRun) steps(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	wait := parallel.Go(func() {
		defer close(r.events)
		parallel.Do(len(r.plan.steps), 0, func(i int) { r.step(ctx, cancel, i) })
	})
	defer func() { // stop everything if Progress panics
		cancel()
		close(r.acknowledged)
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
		r.acknowledged <- struct{}{}
	}
	wait()
}

// step runs a step after those that must end before it.
func (r *teardownRun) step(ctx context.Context, cancel func(), i int) {
	returned := false
	defer func() {
		if !returned {
			cancel()
		}
		close(r.ended[i])
	}()
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
		r.report(s.resource, Progress{State: string(failure.Outcome), Err: failure.Err})
	} else {
		r.report(s.resource, Progress{State: stateDeleted})
	}
	returned = true
}

// stateDeleted is the [Progress.State] of a resource that is gone.
const stateDeleted = "deleted"

func (r *teardownRun) report(resource Resource, p Progress) {
	p.Resource = resource.String()
	r.events <- p
	<-r.acknowledged
}

// teardownTries is how often a failed deletion is tried, with the pauses of a
// wait in between: 13 seconds together.
const teardownTries = 6

// delete deletes a resource and waits until it is gone.
func (r *teardownRun) delete(ctx context.Context, resource Resource) *TeardownFailure {
	if ctx.Err() != nil {
		return &TeardownFailure{Resource: resource, Outcome: TeardownNotTried, Err: pace.Err(ctx)}
	}
	r.report(resource, Progress{State: stateDeleting})
	at, failure := r.requestDeletion(ctx, resource)
	pauses := waitQuick.pauses()
	for try := 1; failure != nil; try++ {
		if try == teardownTries || !r.mayBecomePossible(failure) || pace.Sleep(ctx, pauses.Next()) != nil {
			return failure
		}
		last := failure
		if at, failure = r.requestDeletion(ctx, resource); failure != nil && failure.Outcome == TeardownNotTried {
			return last
		}
	}
	if err := r.wait(ctx, resource, at); err != nil {
		return &TeardownFailure{Resource: resource, Outcome: TeardownUnderWay, Err: err}
	}
	return nil
}

// wait waits until a resource that is being deleted, or its private location,
// is gone. at is the resource under its present name.
func (r *teardownRun) wait(ctx context.Context, resource, at Resource) error {
	f, _ := familyOf(at.Kind)
	if at.ID == "" || f.gone == nil {
		return nil
	}
	err := f.gone(ctx, r.client, at.Location, f.address(at), r.waitOptions(resource)...)
	if !errors.Is(err, ErrLocationNotFound) {
		return err
	}
	if moved, failure := r.locate(ctx, resource); failure == nil && moved != at {
		return r.wait(ctx, resource, moved)
	}
	return err
}

// waitOptions are the options of a wait for the deletion of a resource, or of
// its parts.
func (r *teardownRun) waitOptions(resource Resource) []WaitOption {
	return []WaitOption{func(c *waitConfig) { c.slots = r.slots }, WaitProgress(func(p Progress) {
		if p.Done < p.Total {
			p.State = cmp.Or(p.State, stateDeleting)
			r.report(resource, p)
		}
	})}
}

// requestDeletion requests the deletion of a resource unless something needs
// it. It returns the resource under its present name, or none if it is already
// gone.
func (r *teardownRun) requestDeletion(ctx context.Context, resource Resource) (Resource, *TeardownFailure) {
	at, err := r.locate(ctx, resource)
	if err == nil && at.ID == "" {
		return Resource{}, nil
	}
	var users []Resource
	if err == nil {
		users, err = r.usersOf(ctx, at)
	}
	switch {
	case ctx.Err() != nil:
		return at, &TeardownFailure{Resource: resource, Outcome: TeardownNotTried, Err: pace.Err(ctx)}
	case err != nil:
		return at, &TeardownFailure{Resource: resource, Outcome: TeardownFailed, Err: err}
	case len(users) > 0:
		return at, &TeardownFailure{Resource: resource, Outcome: TeardownBlocked, BlockedBy: users, Err: r.blocked(users)}
	}
	f, _ := familyOf(resource.Kind)
	if f.empty != nil {
		err = f.empty(ctx, r.client, at.Location, f.address(at), r.waitOptions(resource)...)
	}
	if err == nil {
		err = r.slots.Do(ctx, func() error { return f.remove(ctx, r.client, at.Location, f.address(at)) })
	}
	if err == nil && f.byNameOnly {
		// The name may belong to another resource by now.
		var now Resource
		if now, err = r.locate(ctx, resource); err == nil && now.ID != "" && now.Name != at.Name {
			err = fmt.Errorf("its name is now %s: %w", now.Name, ErrLocationNotFound)
		}
	}
	if err == nil || IsGone(err) {
		return at, nil
	}
	return at, &TeardownFailure{Resource: resource, Outcome: TeardownFailed, Err: err}
}

// usersOf returns the resources that need a resource now. The resources of a
// kind and location share a survey. There is a pause between two surveys, in
// which more resources come to share the next, so a run makes few.
func (r *teardownRun) usersOf(ctx context.Context, resource Resource) ([]Resource, error) {
	if len(dependants(resource.Kind)) == 0 {
		return nil, nil
	}
	key := Resource{Kind: resource.Kind, Location: resource.Location}
	if resource.Kind == KindPrivateLocation {
		key.Name = resource.Name
	}
	r.mu.Lock()
	surveys := r.surveys[key]
	if surveys == nil {
		surveys = newRounds[map[string][]Resource](waitQuick.pauses())
		r.surveys[key] = surveys
	}
	r.mu.Unlock()
	survey, err := surveys.await(ctx, 0, nil, func(ctx context.Context) (map[string][]Resource, error) { return r.users(ctx, resource) })
	if err != nil {
		return nil, err
	}
	return survey.value[resource.ID], survey.err
}

// mayBecomePossible reports whether another try can succeed.
func (r *teardownRun) mayBecomePossible(f *TeardownFailure) bool {
	if f.Outcome == TeardownBlocked {
		return !slices.ContainsFunc(f.BlockedBy, func(by Resource) bool { return r.failureOf(by) != nil })
	}
	return IsTransient(f.Err) || isVanishing(f.Err) || errors.Is(f.Err, ErrConflict) ||
		errors.Is(f.Err, ErrInvalidRequest) || // for example of a VM that is copied to a machine image
		errors.Is(f.Err, ErrLocationNotFound) // gone or renamed since the lookup
}

// blocked returns an error that says why the users of a resource still exist.
func (r *teardownRun) blocked(users []Resource) error {
	for _, by := range users {
		if failure := r.failureOf(by); failure != nil {
			return fmt.Errorf("%v, which needs it, is still there: %w", by, within{failure.Err})
		}
	}
	return fmt.Errorf("%v needs it and is not in the plan", users[0])
}

// failureOf returns why a resource of the plan was not deleted. It is nil if
// the resource is not in the plan, or its step has not ended.
func (r *teardownRun) failureOf(resource Resource) *TeardownFailure {
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
// since another private location may have taken the old name. If the private
// location is gone, everything in it is gone too, and the result has no ID.
func (r *teardownRun) locate(ctx context.Context, resource Resource) (Resource, error) {
	private := r.plan.private[resource.Location]
	if resource.Kind == KindPrivateLocation {
		private = resource.ID
	}
	if private == "" {
		return resource, nil
	}
	survey, err := r.locations.await(ctx, 0, nil, func(ctx context.Context) ([]surveyed, error) {
		return r.survey(ctx, []Kind{KindPrivateLocation}, "")
	})
	if err != nil {
		return resource, err
	}
	if survey.err != nil && !IsGone(survey.err) {
		return resource, survey.err
	}
	places := survey.value
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
