// Package budgets_test measures the resources that the SDK uses, compared with
// a program without it, and limits them.
package budgets_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestLinked: a program links only the methods that it calls.
func TestLinked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(`package main

import (
	"context"

	"github.com/cloudapi-sdk/cloudapi"
)

func main() {
	client, err := cloudapi.NewClient(cloudapi.FromEnv())
	if err == nil {
		_, err = client.VMs.Get(context.Background(), "eu-central-h1", "web-1")
	}
	if err != nil {
		panic(err)
	}
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	symbols := stub.Must(exec.CommandContext(t.Context(), "go", "tool", "nm", program).Output())(t)
	called := false
	for _, method := range regexp.MustCompile(`cloudapi\.\(\*(\w+)Service\)\.(\w+)`).FindAllSubmatch(symbols, -1) {
		if name := string(method[1]) + "." + string(method[2]); name == "VMs.Get" {
			called = true
		} else {
			t.Errorf("%s is linked", name)
		}
	}
	if !called {
		t.Error("VMs.Get is not linked")
	}
}
