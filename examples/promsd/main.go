// Promsd tells Prometheus which targets a project has: its VMs and its
// databases. It keeps the targets in a file, for file_sd_configs:
//
//	promsd --file /etc/prometheus/targets/ubicloud.json
//
// Without --file, it prints the targets and exits. The addresses are public;
// relabeling can replace them with the label __meta_ubicloud_private_ipv4.
//
// A target disappears only if the API says that the resource doesn't exist. It
// stays during an outage, and if the token loses a permission, even while the
// program isn't running: the program keeps what it knows in a second file,
// whose name ends in ".known".
package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/internal/demo"
)

func main() { demo.Main("promsd", run) }

//go:embed main.go
var source string // whose first comment is the help

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := demo.NewFlags("promsd", source, stdout)
	file := flags.String("file", "", "`file` to keep the targets in until interrupted")
	every := flags.Positive("every", 30*time.Second, "longest `pause` between two polls of the API")
	port := flags.Int("port", 9100, "`port` of the targets that are VMs")
	if err := flags.Parse(args, 0); err != nil {
		return err
	}
	if *port < 1 || *port > 65535 {
		return demo.Usagef("--port %d isn't a port number", *port)
	}
	if *file == "" {
		if err := flags.Useless("without --file", "every"); err != nil {
			return err
		}
	}
	client, closeServer, err := demo.Connect(ctx, stderr, "promsd", demo.Server{})
	if err != nil {
		return err
	}
	defer closeServer()

	d := &discovery{client: client, port: *port, every: *every}
	if *file == "" {
		return printOnce(ctx, d, stdout)
	}
	if info, err := os.Stat(*file); err == nil && info.IsDir() {
		return demo.Usagef("--file %s is a folder: name a file in it", *file)
	}
	d.complain = func(err error) { fmt.Fprintf(stderr, "promsd: %v\n", err) }
	d.publish = func(targets []byte) error { return replace(*file, targets) }
	if err := d.load(*file + ".known"); err != nil {
		return err
	}
	if err := d.keep(); err != nil { // for example because there is no such folder
		return err
	}
	return d.run(ctx)
}

// errPrinted ends the program when it has printed the targets.
var errPrinted = errors.New("printed")

// printOnce prints the targets, or returns why they can't be complete.
func printOnce(ctx context.Context, d *discovery, stdout io.Writer) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	d.complain = end
	d.publish = func(targets []byte) error {
		if ctx.Err() != nil {
			return nil
		}
		_, err := stdout.Write(targets)
		end(cmp.Or(err, errPrinted))
		return nil
	}
	err := d.run(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err == errPrinted {
		return nil
	}
	return err
}

// replace writes a file that others can read, atomically.
func replace(path string, content []byte) error {
	temporary := path + ".new" // a name that no pattern of Prometheus matches
	err := cloudapi.File{Content: content}.Replace(temporary)
	if err == nil {
		err = os.Chmod(temporary, 0o644)
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	return err
}
