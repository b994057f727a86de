package main

import (
	"fmt"
	"io"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// bar shows how far a teardown has come: in a terminal as a bar, elsewhere as a
// line for each resource.
type bar struct {
	to       io.Writer
	terminal bool
	start    time.Time
	done     int

	bars *mpb.Progress
	bar  *mpb.Bar
}

func newBar(to io.Writer, terminal bool) *bar {
	return &bar{to: to, terminal: terminal}
}

func (b *bar) begin(total int) {
	b.start = time.Now()
	if !b.terminal {
		return
	}
	b.bars = mpb.New(mpb.WithOutput(b.to), mpb.WithAutoRefresh(), mpb.WithWidth(60))
	b.bar = b.bars.AddBar(int64(total),
		mpb.PrependDecorators(decor.Name("deleted ")),
		mpb.AppendDecorators(decor.CountersNoUnit(" %d of %d "), decor.Elapsed(decor.ET_STYLE_MMSS)))
}

// show is called for one step after the other. Many are polls that found
// nothing new.
func (b *bar) show(p cloudapi.Progress) {
	if p.Done == b.done && p.Err == nil {
		return
	}
	b.done = p.Done
	if b.terminal {
		b.bar.SetCurrent(int64(p.Done))
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
		b.bars.Shutdown() // also if something is left, so that it is not complete
	}
}
