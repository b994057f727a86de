// Package jobs counts the requests, bytes and time of whole jobs with the SDK's
// helpers, and with a loop over its single calls. The clock moves only while
// everything waits.
//
//	go -C bench test ./jobs            # compares the figures with docs/performance.md
//	go -C bench test ./jobs -update    # writes them there
package jobs
