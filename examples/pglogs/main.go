// Pglogs prints the logs of a database, and can follow new lines.
//
//	pglogs eu-central-h1/orders
//	pglogs --since 24h --level warn eu-central-h1/orders
//	pglogs --follow --state orders.json --json eu-central-h1/orders >> orders.jsonl
//
// With a state file it continues where the last run ended, even days later. It
// prints no line twice, unless it was killed: then it prints the lines of its
// last requests again.
//
// Only Ubicloud's service has logs, not the contract.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

type options struct {
	database       string // its location and name, or its ID
	since, every   time.Duration
	levels         []string // the levels to print; nil means all
	file           string
	follow, asJSON bool
}

// run prints the lines since the last run, or of the last o.since.
func (o options) run(ctx context.Context, client *cloudapi.Client, stdout, stderr io.Writer) error {
	db, err := cloudapi.Lookup[cloudapi.Postgres](ctx, client, o.database)
	if err != nil {
		return err
	}
	state, err := loadState(o.file, db.Location+"/"+db.Name)
	if err != nil {
		return err
	}
	if err := state.save(); err != nil { // fail now, not after the first lines, if the file can't be written
		return err
	}
	if state.Marker.Start.IsZero() {
		state.Marker.Start = time.Now().Add(-o.since)
	}
	print := printText(stdout)
	if o.asJSON {
		encoder := json.NewEncoder(stdout)
		print = func(line *cloudapi.PostgresLogEntry) error { return encoder.Encode(line) }
	}
	var notSaved error
	err = o.print(ctx, client, db, print, state.Marker, func(marker cloudapi.LogMarker) {
		state.Marker = marker
		if notSaved = state.save(); notSaved != nil {
			fmt.Fprintf(stderr, "pglogs: %v\n", notSaved)
		}
	}, func(p cloudapi.Progress) {
		switch {
		case errors.Is(p.Err, cloudapi.ErrLogsExpired):
			fmt.Fprintf(stderr, "pglogs: %v\n", p.Err)
		case cloudapi.IsTransient(p.Err) && o.follow && ctx.Err() == nil:
			fmt.Fprintf(stderr, "pglogs: %v; looking again in %v\n", p.Err, o.every)
		}
	})
	return cmp.Or(err, notSaved)
}

// print prints the lines after the marker. With --follow, the end of the
// context isn't an error.
func (o options) print(ctx context.Context, client *cloudapi.Client, db *cloudapi.Postgres, print func(*cloudapi.PostgresLogEntry) error,
	marker cloudapi.LogMarker, checkpoint func(cloudapi.LogMarker), progress func(cloudapi.Progress)) error {
	for line, err := range client.Postgres.FollowLogs(ctx, db.Location, db.ID, nil, &cloudapi.FollowOptions{
		Marker: marker, UntilNow: !o.follow, Interval: o.every, MaxInterval: o.every, Checkpoint: checkpoint, Progress: progress,
	}) {
		switch {
		case err != nil && o.follow && ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case o.levels == nil || slices.Contains(o.levels, line.SeverityLevel):
			if err := print(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// levels has the lowest level first. Lines without a level are printed unless a
// level is selected.
var levels = []string{cloudapi.PostgresLogEntrySeverityLevelDebug, cloudapi.PostgresLogEntrySeverityLevelInfo, cloudapi.PostgresLogEntrySeverityLevelWarn,
	cloudapi.PostgresLogEntrySeverityLevelError, cloudapi.PostgresLogEntrySeverityLevelFatal}

func main() { demo.Main("pglogs", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("pglogs [flags] location/name", flag.ExitOnError)
	flags.DurationVar(&o.since, "since", 30*time.Minute, "maximum age of the first line, less than 168h;\nignored with a saved state")
	level := flags.String("level", "", "lowest `level`: debug, info, warn, error or fatal (default all)")
	flags.BoolVar(&o.follow, "follow", false, "continue with new lines until interrupted")
	flags.DurationVar(&o.every, "every", 5*time.Second, "pause between two requests for new lines")
	flags.StringVar(&o.file, "state", "", "`file` that records what was printed, to continue from there")
	flags.BoolVar(&o.asJSON, "json", false, "print each line as JSON")
	flags.Parse(args)
	if flags.NArg() != 1 {
		return demo.Usagef("name one database, such as eu-central-h1/orders")
	}
	o.database = flags.Arg(0)
	if o.since >= 168*time.Hour {
		return demo.Usagef("--since %v isn't shorter than the service keeps logs, which is 168h", o.since)
	}
	if *level != "" {
		least := slices.Index(levels, strings.ToUpper(*level))
		if least < 0 {
			return demo.Usagef("--level %q: use debug, info, warn, error or fatal", *level)
		}
		o.levels = levels[least:]
	}

	client, closeServer, err := demo.Connect(ctx, stderr, "pglogs", demo.Server{})
	if err != nil {
		return err
	}
	defer closeServer()
	return o.run(ctx, client, stdout, stderr)
}
