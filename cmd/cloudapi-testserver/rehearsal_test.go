package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestProgramToRehearse is the program that the other tests rehearse.
func TestProgramToRehearse(t *testing.T) {
	job := os.Getenv("REHEARSED_JOB")
	if job == "" {
		t.Skip("another test runs this in a process of its own")
	}
	switch job {
	case "idle":
		return
	case "killed":
		stub.Must(os.FindProcess(os.Getpid()))(t).Kill()
		select {}
	case "stubborn": // ends after the second signal
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		fmt.Println("started")
		fmt.Println(<-signals)
		fmt.Println(<-signals)
		os.Exit(4)
	}
	c, err := cloudapi.NewClient(cloudapi.FromEnv())
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if job == "delete" { // and don't wait
		if err := c.LoadBalancers.Delete(ctx, location, "web"); err != nil {
			t.Fatal(err)
		}
		return
	}
	if job == "refused" {
		for range 2 {
			c.Do(ctx, http.MethodGet, []string{"project", c.Project(), "vm"}, url.Values{"page_size": {"many"}}, nil, nil)
			c.PrivateSubnets.Delete(ctx, location, "web-net")
		}
		return
	}
	_, getErr := c.VMs.Get(ctx, location, "job")
	_, createErr := c.VMs.Create(ctx, location, "job", &cloudapi.VMCreateRequest{PublicKey: "laptop"})
	deleteErr := c.PrivateSubnets.Delete(ctx, location, "web-net")
	_, ruleErr := c.Firewalls.CreateRule(ctx, location, "web-net-default", &cloudapi.FirewallRuleCreateRequest{CIDR: "192.0.2.0/24"})
	if !errors.Is(getErr, cloudapi.ErrNotFound) || createErr != nil || !errors.Is(deleteErr, cloudapi.ErrConflict) || ruleErr != nil {
		t.Fatal(getErr, createErr, deleteErr, ruleErr)
	}
	fmt.Printf("with %s, it read %s", os.Getenv("CLOUDAPI_TOKEN"), stub.Must(io.ReadAll(os.Stdin))(t))
	os.Exit(3)
}

func rehearsing(t *testing.T, command string, env map[string]string, job string, args ...string) *exec.Cmd {
	args = append(args, os.Args[0], "-test.run=^TestProgramToRehearse$")
	c := exec.CommandContext(t.Context(), command, args...)
	c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CLOUDAPI_") }), "REHEARSED_JOB="+job)
	for name, value := range env {
		c.Env = append(c.Env, name+"="+value)
	}
	return c
}

