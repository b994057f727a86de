// Command pack creates the files of package recordings from a folder of
// recordings, and prints a summary of each. With -check it writes nothing, and
// says which files differ from what was recorded.
//
//	go run ./internal/test/recordings/pack [-check] ../shared
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/test/recordings"
)

const target = "internal/test/recordings/testdata"

func main() {
	check := flag.Bool("check", false, "only compare the files with the recordings")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/test/recordings/pack [-check] FOLDER")
		os.Exit(2)
	}
	if err := pack(flag.Arg(0), *check); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(from string, check bool) error {
	var different []error
	err := filepath.WalkDir(from, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".jsonl" {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		to := filepath.Join(target, strings.TrimPrefix(filepath.ToSlash(name), "recordings/")+".gz")
		if !check {
			return packFile(path, text, to)
		}
		packed, err := unpack(to)
		if err != nil || !bytes.Equal(packed, text) {
			different = append(different, fmt.Errorf("%s isn't what was recorded in %s (%v)", to, path, err))
		}
		return nil
	})
	return errors.Join(append(different, err)...)
}

func unpack(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(text)
}

func packFile(path string, text []byte, to string) error {
	exchanges, err := recordings.Decode(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	packed, err := compress(text)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s, %d bytes, %d compressed\n", to, coverage(exchanges), len(text), len(packed))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, packed, 0o644)
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

// accidental matches IDs and numbers, in which errors with the same meaning can
// differ.
var accidental = regexp.MustCompile(`[0-9a-z]{26}|\d+`)

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
