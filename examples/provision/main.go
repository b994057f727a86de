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
// the program; --sample prints the sample.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

func main() { demo.Main("provision", run) }

//go:embed main.go
var source string // main.go, whose first comment is the help

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := demo.NewFlags("provision", source, stdout)
	file := flags.String("file", "", "YAML `file` with the resources that should exist\n(default a sample, only for the server inside the program)")
	printSample := flags.Bool("sample", false, "print the sample and exit")
	update := flags.Bool("update", false, "change existing resources that differ from the file, where possible")
	planOnly := flags.Bool("plan", false, "list what would be created and changed, and change nothing")
	timeout := flags.Positive("timeout", 30*time.Minute, "maximum `duration` of the whole run")
	output := flags.Output(new(report).table().Columns)
	if err := flags.Parse(args, 0); err != nil {
		return err
	}
	if *printSample {
		if err := flags.Useless("with --sample", "file", "update", "plan", "timeout", "o", "columns", "no-header"); err != nil {
			return err
		}
		_, err := stdout.Write(sample)
		return err
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
	p := &provisioner{client: client, env: env, planOnly: *planOnly, update: *update, progress: newProgress(stderr, demo.IsTerminal(stderr))}
	err = p.run(ctx)
	listErr := output.Write(stdout, p.report.table())
	if listErr != nil && !*planOnly {
		output.Write(stderr, p.report.table()) // nobody reads stdout
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