// rehearse runs the built command with the variables of a project.
func rehearse(t *testing.T, command string, env map[string]string, job string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	c := rehearsing(t, command, env, job, args...)
	var out, errs strings.Builder
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader("input"), &out, &errs
	if err := c.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestRehearsal(t *testing.T) {
	t.Parallel()
	command, file := build(t), filepath.Join(t.TempDir(), "copy.json")
	client, env, _ := start(t, "-demo", "-delay", "0")
	want := []string{
		"refused: 409 DELETE …/location/eu-central-h1/private-subnet/web-net: DependencyError: Private subnet 'web-net' has VMs attached, first, delete them.",
		"+ VM eu-central-h1/job",
		"~ firewall eu-central-h1/web-net-default: firewall_rules 4 -> 5",
		"4 requests, 1 refused, 4 changes",
	}
	for _, tt := range []struct {
		args  []string
		env   map[string]string
		alike bool // whether it says that the project hasn't changed
	}{
		{[]string{"-copy", "-snapshot", file}, env, true},
		{[]string{"-copy"}, env, true},
		{[]string{"-snapshot", file}, nil, false},
	} {
		status, stdout, stderr := rehearse(t, command, tt.env, "change", tt.args...)
		if status != 3 || !strings.HasPrefix(stdout, "with pat-") || !strings.HasSuffix(stdout, ", it read input") || strings.Contains(stdout, env[cloudapi.EnvToken]) {
			t.Errorf("%q: status %d, and the program ran %q", tt.args, status, stdout)
		}
		for _, line := range want {
			if !strings.Contains(stderr, line+"\n") {
				t.Errorf("%q: the report lacks %q:\n%s", tt.args, line, stderr)
			}
		}
		if strings.Contains(stderr, "the project hasn't changed") != tt.alike {
			t.Errorf("%q:\n%s", tt.args, stderr)
		}
	}
	if _, err := client.VMs.Get(t.Context(), location, "job"); !errors.Is(err, cloudapi.ErrNotFound) {
		t.Errorf("in the project, the job's VM is there: %v", err)
	}

	for _, tt := range []struct {
		job    string
		env    map[string]string
		args   []string
		status int
		says   string
	}{
		{"idle", env, nil, 1, "the program sent the copy no request"},
		{"idle", nil, nil, 1, "CLOUDAPI_PROJECT"},
		{"killed", env, nil, 128 + 9, "0 requests"},
		{"refused", env, nil, 0, "not read: 400 GET …/vm: BadRequest: #/components/parameters/page_size/schema expected integer, but received String: \"many\" (2 times)\n" +
			"refused: 409 DELETE …/location/eu-central-h1/private-subnet/web-net: DependencyError: Private subnet 'web-net' has VMs attached, first, delete them. (2 times)\n" +
			"4 requests, 2 refused, 0 changes, 2 failed reads\n"},
		{"delete", env, nil, 0, "- load balancer eu-central-h1/web\n1 request, 0 refused, 1 change\n"},
		{"delete", env, []string{"-delay", "9000h"}, 0, "- load balancer eu-central-h1/web\n1 request, 0 refused, 1 change\n"},
		{"change", env, []string{"-token", env[cloudapi.EnvToken]}, 2, "the project's own token"},
		{"change", env, []string{"-snapshot", filepath.Join(t.TempDir(), "none", "copy.json")}, 1, "none"},
		{"change", env, []string{"-copy=false", "-snapshot", file, "-token", env[cloudapi.EnvToken]}, 2, "the project's own token"},
	} {
		status, stdout, stderr := rehearse(t, command, tt.env, tt.job, append([]string{"-copy"}, tt.args...)...)
		if status != tt.status || !strings.Contains(stderr, tt.says) || strings.Contains(stdout, "with") {
			t.Errorf("%s %q: status %d, and the program printed %q:\n%s", tt.job, tt.args, status, stdout, stderr)
		}
	}
}

// TestSignalsDuringARehearsal: the program gets each signal, and an interrupt ends the
// reading of a project that doesn't respond.
func TestSignalsDuringARehearsal(t *testing.T) {
	t.Parallel()
	command := build(t)
	_, env, _ := start(t, "-demo", "-delay", "0")
	target, project := stub.Must(url.Parse(env[cloudapi.EnvBaseURL]))(t), env[cloudapi.EnvProject]
	forward, reads, stuck := httputil.NewSingleHostReverseProxy(target), atomic.Int32{}, make(chan bool, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/"+project) && reads.Add(1) > 1 {
			stuck <- true
			<-r.Context().Done()
			return
		}
		forward.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	env[cloudapi.EnvBaseURL] = proxy.URL

	c := rehearsing(t, command, env, "stubborn", "-copy")
	var errs strings.Builder
	c.Stderr = &errs
	out := bufio.NewReader(stub.Must(c.StdoutPipe())(t))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"started\n", "terminated\n"} {
		if line, err := out.ReadString('\n'); line != want {
			t.Fatalf("the program printed %q (%v), want %q", line, err, want)
		}
		c.Process.Signal(syscall.SIGTERM)
	}
	<-stuck
	c.Process.Signal(os.Interrupt)
	c.Wait()
	if status := c.ProcessState.ExitCode(); status != 4 || !strings.Contains(errs.String(), "the project may have changed since it was copied") {
		t.Errorf("status %d\n%s", status, errs.String())
	}
}

