package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo/demotest"
)

func TestMain(m *testing.M) { demotest.Isolate(m) }

func TestDeletesEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stdout, stderr := demotest.Runs(t, run, []string{"--yes", "--keep", "eu-central-h1/orders*"}, ": 30 to delete, 6 to keep.\n", "Deleted 30 of 30.\n")
		want := regexp.MustCompile(`(?m)^keep +Postgres database +eu-central-h1 +orders +--keep eu-central-h1/orders\*$`)
		if n := strings.Count(stderr, ": deleted\n"); n != 30 || !want.MatchString(stdout) {
			t.Errorf("%d lines about deletions:\n%s%s", n, stdout, stderr)
		}
	})
}

func TestPlan(t *testing.T) {
	t.Parallel()
	stdout, stderr := demotest.Runs(t, run, []string{"--plan", "--keep", "bastion-1"})
	table := strings.Join(strings.Fields(stdout), " ")
	for _, want := range []string{"STAGE KIND LOCATION NAME WHY 1 ", "1 Kubernetes cluster us-east-a2 staging ", "keep VM eu-central-h1 bastion-1 --keep bastion-1",
		"keep private subnet eu-central-h1 web needed by others that stay"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if strings.Contains(stderr, "Deleted") {
		t.Errorf("it says\n%s", stderr)
	}
}

// newCommand returns a command for a project with two VMs in a subnet, and a
// function that returns the number of VMs.
func newCommand(t *testing.T, stdin string) (*command, *cloudapitest.Server, *cloudapi.Client, func() int) {
	t.Helper()
	server := cloudapitest.New(t)
	client := server.Client()
	for _, name := range []string{"one", "two"} {
		demotest.Must(client.VMs.Create(t.Context(), "eu-central-h1", name, &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA"}))(t)
	}
	count := func() int {
		return len(demotest.Must(cloudapi.Collect(client.VMs.All(t.Context(), nil)))(t))
	}
	return &command{timeout: time.Hour, stdin: strings.NewReader(stdin), stdout: io.Discard, stderr: io.Discard}, server, client, count
}

func TestConfirms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		stdin string
		left  int
	}{{"main\n", 0}, {"  main", 0}, {"yes\n", 2}, {"", 2}} {
		synctest.Test(t, func(t *testing.T) {
			command, _, client, count := newCommand(t, test.stdin)
			var stderr bytes.Buffer
			command.stderr = &stderr
			err := command.run(t.Context(), client)
			if !strings.Contains(stderr.String(), "To delete all 4, type the name of the project, main:\n") {
				t.Errorf("%q: it asks\n%s", test.stdin, &stderr)
			}
			if refused := err != nil; refused != (test.left > 0) || refused && !strings.Contains(err.Error(), "nothing was deleted") {
				t.Errorf("%q: error %v", test.stdin, err)
			}
			if n := count(); n != test.left {
				t.Errorf("%q: %d VMs are left, want %d", test.stdin, n, test.left)
			}
		})
	}
}

// TestHostileNames: what the server sends as a name writes no lines before the
// question, and doesn't change the terminal. Typed as it's shown, it's the name.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const name, shown = `x\u001b]0;owned\u0007\u001b[2J\nfake line`, `"x\x1b]0;owned\a\x1b[2J\nfake line"`
		command, server, client, _ := newCommand(t, shown+"\n")
		server.Fail(cloudapitest.Match{Operation: "Projects.Get"}, cloudapitest.Reply(200, nil, `{"id":"`+client.Project()+`","name":"`+name+`"}`).Repeating())
		server.Fail(cloudapitest.Match{Operation: "VMs.List"}, cloudapitest.Reply(200, nil, `{"count":1,"items":[{"id":"`+server.IDs(cloudapi.KindVM, "")[0]+`","name":"`+name+`","location":"eu-central-h1"}]}`))
		var stdout, stderr bytes.Buffer
		command.stdout, command.stderr = &stdout, &stderr
		if err := command.run(t.Context(), client); err != nil && strings.Contains(err.Error(), "isn't the name") {
			t.Error(err)
		}
		if out := stdout.String() + stderr.String(); strings.ContainsAny(out, "\x1b\a") || strings.Contains(out, "\nfake line") ||
			!strings.Contains(stdout.String(), shown) || !strings.Contains(stderr.String(), "type the name of the project, "+shown+":\n") {
			t.Errorf("it prints\n%q", out)
		}
	})
}

