package demo

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/given"
)

// environment begins the last paragraph of --help; withoutProject completes it.
const environment = "\nThe program uses the project that " + cloudapi.EnvToken + " and " + cloudapi.EnvProject + "\n" +
	"name, at " + cloudapi.EnvBaseURL + " or else at Ubicloud's service. "

func (f *Flags) withoutProject() string {
	if f.Lookup("demo") != nil {
		return "If none is set,\nit needs --demo.\n"
	}
	return "If none is set,\nit uses a server inside the program.\n"
}

// Flags are the flags of a program. Their help describes the program.
type Flags struct {
	*flag.FlagSet
	comment string
	stdout  io.Writer
}

// NewFlags returns the flags of a program. source is the file of package main,
// whose comment begins the output of --help.
func NewFlags(name, source string, stdout io.Writer) *Flags {
	f := &Flags{flag.NewFlagSet(name, flag.ContinueOnError), packageComment(source), stdout}
	f.SetOutput(io.Discard) // Parse and Main print errors, once
	return f
}

func packageComment(source string) string {
	var b strings.Builder
	for line := range strings.Lines(source) {
		text, found := strings.CutPrefix(line, "//")
		if !found {
			break
		}
		b.WriteString(strings.TrimPrefix(text, " "))
	}
	return b.String()
}

// Parse parses flags and arguments. The parameter most limits the number of
// arguments, unless it's negative. For --help, Parse prints the help and
// returns [flag.ErrHelp]. It returns a [*UsageError] for any other error.
func (f *Flags) Parse(args []string, most int) error {
	err := given.Parse(f.FlagSet, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(f.stdout, "%s\nFlags:\n", f.comment)
		f.SetOutput(f.stdout)
		f.PrintDefaults()
		fmt.Fprint(f.stdout, environment, f.withoutProject())
		return err
	case err != nil:
		return &UsageError{err}
	case most >= 0 && f.NArg() > most:
		return Usagef("unexpected argument %q", f.Arg(most))
	}
	return nil
}

// Useless returns a [*UsageError] if one of the named flags is given. The
// parameter when says in which case they have no effect, such as "with --once".
func (f *Flags) Useless(when string, names ...string) (err error) {
	f.Visit(func(given *flag.Flag) {
		if slices.Contains(names, given.Name) {
			err = Usagef("--%s has no effect %s", given.Name, when)
		}
	})
	return err
}

// Positive adds a flag for a duration greater than zero.
func (f *Flags) Positive(name string, value time.Duration, usage string) *time.Duration {
	p := positive(value)
	f.Var(&p, name, usage)
	return (*time.Duration)(&p)
}

type positive time.Duration

func (p *positive) String() string { return time.Duration(*p).String() }

func (p *positive) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New("use a duration such as 90s or 10m")
	}
	*p = positive(d)
	return nil
}

// A UsageError says that the arguments of a program are wrong.
type UsageError struct{ Err error }

// Error returns what is wrong.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef returns a [*UsageError].
func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }
