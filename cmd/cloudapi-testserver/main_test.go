package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// start runs the command until the test ends or stop is called. It returns what
// the command prints as a client.
func start(t *testing.T, args ...string) (client *cloudapi.Client, env map[string]string, stop func()) {
	t.Helper()
	return startWith(t, io.Discard, args...)
}

// startWith is [start] with another standard error.
func startWith(t *testing.T, stderr io.Writer, args ...string) (client *cloudapi.Client, env map[string]string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stdout, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), w, stderr)
		w.Close()
	}()
	env = map[string]string{}
	lines := bufio.NewScanner(stdout)
	variables := 3
	if slices.Contains(args, "-control") {
		variables++
	}
	for len(env) < variables && lines.Scan() {
		name, value, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		if !ok {
			t.Fatalf("printed %q", lines.Text())
		}
		env[name] = value
	}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("stopped with %v", err)
		}
	})
	t.Cleanup(stop)
	client = stub.Must(cloudapi.NewClient(cloudapi.WithBaseURL(env[cloudapi.EnvBaseURL]), cloudapi.WithToken(env[cloudapi.EnvToken]),
		cloudapi.WithProject(env[cloudapi.EnvProject])))(t)
	return client, env, stop
}

func TestRunServesWhatItPrints(t *testing.T) {
	t.Parallel()
	client, env, _ := start(t)
	p, err := client.Projects.Get(t.Context(), env[cloudapi.EnvProject])
	if err != nil || p.ID != env[cloudapi.EnvProject] {
		t.Errorf("%v, %v", p, err)
	}
	if page, err := client.PrivateSubnets.List(t.Context(), nil); err != nil || len(page.Items) != 0 {
		t.Errorf("%v, %v, want an empty project", page, err)
	}
}

// count returns the number of items in a list.
func count[T any](t *testing.T, items iter.Seq2[*T, error]) int {
	t.Helper()
	all, err := cloudapi.Collect(items)
	if err != nil {
		t.Error(err)
	}
	return len(all)
}