func TestInterruptWhileAsking(t *testing.T) {
	t.Parallel()
	command, _, client, count := newCommand(t, "")
	stdin, typing := io.Pipe() // nobody types
	defer typing.Close()
	command.stdin = stdin
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	command.stderr = onWrite(interrupt)
	if err := command.run(ctx, client); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if n := count(); n != 2 {
		t.Errorf("%d VMs are left, want 2", n)
	}
}

// onWrite is a writer that calls a function.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

func TestReportsWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		command, server, client, count := newCommand(t, "")
		vm := demotest.Must(client.VMs.Get(t.Context(), "eu-central-h1", "one"))(t)
		forbidden := cloudapitest.Reply(403, nil, "{}") // also at the second attempt
		server.Fail(cloudapitest.Match{Operation: "VMs.Delete", Func: func(r cloudapitest.Request) bool { return strings.HasSuffix(r.Path, vm.ID) }}, forbidden, forbidden)
		var stderr bytes.Buffer
		command.yes, command.stderr = true, &stderr
		err := command.run(t.Context(), client)
		if err == nil || !strings.Contains(err.Error(), "deleted 1, 3 left") || !errors.Is(err, cloudapi.ErrForbidden) {
			t.Errorf("error %v", err)
		}
		for _, want := range []string{"s   1 of 4  VM eu-central-h1/two ", "VM eu-central-h1/one (" + vm.ID + "): failed\n  ", "private subnet eu-central-h1/", ": blocked\n  "} {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("no %q in\n%s", want, stderr.String())
			}
		}
		if n := count(); n != 1 {
			t.Errorf("%d VMs are left, want 1", n)
		}

		if err := command.run(t.Context(), client); err != nil || count() != 0 { // now it is possible
			t.Errorf("again: %v\n%s", err, &stderr)
		}
	})
}

func TestMatches(t *testing.T) {
	t.Parallel()
	r := cloudapi.Resource{Kind: cloudapi.KindVM, ID: "vm3g8xpsxjs50pvjj2a7d3ky8h", Location: "eu-central-h1", Name: "web-1"}
	for pattern, want := range map[string]bool{
		"web-1": true, "web-*": true, "eu-central-h1/*": true, "vm3g8xpsxjs50pvjj2a7d3ky8h": true, "web": false, "us-east-a2/web-1": false, "": false,
	} {
		if got := matches(pattern, r); got != want {
			t.Errorf("%q: %v, want %v", pattern, got, want)
		}
	}
	for _, r := range []cloudapi.Resource{{ID: "akq121m8vt20gam5gvkdzazw4"}, {ID: "skq121m8vt20gam5gvkdzazw4", Name: "laptop"}} {
		for pattern, want := range map[string]bool{"": false, "/": false, "/*": false, "/laptop": false, "laptop*": r.Name != "", r.ID: true} {
			if got := matches(pattern, r); got != want {
				t.Errorf("%q and %v: %v, want %v", pattern, r, got, want)
			}
		}
	}
}

// TestKeepThatMatchesNothing: a typing mistake in --keep deletes nothing, nor do
// the patterns that a script passes if its variables aren't set.
func TestKeepThatMatchesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		command, server, client, count := newCommand(t, "")
		command.yes = true
		before := count()
		for _, pattern := range []string{"eu-centrall-h1/*", "", " ", "/", "/*", "/one", "eu-central-h1/", "--yes", "[a"} {
			command.keep = []string{"*", pattern}
			err := command.run(t.Context(), client)
			if err == nil || !strings.Contains(err.Error(), "--keep "+pattern+" matches no resource") || count() != before {
				t.Errorf("%q: error %v, and %d of %d VMs are left", pattern, err, count(), before)
			}
		}
		for _, request := range server.Requests() {
			if request.Method == "DELETE" {
				t.Errorf("it sent DELETE %s", request.Path)
			}
		}
		demotest.Refuses(t, run, `unexpected argument "everything"`, "--plan", "everything")
	})
}
