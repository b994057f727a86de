package apitables

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestTables: a line is a comment, or a method, a route and the methods of the
// SDK, and every operation is there once.
func TestTables(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, table := range []struct {
		name, text string
	}{{"contract.txt", contract}, {"service.txt", added}} {
		for line := range strings.Lines(table.text) {
			fields := strings.Fields(line)
			if fields[0] == "#" {
				continue
			}
			if len(fields) < 3 || !strings.HasPrefix(fields[1], "/project") {
				t.Fatalf("%s: %q is no row", table.name, line)
			}
			if operation := fields[0] + " " + fields[1]; seen[operation] {
				t.Errorf("%s is there twice", operation)
			} else {
				seen[operation] = true
			}
		}
	}
	if len(seen) != len(Rows()) {
		t.Errorf("the tables have %d rows, and Rows returns %d", len(seen), len(Rows()))
	}
}

// TestIdempotentPosts: the list names operations of the tables, which are POSTs.
func TestIdempotentPosts(t *testing.T) {
	t.Parallel()
	for _, name := range idempotentPosts {
		if !slices.ContainsFunc(Rows(), func(r Row) bool { return r.Method == http.MethodPost && r.Names[0] == name }) {
			t.Errorf("there is no POST %s", name)
		}
	}
}
