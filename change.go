package cloudapi

import (
	"context"
	"errors"
	"fmt"
)

// ConfirmChange finds out whether a failed operation, such as stopping,
// resizing, renaming or attaching something, took effect nevertheless.
//
// ConfirmChange calls find once. It returns the record if changed accepts it.
// Otherwise, it returns failure, to which it adds [ErrUnchanged] if changed
// rejects the record, or find's error if find fails. ErrUnchanged proves
// nothing: the server may still be executing the request, or a short state such
// as "restarting" may be over. If the server certainly didn't execute the
// request, ConfirmChange returns failure unchanged. A nil failure is an
// [*ArgumentError]. [EnsureChange] also makes the change, again if necessary.
func ConfirmChange[T any](ctx context.Context, failure error, find func(context.Context) (*T, error), changed func(*T) bool) (*T, error) {
	if failure == nil {
		return nil, &ArgumentError{Operation: "ConfirmChange", Name: "failure", Reason: "must be the error of a change"}
	}
	if !mayHaveChanged(failure) {
		return nil, failure
	}
	if changed == nil {
		return nil, withLookup(failure, &ArgumentError{Operation: "ConfirmChange", Name: "changed", Reason: "must not be nil"})
	}
	return confirm(ctx, "ConfirmChange", failure, find, func(found *T) error {
		if !changed(found) {
			return withLookup(failure, ErrUnchanged)
		}
		return nil
	})
}

// EnsureChange makes a change unless the resource shows it, such as a stop, an
// upgrade, a promotion, or a resize of a node pool. find looks for the resource,
// and changed reports whether a record shows the change:
//
//	cluster, outcome, err := cloudapi.EnsureChange(ctx, func(ctx context.Context) (*cloudapi.KubernetesCluster, error) {
//		return client.Kubernetes.Get(ctx, location, "apps")
//	}, func(cluster *cloudapi.KubernetesCluster) bool {
//		return cluster.NodePools[0].NodeCount == 5
//	}, func(ctx context.Context) (*cloudapi.KubernetesNodePool, error) {
//		return client.Kubernetes.ResizeNodePool(ctx, location, "apps", "apps-np", 5)
//	}, nil)
//
// The outcome is [EnsureUnchanged] if the first record shows the change, whoever
// made it, and otherwise [EnsureUpdated]. EnsureChange returns the record that
// find returns after the change, which shows it at once or later: a Wait method
// waits.
//
// If the response to the change is lost, EnsureChange looks for the change, and
// makes it again if the record doesn't show it, up to 4 times in all: executed
// twice, it must have the same effect as once. It also repeats a change that the server refuses because the cluster
// is busy: set a deadline, since the server can refuse a change forever in the
// same way (422). It returns a [*WaitError] if the context ends during a pause,
// and any other failure of find or change as it is, with the error of an earlier
// change that may have been made. The option Update has no effect.
func EnsureChange[T, R any](ctx context.Context, find func(context.Context) (*T, error), changed func(*T) bool, change func(context.Context) (*R, error), opts *EnsureOptions) (*T, EnsureOutcome, error) {
	const operation = "EnsureChange"
	var missing string
	switch {
	case ctx == nil:
		return nil, "", noContext(operation)
	case find == nil:
		missing = "find"
	case changed == nil:
		missing = "changed"
	case change == nil:
		missing = "change"
	}
	if missing != "" {
		return nil, "", &ArgumentError{Operation: operation, Name: missing, Reason: "must not be nil"}
	}
	find, change = either("find", find), either("change", change)
	p := newPoller(operation, "the resource", waitQuick.pauses(), orZero(opts).Progress)
	p.progress.Total = 1
	finish := func(record *T, outcome EnsureOutcome) (*T, EnsureOutcome, error) {
		p.progress.Done = 1
		show(p, stateOf(record), record)
		p.tell(nil)
		return record, outcome, nil
	}

	var failure error // of the last change, or nil
	var unknown error // of the last change that may have been made, or nil
	failed := func(err error) (*T, EnsureOutcome, error) {
		if unknown != nil && !errors.Is(err, ErrOutcomeUnknown) {
			err = fmt.Errorf("%w; an earlier change may have been made: %w", err, unprefixed{unknown})
		}
		return nil, "", err
	}
	for lost := 0; ; {
		p.progress.Polls++
		found, err := find(ctx)
		switch {
		case err != nil:
			return failed(withLookup(failure, err))
		case changed(found):
			outcome := EnsureUpdated
			if failure == nil {
				outcome = EnsureUnchanged
			}
			return finish(found, outcome)
		case lost == maxLost:
			return failed(withLookup(failure, ErrUnchanged))
		}
		show(p, "updating", found)
		if failure == nil {
			p.tell(nil)
		}
		if _, failure = change(ctx); failure == nil {
			if found, err = find(ctx); err != nil {
				return nil, "", fmt.Errorf("%w; the change was made", err)
			}
			return finish(found, EnsureUpdated)
		}
		switch {
		case mayHaveChanged(failure):
			unknown, lost = failure, lost+1
		case isBusy(failure):
		case unknown != nil && errors.Is(failure, ErrInvalidRequest): // perhaps because it's executing an earlier one
			lost++
		default:
			return failed(failure)
		}
		p.tell(failure)
		p.choosePause(failure)
		if end := p.pause(ctx); end != nil {
			return failed(p.waitError(endedWhile(end, "the last change failed", failure)))
		}
	}
}

// mayHaveChanged reports whether the server may have executed a request that
// failed.
func mayHaveChanged(failure error) bool {
	return errors.Is(failure, errMayHaveRun) || errors.Is(failure, ErrOutcomeUnknown)
}
