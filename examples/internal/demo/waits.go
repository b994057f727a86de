package demo

import (
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// Soon returns options for polls after a second, and then at growing intervals.
func Soon(progress func(cloudapi.Progress)) *cloudapi.WaitOptions {
	return &cloudapi.WaitOptions{Interval: time.Second, MaxInterval: 15 * time.Second, Progress: progress}
}

// States returns a function that calls show for each new state of the resource that a wait is for.
func States(show func(state string)) func(cloudapi.Progress) {
	last := ""
	return func(p cloudapi.Progress) {
		if p.State != last {
			last = p.State
			show(last)
		}
	}
}
