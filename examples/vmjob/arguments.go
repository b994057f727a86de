package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

// A job is a script that runs on a VM of its own. The VM, its subnet and its
// firewall have the job's name, and nothing else has.
type job struct {
	client         *cloudapi.Client
	location, name string
	size, image    string
	from           netip.Prefix // who may connect to the VM
	script         *os.File
	files          []*os.File // what the script needs
	out            *os.Root   // for its results; nil if they aren't wanted
	stdout, stderr io.Writer
	start          time.Time
	last           cloudapi.Kind // of what was created last, or should have been
	inTrouble      bool          // whether the last poll of a wait has failed

	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func (j *job) say(format string, args ...any) {
	fmt.Fprintf(j.stderr, "%7.1fs  %s\n", time.Since(j.start).Seconds(), fmt.Sprintf(format, args...))
}

// report says why a poll of a wait has failed, but not again until one succeeds.
func (j *job) report(err error) {
	before := j.inTrouble
	j.inTrouble = cloudapi.IsTransient(err) || errors.Is(err, cloudapi.ErrConflict)
	if j.inTrouble && !before {
		j.say("trying again: %v", err)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	j := &job{stdout: stdout, stderr: stderr, start: time.Now()}
	flags := flag.NewFlagSet("vmjob [flags] script [file...]", flag.ExitOnError)
	flags.Func("from", "the `address` by which the VM sees this machine, or a range that contains it;\nthe VM has a public IPv4 address only if this is one", j.parseFrom)
	flags.StringVar(&j.location, "location", "eu-central-h1", "where to create the VM")
	flags.StringVar(&j.size, "size", "standard-2", "size of the VM")
	flags.StringVar(&j.image, "image", "", "boot image of the VM; by default, the service's default")
	out := flags.String("out", "", "new or empty `folder` for what the script puts into its folder out; by default, that's deleted with the VM")
	owner := flags.String("owner", defaultOwner(), "lower-case letters and digits that `name` who started the job")
	timeout := flags.Duration("timeout", time.Hour, "how long the job may take")
	clean := flags.Bool("clean", false, "delete the VMs of the named jobs, or else of all jobs of the owner whose time is over")
	flags.Parse(args)
	switch {
	case !ownerForm.MatchString(*owner):
		return demo.Usagef("the owner %q must be 1 to 20 lower-case letters and digits", *owner)
	case *timeout <= 0:
		return demo.Usagef("the timeout must be positive")
	case !*clean && flags.NArg() == 0:
		return demo.Usagef("name a script, or use --clean")
	}
	embedded, err := demo.IsEmbedded()
	if err != nil {
		return err
	}
	if embedded && !j.from.IsValid() {
		j.parseFrom("127.0.0.1")
	}
	if !*clean {
		if !j.from.IsValid() {
			return demo.Usagef("use --from with the address by which the VM sees this machine: on a server that you reach by SSH, echo $SSH_CLIENT prints it")
		}
		closeFiles, err := j.open(flags.Args(), *out)
		defer closeFiles()
		if err != nil {
			return err
		}
	}
	client, closeServer, err := demo.Connect(ctx, stderr, "vmjob", demo.Server{
		Delays: cloudapitest.Delays{Create: time.Second, Delete: time.Second},
		Empty:  true,
	})
	if err != nil {
		return err
	}
	defer closeServer()
	j.client, j.dial = client, new(net.Dialer).DialContext
	if embedded {
		vm := newMachine()
		j.dial = vm.dial
		if j.client, err = client.With(cloudapi.WithMiddleware(vm.watch)); err != nil {
			return err
		}
	}
	if *clean {
		return j.clean(ctx, *owner, flags.Args())
	}
	j.name = newName(*owner, j.start.Add(*timeout+cleanupTime))
	ctx, cancel := context.WithTimeoutCause(ctx, *timeout, fmt.Errorf("it has taken longer than %v", *timeout))
	defer cancel()
	return j.run(ctx)
}

// parseFrom sets j.from, with a prefix length: of an IPv6 address without one,
// the service would let in a whole /64.
func (j *job) parseFrom(text string) error {
	address, err := netip.ParseAddr(text)
	j.from = netip.PrefixFrom(address, address.BitLen())
	if err != nil {
		j.from, err = netip.ParsePrefix(text)
		j.from = j.from.Masked()
	}
	if err != nil {
		return errors.New("must be an IP address, or a range such as 203.0.113.0/24")
	}
	return nil
}

// open opens the files, and the folder for the results, before a VM costs
// money. The returned function closes them, also after an error.
func (j *job) open(paths []string, out string) (closeFiles func(), err error) {
	closeFiles = func() {
		for _, file := range append(j.files, j.script) {
			file.Close()
		}
		if j.out != nil {
			j.out.Close()
		}
	}
	names := map[string]bool{"out": true}
	for _, path := range paths {
		name := filepath.Base(path)
		switch info, err := os.Stat(path); {
		case err != nil:
			return closeFiles, err
		case !info.Mode().IsRegular():
			return closeFiles, demo.Usagef("%s isn't a file", path)
		case names[name]:
			return closeFiles, demo.Usagef("%s: the job's folder already has something with this name", path)
		}
		names[name] = true
		file, err := os.Open(path)
		if err != nil {
			return closeFiles, err
		}
		j.files = append(j.files, file)
	}
	j.script, j.files = j.files[0], j.files[1:]
	if err := check(j.script); err != nil || out == "" {
		return closeFiles, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return closeFiles, err
	}
	if old, err := os.ReadDir(out); err != nil || len(old) > 0 {
		return closeFiles, demo.Usagef("the folder %s must be new or empty", out)
	}
	j.out, err = os.OpenRoot(out)
	return closeFiles, err
}

// check refuses a script that the VM would read in another way than its author.
func check(script *os.File) error {
	text, err := io.ReadAll(script)
	if err != nil {
		return err
	}
	for _, mark := range []struct{ bytes, advice string }{
		{"\ufeff", "has a byte order mark in line %d: save it as UTF-8 without one"},
		{"\r", "has a carriage return in line %d: save it with LF at the ends of lines"},
	} {
		if before, _, found := bytes.Cut(text, []byte(mark.bytes)); found {
			return demo.Usagef("%s "+mark.advice, script.Name(), 1+bytes.Count(before, []byte("\n")))
		}
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if interpreter, found := bytes.CutPrefix(first, []byte("#!")); !found || len(bytes.TrimSpace(interpreter)) == 0 {
		return demo.Usagef("%s must begin with #! and its interpreter, such as #!/bin/sh", script.Name())
	}
	_, err = script.Seek(0, io.SeekStart)
	return err
}
