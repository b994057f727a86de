// Package demotest has what the tests of the examples share.
package demotest

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

// Isolate runs the tests of a program without a project in the environment, so
// that they never use a real server.
func Isolate(m *testing.M) {
	for _, variable := range []string{cloudapi.EnvBaseURL, cloudapi.EnvToken, cloudapi.EnvProject} {
		os.Unsetenv(variable)
	}
	m.Run()
}

// Use puts the server's project into the environment during a test.
func Use(t *testing.T, server *cloudapitest.Server) {
	t.Setenv(cloudapi.EnvBaseURL, server.Start())
	t.Setenv(cloudapi.EnvToken, server.Token())
	t.Setenv(cloudapi.EnvProject, server.ProjectID())
}

type program func(ctx context.Context, args []string, stdout, stderr io.Writer) error

// Runs runs a program, and returns what it prints. The test fails unless the
// program succeeds and prints each of the texts.
func Runs(t *testing.T, run program, args []string, texts ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	if err := run(t.Context(), args, &out, &errs); err != nil {
		t.Fatalf("%q: %v\n%s%s", args, err, &out, &errs)
	}
	for _, text := range texts {
		if !strings.Contains(out.String()+errs.String(), text) {
			t.Errorf("%q: no %q in\n%s%s", args, text, &out, &errs)
		}
	}
	return out.String(), errs.String()
}

// Refuses tests that a program refuses arguments: it must return an error that
// contains want, and print nothing to stdout.
func Refuses(t *testing.T, run program, want string, args ...string) {
	t.Helper()
	var stdout strings.Builder
	if err := run(t.Context(), args, &stdout, io.Discard); err == nil || !strings.Contains(err.Error(), want) || stdout.Len() > 0 {
		t.Errorf("%q: error %v, want %q, and it printed %s", args, err, want, &stdout)
	}
}

// Must returns a function that returns the value, or fails the test.
func Must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
