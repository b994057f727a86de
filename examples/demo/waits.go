package demo

import (
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// Soon returns options for a wait that polls after a second, and then at
// intervals that grow to 15 seconds.
func Soon(progress func(cloudapi.Progress)) *cloudapi.WaitOptions {
	return &cloudapi.WaitOptions{Interval: time.Second, MaxInterval: 15 * time.Second, Progress: progress}
}

// States returns a function for [cloudapi.WaitOptions.Progress]. That function
// calls show whenever the state of the resource changes.
func States(show func(state string)) func(cloudapi.Progress) {
	last := ""
	return func(p cloudapi.Progress) {
		if p.State != last {
			last = p.State
			show(last)
		}
	}
}
