package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a program. To let the program clean up, its context ends if
// somebody interrupts or terminates the program, or if the program loses its
// terminal or the reader of its output. A second Ctrl-C kills the program.
//
// The exit status is 0 if the program succeeded, 1 if it failed, and 2 after an
// error of [Usagef]. An error with a method ExitStatus, such as that of a command
// that the program has run, sets another status. If a signal ended the program
// early, the status is 128 plus the number of the signal, such as 130 after Ctrl-C.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, end := context.WithCancelCause(context.Background())
	stdout, stderr := &output{os.Stdout, end}, &output{os.Stderr, end}

	// Without this, the signal kills the program if the reader of its output, such
	// as head, ends. Nothing reads the channel: the program's next write returns
	// an error, which is enough.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // nohup ignores SIGHUP
			signal.Notify(signals, s)
		}
	}
	go func() {
		s := <-signals
		signal.Reset(os.Interrupt)
		end(&ending{errors.New(s.String()), 128 + int(s.(syscall.Signal))})
		fmt.Fprintf(stderr, "\n%s: stopping; press Ctrl-C again to stop immediately, without cleaning up\n", name)
	}()
	err := run(ctx, os.Args[1:], stdout, stderr)
	os.Exit(report(stderr, name, err, context.Cause(ctx)))
}

// report prints the error of a program, and returns the exit status. cause is
// what ended the context, if anything did.
func report(stderr io.Writer, name string, err, cause error) (status int) {
	ended, _ := errors.AsType[*ending](cause)
	if err == nil && ended != nil && !ended.bySignal() {
		err = ended.err // the printed output is incomplete
	}
	status = 1
	var command interface{ ExitStatus() int }
	switch {
	case err == nil:
		return 0
	case ended != nil:
		status = ended.status
		if isOnly(err, syscall.EPIPE) {
			return status // the reader of the output, such as head, has read enough
		}
	case errors.As(err, new(usageError)):
		status = 2
	case errors.As(err, &command):
		if s := command.ExitStatus(); 0 < s && s < 256 { // the system would cut off the rest: 256 is 0
			status = s
		}
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	return status
}

// isOnly reports whether an error wraps the target and no other error.
func isOnly(err, target error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if err == target {
			return true
		}
	}
	return false
}

// An ending says why a program ends before it's done.
type ending struct {
	err    error
	status int
}

func (e *ending) Error() string  { return e.err.Error() }
func (e *ending) Unwrap() error  { return e.err }
func (e *ending) bySignal() bool { return e.status > 128 && !errors.Is(e.err, syscall.EPIPE) }

// output is a standard stream. A failed write ends the program, since nobody
// would see what it does.
type output struct {
	file *os.File
	end  context.CancelCauseFunc
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	switch {
	case errors.Is(err, syscall.EPIPE):
		o.end(&ending{err, 128 + int(syscall.SIGPIPE)})
	case err != nil:
		o.end(&ending{err, 1})
	}
	return n, err
}

// usageError says that the arguments of a program are wrong.
type usageError struct{ error }

// Usagef returns an error that says what is wrong with the arguments of a
// program.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }
