// Provision creates the resources in a file: SSH keys, firewalls with their
// rules, subnets, VMs and databases. Existing resources and their rules stay
// unchanged, unless --update is given. Provision reports all differences from
// the file. So it can be run again after a failure or a change of the file.
// After an interrupt it lists what it has created.
//
//	provision
//	provision --file environment.yaml --plan
//	provision --file environment.yaml --update
//
// The server inside the program gets a sample if there is no file; --sample
// prints it.
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
	"github.com/cloudapi-sdk/cloudapi/examples/internal/demo"
)

func main() { demo.Main("provision", run) }

//go:embed main.go
var source string // whose first comment is the help

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := demo.NewFlags("provision", source, stdout)
	file := flags.String("file", "", "`file` in YAML with the resources that should exist (the default is a sample, which only the server inside the program gets)")
	printSample := flags.Bool("sample", false, "print the sample and exit")
	update := flags.Bool("update", false, "change existing resources that differ from the file, where that is possible")
	planOnly := flags.Bool("plan", false, "list what would be created and changed, and change nothing")
	timeout := flags.Positive("timeout", 30*time.Minute, "how long all of it may take, a `duration`")
	output := flags.Output(new(report).table().Columns)
	if err := flags.Parse(args, 0); err != nil {
		return err
	}
	if *printSample {
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

	// In the embedded server VMs and databases take seconds.
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
		output.Write(stderr, p.report.table()) // nobody reads the other one
	}

	switch {
	case *planOnly:
	case err != nil && (ctx.Err() != nil || cloudapi.IsTransient(err)):
		err = fmt.Errorf("%w\nwhat was made is kept: run the same again to go on", err)
	case err != nil:
		err = fmt.Errorf("%w\nwhat was made is kept", err)
	}
	return errors.Join(err, listErr, p.report.drift())
}