// TestDemoHasEachFamily looks for something to list in each family.
func TestDemoHasEachFamily(t *testing.T) {
	t.Parallel()
	c, _, _ := start(t, "-demo", "-vms", "3", "-delay", "1h", "-api", "contract")
	ctx := t.Context()
	got := map[cloudapi.Kind]int{}
	for r, err := range c.Resources(ctx, nil) {
		if err != nil {
			t.Error(err)
		}
		got[r.Kind]++
	}
	want := map[cloudapi.Kind]int{
		cloudapi.KindVM: 5, cloudapi.KindFirewall: 2, cloudapi.KindLoadBalancer: 1, cloudapi.KindPrivateSubnet: 2,
		cloudapi.KindPostgres: 1, cloudapi.KindKubernetesCluster: 1, cloudapi.KindPrivateLocation: 1,
		cloudapi.KindSSHPublicKey: 1, cloudapi.KindVMInitScript: 1, cloudapi.KindInferenceAPIKey: 1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for vm, err := range c.VMs.All(ctx, nil) {
		if err != nil || vm.State != cloudapi.VMStateRunning {
			t.Errorf("%+v, %v, want it running", vm, err)
		}
	}
	db, err := c.Postgres.Get(ctx, location, "orders")
	if err != nil || db.LatestRestoreTime.Sub(db.EarliestRestoreTime) < time.Hour {
		t.Errorf("%+v, %v, want a database that can be restored", db, err)
	}
}

// TestTokenAndProjectSurviveARestart starts the command twice.
func TestTokenAndProjectSurviveARestart(t *testing.T) {
	t.Parallel()
	const token, project = "pat-test", "pj8r0dvyb26y6ma6y7n1sw0nzz"
	for range 2 {
		c, env, stop := start(t, "-token", token, "-project", project, "-demo", "-delay", "0")
		if env[cloudapi.EnvToken] != token || env[cloudapi.EnvProject] != project {
			t.Errorf("printed %v", env)
		}
		if _, err := c.Projects.Get(t.Context(), project); err != nil {
			t.Error(err)
		}
		stop()
	}
}

// build returns the path of the built program.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "cloudapi-testserver")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// startProgram starts the built program, and returns the lines that it prints.
func startProgram(t *testing.T, program *exec.Cmd, lines int) (printed string) {
	t.Helper()
	stdout := stub.Must(program.StdoutPipe())(t)
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(stdout); strings.Count(printed, "\n") < lines && s.Scan(); {
		printed += s.Text() + "\n"
	}
	return printed
}

// TestShell: a shell that evaluates the built program's output sets the
// variables, and does nothing else.
func TestShell(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	program := build(t)
	for _, token := range []string{"pat-test", "pat-a;>x", "pat-$(>x)", "pat-`>x`", `pat-'$(>x)'"\`, "pat-*"} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			server := exec.CommandContext(t.Context(), program, "-addr", "127.0.0.1:0", "-token", token)
			printed := startProgram(t, server, 3)
			defer server.Wait()
			defer server.Process.Kill()
			command := exec.CommandContext(t.Context(), shell)
			command.Dir = t.TempDir()
			command.Stdin = strings.NewReader(printed + `printf %s "$CLOUDAPI_TOKEN"`)
			out, err := command.Output()
			if err != nil || string(out) != token {
				t.Errorf("the token is %q, %v, after\n%s", out, err, printed)
			}
			if files, err := os.ReadDir(command.Dir); err != nil || len(files) > 0 {
				t.Errorf("the shell has written %v, %v, after\n%s", files, err, printed)
			}
		})
	}
}

func TestNoPermission(t *testing.T) {
	t.Parallel()
	c, _, _ := start(t, "-demo", "-no-permission")
	if page, err := c.VMs.List(t.Context(), nil); err != nil || len(page.Items) != 0 {
		t.Errorf("%v, %v, want an empty list", page, err)
	}
	if _, err := c.VMs.Get(t.Context(), location, "web-1"); !errors.Is(err, cloudapi.ErrForbidden) {
		t.Errorf("%v, want %v", err, cloudapi.ErrForbidden)
	}
}

func TestHelpTeaches(t *testing.T) {
	t.Parallel()
	var help strings.Builder
	if err := run(t.Context(), []string{"--help"}, io.Discard, &help); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error %v, want %v", err, flag.ErrHelp)
	}
	for _, want := range []string{"-addr", "-token", "-project", "-demo", "-vms", "-delay", "-no-permission", "-control", "-scenario", "-quota", "-features", "-fail", "-health-check", "-copy", "-snapshot", "curl", "CLOUDAPI_BASE_URL"} {
		if !strings.Contains(help.String(), want) {
			t.Errorf("the help says nothing of %s:\n%s", want, &help)
		}
	}
}

func TestDefaultAddress(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-demo": "127.0.0.1:8080", "-copy": "127.0.0.1:8080", "-copy program": "127.0.0.1:0", "-addr 127.0.0.1:8080 -copy program": "127.0.0.1:8080",
	} {
		if o, err := parse(strings.Fields(args), io.Discard); err != nil || o.addr != want {
			t.Errorf("%s: error %v, and it listens on %s, want %s", args, err, o.addr, want)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, args, want string
		failure          bool // an error of the machine, not the arguments
	}{
		{"an unknown flag", "-port 1", "not defined: -port", false},
		{"an argument", "start", `"start"`, false},
		{"an unusable address", "-addr nowhere:-1", "-1", true},
		{"a token of another form", "-token secret", "pat-", false},
		{"a project that is none", "-project pjx", "pjx", false},
		{"a version that does not exist", "-api 2025-11", "2025-11", false},
		{"fewer than no VMs", "-vms -1", "-1", false},
		{"time that runs backwards", "-delay -1s", "negative", false},
		{"a token of a variable that is not set", "-token=", "is a variable not set?", false},
		{"a project of one", "-project= -demo", "is a variable not set?", false},
		{"an address of one, which would be all interfaces", "-addr=", "is a variable not set?", false},
		{"a flag in the place of a value", "-token -demo", "that is the next flag", false},
		{"a version of one", "-api=", "is a variable not set?", false},
		{"a time without a unit", "-delay 2", `"2" for flag -delay: a time needs a unit, such as 2s`, false},
		{"a quota without a number", "-quota vm", `"vm" is not a quota, such as vm=200`, false},
		{"a quota of nothing", "-quota vm=1,gpu=2", `for flag -quota: quota: unknown field "gpu"`, false},
		{"less than no quota", "-quota vm=-1", "quota: {VM:-1", false},
		{"a feature that is none", "-features lantern,arm", `features: there is no feature "arm"`, false},
		{"a fault of no operation", "-fail VMs.All=503", `fail: there is no operation "VMs.All"`, false},
		{"a fault that is none", "-fail VMs.Get=down", `"down" is not a fault, such as 503 or drop-after`, false},
		{"a drop at no time", "-fail VMs.Get=drop-now", `fail: with: fault 1: drop is "now", but must be before or after`, false},
		{"no fault", "-fail VMs.Get", `value "VMs.Get" for flag -fail: not the faults of an operation, such as VMs.Create=503`, false},
		{"an empty fault", "-fail VMs.Get=", `"" is not a fault`, false},
		{"a health check of many VMs", "-health-check http://127.0.0.1:0 -vms 5", "-health-check goes with no other flag", false},
		{"a scenario that is not there", "-scenario nowhere.json", "nowhere.json", false},
		{"a copy with resources of its own", "-copy -demo", "-demo, -project and -api don't go with a copy", false},
		{"a program without a copy", "-demo ./nightly.sh", `"./nightly.sh"`, false},
		{"a snapshot that is not there", "-snapshot nowhere.json", "nowhere.json", true},
		{"a snapshot that is none", "-snapshot main_test.go", "main_test.go is not a snapshot: ", true},
		{"an unusable control address", "-addr 127.0.0.1:0 -control nowhere:-1", "-1", true},
		{"a server that is not there", "-health-check http://127.0.0.1:0", "127.0.0.1:0", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var stderr strings.Builder
			err := run(t.Context(), strings.Fields(tt.args), io.Discard, &stderr)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want a line with %q", err, tt.want)
			}
			if errors.As(err, new(usageError)) == tt.failure || stderr.Len() > 0 {
				t.Errorf("error %T, and it has printed %q", err, &stderr)
			}
		})
	}
}

// TestDemoSuitsEveryAPI looks for what only one of the APIs has.
func TestDemoSuitsEveryAPI(t *testing.T) {
	t.Parallel()
	for api, want := range map[string][2]bool{ // GitHub installations, registered init scripts
		"": {true, true}, "service": {true, false}, "contract": {false, true},
	} {
		args := []string{"-demo"}
		if api != "" {
			args = append(args, "-api", api)
		}
		c, _, _ := start(t, args...)
		_, github := c.GitHub.ListInstallations(t.Context(), nil)
		_, scripts := c.VMInitScripts.List(t.Context(), nil)
		if got := [2]bool{github == nil, scripts == nil}; got != want {
			t.Errorf("-api %s: %t, want %t", api, got, want)
		}
	}
}

// TestWhatOnlyTheContractHasIsReportedOnce registers two scripts.
func TestWhatOnlyTheContractHasIsReportedOnce(t *testing.T) {
	t.Parallel()
	var stderr strings.Builder
	c, _, stop := startWith(t, &stderr, "-demo")
	for _, name := range []string{"a", "b"} {
		if _, err := c.VMInitScripts.Create(t.Context(), name, &cloudapi.VMInitScriptCreateRequest{Script: "date"}); err != nil {
			t.Error(err)
		}
	}
	stop()
	const want = "cloudapitest: POST /project/{project_id}/vm-init-script is in the contract, but not in the service, which refuses it\n"
	if got := stderr.String(); got != want {
		t.Errorf("reported %q, want %q", got, want)
	}
}
