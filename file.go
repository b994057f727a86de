package cloudapi

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"github.com/cloudapi-sdk/cloudapi/internal/attachment"
	"github.com/cloudapi-sdk/cloudapi/internal/call"
)

// File is a file that the server sent. It's printed, logged and encoded without
// its content, which may be secret; but fmt prints the content of a File in an
// unexported field of another struct.
type File struct {
	Name        string // the name from the server: up to 128 ASCII letters, digits, hyphens, underscores and dots
	ContentType string // the media type that the server declared
	Content     []byte
}

// String describes the file without its content.
func (f File) String() string {
	return fmt.Sprintf("cloudapi.File(%q, %q, %d bytes)", f.Name, f.ContentType, len(f.Content))
}

func (f File) Format(s fmt.State, _ rune) { fmt.Fprint(s, f.String()) }

func (f File) LogValue() slog.Value { return slog.StringValue(f.String()) }

// MarshalText describes the file for JSON, XML and other encodings.
func (f File) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// Save writes the content to a new file with permission 0600; if that fails, no
// file is left. It returns [os.ErrExist] if the path is a file or symlink.
func (f File) Save(path string) error { return f.write(path, attachment.Save) }

// Replace is [File.Save] for a path that may exist. It replaces a file
// atomically; of a symlink, it replaces the link and not the target.
func (f File) Replace(path string) error { return f.write(path, attachment.Replace) }

func (f File) write(path string, write func(path string, content []byte) error) error {
	if path == "" {
		return &ArgumentError{Name: "path", Reason: "must not be empty"}
	}
	if err := write(path, f.Content); err != nil {
		return fmt.Errorf("cloudapi: saving %s: %w", filepath.Base(path), err)
	}
	return nil
}

// fileFormat describes the file that an operation returns.
type fileFormat struct {
	name         string   // the default, if the server sends no valid name
	accept       string   // the Accept header
	noRetryOn500 bool     // a 500 of the API isn't retried: it means that the file doesn't exist yet
	pem          []string // the kinds of PEM blocks in the file; nil for a kubeconfig
}

// Accept headers for files. The contract names a type for PEM, but none for a
// kubeconfig, which comes as plain text or YAML. Errors come as JSON.
const (
	acceptPEM  = "application/x-pem-file, application/json;q=0.5, */*;q=0.1"
	acceptYAML = "text/plain, text/yaml, application/yaml, application/json;q=0.5, */*;q=0.1"
)

// decode returns the response as a file. It refuses an empty body, an HTML page
// and a JSON error, which a server or proxy may send in place of a file.
func (format fileFormat) decode(r call.Response) (*File, error) {
	if err := attachment.Check(r.Status, r.Header, r.Body); err != nil {
		return nil, err
	}
	switch {
	case format.pem != nil:
		if err := attachment.CheckPEM(r.Body, format.pem); err != nil {
			return nil, err
		}
	case r.UnmarkedEnd:
		return nil, errEndless
	default:
		if err := attachment.CheckKubeconfig(r.Body); err != nil {
			return nil, err
		}
	}
	return &File{
		Name:        cmp.Or(attachment.Name(r.Header.Get("Content-Disposition")), format.name),
		ContentType: r.Header.Get("Content-Type"),
		Content:     bytes.Clone(r.Body),
	}, nil
}

var errEndless = fmt.Errorf("%w: it has no length, so it may be cut off", io.ErrUnexpectedEOF)
