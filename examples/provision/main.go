// Provision creates the resources in a file: SSH keys, firewalls with their
// rules, subnets, VMs and databases. It doesn't change existing resources or
// their rules unless --update is given, and reports all differences from the
// file. It can be run again after a failure or a change of the file. If it's
// interrupted, it lists what it has created.
//
//	provision
//	provision --file environment.yaml --plan
//	provision --file environment.yaml --update
//
// Without a file, it creates the resources of a sample, in the server inside
// the program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

// service creates one kind of resource. The services of the SDK implement it.
type service[T, R any] interface {
	Ensure(ctx context.Context, location, name string, request *R, opts *cloudapi.EnsureOptions) (*T, cloudapi.EnsureOutcome, error)
}

// settle creates a resource, and reports the result. With the client of a plan,
// it plans that. If the resource differs from the request and isn't updated,
// settle reports the difference and returns the record.
func settle[T, R any](ctx context.Context, p *provisioner, of subject, s service[T, R], request *R) (*T, cloudapi.EnsureOutcome, error) {
	record, outcome, err := s.Ensure(ctx, p.env.Location, of.name, request, &cloudapi.EnsureOptions{Update: p.update})
	if drift, ok := errors.AsType[*cloudapi.DriftError](err); ok {
		record = any(drift.Record).(*T)
		how := err
		if p.plan != nil {
			how = fmt.Errorf("%v differs from the file: %s", of, driftText(drift.Fields))
		}
		p.report.differs(of, fmt.Errorf("%w%s", how, p.advice(drift.Fields)))
		return record, "", nil
	}
	switch {
	case errors.Is(err, cloudapi.ErrOutcomeUnknown):
		p.report.result(of, resultUnknown)
	case err != nil:
	case p.plan == nil:
		p.report.result(of, done[outcome])
	case p.held && outcome == cloudapi.EnsureCreated:
		p.report.result(of, resultHeld)
	default:
		p.report.result(of, planned[outcome])
	}
	return record, outcome, err
}

// show reports the state and details of a resource, unless it's only planned.
func (p *provisioner) show(of subject, outcome cloudapi.EnsureOutcome, state, details string) {
	if p.plan == nil || outcome != cloudapi.EnsureCreated {
		p.report.show(of, state, details)
	}
}

// run creates missing resources. With --update, it also changes resources that
// differ from the file. If an SSH key, firewall or subnet still differs, run
// creates no VMs and databases.
func (p *provisioner) run(ctx context.Context) error {
	if err := p.keys(ctx); err != nil {
		return err
	}
	firewallIDs, err := p.firewalls(ctx)
	if err != nil {
		return err
	}
	subnetIDs, err := p.subnets(ctx, firewallIDs)
	if err != nil {
		return err
	}
	p.held = p.report.drift() != nil
	if p.held && p.plan == nil {
		return nil
	}
	return p.machines(ctx, subnetIDs)
}

// reportPlan reports the changes of the plan, if there is one.
func (p *provisioner) reportPlan() {
	for _, change := range p.plan.Changes() {
		p.report.changes(subject{change.Resource.Kind, change.Resource.Name}, change.Details)
	}
}

type provisioner struct {
	client *cloudapi.Client // that of the plan, if there is one
	plan   *cloudapi.Plan   // or nil
	env    *environment
	update bool
	report report
	held   bool // whether VMs and databases aren't created because another resource differs

	mu     sync.Mutex // guards stderr
	stderr io.Writer
	start  time.Time
}

func main() { demo.Main("provision", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("provision", flag.ExitOnError)
	file := flags.String("file", "", "YAML `file` with the resources that should exist\n(default a sample, only for the server inside the program)")
	update := flags.Bool("update", false, "change existing resources that differ from the file, where possible")
	planOnly := flags.Bool("plan", false, "list what would be created and changed, and change nothing")
	timeout := flags.Duration("timeout", 30*time.Minute, "maximum `duration` of the whole run")
	flags.Parse(args)
	if flags.NArg() > 0 {
		return demo.Usagef("unexpected argument %q", flags.Arg(0))
	}
	embedded, err := demo.IsEmbedded()
	switch {
	case err != nil:
		return err
	case *file == "" && !embedded:
		return demo.Usagef("name a file with --file: the sample is only for the server inside the program")
	}
	env, err := load(*file)
	if err != nil {
		return err
	}

	// In the embedded server, VMs and databases take seconds.
	client, closeServer, err := demo.Connect(ctx, stderr, "provision", demo.Server{
		Delays: cloudapitest.Delays{Create: 3 * time.Second, Resize: 3 * time.Second},
		Empty:  true,
	})
	if err != nil {
		return err
	}
	defer closeServer()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	p := &provisioner{client: client, env: env, update: *update, stderr: stderr, start: time.Now()}
	if *planOnly {
		p.plan = cloudapi.NewPlan(client)
		p.client = p.plan.Client()
	}
	err = p.run(ctx)
	p.reportPlan()
	listErr := p.report.write(stdout)
	if listErr != nil && !*planOnly {
		p.report.write(stderr) // nobody reads stdout
	}

	switch {
	case *planOnly:
	case err != nil && (ctx.Err() != nil || cloudapi.IsTransient(err)):
		err = fmt.Errorf("%w\neverything created so far is kept: run the same command again to continue", err)
	case err != nil:
		err = fmt.Errorf("%w\neverything created so far is kept", err)
	}
	return errors.Join(err, listErr, p.report.drift())
}
