package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/examples/demo/demotest"
)

// TestMain runs the test binary as a program if TestEnds has started it.
func TestMain(m *testing.M) {
	if os.Getenv("DEMO_TEST") == "" {
		demotest.Isolate(m)
		return
	}
	Main("show", func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
		streams := map[string]io.Writer{"stdout": stdout, "stderr": stderr}
		fmt.Fprintln(streams[args[0]], "begun")
		for ctx.Err() == nil {
			fmt.Fprintln(streams[args[0]], "busy")
		}
		os.WriteFile(args[1], nil, 0o600) // as a program that cleans up
		if args[2] == "fails" {
			return errors.New("left")
		}
		return nil
	})
}

// TestEnds ends a program in each way that it can't ignore, and checks that it
// cleans up.
func TestEnds(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("it has no such signals")
	}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(s) { // for example under nohup; the program would ignore it, too
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	send := func(signals ...os.Signal) func(*exec.Cmd, io.Closer) {
		return func(program *exec.Cmd, _ io.Closer) {
			for _, s := range signals {
				program.Process.Signal(s)
			}
		}
	}
	leave := func(_ *exec.Cmd, reader io.Closer) { reader.Close() } // as head does when it has enough lines
	for _, test := range []struct {
		by             string
		end            func(program *exec.Cmd, reader io.Closer)
		stream, result string
		status         int
		said           string // at the end of stderr, if stdout is read
	}{
		{"Ctrl-C", send(os.Interrupt), "stdout", "fails", 130, "\nshow: stopping; press Ctrl-C again to stop immediately, without cleaning up\nshow: left\n"},
		{"Ctrl-C, and it succeeds", send(os.Interrupt), "stdout", "succeeds", 0, "without cleaning up\n"},
		{"a supervisor", send(syscall.SIGTERM), "stdout", "fails", 143, "show: left\n"},
		{"a closed terminal", send(syscall.SIGHUP, syscall.SIGHUP), "stdout", "fails", 129, "show: left\n"},
		{"head", leave, "stdout", "succeeds", 141, ""},
		{"head, and it fails", leave, "stdout", "fails", 141, "show: left\n"},
		{"no reader of stderr", leave, "stderr", "succeeds", 141, ""},
	} {
		t.Run(test.by, func(t *testing.T) {
			t.Parallel()
			cleaned := t.TempDir() + "/cleaned"
			program := exec.CommandContext(t.Context(), os.Args[0], test.stream, cleaned, test.result)
			program.Env = append(os.Environ(), "DEMO_TEST=yes")
			var said strings.Builder
			pipe := program.StdoutPipe
			program.Stderr = &said
			if test.stream == "stderr" {
				program.Stderr, pipe = nil, program.StderrPipe
			}
			reader := demotest.Must(pipe())(t)
			if err := program.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(reader)
			if line, err := lines.ReadString('\n'); err != nil || line != "begun\n" {
				t.Fatalf("it begins with %q, %v", line, err)
			}
			test.end(program, reader)
			io.Copy(io.Discard, lines)
			program.Wait()
			if status := program.ProcessState.ExitCode(); status != test.status || !strings.HasSuffix(said.String(), test.said) || test.said == "" && said.Len() > 0 {
				t.Errorf("exit status %d and %q, want %d and %q", status, &said, test.status, test.said)
			}
			if _, err := os.Stat(cleaned); err != nil {
				t.Error(err)
			}
		})
	}
}

type exited int

func (exited) Error() string     { return "exited" }
func (e exited) ExitStatus() int { return int(e) }

func TestReport(t *testing.T) {
	t.Parallel()
	pipe := &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}
	gone, full := &ending{pipe, 141}, &ending{syscall.ENOSPC, 1}
	for _, test := range []struct {
		err, cause error
		status     int
		said       string
	}{
		{nil, nil, 0, ""},
		{errors.New("failed"), nil, 1, "show: failed\n"},
		{Usagef("none"), nil, 2, "show: none\n"},
		{fmt.Errorf("wrapped: %w", Usagef("none")), nil, 2, "show: wrapped: none\n"},
		{errors.Join(fmt.Errorf("make: %w", exited(3)), errors.New("left")), nil, 3, "show: make: exited\nleft\n"},
		{exited(256), nil, 1, "show: exited\n"},
		{exited(-1), nil, 1, "show: exited\n"},
		{exited(0), nil, 1, "show: exited\n"},
		{pipe, gone, 141, ""},
		{errors.Join(pipe, errors.New("left")), gone, 141, "show: write /dev/stdout: broken pipe\nleft\n"},
		{nil, full, 1, "show: no space left on device\n"},
	} {
		var stderr strings.Builder
		if status := report(&stderr, "show", test.err, test.cause); status != test.status || stderr.String() != test.said {
			t.Errorf("%v, ended by %v: status %d and %q, want %d and %q", test.err, test.cause, status, &stderr, test.status, test.said)
		}
	}
}
