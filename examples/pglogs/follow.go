package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// How long the service keeps logs, and the maximum range of a request.
const (
	kept   = 7*24*time.Hour - time.Minute // less than a week, since time passes until the server reads the request
	window = 24 * time.Hour
)

// follower prints the lines of a database in order, each once.
type follower struct {
	client  *cloudapi.Client
	db      *cloudapi.Postgres
	levels  []string      // the levels to print; nil means all
	overlap time.Duration // how much later than a newer line a line may arrive
	print   func(*cloudapi.PostgresLogEntry) error
	stderr  io.Writer
	state   *state
	now     func() time.Time // the time of the service
}

// follow prints new lines at each interval until the context ends, which is not
// an error. It reports transient failures and goes on.
func (f *follower) follow(ctx context.Context, interval time.Duration) error {
	for {
		err := f.catchUp(ctx, f.now())
		switch {
		case ctx.Err() != nil:
			return nil
		case cloudapi.IsTransient(err):
			fmt.Fprintf(f.stderr, "pglogs: %v; looking again in %v\n", err, interval)
		case err != nil:
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(interval):
		}
	}
}

// catchUp prints the lines until now that were not printed before. If it fails,
// the next call begins after the last printed line.
func (f *follower) catchUp(ctx context.Context, now time.Time) error {
	if oldest := now.Add(-kept); f.state.Until.Before(oldest) {
		fmt.Fprintf(f.stderr, "pglogs: lines from %s to %s are not kept any more\n", f.state.Until.Format(time.DateTime), oldest.Format(time.DateTime))
		f.state.Until = oldest
	}
	for f.state.Until.Before(now) {
		start := f.state.Until.Add(-f.overlap)
		if oldest := now.Add(-kept); start.Before(oldest) {
			start = oldest
		}
		end := start.Add(window)
		if end.After(now) {
			end = now
		}
		lines, err := f.lines(ctx, start, end)
		if err != nil {
			return err
		}
		for i, key := range keys(lines) {
			if f.state.printed(key) {
				continue
			}
			if err := f.print(lines[i]); err != nil {
				return err
			}
			f.state.note(key, lines[i].Timestamp)
		}
		f.state.reach(end, f.overlap)
		if err := f.state.save(); err != nil {
			return err
		}
	}
	return nil
}

// lines returns the lines in a range of time, the oldest first. It requests
// each level separately, since the service has no minimum level.
func (f *follower) lines(ctx context.Context, start, end time.Time) (lines []*cloudapi.PostgresLogEntry, err error) {
	wanted := f.levels
	if wanted == nil {
		wanted = []string{""}
	}
	for _, level := range wanted {
		found, err := cloudapi.Collect(f.client.Postgres.AllLogs(ctx, f.db.Location, f.db.ID,
			&cloudapi.PostgresLogsOptions{Start: start, End: end, SeverityLevel: level}))
		if err != nil {
			return nil, err
		}
		slices.Reverse(found) // they come newest first
		lines = append(lines, found...)
	}
	slices.SortStableFunc(lines, func(a, b *cloudapi.PostgresLogEntry) int {
		return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.ServerUBID, b.ServerUBID))
	})
	return lines, nil
}
