// Vmjob runs a script on a VM of its own by SSH, and deletes the VM, also if the
// script fails or somebody interrupts the program.
//
//	vmjob --from 203.0.113.7 build.sh release
//	tar c scene | vmjob --from 203.0.113.7 --size standard-8 render.sh > frames.tar
//	vmjob --clean job-e2oqh
//
// The script gets the arguments that follow its name, and standard input, unless
// that's a terminal. Its exit status is the program's.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
	"golang.org/x/crypto/ssh"
)

// A job is a script that runs on a VM of its own. The VM, its subnet and its
// firewall have the job's name, and nothing else has.
type job struct {
	client               *cloudapi.Client
	location, name, size string
	from                 netip.Prefix // who may connect to the VM
	script               []byte
	args                 []string
	stdin                io.Reader
	stdout, stderr       io.Writer
	start                time.Time
	user, host           ssh.Signer // the keys, which are made for one run
	initScript           string     // gives the VM its host key
	dial                 func(ctx context.Context, network, address string) (net.Conn, error)
}

// run runs the script on a new VM, which only j.from can reach. Whatever ends it,
// even a panic, it deletes what it has created.
func (j *job) run(ctx context.Context) (err error) {
	if err := j.client.CheckAccess(ctx); err != nil {
		return err
	}
	j.say("creating %s", j.name)
	// Ctrl-C doesn't cancel a create: the server could execute a canceled one after
	// the cleanup. Ensure finds out whether a create has succeeded if its response
	// is lost.
	sure, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Minute)
	defer cancel()
	firewall, _, err := j.client.Firewalls.Ensure(sure, j.location, j.name, nil, nil)
	if errors.Is(err, cloudapi.ErrLocationNotFound) {
		return err // nothing was created
	}
	defer func() {
		left := j.remove(context.WithoutCancel(ctx))
		if left == nil && errors.Is(err, cloudapi.ErrOutcomeUnknown) {
			left = errors.New("the server may still execute a request that was lost")
		}
		if left != nil {
			err = errors.Join(err, fmt.Errorf("%s may be left and cost money; this deletes it: vmjob --location %s --clean %[1]s\n%[3]w", j.name, j.location, left))
		}
	}()
	if err != nil {
		return err
	}
	rules := []cloudapi.FirewallRuleCreateRequest{{CIDR: j.from.String(), PortRange: "22"}}
	if _, err := j.client.Firewalls.SetRules(ctx, j.location, firewall.ID, rules); err != nil {
		return err
	}
	subnet, _, err := j.client.PrivateSubnets.Ensure(sure, j.location, j.name, &cloudapi.PrivateSubnetCreateRequest{FirewallID: firewall.ID}, nil)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	vm, _, err := j.client.VMs.Ensure(sure, j.location, j.name, &cloudapi.VMCreateRequest{
		Size: j.size, PrivateSubnetID: subnet.ID, EnableIPv4: new(j.from.Addr().Is4()),
		PublicKey:      strings.TrimSpace(string(ssh.MarshalAuthorizedKey(j.user.PublicKey()))),
		InitScriptText: j.initScript,
	}, nil)
	if err != nil {
		return err
	}
	vm, err = j.client.VMs.WaitRunning(ctx, j.location, vm.ID, &cloudapi.WaitOptions{FailWithoutCapacity: true, Progress: j.report})
	if err != nil {
		return err
	}
	return j.execute(ctx, vm)
}

// remove deletes what has the job's name, and proves that it's gone. It goes on
// for minutes during an outage, since a VM costs money.
func (j *job) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	for _, kind := range []cloudapi.Kind{cloudapi.KindVM, cloudapi.KindPrivateSubnet, cloudapi.KindFirewall} {
		_, err := cloudapi.Wait(ctx, func(ctx context.Context) (*bool, error) {
			_, err := j.client.DeleteExisting(ctx, j.location+"/"+j.name, kind)
			if err == nil || errors.Is(err, cloudapi.ErrConflict) { // it isn't gone yet, or something that isn't gone yet needs it
				return new(false), nil
			}
			return new(true), err
		}, func(isGone *bool) (bool, error) { return *isGone, nil }, &cloudapi.WaitOptions{Interval: 2 * time.Second, MaxInterval: 10 * time.Second, Tolerance: 1000, Progress: j.report})
		if !cloudapi.IsGone(err) {
			return err
		}
	}
	if err := j.client.CheckAccess(ctx); err != nil { // the token may not see the project anymore
		return err
	}
	j.say("%s is gone", j.name)
	return nil
}

// report says why a poll of a wait has failed, if the wait goes on.
func (j *job) report(p cloudapi.Progress) {
	if cloudapi.IsTransient(p.Err) {
		j.say("trying again: %v", p.Err)
	}
}

func (j *job) say(format string, args ...any) {
	fmt.Fprintf(j.stderr, "%7.1fs  %s\n", time.Since(j.start).Seconds(), fmt.Sprintf(format, args...))
}

func main() { demo.Main("vmjob", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	j := &job{name: "job-" + strings.ToLower(rand.Text()[:5]), stdin: strings.NewReader(""), stdout: stdout, stderr: stderr, start: time.Now(), dial: new(net.Dialer).DialContext}
	flags := flag.NewFlagSet("vmjob [flags] script [argument...]", flag.ExitOnError)
	flags.Func("from", "the `address` by which the VM sees this machine, or a range that contains it;\nthe VM has a public IPv4 address only if this is one", j.parseFrom)
	flags.StringVar(&j.location, "location", "eu-central-h1", "where to create the VM")
	flags.StringVar(&j.size, "size", "standard-2", "size of the VM")
	timeout := flags.Duration("timeout", time.Hour, "maximum `duration` of the job")
	clean := flags.String("clean", "", "only delete what is left of the job with this `name`")
	flags.Parse(args)
	embedded, err := demo.IsEmbedded()
	switch {
	case err != nil:
		return err
	case *clean != "" && (!strings.HasPrefix(*clean, "job-") || flags.NArg() > 0):
		return demo.Usagef("--clean takes only the name of a job, such as job-e2oqh")
	case *clean == "" && flags.NArg() == 0:
		return demo.Usagef("name a script")
	case *clean == "" && !embedded && !j.from.IsValid():
		return demo.Usagef("use --from with the address by which the VM sees this machine: on a server that you reach by SSH, echo $SSH_CLIENT prints it")
	case *clean == "":
		if err := j.load(flags.Args()); err != nil {
			return err // before a VM costs money
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
	j.client = client
	if *clean != "" {
		j.name = *clean
		return j.remove(ctx)
	}
	if err := j.makeKeys(); err != nil {
		return err
	}
	if embedded {
		j.from = netip.MustParsePrefix("127.0.0.1/32")
		j.dial = (&machine{host: j.host, user: j.user.PublicKey()}).dial
	}
	ctx, cancel := context.WithTimeoutCause(ctx, *timeout, fmt.Errorf("it has taken longer than %v", *timeout))
	defer cancel()
	return j.run(ctx)
}

// parseFrom sets j.from, with a prefix length: for an IPv6 address without one,
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

// load reads the script. It refuses one that Linux wouldn't run.
func (j *job) load(args []string) (err error) {
	j.args = args[1:]
	if j.script, err = os.ReadFile(args[0]); err != nil {
		return err
	}
	if !bytes.HasPrefix(j.script, []byte("#!")) || bytes.Contains(j.script, []byte("\r\n")) {
		return demo.Usagef("%s must begin with a line such as #!/bin/sh, and have LF alone at the ends of lines", args[0])
	}
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice == 0 {
		j.stdin = os.Stdin
	}
	return nil
}
