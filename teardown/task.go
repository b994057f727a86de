package teardown

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// task is the deletion of the resource of a step.
type task struct {
	step      *step
	requested bool // whether the server may have accepted a request to delete the resource
}

const (
	// maxRetryAfter is the maximum pause, even if the server asks for a longer one.
	maxRetryAfter = time.Minute

	// tries is the maximum number of attempts of a deletion. With the pauses in
	// between they take about 13 seconds.
	tries = 6

	// maxServersWait is how long the attempts to delete a subnet don't count if there
	// may still be servers of a deleted cluster or database in the subnet.
	maxServersWait = 2 * time.Minute

	// maxLocationWait limits the wait for the deletion of a private location: the
	// server keeps it until the backups in it are gone.
	maxLocationWait = 2 * time.Minute
)

// delete attempts the deletion until the resource is gone, or another attempt
// is no use.
func (r *run) delete(ctx context.Context, t *task) *Failure {
	if ctx.Err() != nil {
		return t.notTried(ctx, nil)
	}
	r.report(t.step.resource, cloudapi.Progress{State: stateDeleting})
	pauses := pace.Pauses{First: time.Second, Longest: 5 * time.Second}
	start, tried := time.Now(), 0
	var last *Failure
	for {
		failure := r.try(ctx, t)
		switch {
		case failure == nil:
			return nil
		case ctx.Err() != nil:
			return failure.cutShort(ctx, last)
		}
		if !r.mayHoldServers(t, failure.Err) || time.Since(start) >= maxServersWait {
			tried++
		}
		// The server can forbid a deletion during another deletion of the resource.
		again := last == nil && failure.State == Failed && errors.Is(failure.Err, cloudapi.ErrForbidden)
		if tried == tries || !again && !r.mayBecomePossible(failure) {
			return failure
		}
		pause := pauses.Next()
		if e, ok := errors.AsType[*cloudapi.Error](failure.Err); ok {
			pause = max(pause, min(e.RetryAfter, maxRetryAfter))
		}
		if pace.Sleep(ctx, pause) != nil {
			return failure.cutShort(ctx, nil)
		}
		last = failure
	}
}

// try attempts the deletion once, and waits until the resource is gone.
func (r *run) try(ctx context.Context, t *task) *Failure {
	if t.step.resource.Kind == cloudapi.KindMachineImage {
		if failure := r.deleteVersions(ctx, t); failure != nil {
			return failure
		}
	}
	at, failure := r.request(ctx, t, (*cloudapi.Client).Delete)
	switch {
	case failure != nil && r.isDeleting(ctx, at, failure.Err): // the wait below is for that deletion
	case failure != nil && r.mayHoldServers(t, failure.Err):
		failure.State = UnderWay
		return failure
	case failure != nil || at.ID == "":
		return failure
	}
	err := r.wait(ctx, t, at)
	if errors.Is(err, cloudapi.ErrNotFound) {
		err = nil // not proven, but the plan has seen it
	}
	isElsewhere := errors.Is(err, cloudapi.ErrWaitFailed)
	if err != nil && !isElsewhere {
		return t.failed(UnderWay, err)
	}
	switch now, lookup := r.target(ctx, t.step.resource); {
	case lookup != nil:
		return t.failed(UnderWay, lookup)
	case now.ID != "" && now != at: // the private location was renamed during the wait, which looked for the old name
		return t.failed(Failed, renamed(now))
	case isElsewhere:
		return t.failed(UnderWay, err)
	}
	return nil
}

// isDeleting reports whether the resource is a private subnet that the server
// is already deleting, although it has refused to delete it because of err.
func (r *run) isDeleting(ctx context.Context, at cloudapi.Resource, err error) bool {
	if at.Kind != cloudapi.KindPrivateSubnet || !errors.Is(err, cloudapi.ErrConflict) {
		return false
	}
	subnet, err := r.plan.client.PrivateSubnets.Get(ctx, at.Location, at.ID)
	return err == nil && subnet.State == stateDeleting
}

// mayHoldServers reports whether the task's resource is a private subnet that
// the server has refused to delete because of err, and in which there may still
// be servers of a cluster or database that the run has deleted.
func (r *run) mayHoldServers(t *task, err error) bool {
	return t.step.resource.Kind == cloudapi.KindPrivateSubnet && errors.Is(err, cloudapi.ErrConflict) &&
		slices.ContainsFunc(t.step.before, func(i int) bool {
			other := r.plan.graph.steps[i].resource
			return hasServers(other) && r.failureOf(other) == nil
		})
}

// renamed returns the error for a resource whose private location was renamed
// during the deletion. The argument has the new name of the location.
func renamed(resource cloudapi.Resource) error {
	return fmt.Errorf("it is now %v: %w", resource, cloudapi.ErrLocationNotFound)
}

// wait waits until the resource is gone, or its private location is renamed.
// The argument requested has the name that the private location had when the
// deletion was requested.
func (r *run) wait(ctx context.Context, t *task, requested cloudapi.Resource) error {
	if requested.Kind != cloudapi.KindPrivateLocation {
		return r.plan.client.WaitDeleted(ctx, requested, r.waitOptions(t))
	}
	start := time.Now()
	_, err := cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.Resource, error) {
		now, err := r.target(ctx, t.step.resource)
		return &now, err
	}, func(now *cloudapi.Resource) (bool, error) {
		if *now == requested && time.Since(start) > maxLocationWait {
			return false, errors.New("the server keeps it until the backups of its databases are gone, which takes days")
		}
		return *now != requested, nil
	}, r.waitOptions(t))
	return err
}

