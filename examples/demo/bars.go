package demo

import (
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
)

// Bars draws the progress of several tasks in a terminal: a line for each task,
// and below them a bar for all of them.
type Bars struct {
	name   string
	total  int
	writer progress.Writer
	whole  *progress.Tracker
	drawn  chan struct{} // closed when drawing has ended

	mu    sync.Mutex // guards the fields below
	lines []*progress.Tracker
	done  int
}

// NewBars starts drawing, which Close ends. The bar for all tasks has the name,
// and is full once total tasks are done.
func NewBars(to io.Writer, name string, total int) *Bars {
	b := &Bars{
		name: name, total: total, writer: progress.NewWriter(), drawn: make(chan struct{}),
		whole: &progress.Tracker{Total: int64(total), AutoStopDisabled: true, Index: math.MaxUint64},
	}
	style := progress.StyleDefault
	style.Chars = progress.StyleChars{
		Finished: "━", Finished25: "─", Finished50: "─", Finished75: "─", Unfinished: "─",
		Indeterminate: progress.IndeterminateIndicatorMovingLeftToRight("━━━", 100*time.Millisecond),
	}
	style.Visibility.Percentage, style.Visibility.Value = false, false
	style.Options.Separator, style.Options.DoneString, style.Options.ErrorString = "", "✓", "✗"
	style.Options.TimeInProgressPrecision, style.Options.TimeDonePrecision = time.Second, time.Second
	b.writer.SetStyle(style)
	b.writer.SetOutputWriter(to)
	b.writer.SetTrackerPosition(progress.PositionRight)
	b.writer.SetMessageLength(32)
	b.writer.SetTrackerLength(30)
	b.writer.SetSortBy(progress.SortByIndex)
	b.writer.SetUpdateFrequency(100 * time.Millisecond)
	b.writer.SetAutoStop(true) // ends drawing after Close has marked all lines
	b.Set(0)
	b.writer.AppendTracker(b.whole)
	go func() {
		defer close(b.drawn)
		b.writer.Render()
	}()
	return b
}

// Set shows how many tasks are done, in the bar for all tasks.
func (b *Bars) Set(done int) {
	b.whole.UpdateMessage(fmt.Sprintf("%s %d of %d", b.name, done, b.total))
	b.whole.SetValue(int64(done))
}

// Line adds a line for the task with the name. The returned function shows the
// task's state in that line, and whether the task is done.
func (b *Bars) Line(name string) func(state string, done bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	line := &progress.Tracker{Message: name, Index: uint64(len(b.lines))}
	b.lines = append(b.lines, line)
	b.writer.AppendTracker(line)
	return func(state string, done bool) {
		line.UpdateMessage(name + " " + state)
		if !done {
			return
		}
		line.MarkAsDone()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.done++
		b.Set(b.done)
	}
}

// Close shows the tasks that aren't done as failed, and returns when everything
// is drawn.
func (b *Bars) Close() {
	b.mu.Lock()
	for _, line := range b.lines {
		line.MarkAsErrored() // unless it is done
	}
	b.mu.Unlock()
	if b.whole.Value() < int64(b.total) {
		b.whole.MarkAsErrored()
	}
	b.whole.MarkAsDone()
	<-b.drawn
}
