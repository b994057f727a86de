// Inventory shows all resources of a project as a table, as JSON or as CSV, and
// draws a picture of them.
//
//	inventory
//	inventory -o csv > project.csv
//	inventory --svg project.svg
package main

import (
	"context"
	_ "embed"
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
	output := flags.Output(newTable(&inventory{}).Columns)
	svg := flags.String("svg", "", "`file` for a picture of the project, in SVG")
	if err := flags.Parse(args, 0); err != nil {
		return err
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
	return output.Write(stdout, newTable(inv))
}
