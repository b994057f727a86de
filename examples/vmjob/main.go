// Vmjob runs a script on a VM of its own, prints what the script has written,
// and deletes the VM.
//
//	vmjob build.sh
//	vmjob --size standard-8 --timeout 2h render.sh
//	vmjob --clean
//
// The name of the VM contains its owner and the time. Whatever ends the
// program, it deletes the VM and checks that it's gone. A VM is left only if
// the program is killed, or can't reach the service: --clean deletes the VMs of
// this owner that are older than the timeout, and no others.
//
// Nobody can log in to the VM: its SSH key has no private key.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/user"
	"regexp"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

func main() { demo.Main("vmjob", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("vmjob [flags] script", flag.ExitOnError)
	location := flags.String("location", "eu-central-h1", "where to create the VM")
	size := flags.String("size", "standard-2", "size of the VM")
	owner := flags.String("owner", defaultOwner(), "lower-case letters and digits that `name` the owner of the VM")
	timeout := flags.Duration("timeout", time.Hour, "maximum `duration` of a job")
	clean := flags.Bool("clean", false, "delete what earlier runs of this owner have left")
	flags.Parse(args)
	if flags.NArg() > 1 {
		return demo.Usagef("unexpected argument %q", flags.Arg(1))
	}
	if !ownerForm.MatchString(*owner) {
		return demo.Usagef("the owner %q must be 1 to 20 lower-case letters and digits", *owner)
	}
	if *clean == (flags.NArg() == 1) {
		return demo.Usagef("name a script, or use --clean")
	}
	j := &job{location: *location, size: *size, owner: *owner, timeout: *timeout, stdout: stdout, stderr: stderr, start: time.Now()}
	if !*clean {
		script, err := os.ReadFile(flags.Arg(0))
		if err != nil {
			return err
		}
		if err := check(script); err != nil {
			return demo.Usagef("%s %v", flags.Arg(0), err)
		}
		j.name = jobName(*owner, j.start)
		if j.script = wrap(string(script), j.name); len(j.script) > maxScript {
			return demo.Usagef("%s is %d bytes too long for the service: let it download the rest", flags.Arg(0), len(j.script)-maxScript)
		}
	}
	client, closeServer, err := demo.Connect(ctx, stderr, "vmjob", demo.Server{
		Delays:  cloudapitest.Delays{Create: time.Second, Delete: time.Second},
		Empty:   true,
		Started: func(server *cloudapitest.Server) { j.embedded = server },
	})
	if err != nil {
		return err
	}
	defer closeServer()
	j.client = client
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	if *clean {
		return j.clean(ctx)
	}
	return j.run(ctx)
}

type job struct {
	client                *cloudapi.Client
	embedded              *cloudapitest.Server // nil if the service is real
	location, size, owner string
	name, script          string // the VM's name, and the script that it runs
	timeout               time.Duration
	stdout, stderr        io.Writer
	start                 time.Time
}

func (j *job) run(ctx context.Context) (err error) {
	j.say("creating VM %s", j.name)
	reference := j.location + "/" + j.name // no other VM has this name, so it's safe to delete
	defer func() {
		// This also runs after a failure, or after Ctrl-C has ended ctx.
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Minute)
		defer cancel()
		mayAppear := errors.Is(err, cloudapi.ErrOutcomeUnknown)
		if left := j.remove(cleanup, reference, mayAppear); left != nil {
			err = errors.Join(err, fmt.Errorf("VM %s may still be there and cost money, use --clean later: %w", reference, left))
		} else {
			j.say("the VM is gone")
		}
	}()

	// Ctrl-C doesn't cancel this: the server could execute a canceled create
	// after the cleanup.
	vm, err := j.client.VMs.Create(context.WithoutCancel(ctx), j.location, j.name, &cloudapi.VMCreateRequest{
		PublicKey: demo.PublicKey, Size: j.size, EnableIPv4: new(true), InitScriptText: j.script,
	})
	if err != nil {
		return err
	}
	reference = j.location + "/" + vm.ID
	if j.embedded != nil { // the embedded server runs no scripts
		j.embedded.SetSerialLog(vm.ID, fmt.Sprintf("booting\n%s\nhello from the job\n%s 0\n", beginLine(j.name), endLine(j.name)))
	}
	if _, err := j.client.VMs.WaitRunning(ctx, vm.Location, vm.ID, &cloudapi.WaitOptions{Interval: time.Second}); err != nil {
		return err
	}
	j.say("the VM is running, and the job on it")
	output, status, err := j.wait(ctx, vm)
	fmt.Fprint(j.stdout, output)
	if err == nil && status != "0" {
		err = fmt.Errorf("the job ended with status %s", status)
	}
	return err
}

// wait waits for the end of the job, and returns the last 64 KiB of its output
// and its exit status.
func (j *job) wait(ctx context.Context, vm *cloudapi.VM) (output, status string, err error) {
	for {
		// The service fetches the log at most once a minute.
		if _, err := j.client.VMs.SerialLog(ctx, vm.Location, vm.ID, &cloudapi.VMSerialLogOptions{Refresh: true}); err != nil {
			return output, "", err
		}
		log, err := j.client.VMs.WaitSerialLog(ctx, vm.Location, vm.ID, &cloudapi.WaitOptions{Interval: time.Second})
		switch {
		case err == nil:
			var done bool
			if output, status, done = result(log.Output, j.name); done {
				return output, status, nil
			}
		case !errors.Is(err, cloudapi.ErrWaitFailed): // after ErrWaitFailed, the loop tries again
			return output, "", err
		}
		select {
		case <-ctx.Done():
			return output, "", fmt.Errorf("the job hasn't ended: %w", ctx.Err())
		case <-time.After(time.Minute):
		}
	}
}

