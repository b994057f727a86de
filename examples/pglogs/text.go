package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/cloudapi-sdk/cloudapi"
)

func printText(w io.Writer) func(*cloudapi.PostgresLogEntry) error {
	return func(line *cloudapi.PostgresLogEntry) error {
		who := ""
		if user := line.Context["user"]; user != "" {
			who = " " + user + "@" + line.Context["dbname"]
		}
		text := visible(fmt.Sprintf("%-5s %s %s%s: ", line.SeverityLevel, line.ServerRole, line.StreamName, who))
		for part := range strings.Lines(line.Message) {
			text += visible(strings.TrimSuffix(part, "\n")) + "\n\t"
		}
		_, err := fmt.Fprintf(w, "%s %s\n", line.Timestamp.UTC().Format("2006-01-02 15:04:05.000Z"), strings.TrimSuffix(text, "\n\t"))
		return err
	}
}

// visible replaces each unprintable character of a text with its Go escape
// sequence. Otherwise a terminal could execute it.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\t' || unicode.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
	}
	return b.String()
}
