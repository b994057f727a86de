package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

var (
	verdict    = regexp.MustCompile(`\bIsGone\((\w+)\)`)
	calledLast = regexp.MustCompile(`(\w+)(?:\[[\w.]+\])?\(`)
)

// provesNothing reports whether a 404 of a call doesn't prove that a resource
// isn't in the project: the location can be wrong, or the project hidden.
func provesNothing(call string) bool {
	return strings.HasPrefix(call, "Get") || strings.HasPrefix(call, "Wait") && call != "Wait" ||
		slices.Contains([]string{"List", "Delete", "ObjectInfo", "Stop", "Start", "Restart", "Rename", "Update"}, call)
}

// weakVerdicts returns the lines of code that take a resource for gone by an
// error that doesn't prove it.
func weakVerdicts(code string) (lines []string) {
	for _, at := range verdict.FindAllStringSubmatchIndex(code, -1) {
		variable := code[at[2]:at[3]]
		assigned := regexp.MustCompile(`(?m)^.*\b`+variable+`\b(?:, \w+)* :?= (.+)$`).FindAllStringSubmatch(code[:at[0]], -1)
		if len(assigned) == 0 {
			continue
		}
		value := assigned[len(assigned)-1][1]
		if call := calledLast.FindStringSubmatch(value); call != nil && provesNothing(call[1]) {
			lines = append(lines, strings.TrimSpace(assigned[len(assigned)-1][0]))
		}
	}
	return lines
}

// TestVerdictsAreProven: the documents and examples take a resource for gone only
// by a call that proves it, such as Fetch.
func TestVerdictsAreProven(t *testing.T) {
	t.Parallel()
	for code, isWeak := range map[string]bool{
		"vm, err := client.VMs.Get(ctx, l, n)\nif cloudapi.IsGone(err) {":                           true,
		"_, left := c.LoadBalancers.GetInSubnet(ctx, l, s, n)\nif cloudapi.IsGone(left) {":          true,
		"err = client.WaitDeleted(ctx, r, nil)\nif cloudapi.IsGone(err) {":                          true,
		"vm, err := client.VMs.Get(ctx, l, n)\n_, err = client.Fetch(ctx, r)\ncloudapi.IsGone(err)": false,
		"vm, err := cloudapi.Fetch[cloudapi.VM](ctx, client, r)\nif cloudapi.IsGone(err) {":         false,
	} {
		if found := weakVerdicts(code); (len(found) > 0) != isWeak {
			t.Errorf("%q has the weak verdicts %q", code, found)
		}
	}
	verdicts := 0
	check := func(path, code string) {
		verdicts += len(verdict.FindAllString(code, -1))
		for _, line := range weakVerdicts(code) {
			t.Errorf("%s: IsGone is asked about what proves nothing: %s", path, line)
		}
	}
	for _, d := range documents(t) {
		blocks, _ := d.split()
		for _, b := range blocks {
			if b.language == "go" {
				check(b.path, b.code)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "examples", "*", "*.go"))
	if deeper, _ := filepath.Glob(filepath.Join(root, "examples", "*", "*", "*.go")); err == nil {
		files = append(files, deeper...)
	}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			check(file, string(stub.Must(os.ReadFile(file))(t)))
		}
	}
	if len(files) < 10 || verdicts < 5 {
		t.Errorf("%d verdicts in %d files", verdicts, len(files))
	}
}
