package demo

import (
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// Soon polls after a second, and then at growing intervals.
var Soon = cloudapi.WaitInterval(time.Second, 15*time.Second)

// States calls show for each new state of the resource that a wait is for.
func States(show func(state string)) cloudapi.WaitOption {
	last := ""
	return cloudapi.WaitProgress(func(p cloudapi.Progress) {
		if p.State != last {
			last = p.State
			show(last)
		}
	})
}
