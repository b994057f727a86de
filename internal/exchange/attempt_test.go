package exchange

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestAttempt: the timeout counts from the beginning of the attempt, whenever
// the context is first used. It no longer applies after the end of the attempt.
func TestAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		defer cancel()
		begin := time.Now()

		late := Begin(parent, begin.Add(time.Minute))
		stub.Elapse(59 * time.Second)
		child, stopChild := context.WithCancel(late)
		defer stopChild()
		<-child.Done()
		if d := time.Since(begin); d != time.Minute || child.Err() != context.DeadlineExceeded || late.Err() != context.DeadlineExceeded {
			t.Errorf("it ended after %v with %v and %v", d, child.Err(), late.Err())
		}
		late.End()

		ended := Begin(parent, time.Now().Add(time.Minute))
		child, stopChild = context.WithCancel(ended)
		defer stopChild()
		ended.End()
		if child.Err() != context.Canceled {
			t.Errorf("after the attempt, what derives from it has the error %v", child.Err())
		}

		unused := Begin(parent, begin.Add(time.Minute))
		unused.End()
		_, hasDeadline := unused.Deadline()
		if unused.Err() != nil || hasDeadline || unused.Done() != parent.Done() || unused.Value(key{}) != "value" {
			t.Error("a context that nobody asked is not its parent after the attempt")
		}
	})
}
