// Pglogs prints the logs of a database, and can follow new lines.
//
//	pglogs eu-central-h1/orders
//	pglogs --since 24h --level warn eu-central-h1/orders
//	pglogs --follow --state orders.json --json eu-central-h1/orders >> orders.jsonl
//
// With a state file it continues where it ended, even after days, and prints no
// line twice, unless it was killed between printing lines and saving its state.
// Without a name it takes the project's only database.
//
// It needs a service of August 2026 or later; an older one has no logs.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/internal/demo"
)

func main() { demo.Main("pglogs", run) }

//go:embed main.go
var source string // whose first comment is the help

// levels are the levels of lines, the lowest first. Lines without a level are
// printed unless a level is selected.
var levels = []string{cloudapi.PostgresLogSeverityDebug, cloudapi.PostgresLogSeverityInfo, cloudapi.PostgresLogSeverityWarn,
	cloudapi.PostgresLogSeverityError, cloudapi.PostgresLogSeverityFatal}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := demo.NewFlags("pglogs", source, stdout)
	since := flags.Duration("since", 30*time.Minute, "how old the first line may be, up to 168h; ignored if there is a state")
	level := flags.String("level", "", "lowest `level` of the lines: debug, info, warn, error or fatal (default all)")
	follow := flags.Bool("follow", false, "continue with new lines until interrupted")
	every := flags.Duration("every", 5*time.Second, "how long to wait between two requests for new lines")
	file := flags.String("state", "", "`file` that records what was printed, to continue from there")
	asJSON := flags.Bool("json", false, "print each line as JSON")
	if err := flags.Parse(args, 1); err != nil {
		return err
	}
	least := slices.Index(levels, strings.ToUpper(*level))
	switch {
	case *level != "" && least < 0:
		return demo.Usagef("--level %q: take debug, info, warn, error or fatal", *level)
	case *since <= 0 || *every <= 0:
		return demo.Usagef("--since and --every must be positive")
	}

	client, closeServer, err := demo.Connect(ctx, stderr, "pglogs", demo.Server{})
	if err != nil {
		return err
	}
	defer closeServer()
	db, err := demo.Database(ctx, client, flags.Args())
	if err != nil {
		return err
	}
	f := follower{client: client, db: db, overlap: time.Minute, stderr: stderr, print: printText(stdout)}
	if *asJSON {
		encoder := json.NewEncoder(stdout)
		f.print = func(line *cloudapi.PostgresLogEntry) error { return encoder.Encode(line) }
	}
	if *level != "" {
		f.levels = levels[least:]
	}
	if f.state, err = loadState(*file, db.Location+"/"+db.Name, time.Now().Add(f.overlap-*since)); err != nil {
		return err
	}
	if *follow {
		return f.follow(ctx, *every)
	}
	return f.catchUp(ctx, time.Now())
}

// printText returns a function that prints a line for people.
func printText(w io.Writer) func(*cloudapi.PostgresLogEntry) error {
	return func(line *cloudapi.PostgresLogEntry) error {
		who := ""
		if user := line.Context["user"]; user != "" {
			who = " " + user + "@" + line.Context["dbname"]
		}
		_, err := fmt.Fprintf(w, "%s %-5s %s %s%s: %s\n", line.Timestamp.Format("2006-01-02 15:04:05.000"),
			line.SeverityLevel, line.ServerRole, line.StreamName, who, strings.ReplaceAll(line.Message, "\n", "\n\t"))
		return err
	}
}
