// Teardown deletes the resources of a project: it lists what it would delete,
// asks for confirmation, deletes in a valid order, and reports the result.
//
//	teardown --plan
//	teardown --plan -o csv > plan.csv
//	teardown --keep 'eu-central-h1/orders*' --keep operations
//	teardown --yes
package main

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

func main() { demo.Main("teardown", run) }

//go:embed main.go
var source string // main.go, whose first comment is the help

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c := &command{stdin: os.Stdin, stdout: stdout, stderr: stderr}
	flags := demo.NewFlags("teardown", source, stdout)
	flags.Func("keep", "`pattern` of resources to keep: a name, an ID, eu-central-h1/web-1\nor 'eu-central-h1/*'; can be repeated", func(pattern string) error {
		c.keep = append(c.keep, pattern)
		return checkPattern(pattern)
	})
	flags.BoolVar(&c.planOnly, "plan", false, "list what would be deleted, and delete nothing")
	flags.BoolVar(&c.yes, "yes", false, "delete without asking")
	timeout := flags.Positive("timeout", 30*time.Minute, "maximum `duration` of the deletion")
	c.output = flags.Output(planColumns)
	if err := flags.Parse(args, 0); err != nil {
		return err
	}
	if c.planOnly {
		if err := flags.Useless("with --plan", "yes", "timeout"); err != nil {
			return err
		}
	}
	c.timeout = *timeout

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

type command struct {
	keep           []string
	planOnly, yes  bool
	timeout        time.Duration
	output         *demo.Output
	stdin          io.Reader
	stdout, stderr io.Writer
}

func (c *command) run(ctx context.Context, client *cloudapi.Client) error {
	bar := newBar(c.stderr, demo.IsTerminal(c.stderr))
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
		Progress: bar.show,
	})
	if err != nil {
		return err
	}
	for _, pattern := range c.keep {
		if !used[pattern] { // a typing mistake would delete the wrong resources
			return fmt.Errorf("nothing was deleted: --keep %s matches no resource of the project; --plan without it lists their names", pattern)
		}
	}
	list, total := c.list(plan)
	fmt.Fprintf(c.stderr, "Project %s: %d to delete, %d to keep.\n", client.Project(), total, len(plan.Kept()))
	has := func(kinds ...cloudapi.Kind) bool {
		return slices.ContainsFunc(slices.Concat(plan.Stages()...), func(r cloudapi.Resource) bool { return slices.Contains(kinds, r.Kind) })
	}
	if has(cloudapi.KindKubernetesCluster, cloudapi.KindPostgres) {
		fmt.Fprintln(c.stderr, "A cluster or database is deleted with its own subnet and firewall, even if the token can't see them.")
	}
	if has(cloudapi.KindPrivateSubnet) {
		fmt.Fprintln(c.stderr, "A private subnet is deleted with its load balancers, including any that the token can't see.")
	}
	if err := c.output.Write(c.stdout, list); err != nil {
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
	bar.begin(total)
	err = plan.Run(ctx)
	bar.end()
	return report(c.stderr, total, err)
}

// planColumns are the columns of the plan. STAGE is the stage in which a
// resource is deleted, or "keep". WHY says why it's kept, or with which other
// resource it's deleted.
var planColumns = []string{"STAGE", "KIND", "LOCATION", "NAME", "WHY", "ID"}

func (c *command) list(plan *teardown.Plan) (list *demo.Table, total int) {
	list = &demo.Table{Columns: planColumns, Wide: []string{"ID"}}
	for i, stage := range plan.Stages() {
		total += len(stage)
		for _, r := range stage {
			list.Add(i+1, r.Kind, r.Location, cmp.Or(r.Name, r.ID), "", r.ID)
			for _, part := range plan.GoesWith(r) {
				list.Add(i+1, part.Kind, part.Location, part.Name, "goes with "+r.Reference(), part.ID)
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
		list.Add("keep", r.Kind, r.Location, cmp.Or(r.Name, r.ID), why, r.ID)
	}
	return list, total
}

// checkPattern refuses a pattern that can't match anything, such as "/" if two
// variables of a script aren't set.
func checkPattern(pattern string) error {
	if location, name, found := strings.Cut(pattern, "/"); strings.TrimSpace(location) == "" || found && strings.TrimSpace(name) == "" {
		return errors.New("a location or name in it is empty: is a variable not set?")
	}
	_, err := path.Match(pattern, "")
	return err
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
	fmt.Fprintf(c.stderr, "To delete %s type the name of the project, %s: ", demo.Count(total, "resource"), demo.Visible(project.Name))
	answer := make(chan string, 1)
	go func() { // Ctrl-C can't interrupt Read, and leaves the goroutine behind
		line, _ := bufio.NewReader(c.stdin).ReadString('\n')
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(c.stderr)
		return fmt.Errorf("nothing was deleted: %w", ctx.Err())
	case line := <-answer:
		if !strings.HasSuffix(line, "\n") || !demo.IsTyped(c.stdin) {
			fmt.Fprintln(c.stderr) // nobody has typed Enter to end the question's line
		}
		if strings.TrimSpace(line) != project.Name {
			return errors.New("nothing was deleted: that isn't the name; use --yes if nobody can type it")
		}
	}
	return nil
}

func report(w io.Writer, total int, err error) error {
	var failure *teardown.Error
	switch {
	case err == nil:
		fmt.Fprintf(w, "Deleted %s.\n", demo.Count(total, "resource"))
		return nil
	case !errors.As(err, &failure):
		return err
	}
	for _, f := range failure.Failed { // not in a table, which would cut the reasons
		fmt.Fprintf(w, "%v: %s\n  %v\n", f.Resource, f.Outcome, f.Err)
	}
	return fmt.Errorf("deleted %s, %d left: run it again, or see the reasons above (%w)", demo.Count(len(failure.Deleted), "resource"), len(failure.Failed), err)
}
