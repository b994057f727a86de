package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/plain"
)

// maxRehearsed is how many requests of a program the report can show.
const maxRehearsed = 100_000

// exitStatus is the status of a program that failed.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func (o options) isCopy() bool { return o.copy || o.snapshot != "" }

// A rehearsal is a copy of a project, with which a program can run.
type rehearsal struct {
	copied *cloudapitest.Snapshot
	source *cloudapi.Client // of the project; nil if the copy is from a file
}

// takeCopy reads the project, or the file.
func (o options) takeCopy(ctx context.Context, stderr io.Writer) (*rehearsal, error) {
	if o.token != "" && o.token == os.Getenv(cloudapi.EnvToken) {
		return nil, usageError{errors.New("-token is the project's own token, which the copy must not accept")}
	}
	if !o.copy {
		text, err := os.ReadFile(o.snapshot)
		if err != nil {
			return nil, err
		}
		r := &rehearsal{copied: new(cloudapitest.Snapshot)}
		if err := json.Unmarshal(text, r.copied); err != nil {
			return nil, fmt.Errorf("%s is not a snapshot: %w", o.snapshot, err)
		}
		return r, nil
	}
	var requests atomic.Int64
	counting := func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			requests.Add(1)
			return next.RoundTrip(r)
		})
	}
	client, err := cloudapi.NewClient(cloudapi.FromEnv(), cloudapi.WithMiddleware(counting))
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	r := &rehearsal{source: client}
	if r.copied, err = cloudapitest.TakeSnapshot(ctx, client, nil); err != nil {
		return nil, err
	}
	fmt.Fprintf(stderr, "copied %s: %s, with %s in %v\n", r.copied.ProjectID, countOf(r.copied.Len(), "resource"), countOf(int(requests.Load()), "request"), time.Since(begin).Round(time.Millisecond))
	printGaps(stderr, "not copied", r.copied.Gaps())
	if o.snapshot == "" {
		return r, nil
	}
	return r, writeSnapshot(o.snapshot, r.copied)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// countOf returns a number of things, such as "1 request" or "2 requests".
func countOf(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// printGaps prints what a snapshot lacks, by the reason.
func printGaps(w io.Writer, what string, gaps []cloudapitest.Gap) {
	missing := map[string][]string{}
	for _, g := range gaps {
		missing[g.Reason] = append(missing[g.Reason], g.What)
	}
	for _, reason := range slices.Sorted(maps.Keys(missing)) {
		fmt.Fprintf(w, "%s, since %s:\n  %s\n", what, reason, strings.Join(missing[reason], "\n  "))
	}
}

// writeSnapshot replaces a file by one that only its owner can read: it shows how
// the project is protected, and scripts in it may contain secrets.
func writeSnapshot(name string, s *cloudapitest.Snapshot) error {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s isn't a regular file", name)
	}
	return cloudapi.File{Content: append(text, '\n')}.Replace(name)
}

// run runs a program with the variables, and reports what it did to the copy.
// The error is an exitStatus if the program failed.
func (r *rehearsal) run(srv *server, program, variables []string, stdout, stderr io.Writer) error {
	command := exec.Command(program[0], program[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, stdout, stderr
	command.Env = append(os.Environ(), variables...) // the last value of a variable counts
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM) // a terminal itself sends an interrupt to the program
	defer signal.Stop(signals)
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				command.Process.Signal(s)
			case <-ended:
				return
			}
		}
	}()
	err := command.Wait()
	close(ended)
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		err = statusOf(e.ProcessState)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // the one for the program has been used
	defer stop()
	switch problem := r.report(ctx, srv, stderr); {
	case err == nil:
		return problem
	case problem != nil:
		fmt.Fprintln(stderr, "cloudapi-testserver:", problem)
	}
	return err
}

// statusOf returns the status of a program that failed, as a shell does: 128 and
// more after a signal.
func statusOf(s *os.ProcessState) exitStatus {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return exitStatus(128 + int(w.Signal()))
	}
	return exitStatus(s.ExitCode())
}

// report prints the changes that the copy refused, the reads that failed, and
// what is different in the copy.
func (r *rehearsal) report(ctx context.Context, srv *server, stderr io.Writer) error {
	requests, refused, unread := srv.Requests(), 0, 0
	var lines []string
	times := map[string]int{}
	for _, request := range requests {
		isRead := request.Method == http.MethodGet
		if request.Status < http.StatusBadRequest || isRead && request.Status == http.StatusNotFound { // programs look for what doesn't exist
			continue
		}
		what := "refused"
		if refused++; isRead {
			what = "not read"
			refused, unread = refused-1, unread+1
		}
		path := strings.TrimPrefix(request.Path, "/project/"+srv.ProjectID())
		line := plain.OneLine(fmt.Sprintf("%s: %d %s …%s: %s", what, request.Status, request.Method, path, request.Error))
		if times[line]++; times[line] == 1 {
			lines = append(lines, line)
		}
	}
	for _, line := range lines {
		if n := times[line]; n > 1 {
			line += fmt.Sprintf(" (%d times)", n)
		}
		fmt.Fprintln(stderr, line)
	}
	changes := srv.Changes()
	for _, change := range changes {
		fmt.Fprintln(stderr, change)
	}
	summary := fmt.Sprintf("%s, %d refused, %s", countOf(len(requests), "request"), refused, countOf(len(changes), "change"))
	if unread > 0 {
		summary += ", " + countOf(unread, "failed read")
	}
	fmt.Fprintln(stderr, summary)
	if r.source != nil {
		r.compare(ctx, stderr)
	}
	if len(requests) == 0 {
		return errors.New("the program sent the copy no request: does it use the variables CLOUDAPI_BASE_URL, CLOUDAPI_TOKEN and CLOUDAPI_PROJECT? " +
			"With credentials of its own, it may have changed a real project")
	}
	return nil
}

// compare says whether the project has changed since it was copied.
func (r *rehearsal) compare(ctx context.Context, stderr io.Writer) {
	now, err := cloudapitest.TakeSnapshot(ctx, r.source, nil)
	if err != nil {
		fmt.Fprintf(stderr, "the project may have changed since it was copied: %v\n", err)
		return
	}
	gaps := slices.DeleteFunc(now.Gaps(), func(g cloudapitest.Gap) bool { return slices.Contains(r.copied.Gaps(), g) })
	printGaps(stderr, "not compared with the copy", gaps)
	changes := r.copied.Changes(now)
	if len(changes) == 0 {
		what := "the project hasn't changed"
		if len(gaps) > 0 {
			what = "as far as it could be read again, " + what
		}
		fmt.Fprintln(stderr, what+" since it was copied, and was only read")
		return
	}
	fmt.Fprintln(stderr, "since it was copied, the project itself has changed, which this command didn't do:")
	for _, change := range changes {
		fmt.Fprintln(stderr, change)
	}
}
