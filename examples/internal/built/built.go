// Package built starts the programs as a user would, for their tests.
package built

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

// Build builds the program of the package in the working directory.
func Build(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "program.exe")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// Program is a program that runs with the project of a server.
type Program struct {
	*exec.Cmd
	Stdout, Stderr *bufio.Scanner
	// StdoutFile and StderrFile are the files that the scanners read. Closing
	// one has the effect of a reader that goes away.
	StdoutFile, StderrFile io.Closer
}

// Start starts a program.
func Start(t *testing.T, server *cloudapitest.Server, program string, args ...string) *Program {
	t.Helper()
	// A program also ignores the signals that this process ignores, for example
	// under nohup or in a background script. A signal that this process handles
	// has its default effect in the program.
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	p := &Program{Cmd: exec.CommandContext(t.Context(), program, args...)}
	p.Env = append(os.Environ(), cloudapi.EnvBaseURL+"="+server.Start(), cloudapi.EnvToken+"="+server.Token(), cloudapi.EnvProject+"="+server.ProjectID())
	stdout, err := p.StdoutPipe()
	stderr, err2 := p.StderrPipe()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	p.Stdout, p.Stderr, p.StdoutFile, p.StderrFile = bufio.NewScanner(stdout), bufio.NewScanner(stderr), stdout, stderr
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// Until reads lines until one contains the text, and returns them.
func Until(t *testing.T, lines *bufio.Scanner, text string) (read string) {
	t.Helper()
	for lines.Scan() {
		read += lines.Text() + "\n"
		if strings.Contains(lines.Text(), text) {
			return read
		}
	}
	t.Fatalf("no line with %q in\n%s", text, read)
	return ""
}

// Rest returns the lines that are left.
func Rest(lines *bufio.Scanner) (read string) {
	for lines.Scan() {
		read += fmt.Sprintln(lines.Text())
	}
	return read
}

// Status waits for the program to end, and returns its exit status, or -1 if a
// signal has killed it.
func (p *Program) Status() int {
	p.Wait()
	return p.ProcessState.ExitCode()
}
