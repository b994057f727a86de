package main

import (
	"fmt"
	"io"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

// bar shows the progress of a teardown: in a terminal as a bar, elsewhere as
// one line per resource.
type bar struct {
	to       io.Writer
	terminal bool
	start    time.Time
	done     int
	bars     *demo.Bars // between begin and end, in a terminal
}

func newBar(to io.Writer, terminal bool) *bar {
	return &bar{to: to, terminal: terminal}
}

func (b *bar) begin(total int) {
	b.start = time.Now()
	if b.terminal {
		b.bars = demo.NewBars(b.to, "deleted", total)
	}
}

// show is called for one event at a time. Many events are polls without news.
func (b *bar) show(p cloudapi.Progress) {
	if p.Done == b.done && p.Err == nil {
		return
	}
	b.done = p.Done
	if b.terminal {
		b.bars.Set(p.Done)
		return
	}
	line := p.Resource + ": " + p.State
	if p.Err != nil {
		line += ": " + p.Err.Error()
	}
	fmt.Fprintf(b.to, "%7.1fs  %2d of %d  %s\n", time.Since(b.start).Seconds(), p.Done, p.Total, line)
}

func (b *bar) end() {
	if b.terminal {
		b.bars.Close()
	}
}
