// Restoredrill checks whether a database can be restored: it restores a copy as
// of the latest possible time, checks the copy, and deletes it. Only those can
// connect to the copy whom the firewall rules of the database let in.
//
//	restoredrill eu-central-h1/orders
//	restoredrill eu-central-h1/orders sh -c 'psql "$DATABASE_URL" -c "SELECT max(created_at) FROM orders"'
//
// A command after the name checks the content of the copy. Its environment
// variable DATABASE_URL is the copy's URL with the password. The drill fails if
// the command's exit status isn't 0.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

// run restores the copy, checks it, and deletes it, whatever happens.
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
		if left := d.remove(cleanup, reference, errors.Is(err, cloudapi.ErrOutcomeUnknown)); left != nil {
			err = errors.Join(err, fmt.Errorf("delete %s/%s %s yourself, it may still be there and cost money: %w", source.Location, name, d.copyID, left))
		} else {
			d.say("the copy is gone")
		}
	}()

	copied, _, err := cloudapi.Ensure(ctx, func(ctx context.Context) (*cloudapi.Postgres, error) {
		return d.client.Postgres.Get(ctx, source.Location, name)
	}, func(ctx context.Context) (*cloudapi.Postgres, error) {
		// Ctrl-C doesn't cancel this: the server could execute a canceled restore
		// after the cleanup.
		return d.client.Postgres.Restore(context.WithoutCancel(ctx), source.Location, source.ID, name, &cloudapi.PostgresRestoreRequest{
			RestoreTarget: source.LatestRestoreTime,
		})
	}, nil)
	if err != nil {
		return err
	}
	d.copyID = copied.ID
	// A new copy is open to everybody, with the data and the password of the source.
	if _, err := d.client.Postgres.SetFirewallRules(ctx, copied.Location, copied.ID, source.FirewallRuleRequests()); err != nil {
		return fmt.Errorf("set the firewall rules of the copy, which everybody can reach until it's deleted: %w", err)
	}
	last := ""
	copied, err = d.client.Postgres.WaitRunning(ctx, copied.Location, copied.ID, &cloudapi.WaitOptions{Interval: time.Second, Progress: func(p cloudapi.Progress) {
		if p.State != last {
			last = p.State
			d.say("the copy is %s", p.State)
		}
	}})
	if err != nil {
		return err
	}
	return d.check(ctx, copied)
}

// remove deletes the copy, if it exists, and waits until it's gone. It tries
// again during an outage, since the copy costs money. If mayAppear, "not found"
// proves nothing, because the server may still execute the restore.
func (d *drill) remove(ctx context.Context, reference string, mayAppear bool) error {
	// There's no limit in effect: the context ends before 100 errors in a row.
	patient := &cloudapi.WaitOptions{Interval: time.Second, MaxInterval: 15 * time.Second, Tolerance: 100}
	always := func(*cloudapi.Resource) (bool, error) { return true, nil }
	found, err := cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.Resource, error) {
		return d.client.Resolve(ctx, reference, cloudapi.KindPostgres)
	}, always, patient)
	switch {
	case cloudapi.IsGone(err) && !mayAppear:
		return nil
	case err != nil:
		return err
	}
	if _, err := cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.Resource, error) {
		return found, d.client.Delete(ctx, *found)
	}, always, patient); err != nil {
		return err
	}
	return d.client.WaitDeleted(ctx, *found, patient)
}

func (d *drill) check(ctx context.Context, copied *cloudapi.Postgres) error {
	results := compare(d.source, copied)
	if certificates, err := d.client.Postgres.CACertificates(ctx, copied.Location, copied.ID); err != nil {
		results = append(results, result{"CA certificates", "", err.Error(), false})
	} else {
		results = append(results, result{"CA certificates", "", fmt.Sprint(len(certificates.Content), " bytes"), true})
	}
	if len(d.command) > 0 {
		err := d.runCommand(ctx, copied)
		outcome := "status 0"
		if err != nil {
			outcome = err.Error()
		}
		results = append(results, result{"content, by " + d.command[0], "", outcome, err == nil})
	}
	report := tabwriter.NewWriter(d.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(report, "CHECK\tRESULT\tSOURCE\tCOPY")
	failed := 0
	for _, r := range results {
		verdict := "ok"
		if !r.ok {
			verdict = "FAILED"
			failed++
		}
		fmt.Fprintf(report, "%s\t%s\t%s\t%s\n", r.what, verdict, r.source, r.copied)
	}
	if err := report.Flush(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("the copy of %s/%s failed %d of %d checks: see the report", d.source.Location, d.source.Name, failed, len(results))
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

type drill struct {
	client         *cloudapi.Client
	source         *cloudapi.Postgres
	command        []string // checks the content of the copy; nil to check no content
	stdout, stderr io.Writer
	start          time.Time
	copyID         string // "" until it is known
}

func main() { demo.Main("restoredrill", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("restoredrill [flags] location/name [command]", flag.ExitOnError)
	timeout := flags.Duration("timeout", 3*time.Hour, "maximum `duration` of the restore")
	flags.Parse(args)
	if flags.NArg() == 0 {
		return demo.Usagef("name a database, such as eu-central-h1/orders")
	}
	command := flags.Args()[1:]
	if len(command) > 0 {
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
	source, err := cloudapi.Lookup[cloudapi.Postgres](ctx, client, flags.Arg(0))
	if err != nil {
		return err
	}
	d := &drill{client: client, source: source, command: command, stdout: stdout, stderr: stderr, start: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	return d.run(ctx)
}
