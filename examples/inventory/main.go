// Inventory shows everything that is in a project, as a table, as JSON or as
// CSV, and draws a picture of it.
//
//	inventory
//	inventory --format csv > project.csv
//	inventory --svg project.svg
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/cloudapi-sdk/cloudapi/examples/internal/demo"
)

func main() { demo.Main("inventory", run) }

//go:embed main.go
var source string // whose first comment is the help

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := demo.NewFlags("inventory", source, stdout)
	format := flags.String("format", "table", "`form` of the list: table, json or csv")
	svg := flags.String("svg", "", "`file` to draw the project into")
	if err := flags.Parse(args, 0); err != nil {
		return err
	}
	switch {
	case *format != "table" && *format != "json" && *format != "csv":
		return demo.Usagef("unknown format %q: take table, json or csv", *format)
	}

	client, closeServer, err := demo.Connect(ctx, stderr, "inventory", demo.Server{})
	if err != nil {
		return err
	}
	defer closeServer()
	inv, err := collect(ctx, client)
	if err != nil {
		return err
	}

	if *svg != "" {
		if err := os.WriteFile(*svg, draw(inv), 0o644); err != nil {
			return err
		}
		fmt.Fprintln(stderr, "Drawn into", *svg)
	}
	switch *format {
	case "json":
		// Keys and passwords are of type cloudapi.Secret, which encodes as
		// "[redacted]".
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(inv)
	case "csv":
		_, err = fmt.Fprintln(stdout, newTable(inv).RenderCSV())
	default:
		_, err = fmt.Fprintln(stdout, newTable(inv).Render())
	}
	return err
}
