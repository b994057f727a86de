package main

import (
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows waits: in a terminal as a line that moves for each and a bar
// for all of them, elsewhere as a line for each change.
type progress struct {
	to    io.Writer
	start time.Time

	bars  *mpb.Progress // nil if it is no terminal
	total *mpb.Bar
	mu    sync.Mutex // of what is written if it is no terminal
}

func newProgress(to io.Writer, terminal bool) *progress {
	p := &progress{to: to, start: time.Now()}
	if terminal {
		p.bars = mpb.New(mpb.WithOutput(to), mpb.WithAutoRefresh(), mpb.WithWidth(40))
	}
	return p
}

// begin shows a number of waits until the function that it returns is called.
func (p *progress) begin(waits int) (end func()) {
	if p.bars == nil {
		return func() {}
	}
	p.total = p.bars.AddBar(int64(waits),
		mpb.BarPriority(math.MaxInt), // below all others
		mpb.PrependDecorators(decor.Name("ready ", decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.CountersNoUnit("%d of %d", decor.WCSyncSpace), decor.Elapsed(decor.ET_STYLE_MMSS, decor.WCSyncSpace)))
	return p.bars.Shutdown // also if a wait failed, so that not all are complete
}

// of shows one wait.
func (p *progress) of(name string) cloudapi.WaitOption {
	if p.bars == nil {
		last := ""
		return cloudapi.WaitProgress(func(step cloudapi.Progress) {
			if step.State == last {
				return
			}
			last = step.State
			p.mu.Lock()
			defer p.mu.Unlock()
			fmt.Fprintf(p.to, "%7.1fs  %s is %s\n", time.Since(p.start).Seconds(), name, last)
		})
	}
	var state struct {
		sync.Mutex
		text string
	}
	line := p.bars.New(1, mpb.SpinnerStyle().PositionLeft(),
		mpb.BarWidth(2),
		mpb.BarFillerOnComplete("✓"),
		mpb.PrependDecorators(decor.Name(name, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			state.Lock()
			defer state.Unlock()
			return state.text
		}, decor.WCSyncSpaceR)))
	return cloudapi.WaitProgress(func(step cloudapi.Progress) {
		state.Lock()
		state.text = step.State
		state.Unlock()
		if step.Done == step.Total {
			line.Increment()
			p.total.Increment()
		}
	})
}
