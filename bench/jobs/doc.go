// Package jobs counts the requests, bytes and time that jobs take with the SDK's
// helpers, and with loops over its single calls. The time is virtual: it passes
// only while all goroutines wait.
//
//	go -C bench test ./jobs            # compares the figures with README.md
//	go -C bench test ./jobs -update    # writes them there
package jobs
