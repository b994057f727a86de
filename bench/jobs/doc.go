// Package jobs counts the requests, bytes and time of whole jobs with the SDK,
// with a loop over its single calls, and with the helpers of other clients. The
// clock moves only while everything waits.
//
//	go -C bench test ./jobs            # compares the figures with docs/performance.md
//	go -C bench test ./jobs -update    # writes them there
//
// All clients use one server, cloudapitest, with the same delays. The other
// clients use it through an adapter that responds in the types of their own
// modules.
package jobs
