package exchange

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestBegin: an attempt ends after its timeout, with its parent, or when it's
// ended.
func TestBegin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, once := range []bool{false, true} {
			parent, cancel := context.WithCancel(t.Context())
			begin := time.Now()
			timed, _, end := Begin(parent, time.Now(), time.Minute, once)
			<-timed.Done()
			if d := time.Since(begin); d != time.Minute || timed.Err() != context.DeadlineExceeded {
				t.Errorf("it ended after %v with %v", d, timed.Err())
			}
			end()
			ended, _, end := Begin(parent, time.Now(), time.Minute, once)
			if end(); ended.Err() != context.Canceled {
				t.Errorf("after its end it has the error %v", ended.Err())
			}
			endless, _, end := Begin(parent, time.Now(), 0, once)
			if _, limited := endless.Deadline(); limited {
				t.Error("without a timeout there is a deadline")
			}
			if cancel(); endless.Err() != context.Canceled {
				t.Errorf("after its parent it has the error %v", endless.Err())
			}
			end()
		}
	})
}
