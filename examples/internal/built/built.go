// Package built tests what the example programs do if something ends them
// early. It builds and starts them as a user would.
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
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

// Ending describes a test that ends a program early, once in each of several ways.
type Ending struct {
	Server func(*testing.T) *cloudapitest.Server
	Args   []string

	// Begun is a text that the program prints to stdout, or to stderr if InStderr
	// is set. The test ends the program after the line with this text.
	Begun    string
	InStderr bool
	Ends     map[string]End

	// Check checks what the program has left on the server, and what it has printed
	// to stderr.
	Check func(t *testing.T, server *cloudapitest.Server, end End, said string)
}

// End is a way to end a program.
type End struct {
	By     func(*Program)
	Status int
	Said   string // what stderr should contain; Check looks for it
}

// Ways to end a program.
var (
	Interrupt   = func(p *Program) { p.Process.Signal(syscall.SIGINT) }
	Terminate   = func(p *Program) { p.Process.Signal(syscall.SIGTERM) }
	HangUp      = func(p *Program) { p.Process.Signal(syscall.SIGHUP) }
	CloseStdout = func(p *Program) { p.stdoutFile.Close() } // as head does when it has enough lines
	CloseStderr = func(p *Program) { p.stderrFile.Close() }
)

// Test builds the program in the working directory, and ends it in each of the
// ways in Ends.
func (e Ending) Test(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("it has no such signals")
	}
	program := build(t)
	for name, end := range e.Ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := e.Server(t)
			p := start(t, server, program, e.Args...)
			output, said := p.stdout, ""
			if e.InStderr {
				output = p.stderr
			}
			read := readUntil(t, output, e.Begun)
			if e.InStderr {
				said = read
			}
			end.By(p)
			go readRest(p.stdout)
			said += readRest(p.stderr)
			p.Wait()
			if status := p.ProcessState.ExitCode(); status != end.Status {
				t.Errorf("exit status %d, want %d:\n%s", status, end.Status, said)
			}
			e.Check(t, server, end, said)
		})
	}
}

func build(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "program.exe")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// Program is a running program. Its project is on the test server.
type Program struct {
	*exec.Cmd
	Server         *cloudapitest.Server
	stdout, stderr *bufio.Scanner
	// The files that the scanners read. If one is closed, the program's next write
	// to it fails.
	stdoutFile, stderrFile io.Closer
}

func start(t *testing.T, server *cloudapitest.Server, program string, args ...string) *Program {
	t.Helper()
	// A program would ignore a signal that this process ignores, for example under
	// nohup or in a background script. So handle these signals: handlers aren't
	// inherited.
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	p := &Program{Cmd: exec.CommandContext(t.Context(), program, args...), Server: server}
	p.Env = append(os.Environ(), cloudapi.EnvBaseURL+"="+server.Start(), cloudapi.EnvToken+"="+server.Token(), cloudapi.EnvProject+"="+server.ProjectID())
	stdout, err := p.StdoutPipe()
	stderr, err2 := p.StderrPipe()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	p.stdout, p.stderr, p.stdoutFile, p.stderrFile = bufio.NewScanner(stdout), bufio.NewScanner(stderr), stdout, stderr
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

func readUntil(t *testing.T, lines *bufio.Scanner, text string) (read string) {
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

func readRest(lines *bufio.Scanner) (read string) {
	for lines.Scan() {
		read += fmt.Sprintln(lines.Text())
	}
	return read
}
