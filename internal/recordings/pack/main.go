// Command pack creates the files of package recordings from a folder of
// recordings, and prints a summary.
//
//	go run ./internal/recordings/pack ../shared/recordings
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/recordings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/recordings/pack FOLDER")
		os.Exit(2)
	}
	if err := pack(os.Args[1], "internal/recordings/testdata"); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// pack compresses every file of exchanges below a folder, and beside it.
func pack(from, to string) error {
	beside, err := filepath.Glob(filepath.Join(from, "..", "*.jsonl"))
	if err != nil {
		return err
	}
	for _, path := range beside {
		if err := packFile(path, filepath.Base(path), to); err != nil {
			return err
		}
	}
	return filepath.WalkDir(from, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".jsonl" {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return packFile(path, name, to)
	})
}

// packFile compresses a file of exchanges with a name.
func packFile(path, name, to string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	exchanges, err := recordings.Decode(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	packed, err := compress(text)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s, %d bytes, %d compressed\n", name, coverage(exchanges), len(text), len(packed))
	target := filepath.Join(to, name+".gz")
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, packed, 0o644)
}

func compress(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// accidental matches the differences between two errors with the same meaning.
var accidental = regexp.MustCompile(`[0-9a-z]{26}|\d+`)

// coverage counts the operations, those with a success, and the errors with
// different operation, status or body.
func coverage(exchanges []recordings.Exchange) string {
	operations, succeeded, failures := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, x := range exchanges {
		operations[x.Operation] = true
		if x.Response.Status < 300 {
			succeeded[x.Operation] = true
			continue
		}
		failure := fmt.Sprint(x.Operation, " ", x.Response.Status, " ", accidental.ReplaceAllString(x.Response.Body, "*"))
		failures[strings.TrimSpace(failure)] = true
	}
	return fmt.Sprintf("%d exchanges of %d operations, %d of them with a success, %d different errors",
		len(exchanges), len(operations), len(succeeded), len(failures))
}
