// Inventory shows the resources of a project, except machine images, as a
// table, as JSON, as CSV or as a page for a browser. If it can't read some, it
// shows the others, names the missing ones on standard error, and exits with
// status 1.
//
//	inventory
//	inventory -o csv > project.csv
//	inventory --html project.html
package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"

	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

func main() { demo.Main("inventory", run) }

//go:embed main.go
var source string // main.go, whose first comment is the help

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := demo.NewFlags("inventory", source, stdout)
	output := flags.Output(newTable(&inventory{}).Columns)
	html := flags.String("html", "", "`file` for a page that shows the project")
	if err := flags.Parse(args, 0); err != nil {
		return err
	}

	client, closeServer, err := demo.Connect(ctx, stderr, "inventory", demo.Server{})
	if err != nil {
		return err
	}
	defer closeServer()
	inv, missing := collect(ctx, client)
	if inv == nil || ctx.Err() != nil {
		return missing
	}

	if *html != "" {
		var text bytes.Buffer
		if err := writePage(&text, inv); err != nil {
			return err
		}
		if err := os.WriteFile(*html, text.Bytes(), 0o644); err != nil {
			return err
		}
		fmt.Fprintln(stderr, "Written to", *html)
	}
	if err := output.Write(stdout, newTable(inv)); err != nil {
		return err
	}
	if missing != nil {
		return fmt.Errorf("the list isn't complete: %w", missing)
	}
	return nil
}
