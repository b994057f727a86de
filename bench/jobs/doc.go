// Package jobs counts what whole jobs take with the SDK, with a loop over its
// single calls, and with the helpers of other clients: requests, bytes, and the
// time on a clock that only moves while everybody waits.
//
//	go -C bench test ./jobs            # compares the figures with docs/performance.md
//	go -C bench test ./jobs -update    # writes them there
//
// All clients work on one server, cloudapitest, whose VMs take the same time to
// start and to go for everybody. The other clients reach it through an adapter
// that answers in the types of their own modules.
package jobs
