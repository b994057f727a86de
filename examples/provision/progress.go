package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

// progress shows how waits proceed: in a terminal, a moving line for each wait
// and a bar for all waits; elsewhere, a line for each change of a state.
type progress struct {
	to       io.Writer
	terminal bool
	start    time.Time
	bars     *demo.Bars // between begin and end, in a terminal
	mu       sync.Mutex // guards output that isn't a terminal
}

func newProgress(to io.Writer, terminal bool) *progress {
	return &progress{to: to, terminal: terminal, start: time.Now()}
}

func (p *progress) begin(waits int) (end func()) {
	if !p.terminal {
		return func() {}
	}
	p.bars = demo.NewBars(p.to, "ready", waits)
	return p.bars.Close
}

func (p *progress) forWait(name string) func(cloudapi.Progress) {
	if p.terminal {
		show := p.bars.Line(name)
		return func(step cloudapi.Progress) { show(step.State, step.Done == step.Total) }
	}
	return demo.States(func(state string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		fmt.Fprintf(p.to, "%7.1fs  %s is %s\n", time.Since(p.start).Seconds(), name, state)
	})
}