// remove deletes a VM, if it exists, and waits until it's gone. It tries again
// during an outage, since the VM costs money. If mayAppear, "not found" proves
// nothing, because the server may still execute the create.
func (j *job) remove(ctx context.Context, reference string, mayAppear bool) error {
	// There's no limit in effect: the context ends before 100 errors in a row.
	patient := &cloudapi.WaitOptions{Interval: time.Second, MaxInterval: 15 * time.Second, Tolerance: 100}
	always := func(*cloudapi.Resource) (bool, error) { return true, nil }
	found, err := cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.Resource, error) {
		return j.client.Resolve(ctx, reference, cloudapi.KindVM)
	}, always, patient)
	switch {
	case cloudapi.IsGone(err) && !mayAppear:
		return nil
	case err != nil:
		return err
	}
	if _, err := cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.Resource, error) {
		return found, j.client.Delete(ctx, *found)
	}, always, patient); err != nil {
		return err
	}
	return j.client.WaitDeleted(ctx, *found, patient)
}

func (j *job) clean(ctx context.Context) error {
	var failures []error
	found := false
	for vm, err := range j.client.VMs.All(ctx, nil) {
		if err != nil {
			return errors.Join(append(failures, err)...)
		}
		found = true
		created, mine := createdAt(vm.Name, j.owner)
		if !mine || j.start.Sub(created) <= j.timeout { // it may belong to a job that still runs
			continue
		}
		j.say("deleting VM %s of %s", vm.Name, created.Format(time.RFC3339))
		failures = append(failures, j.remove(ctx, vm.Location+"/"+vm.ID, false))
	}
	if !found { // perhaps the token can't see VMs: the list leaves them out
		_, err := j.client.CheckAccess(ctx)
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

func (j *job) say(format string, args ...any) {
	fmt.Fprintf(j.stderr, "%7.1fs  %s\n", time.Since(j.start).Seconds(), fmt.Sprintf(format, args...))
}

// timeForm is the layout of the creation time in a VM's name.
const timeForm = "20060102-150405"

var ownerForm = regexp.MustCompile(`^[a-z0-9]{1,20}$`)

func jobName(owner string, at time.Time) string {
	return "job-" + owner + "-" + at.UTC().Format(timeForm) + "-" + strings.ToLower(rand.Text()[:5])
}

// createdAt returns when a VM of the owner was created, or false for any other
// VM.
func createdAt(name, owner string) (time.Time, bool) {
	rest, isJob := strings.CutPrefix(name, "job-"+owner+"-")
	if !isJob || len(rest) != len(timeForm)+len("-abcde") || rest[len(timeForm)] != '-' {
		return time.Time{}, false
	}
	created, err := time.Parse(timeForm, rest[:len(timeForm)])
	return created, err == nil
}

func defaultOwner() string {
	if current, err := user.Current(); err == nil && ownerForm.MatchString(current.Username) {
		return current.Username
	}
	return "nobody"
}

// maxScript is the service's limit for a script: 2000 characters. This program
// counts bytes, which are at least as many.
const maxScript = 2000

// beginLine and endLine return what the console shows before and after the
// output of a job.
func beginLine(name string) string { return name + " begins" }
func endLine(name string) string   { return name + " ends with status" }

// check finds what makes a VM run something else than the script's author sees
// in the file. It describes the file.
func check(script []byte) error {
	before, _, isCR := bytes.Cut(script, []byte("\r"))
	first, _, _ := bytes.Cut(script, []byte("\n"))
	switch line := byteOrderMark(script); {
	case line > 0:
		return fmt.Errorf("has a byte order mark in line %d: save it as UTF-8 without one", line)
	case isCR:
		return fmt.Errorf("has a carriage return in line %d: save it with LF at the ends of lines", 1+bytes.Count(before, []byte("\n")))
	case string(bytes.TrimSpace(first)) == "#cloud-config":
		return errors.New("is a cloud-config: only scripts can run as a job")
	}
	return nil
}

// byteOrderMark returns the number of the first line of a text file that has a
// byte order mark, or 0. Editors write one at the beginning, and don't show it.
func byteOrderMark(text []byte) (line int) {
	for _, utf16 := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(text, []byte(utf16)) {
			return 1
		}
	}
	before, _, found := bytes.Cut(text, []byte("\ufeff"))
	if !found {
		return 0
	}
	return 1 + bytes.Count(before, []byte("\n"))
}

// wrap returns a script that runs the given script, with its output on the
// serial console.
func wrap(script, name string) string {
	return fmt.Sprintf(`#!/bin/sh
cat >/var/tmp/job <<'%[1]s'
%[2]s
%[1]s
chmod +x /var/tmp/job
{ echo '%[3]s'; /var/tmp/job; echo "%[4]s $?"; } >/dev/console 2>&1
`, name, script, beginLine(name), endLine(name))
}

// result sets done once the console shows the end of the job. The output may
// lack its beginning if it's long.
func result(console, name string) (output, status string, done bool) {
	console = strings.ReplaceAll(console, "\r\n", "\n")
	if _, rest, found := strings.Cut(console, beginLine(name)+"\n"); found {
		console = rest
	}
	output, rest, done := strings.Cut(console, endLine(name)+" ")
	status, _, _ = strings.Cut(rest, "\n")
	return output, status, done
}
