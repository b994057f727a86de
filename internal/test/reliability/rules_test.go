package reliability

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// outcome is the result of one call.
type outcome struct {
	value any
	err   error
	took  time.Duration // in virtual time
	ends  time.Duration // when its context ended

	// Known by the peer.
	arrived, executed, declined, sound, badHosts int
	received                                     int64

	allocated  uint64 // by both ends together
	dialed     int    // connections that were opened
	goroutines int    // that are left
	conns      int    // that are left open
}

// Memory that one attempt may take: twice the limit for a body, and what
// net/http allocates for headers.
const (
	headLimit        = 1 << 20 // of the transport
	errorLimit       = 1 << 20 // of what is read of an error
	maxReceived      = errorLimit + headLimit/4
	maxAllocated     = errorLimit*2 + 4*headLimit
	mostAttempts     = 4
	mostConnections  = 2       // for one attempt
	schedulingDelay  = 0       // time stands still in a bubble while anything runs
	allocatedByBench = 1 << 20 // by the peer, and by whatever else is running
)

// broken returns the rules that an outcome breaks. There are no other rules,
// and these apply to each operation under each fault.
func (o outcome) broken(op operation, f fault) (problems []string) {
	report := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	unknown := errors.Is(o.err, cloudapi.ErrOutcomeUnknown)

	//   1. At most once: a request that the server must not execute twice is
	//      not sent again unless the server said that it didn't execute it.
	if op.creates && o.executed > 1 {
		report("it was executed %d times, and idempotentPosts in package apitables doesn't have it", o.executed)
	}
	if op.creates && o.arrived-o.declined > 1 {
		report("it was sent %d times, and refused only %d times", o.arrived, o.declined)
	}

	//   2. The truth: success needs a complete and valid response. If a call
	//      without one may have been executed, its error says so; if it can't
	//      have been, its error doesn't.
	if o.err == nil && o.sound == 0 {
		report("it succeeded with %v and no good response", o.value)
	}
	if (o.err == nil && op.kind != none) != (o.value != nil) {
		report("it returned %v and %v", o.value, o.err)
	}
	if op.creates && o.err != nil && o.executed > 0 && !unknown {
		report("it was executed, and the error doesn't say that it may have been: %v", o.err)
	}
	if unknown && (!op.creates || o.arrived == 0 && f.dial != nil || f.serve != nil && o.arrived > 0 && o.arrived == o.declined) {
		report("the error claims not to know: %v (idempotentPosts in package apitables has it: %v)", o.err, op.method == http.MethodPost && !op.creates)
	}

	// 3. Time: no call outlives its context.
	if o.took > o.ends+schedulingDelay {
		report("it took %v, and its context %v", o.took, o.ends)
	}

	// 4. Memory is bounded by the limits, whatever is sent. The race detector
	// takes memory of its own.
	if most := int64(max(o.arrived, 1)) * maxReceived; o.received > most {
		report("it read %d bytes, at most %d are needed", o.received, most)
	}
	if most := uint64(max(o.arrived, mostAttempts)) * maxAllocated; o.allocated > most+allocatedByBench && !raceDetector {
		report("it allocated %d bytes, at most %d are needed", o.allocated, most)
	}

	//   5. Nothing is left behind, and there was no storm of connections.
	if o.dialed > mostAttempts*mostConnections {
		report("%d connections were made", o.dialed)
	}
	if o.goroutines > 0 || o.conns > 0 {
		report("%d goroutines and %d connections are left", o.goroutines, o.conns)
	}

	// 6. The token goes to no other host, and into no error.
	if o.badHosts > 0 {
		report("another host was asked %d times", o.badHosts)
	}
	if o.err != nil && strings.Contains(fmt.Sprintf("%+v %#v", o.err, o.err), token) {
		report("the token is in the error")
	}

	// 7. Every error has one of the SDK's types.
	if o.err != nil && o.class() == "" {
		report("the error is a %T: %v", o.err, o.err)
	}
	return problems
}

// class is the kind of the error, as the table shows it.
func (o outcome) class() string {
	var text string
	if e, ok := errors.AsType[*cloudapi.Error](o.err); ok {
		text = fmt.Sprint("Error ", e.StatusCode)
	} else if _, ok := errors.AsType[*cloudapi.DecodeError](o.err); ok {
		text = "DecodeError"
	} else if _, ok := errors.AsType[*cloudapi.TransportError](o.err); ok {
		text = "TransportError"
	} else if o.err == nil {
		return "success"
	} else {
		return ""
	}
	if errors.Is(o.err, cloudapi.ErrOutcomeUnknown) {
		text += ", unknown"
	}
	return text
}
