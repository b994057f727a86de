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
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

func TestMain(m *testing.M) { demo.Isolate(m) }

func TestDeletesEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stdout, stderr := demo.Runs(t, run, []string{"--yes", "--keep", "eu-central-h1/orders*"}, ": 30 to delete, 6 to keep.\n", "Deleted 30 resources.\n")
		want := regexp.MustCompile(`(?m)^keep +Postgres database +eu-central-h1 +orders +--keep eu-central-h1/orders\*$`)
		if n := strings.Count(stderr, ": deleted\n"); n != 30 || !want.MatchString(stdout) {
			t.Errorf("%d lines about deletions:\n%s%s", n, stdout, stderr)
		}
	})
}

func TestPlan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want []string // how some of the lines begin
	}{
		{nil, []string{"STAGE  KIND                LOCATION       NAME", "1      Kubernetes cluster  us-east-a2     staging"}},
		{[]string{"--columns", "name,stage", "--no-header"}, []string{"staging "}},
		{[]string{"-o", "csv", "--keep", "bastion-1"}, []string{"STAGE,KIND,LOCATION,NAME,WHY,ID", "keep,VM,eu-central-h1,bastion-1,--keep bastion-1,vm",
			"keep,private subnet,eu-central-h1,web,needed by others that stay,ps"}},
		{[]string{"-o", "json"}, []string{"[", `    "kind": "Kubernetes cluster",`}},
	} {
		stdout, stderr := demo.Runs(t, run, append(test.args, "--plan"))
		for _, want := range test.want {
			if !strings.Contains("\n"+stdout, "\n"+want) {
				t.Errorf("%q: no line begins with %q in\n%s", test.args, want, stdout)
			}
		}
		if strings.Contains(stderr, "Deleted") {
			t.Errorf("%q: it says\n%s", test.args, stderr)
		}
	}
}

// newCommand returns a command for a project with two VMs in a subnet, and a
// function that returns the number of VMs.
func newCommand(t *testing.T, stdin string) (*command, *cloudapitest.Server, *cloudapi.Client, func() int) {
	t.Helper()
	server := cloudapitest.New(t)
	client := server.Client()
	for _, name := range []string{"one", "two"} {
		stub.Must(client.VMs.Create(t.Context(), "eu-central-h1", name, &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA"}))(t)
	}
	count := func() int {
		return len(stub.Must(cloudapi.Collect(client.VMs.All(t.Context(), nil)))(t))
	}
	return &command{timeout: time.Hour, output: new(demo.Output), stdin: strings.NewReader(stdin), stdout: io.Discard, stderr: io.Discard}, server, client, count
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
			if !strings.Contains(stderr.String(), "the project, main: \n") {
				t.Errorf("%q: the line of the question goes on:\n%s", test.stdin, &stderr)
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
	for _, terminal := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			command, server, client, count := newCommand(t, "")
			vm := stub.Must(client.VMs.Get(t.Context(), "eu-central-h1", "one"))(t)
			forbidden := cloudapitest.Reply(403, nil, "{}") // also at the second attempt
			server.Fail(cloudapitest.Match{Operation: "VMs.Delete", Func: func(r cloudapitest.Request) bool { return strings.HasSuffix(r.Path, vm.ID) }}, forbidden, forbidden)
			var stderr bytes.Buffer
			command.yes, command.stderr = true, &stderr
			err := command.run(t.Context(), client)
			if err == nil || !strings.Contains(err.Error(), "deleted 1 resource, 3 left") || !errors.Is(err, cloudapi.ErrForbidden) {
				t.Errorf("error %v", err)
			}
			for _, want := range []string{"VM eu-central-h1/", ": failed\n  ", "private subnet eu-central-h1/", ": blocked\n  "} {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("no %q in\n%s", want, stderr.String())
				}
			}
			if n := count(); n != 1 {
				t.Errorf("%d VMs are left, want 1", n)
			}

			// Again, now that it is possible; drawn as in a terminal.
			bar := newBar(&stderr, terminal)
			plan := stub.Must(teardown.NewPlan(t.Context(), client, &teardown.Options{Progress: bar.show}))(t)
			bar.begin(3)
			err = plan.Run(t.Context())
			bar.end()
			if err != nil || !strings.Contains(stderr.String(), "3 of 3") {
				t.Errorf("error %v\n%s", err, stderr.String())
			}
		})
	}
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

func TestRefuses(t *testing.T) {
	t.Parallel()
	const empty = "a location or name in it is empty"
	for _, test := range [][]string{ // the error, and then arguments
		{"syntax error in pattern", "--keep", "[a"},
		{`"" for flag -keep: it is empty: is a variable not set?`, "--keep", ""},
		{"that is the next flag", "--keep", "--yes"},
		{empty, "--keep", "/"}, {empty, "--keep", "/web-*"}, {empty, "--keep", "eu-central-h1/"}, {empty, "--keep", " "},
		{"use a duration", "--timeout", "0s"},
		{"it is empty", "-o", ""},
		{"an argument is empty", ""},
		{"--yes has no effect with --plan", "--yes"},
		{`unexpected argument "everything"`, "everything"},
	} {
		demo.Refuses(t, run, test[0], append(test[1:], "--plan")...)
	}
}

// TestKeepThatMatchesNothing: a typing mistake in --keep deletes nothing.
func TestKeepThatMatchesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		command, server, client, count := newCommand(t, "")
		command.yes, command.keep, command.stdout, command.stderr = true, []string{"*", "eu-centrall-h1/*"}, io.Discard, io.Discard
		before := count()
		err := command.run(t.Context(), client)
		if err == nil || !strings.Contains(err.Error(), "--keep eu-centrall-h1/* matches no resource") || count() != before {
			t.Errorf("error %v, and %d of %d VMs are left", err, count(), before)
		}
		for _, request := range server.Requests() {
			if request.Method == "DELETE" {
				t.Errorf("it sent DELETE %s", request.Path)
			}
		}
	})
}