func (r *run) waitOptions(t *task) *cloudapi.WaitOptions {
	return &cloudapi.WaitOptions{Progress: func(p cloudapi.Progress) {
		if p.Done < p.Total {
			p.State = cmp.Or(p.State, stateDeleting)
			r.report(t.step.resource, p)
		}
	}}
}

// deleteVersions deletes the versions of a machine image.
func (r *run) deleteVersions(ctx context.Context, t *task) *Failure {
	at, err := r.target(ctx, t.step.resource)
	if err != nil || at.ID == "" {
		return nil // request looks again, and reports the error
	}
	images := r.plan.client.MachineImages
	versions, err := cloudapi.Collect(images.AllVersions(ctx, at.Location, at.ID, nil))
	if err != nil {
		versions = nil // what was read before the error isn't all: delete none of it
	}
	for _, v := range versions {
		if v.State == cloudapi.MachineImageVersionStateDestroying {
			continue
		}
		if _, failure := r.request(ctx, t, func(client *cloudapi.Client, ctx context.Context, at cloudapi.Resource) error {
			return client.MachineImages.DeleteVersion(ctx, at.Location, at.ID, v.Version)
		}); failure != nil {
			return failure
		}
	}
	for _, v := range versions {
		err = cmp.Or(err, images.WaitVersionDeleted(ctx, at.Location, at.ID, v.Version, r.waitOptions(t)))
	}
	switch {
	case err == nil || cloudapi.IsGone(err):
		return nil
	case ctx.Err() != nil && len(versions) == 0:
		return t.notTried(ctx, err)
	}
	return t.failed(Failed, err)
}

// request sends the request to delete the task's resource unless the resource
// has users, which are resources that need it. It returns the resource under
// its present name, or the zero value if it's already gone.
//
// A list of users may be outdated if it was read long before the request. So
// the deletion gets its slot before it reads the list, and the client doesn't
// retry the request: another attempt reads the list again.
func (r *run) request(ctx context.Context, t *task, send func(*cloudapi.Client, context.Context, cloudapi.Resource) error) (at cloudapi.Resource, _ *Failure) {
	client := r.plan.client
	if len(dependants(t.step.resource.Kind)) > 0 {
		client = r.plan.once
	}
	var users []cloudapi.Resource
	requested := false
	err := r.plan.gate.withSlot(ctx, func(ctx context.Context) (err error) {
		if at, err = r.target(ctx, t.step.resource); err != nil || at.ID == "" {
			return err
		}
		if users, err = r.users(ctx, t, at); err != nil {
			return err
		}
		if len(users) > 0 {
			if _, gone := r.plan.client.Fetch(ctx, at); cloudapi.IsGone(gone) { // the server may have deleted it with its cluster
				users = nil
			}
			return nil
		}
		if at.Kind == cloudapi.KindPrivateLocation { // a private location is deleted by name
			if now, err := r.target(ctx, t.step.resource); err != nil || now != at {
				return cmp.Or(err, renamed(now))
			}
		}
		requested = true
		err = send(client, ctx, at)
		if e, ok := errors.AsType[*cloudapi.Error](err); !ok || e.Type == "" {
			t.requested = true // the API didn't refuse the request
		}
		return err
	})
	if cloudapi.IsGone(err) || errors.Is(err, cloudapi.ErrMaybeUnsupported) { // ErrMaybeUnsupported means the same: the server has the operation, since a list had the resource
		err = r.checkProject(ctx)
	}
	switch {
	case ctx.Err() != nil && !requested:
		return at, t.notTried(ctx, err)
	case err != nil:
		return at, t.failed(Failed, err)
	case len(users) > 0 && t.requested:
		return at, t.failed(Failed, fmt.Errorf("an earlier request may have deleted it: %w", r.blocked(users)))
	case len(users) > 0:
		return at, &Failure{Resource: t.step.resource, State: Blocked, BlockedBy: users, Err: r.blocked(users)}
	}
	return at, nil
}

// mayBecomePossible reports whether another attempt of a deletion may succeed.
func (r *run) mayBecomePossible(f *Failure) bool {
	if f.State == Blocked {
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

func (t *task) failed(state State, err error) *Failure {
	return &Failure{Resource: t.step.resource, State: state, Err: err}
}

// notTried returns a failure for a context that ended before the deletion was
// requested. err is why an earlier request failed, or nil.
func (t *task) notTried(ctx context.Context, err error) *Failure {
	return t.failed(NotTried, withEnd(ctx, err))
}

// cutShort returns what to report of a failure once the context has ended. If
// the context's end is the only reason for it, the previous failure says more,
// which is nil after the first attempt.
func (f *Failure) cutShort(ctx context.Context, previous *Failure) *Failure {
	switch {
	case !errors.Is(f.Err, ctx.Err()) || previous == nil || f.State == UnderWay:
		f.Err = withEnd(ctx, f.Err)
	case f.State == NotTried || previous.State == UnderWay:
		previous.Err = withEnd(ctx, previous.Err)
		return previous
	default:
		f.Err = endedAfter(f.Err, "the attempt before", previous.Err)
	}
	return f
}

// withEnd returns an error for the ended context that wraps err, unless err is
// nil.
func withEnd(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return pace.Err(ctx)
	case errors.Is(err, ctx.Err()): // a call may have given up before the deadline
		return pace.Ended(err)
	}
	return endedAfter(pace.Err(ctx), "the last attempt", err)
}

// endedAfter adds to the error of an ended context which attempt failed before,
// and why.
func endedAfter(end error, attempt string, err error) error {
	return pace.Ended(fmt.Errorf("%w; %s failed: %w", end, attempt, unprefixed{err}))
}
