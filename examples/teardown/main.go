// Teardown deletes the resources of a project: it lists what it would delete,
// asks for confirmation, deletes in a valid order, and reports the result.
//
//	teardown --plan
//	teardown --keep 'eu-central-h1/orders*' --keep operations
//	teardown --yes
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// run lists what it would delete, and deletes it once the user has agreed.
func (c *command) run(ctx context.Context, client *cloudapi.Client) error {
	used := map[string]bool{}
	plan, err := teardown.NewPlan(ctx, client, &teardown.Options{
		Keep: func(r cloudapi.Resource) bool {
			keep := false
			for _, pattern := range c.keep {
				if matches(pattern, r) {
					keep, used[pattern] = true, true
				}
			}
			return keep
		},
		Progress: c.progress(),
	})
	if err != nil {
		return err
	}
	for _, pattern := range c.keep {
		if !used[pattern] { // a typing mistake would delete the wrong resources
			return fmt.Errorf("nothing was deleted: --keep %s matches no resource of the project; --plan without it lists their names", pattern)
		}
	}
	total := len(slices.Concat(plan.Stages()...))
	fmt.Fprintf(c.stderr, "Project %s: %d to delete, %d to keep.\n", client.Project(), total, len(plan.Kept()))
	if err := c.list(plan); err != nil {
		return err
	}
	if c.planOnly || total == 0 {
		return nil
	}
	if !c.yes {
		if err := c.confirm(ctx, client, total); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return c.report(plan.Run(ctx), total)
}

// list prints the stage in which each resource is deleted, or "keep" and the
// reason.
func (c *command) list(plan *teardown.Plan) error {
	has := func(kinds ...cloudapi.Kind) bool {
		return slices.ContainsFunc(slices.Concat(plan.Stages()...), func(r cloudapi.Resource) bool { return slices.Contains(kinds, r.Kind) })
	}
	if has(cloudapi.KindKubernetesCluster, cloudapi.KindPostgres) {
		fmt.Fprintln(c.stderr, "A cluster or database is deleted with its own subnet and firewall, even if the token can't see them.")
	}
	if has(cloudapi.KindPrivateSubnet) {
		fmt.Fprintln(c.stderr, "A private subnet is deleted with its load balancers, including any that the token can't see.")
	}

	table := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "STAGE\tKIND\tLOCATION\tNAME\tWHY")
	row := func(stage any, r cloudapi.Resource, why string) {
		fmt.Fprintf(table, "%v\t%v\t%s\t%s\t%s\n", stage, r.Kind, demo.Printable(r.Location), demo.Printable(cmp.Or(r.Name, r.ID)), why)
	}
	for i, stage := range plan.Stages() {
		for _, r := range stage {
			row(i+1, r, "")
			for _, part := range plan.GoesWith(r) {
				row(i+1, part, "goes with "+demo.Printable(r.Reference()))
			}
		}
	}
	for _, r := range plan.Kept() {
		why := "needed by others that stay"
		if r.Name == "" && r.Location != "" {
			why = "this token may not see it"
		}
		for _, pattern := range c.keep {
			if matches(pattern, r) {
				why = "--keep " + pattern
			}
		}
		row("keep", r, why)
	}
	return table.Flush()
}

// matches reports whether a pattern matches the resource's ID, its name if it
// has one, or its location and name if it has both.
func matches(pattern string, r cloudapi.Resource) bool {
	match := func(text string) bool {
		ok, _ := path.Match(pattern, text)
		return ok
	}
	return match(r.ID) || r.Name != "" && (match(r.Name) || r.Location != "" && match(r.Location+"/"+r.Name))
}

func (c *command) confirm(ctx context.Context, client *cloudapi.Client, total int) error {
	project, err := client.Projects.Get(ctx, client.Project())
	if err != nil {
		return err
	}
	shown := demo.Printable(project.Name)
	fmt.Fprintf(c.stderr, "To delete all %d, type the name of the project, %s:\n", total, shown)
	answer := make(chan string, 1)
	go func() { // Ctrl-C can't interrupt Read, and leaves the goroutine behind
		line, _ := bufio.NewReader(c.stdin).ReadString('\n')
		answer <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		return fmt.Errorf("nothing was deleted: %w", ctx.Err())
	case name := <-answer:
		if name != project.Name && name != shown {
			return errors.New("nothing was deleted: that isn't the name; use --yes if nobody can type it")
		}
	}
	return nil
}

// progress returns a function that prints a line for each deleted resource, and
// for each error. It isn't called concurrently.
func (c *command) progress() func(cloudapi.Progress) {
	done := 0
	return func(p cloudapi.Progress) {
		switch {
		case p.Err != nil:
			fmt.Fprintf(c.stderr, "%7.1fs  %2d of %d  %s: %s: %v\n", p.Elapsed.Seconds(), p.Done, p.Total, p.Resource, p.State, p.Err)
		case p.Done > done:
			fmt.Fprintf(c.stderr, "%7.1fs  %2d of %d  %s: %s\n", p.Elapsed.Seconds(), p.Done, p.Total, p.Resource, p.State)
		}
		done = p.Done
	}
}

func (c *command) report(err error, total int) error {
	var failure *teardown.Error
	switch {
	case err == nil:
		fmt.Fprintf(c.stderr, "Deleted %d of %d.\n", total, total)
		return nil
	case !errors.As(err, &failure):
		return err
	}
	for _, f := range failure.Failed {
		fmt.Fprintf(c.stderr, "%v: %s\n  %v\n", f.Resource, f.State, f.Err)
	}
	return fmt.Errorf("deleted %d, %d left: run it again, or see the reasons above (%w)", len(failure.Deleted), len(failure.Failed), err)
}

type command struct {
	keep           []string
	planOnly, yes  bool
	timeout        time.Duration
	stdin          io.Reader
	stdout, stderr io.Writer
}

func main() { demo.Main("teardown", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c := &command{stdin: os.Stdin, stdout: stdout, stderr: stderr}
	flags := flag.NewFlagSet("teardown", flag.ExitOnError)
	flags.Func("keep", "`pattern` of resources to keep: a name, an ID, eu-central-h1/web-1\nor 'eu-central-h1/*'; can be repeated", func(pattern string) error {
		c.keep = append(c.keep, pattern)
		return nil
	})
	flags.BoolVar(&c.planOnly, "plan", false, "list what would be deleted, and delete nothing")
	flags.BoolVar(&c.yes, "yes", false, "delete without asking")
	flags.DurationVar(&c.timeout, "timeout", 30*time.Minute, "maximum `duration` of the deletion")
	flags.Parse(args)
	if flags.NArg() > 0 {
		return demo.Usagef("unexpected argument %q", flags.Arg(0))
	}

	// In the embedded server deletions take a second.
	client, closeServer, err := demo.Connect(ctx, stderr, "teardown", demo.Server{
		Delays: cloudapitest.Delays{Delete: time.Second},
	})
	if err != nil {
		return err
	}
	defer closeServer()
	return c.run(ctx, client)
}
