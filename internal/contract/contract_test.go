package contract

import (
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
		rows       int
	}{{"contract.txt", agreed, 93}, {"2026.txt", later, 46}} {
		rows := 0
		for line := range strings.Lines(table.text) {
			fields := strings.Fields(line)
			if fields[0] == "#" {
				continue
			}
			rows++
			if len(fields) < 3 || !strings.HasPrefix(fields[1], "/project") {
				t.Fatalf("%s: %q is no row", table.name, line)
			}
			if operation := fields[0] + " " + fields[1]; seen[operation] {
				t.Errorf("%s is there twice", operation)
			} else {
				seen[operation] = true
			}
		}
		if rows != table.rows {
			t.Errorf("%s has %d rows, want %d", table.name, rows, table.rows)
		}
	}
}
