package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/plain"
)

// Progress is a report of a wait, an Ensure, a Watch or a teardown.
type Progress struct {
	Operation string        // such as "VMs.WaitRunning"
	Resource  string        // such as "eu-central-h1/web-1"
	State     string        // the state of the record, or the present step; "" if there is none
	Done      int           // how many of Total are finished
	Total     int           // 1 for a single resource; 0 if there is no end
	Polls     int           // the number of polls
	Elapsed   time.Duration // time since the operation began
	Record    Record        // the record, such as a *VM; nil if there is none, or if it isn't that of a resource
	Err       error         // why this poll or step failed, or why a condition can't be met; or nil
}

// poller reports polls, pauses between them, and decides how many may fail.
// Waits, watches, FollowLogs and AuditLog.Follow run it; Ensure uses its reports
// and pauses.
type poller struct {
	progress Progress       // the next report
	report   func(Progress) // or nil
	began    time.Time

	// tolerated returns how many failures like an error may follow each other:
	// endless and complete are special values. Failures with the same number are
	// counted together, since the last complete poll.
	tolerated func(error) int
	failures  map[int]int // by the number that tolerated returned
	failure   error       // of the last poll, or nil
	last      Record      // the last record that was reported, or nil
	lastState string      // the state of the last record that was reported

	pause  func(context.Context) error // waits until the next poll is due, or the context ends
	pauses pace.Pauses
	read   time.Time // when the shared list of the last poll was read; zero if it read none
	polled time.Time // when the last poll ended, or its list was read
	due    time.Time // when the next poll is due
}

// Special results of poller.tolerated.
const (
	endless  = math.MaxInt // any number may follow each other
	complete = -1          // the poll is complete in spite of the error
)

// step is what follows a poll.
type step int

const (
	again       step = iota // another poll after a pause, if the error is tolerated
	immediately             // another poll without a pause, if the error is tolerated
	finished                // nothing: the poller has its result, which may be an error
	left                    // nothing, not even a report: the program has left the loop
)

func newPoller(operation, resource string, pauses pace.Pauses, report func(Progress)) *poller {
	p := &poller{
		progress: Progress{Operation: operation, Resource: resource},
		report:   report,
		began:    time.Now(),
		failures: map[int]int{},
		pauses:   pauses,
	}
	p.polled, p.due = p.began.Add(-pauses.First), p.began
	p.pause = func(ctx context.Context) error { return pace.Sleep(ctx, time.Until(p.due)) }
	return p
}

// run polls until a poll ends it, a failure isn't tolerated, or the context
// ends. poll sets what is specific in p.progress.
func (p *poller) run(ctx context.Context, poll func() (step, error)) error {
	for {
		if err := p.pause(ctx); err != nil || ctx.Err() != nil {
			return p.ended(ctx, nil)
		}
		p.progress.Polls++
		next, err := poll()
		if next == left {
			return err
		}
		isCut := ctx.Err() != nil // not once the program has got the report, and may have canceled the context
		p.tell(err)
		switch {
		case next == finished:
			return err
		case err != nil && isCut:
			return p.ended(ctx, err)
		case !p.survives(err):
			return err
		}
		if p.failure = err; next == again {
			p.choosePause(err)
		} else {
			p.due = time.Now()
		}
	}
}

// show puts a record, which can be nil, into the next report.
func show[T any](p *poller, state string, record *T) {
	p.progress.State, p.progress.Record = state, recordOf(record)
	if record != nil {
		p.last, p.lastState = p.progress.Record, stateOf(record)
	}
}

// tell reports a poll or another step, and its error if it failed.
func (p *poller) tell(err error) {
	p.progress.Elapsed, p.progress.Err = time.Since(p.began), err
	if p.report != nil {
		p.report(p.progress)
	}
}

// survives counts the error of a poll, and reports whether it's tolerated.
func (p *poller) survives(err error) bool {
	n := complete
	if err != nil {
		n = p.tolerated(err)
	}
	if n == complete {
		clear(p.failures)
		return true
	}
	p.failures[n]++
	return p.failures[n] <= n
}