// TestSnapshotFile: a new file of mode 0600 replaces the old one, and what isn't a
// file of a copy is refused.
func TestSnapshotFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, other, link := filepath.Join(folder, "copy.json"), filepath.Join(folder, "other"), filepath.Join(folder, "link")
	if err := errors.Join(os.WriteFile(file, []byte("old"), 0o644), os.Link(file, other), os.Symlink(other, link)); err != nil {
		t.Fatal(err)
	}
	srv := cloudapitest.New(t)
	if err := writeSnapshot(file, srv.Snapshot()); err != nil {
		t.Fatal(err)
	}
	if info := stub.Must(os.Stat(file))(t); info.Mode() != 0o600 || string(stub.Must(os.ReadFile(other))(t)) != "old" {
		t.Errorf("the mode is %v, and who had opened the old file reads the copy", info.Mode())
	}
	for _, path := range []string{link, folder} {
		before := stub.Must(os.Lstat(path))(t).Mode()
		if err := writeSnapshot(path, srv.Snapshot()); err == nil || !strings.Contains(err.Error(), "isn't a regular file") || stub.Must(os.Lstat(path))(t).Mode() != before {
			t.Errorf("%s: %v", path, err)
		}
	}

	o := options{snapshot: file, token: "pat-real"}
	if r, err := o.takeCopy(t.Context(), io.Discard); err != nil || r.copied.ProjectID != srv.ProjectID() {
		t.Errorf("reading it: %v", err)
	}
	text := strings.ReplaceAll(string(stub.Must(os.ReadFile(file))(t)), srv.ProjectID(), "pj2qy8i53tdpyg4gh9tkq4j1wy")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := o.takeCopy(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), "is not a snapshot") {
		t.Errorf("of another project: %v", err)
	}
}

// TestProjectThatIsHiddenAtTheEnd: what can't be read again isn't a change.
func TestProjectThatIsHiddenAtTheEnd(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	srv.AddVMs(location, "web", 1)
	r := &rehearsal{stub.Must(cloudapitest.TakeSnapshot(t.Context(), srv.Client(), nil))(t), srv.Client()}
	srv.Fail(cloudapitest.Match{Operation: "VMs.List"}, cloudapitest.Reply(403, nil, "").Repeating())
	var out strings.Builder
	r.compare(t.Context(), &out)
	const want = "not compared with the copy, since the token may not list them:\n  every VM\n" +
		"as far as it could be read again, the project hasn't changed since it was copied, and was only read\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestCopyOverHTTP(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "copy.json")
	client, _, _ := start(t, "-demo", "-delay", "0")
	taken := stub.Must(cloudapitest.TakeSnapshot(t.Context(), client, nil))(t)
	if err := writeSnapshot(file, taken); err != nil {
		t.Fatal(err)
	}
	c := startControlled(t, "-snapshot", file)
	var changes []cloudapitest.Change
	if c.get("/changes", &changes); len(changes) != 0 {
		t.Errorf("at first: %v", changes)
	}
	if err := c.SSHPublicKeys.Delete(t.Context(), "laptop"); err != nil {
		t.Fatal(err)
	}
	if c.get("/changes", &changes); len(changes) != 1 || changes[0].Action != "deleted" || changes[0].Resource.Name != "laptop" {
		t.Errorf("later: %v", changes)
	}
	var now cloudapitest.Snapshot
	if c.get("/snapshot", &now); len(taken.Changes(&now)) != 1 {
		t.Errorf("compared: %v", taken.Changes(&now))
	}
	c.post(`{"quota": {"postgres": 0}}`)
	if _, err := c.VMs.Create(t.Context(), location, "large", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", Size: "standard-60"}); err != nil {
		t.Errorf("the quota of VMs isn't unlimited: %v", err)
	}
	if status, answer := c.ask("POST", "/reset", "", nil); status != 204 {
		t.Fatal(status, answer)
	}
	if c.get("/changes", &changes); len(changes) != 0 {
		t.Errorf("after a reset: %s", stub.Must(json.Marshal(changes))(t))
	}
}
