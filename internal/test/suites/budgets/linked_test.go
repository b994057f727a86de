// Package budgets_test measures the resources that the SDK uses, compared with
// a program without it, and limits them.
package budgets_test

import (
	"bytes"
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestLinked: a program links only the methods that it calls, and the families
// that these need, and nothing of plans unless it plans.
func TestLinked(t *testing.T) {
	t.Parallel()
	for method, tt := range map[string]struct {
		statement string
		families  []string
	}{
		"VMs.Get":    {`_, err = client.VMs.Get(ctx, "eu-central-h1", "web-1")`, nil},
		"VMs.Ensure": {`_, _, err = client.VMs.Ensure(ctx, "eu-central-h1", "web-1", nil, nil)`, []string{"VMs.Create", "vmFamily"}},
		"VMs.Watch":  {`for _, err = range client.VMs.Watch(ctx, nil) { }`, []string{"vmFamily"}},
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
			if err := os.WriteFile(source, []byte(`package main

import (
	"context"

	"github.com/cloudapi-sdk/cloudapi"
)

func main() {
	ctx := context.Background()
	client, err := cloudapi.NewClient(cloudapi.FromEnv())
	if err == nil {
		`+tt.statement+`
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
			if bytes.Contains(symbols, []byte("planLayer")) {
				t.Error("a program that doesn't plan links what plans do")
			}
			linked := map[string]bool{}
			for _, m := range regexp.MustCompile(`cloudapi\.\(\*(\w+)Service\)\.(\w+)|cloudapi\.(\w+Family)\n`).FindAllSubmatch(symbols, -1) {
				if name := cmp.Or(string(m[3]), string(m[1])+"."+string(m[2])); name != "anyFamily" { // a type
					linked[name] = true
				}
			}
			delete(linked, method) // or it's inlined
			if got := slices.Sorted(maps.Keys(linked)); !slices.Equal(got, tt.families) {
				t.Errorf("%q are linked, want %q", got, tt.families)
			}
		})
	}
}