// choosePause begins a pause after a poll or another step. The pause isn't
// shorter than the response asks for, if there's an error from a response.
func (p *poller) choosePause(err error) {
	p.polled = cmp.Or(p.read, time.Now())
	p.due = p.polled.Add(max(p.pauses.Next(), retryAfter(err)))
}

// retryAfter returns the delay that an error's response asks for, or 0. It
// returns at most the MaxRetryAfter of the client's policy.
func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return cmp.Or(e.pause, min(e.RetryAfter, defaultRetry().MaxRetryAfter))
	}
	return 0
}

// ended returns the error for a context that has ended, during a poll with the
// error cut, or during a pause if cut is nil. It wraps the context's error, and
// what the last failed poll returned.
func (p *poller) ended(ctx context.Context, cut error) error {
	end := pace.Err(ctx)
	switch {
	case cut == nil:
		return endedWhile(end, "the last poll failed", p.failure)
	case errors.Is(cut, ctx.Err()) && errors.Is(cut, context.Cause(ctx)):
		return endedWhile(cut, "the poll before failed", p.failure)
	}
	return endedWhile(end, "the last poll failed", cut)
}

// endedWhile adds failure to end, the error of a context that has ended. what says
// what had failed, such as "the last poll failed".
func endedWhile(end error, what string, failure error) error {
	if failure == nil {
		return end
	}
	return pace.Ended(fmt.Errorf("cloudapi: %w; %s: %w", unprefixed{end}, what, unprefixed{failure}))
}

// waitError returns the error of a wait that err has ended.
func (p *poller) waitError(err error) *WaitError {
	return &WaitError{
		Operation: p.progress.Operation,
		Resource:  p.progress.Resource,
		Polls:     p.progress.Polls,
		Elapsed:   time.Since(p.began),
		State:     p.lastState,
		Record:    p.last,
		Err:       err,
	}
}

// WaitError says that a wait failed: the context ended, a poll failed, or the
// resource can't reach the wanted state ([ErrWaitFailed]). If the context ended,
// the WaitError wraps its error, and that of the last poll if it failed.
type WaitError struct {
	Operation string        // the wait, such as "VMs.WaitRunning"
	Resource  string        // the location and reference of the resource
	Polls     int           // the number of polls
	Elapsed   time.Duration // since the wait began
	State     string        // the last record's state; "" if there is none
	Record    Record        // the last record, such as a *VM; nil if there is none, or if it isn't that of a resource
	Err       error         // why the wait ended
}

func (e *WaitError) Error() string {
	state := ""
	if e.State != "" {
		state = fmt.Sprintf(", last state %q", e.State)
	}
	polls := "polls"
	if e.Polls == 1 {
		polls = "poll"
	}
	return fmt.Sprintf("cloudapi: %s of %s ended after %v and %d %s%s: %v",
		e.Operation, e.named(), e.Elapsed.Round(time.Millisecond), e.Polls, polls, state, unprefixed{e.Err})
}

// named returns e.Resource, and for an ID also the name from the record.
func (e *WaitError) named() string {
	if e.Record != nil {
		r := e.Record.Resource()
		if prefix, isByID := strings.CutSuffix(e.Resource, r.ID); isByID && r.ID != "" && r.Name != "" {
			return fmt.Sprintf("%s%s (%s)", plain.OneLine(prefix), plain.Name(r.Name), plain.Name(r.ID))
		}
	}
	return plain.OneLine(e.Resource)
}

func (e *WaitError) Unwrap() error { return e.Err }

// stateful is a record with a state.
type stateful interface{ stateText() string }

// stateOf returns the state of a record, which can be nil, or "".
func stateOf[T any](record *T) string {
	if s, ok := any(record).(stateful); ok && record != nil {
		return s.stateText()
	}
	return ""
}
