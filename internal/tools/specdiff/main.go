// Specdiff compares a public description of the service (OpenAPI) with the SDK,
// and prints what is missing or different in the SDK: operations, parameters,
// fields of requests and records with their types, what is required or may be
// null, enumerations, statuses of success, and errors.
//
//	go -C internal/tools run ./specdiff /path/to/openapi.yml
//	curl … | go -C internal/tools run ./specdiff -
//
// It reads the source of the SDK, but no comments. The file known.txt lists the
// intended differences. The program exits with 1 if there is a difference that
// isn't listed, or if a listed one is gone, and with 2 if it can't compare.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

//go:embed known.txt
var intended string

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	flags := flag.NewFlagSet("specdiff", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("dir", "../..", "the folder of the SDK")
	file := flags.String("known", "", "a file with intended differences (default known.txt beside the program)")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: specdiff [flags] openapi.yml    (- is the standard input)")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() != 1 {
		flags.Usage()
		return 2
	}
	fresh, err := diff(flags.Arg(0), *dir, *file, stdin, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "specdiff:", err)
		return 2
	}
	if fresh > 0 {
		return 1
	}
	return 0
}

// diff prints the differences. It returns how many are new, plus how many of
// the intended ones are gone.
func diff(description, dir, knownFile string, stdin io.Reader, w io.Writer) (fresh int, err error) {
	var text []byte
	if description == "-" {
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(description)
	}
	if err != nil {
		return 0, err
	}
	operations, err := readDescription(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", description, err)
	}
	if len(operations) == 0 {
		return 0, fmt.Errorf("%s: it describes no operation", description)
	}
	list := intended
	if knownFile != "" {
		text, err := os.ReadFile(knownFile)
		if err != nil {
			return 0, err
		}
		list = string(text)
	}
	reasons, err := readKnown(list)
	if err != nil {
		return 0, err
	}
	s, err := readSDK(dir)
	if err != nil {
		return 0, err
	}
	findings := compare(s, operations)

	var news, known, gone []string
	for finding := range findings {
		if reason, ok := reasons[finding]; ok {
			known = append(known, finding+"  # "+reason)
		} else {
			news = append(news, finding)
		}
	}
	for finding := range reasons {
		if !findings[finding] {
			gone = append(gone, finding)
		}
	}
	fmt.Fprintf(w, "%d operations in the description, %d in the SDK\n", len(operations), len(s.operations))
	for _, part := range []struct {
		title string
		lines []string
	}{{"new", news}, {"in the list of what is intended, but no longer so", gone}, {"intended", known}} {
		if slices.Sort(part.lines); len(part.lines) > 0 {
			fmt.Fprintf(w, "\n%s (%d)\n  %s\n", part.title, len(part.lines), strings.Join(part.lines, "\n  "))
		}
	}
	return len(news) + len(gone), nil
}

// readKnown reads a list of intended differences. A comment is the reason for
// the lines below it, up to a blank line or the next comment.
func readKnown(text string) (reasons map[string]string, err error) {
	reasons = map[string]string{}
	reason, inComment := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		comment, isComment := strings.CutPrefix(line, "#")
		switch {
		case line == "":
			reason = ""
		case isComment:
			if !inComment {
				reason = ""
			}
			reason = strings.TrimSpace(reason + " " + strings.TrimSpace(comment))
		case reason == "":
			return nil, errors.New("the list of intended differences has no reason for: " + line)
		default:
			reasons[line] = reason
		}
		inComment = isComment
	}
	return reasons, nil
}
