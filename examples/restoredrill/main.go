// Restoredrill checks whether a database can be restored: it restores a copy as
// of the latest possible time, checks the copy, and deletes it.
//
//	restoredrill eu-central-h1/orders
//	restoredrill -o json eu-central-h1/orders > report.json
//	restoredrill eu-central-h1/orders sh -c 'psql "$DATABASE_URL" -c "SELECT max(created_at) FROM orders"'
//
// A command after the name checks the content of the copy. Its environment
// variable DATABASE_URL is the copy's URL with the password. The drill fails if
// the command's exit status isn't 0. Without a name the program takes the
// project's only database.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

func main() { demo.Main("restoredrill", run) }

//go:embed main.go
var source string // main.go, whose first comment is the help

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := demo.NewFlags("restoredrill", source, stdout)
	timeout := flags.Positive("timeout", 3*time.Hour, "maximum `duration` of the restore")
	output := flags.Output(reportColumns)
	if err := flags.Parse(args, -1); err != nil {
		return err
	}
	reference, command := flags.Args(), []string(nil)
	if len(reference) > 1 {
		reference, command = reference[:1], reference[1:]
		if _, err := exec.LookPath(command[0]); err != nil { // before a copy costs money
			return demo.Usagef("the command %q can't be run: %w", command[0], err)
		}
	}

	// In the embedded server a restore takes seconds.
	client, closeServer, err := demo.Connect(ctx, stderr, "restoredrill", demo.Server{
		Delays: cloudapitest.Delays{Create: time.Second, Delete: time.Second},
	})
	if err != nil {
		return err
	}
	defer closeServer()
	source, err := demo.Database(ctx, client, reference)
	if err != nil {
		return err
	}
	d := &drill{client: client, source: source, command: command, output: output, stdout: stdout, stderr: stderr, start: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	return d.run(ctx)
}

type drill struct {
	client         *cloudapi.Client
	source         *cloudapi.Postgres
	command        []string // checks the content of the copy; nil to check no content
	output         *demo.Output
	stdout, stderr io.Writer
	start          time.Time
	copyID         string // "" until it is known
}

func (d *drill) run(ctx context.Context) (err error) {
	source := d.source
	switch earliest := source.EarliestRestoreTime; {
	case source.LatestRestoreTime.IsZero() || earliest.IsZero():
		return fmt.Errorf("%s/%s can't be restored: it has no backup yet, or is a replica or a copy itself", source.Location, source.Name)
	case source.LatestRestoreTime.Before(earliest):
		return fmt.Errorf("%s/%s can't be restored before %s: it has just had its first backup", source.Location, source.Name, earliest.Format(time.RFC3339))
	}
	// No other database has this name, so it's safe to delete.
	name := source.Name[:min(len(source.Name), 50)] + "-drill-" + strings.ToLower(rand.Text()[:5])
	d.say("restoring %s/%s as of %s", source.Location, source.Name, source.LatestRestoreTime.Format(time.RFC3339))
	d.say("into %s", name)
	defer func() {
		// This also runs after a failure, or after Ctrl-C has ended ctx.
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Minute)
		defer cancel()
		reference := source.Location + "/" + cmp.Or(d.copyID, name)
		if left := demo.Remove(cleanup, d.client, reference, cloudapi.KindPostgres, errors.Is(err, cloudapi.ErrOutcomeUnknown)); left != nil {
			err = errors.Join(err, fmt.Errorf("delete %s/%s %s yourself, it may still be there and cost money: %w", source.Location, name, d.copyID, left))
		} else {
			d.say("the copy is gone")
		}
	}()

	// Ctrl-C doesn't cancel this: the server could execute a canceled restore
	// after the cleanup.
	copied, err := d.client.Postgres.Restore(context.WithoutCancel(ctx), source.Location, source.ID, name, &cloudapi.PostgresRestoreRequest{
		RestoreTarget: source.LatestRestoreTime,
	})
	if err != nil {
		return err
	}
	d.copyID = copied.ID
	copied, err = d.client.Postgres.WaitRunning(ctx, copied.Location, copied.ID, demo.Soon(demo.States(
		func(state string) { d.say("the copy is %s", state) })))
	if err != nil {
		return err
	}
	return d.check(ctx, copied)
}

var reportColumns = []string{"CHECK", "RESULT", "SOURCE", "COPY"}

func (d *drill) check(ctx context.Context, copied *cloudapi.Postgres) error {
	report := &demo.Table{Columns: reportColumns}
	failed := 0
	add := func(what string, source, copied any, ok bool) {
		result := "ok"
		if !ok {
			result = "FAILED"
			failed++
		}
		report.Add(what, result, source, copied)
	}
	for _, r := range compare(d.source, copied) {
		add(r.what, r.source, r.copied, r.ok)
	}
	if certificates, err := d.client.Postgres.CACertificates(ctx, copied.Location, copied.ID); err != nil {
		add("CA certificates", "", err, false)
	} else {
		add("CA certificates", "", fmt.Sprint(len(certificates.Content), " bytes"), true)
	}
	if len(d.command) > 0 {
		err := d.runCommand(ctx, copied)
		outcome := "status 0"
		if err != nil {
			outcome = err.Error()
		}
		add("content, by "+d.command[0], "", outcome, err == nil)
	}
	if err := d.output.Write(d.stdout, report); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("the copy of %s/%s failed %s: see the report", d.source.Location, d.source.Name, demo.Count(failed, "check"))
	}
	d.say("%s/%s can be restored: it took %v", d.source.Location, d.source.Name, time.Since(d.start).Round(time.Second))
	return nil
}

// runCommand passes the URL of the copy in the environment: other users of the
// machine could see an argument.
func (d *drill) runCommand(ctx context.Context, copied *cloudapi.Postgres) error {
	command := exec.CommandContext(ctx, d.command[0], d.command[1:]...)
	command.Env = append(os.Environ(), "DATABASE_URL="+copied.ConnectionString.Reveal())
	command.Stdout, command.Stderr = d.stderr, d.stderr
	command.WaitDelay = 5 * time.Second // the command may leave processes that keep the output open
	return command.Run()
}

func (d *drill) say(format string, args ...any) {
	fmt.Fprintf(d.stderr, "%7.1fs  %s\n", time.Since(d.start).Seconds(), fmt.Sprintf(format, args...))
}
