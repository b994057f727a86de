package main

import (
	"flag"
	"io"
	"strings"
	"testing"
	"time"
)

func newFlags() (flags *flag.FlagSet, set *string) {
	flags = flag.NewFlagSet("show", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Duration("ago", time.Hour, "")
	flags.Bool("all", false, "")
	return flags, flags.String("name", "nobody", "")
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-name|":        `"" for flag -name: it is empty`,
		"-name=":        `"" for flag -name: it is empty`,
		"-name|-all":    `"-all" for flag -name: that is the next flag`,
		"-name|--ago=5": `"--ago=5" for flag -name: that is the next flag`,
		"-all=":         "it is empty",
		"-name":         "needs an argument",
		"|one":          "an argument is empty",
		"-all|":         "an argument is empty",
	} {
		flags, _ := newFlags()
		if err := parseArguments(flags, strings.Split(args, "|")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-all":           "nobody",
		"-name|x|-all":   "x",
		"-name=-x":       "-x",
		"-ago|-5h|a||-c": "nobody", // the arguments of a command may be empty
		"-name|all":      "all",
	} {
		flags, name := newFlags()
		if err := parseArguments(flags, strings.Split(args, "|")); err != nil || *name != want {
			t.Errorf("%q: error %v, name %q, want %q", args, err, *name, want)
		}
	}
}

// TestParseLeavesTheFlags: the help still names types and defaults.
func TestParseLeavesTheFlags(t *testing.T) {
	t.Parallel()
	flags, _ := newFlags()
	if err := parseArguments(flags, []string{"-all"}); err != nil {
		t.Fatal(err)
	}
	var help strings.Builder
	flags.SetOutput(&help)
	flags.PrintDefaults()
	if want := "  -ago duration\n    \t (default 1h0m0s)\n  -all\n    \t\n  -name string\n    \t (default \"nobody\")\n"; help.String() != want {
		t.Errorf("the help is %q, want %q", &help, want)
	}
}
