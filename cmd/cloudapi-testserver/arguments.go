package main

import (
	"errors"
	"flag"
	"strings"
)

// parseArguments parses the arguments into the flags, and detects unset variables
// in a shell's command: the shell then passes "$NAME" as an empty argument, and
// $NAME as no argument. It refuses an empty value, a value that is another flag,
// and an empty first argument after the flags. Later arguments can be empty, since
// they may belong to a command.
func parseArguments(flags *flag.FlagSet, args []string) error {
	flags.VisitAll(func(f *flag.Flag) { f.Value = checkedValue{f.Value, flags} })
	err := flags.Parse(args)
	flags.VisitAll(func(f *flag.Flag) { f.Value = f.Value.(checkedValue).Value })
	if err == nil && flags.NArg() > 0 && flags.Arg(0) == "" {
		return errors.New("an argument is empty: is a variable not set?")
	}
	return err
}

// checkedValue checks what a flag is set to.
type checkedValue struct {
	flag.Value
	flags *flag.FlagSet
}

func (v checkedValue) Set(text string) error {
	if text == "" {
		return errors.New("it is empty: is a variable not set?")
	}
	if name, _, _ := strings.Cut(strings.TrimLeft(text, "-"), "="); text[0] == '-' && v.flags.Lookup(name) != nil {
		return errors.New("that is the next flag: is a variable before it not set?")
	}
	return v.Value.Set(text)
}

// IsBoolFlag tells package flag whether the flag needs no value.
func (v checkedValue) IsBoolFlag() bool {
	b, ok := v.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}
