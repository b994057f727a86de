package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// A document is a Markdown file of the repository.
type document struct {
	path  string // from the root
	lines []string
}

// A block is fenced code in a document, or indented code in a comment.
type block struct {
	path     string // of the file, from the root
	line     int    // of its first line
	language string
	given    string // see the constant
	code     string
}

// documents returns all Markdown files.
func documents(t *testing.T) []document {
	t.Helper()
	var all []document
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if strings.HasPrefix(name, ".") && name != ".." && name != ".github" || name == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		all = append(all, document{filepath.ToSlash(relative), strings.Split(string(text), "\n")})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(d document) bool { return d.path == "README.md" }) {
		t.Fatal("there is no README.md")
	}
	return all
}

// given begins a comment in front of a block. Before Go code, it declares what the
// code uses without showing where it comes from. Before commands, it's the line
// that a reader types while they run.
const given = "<!-- given: "

// split returns the fenced blocks of a document and the lines outside them.
// Lines keep their numbers: those inside a block are empty in prose.
func (d document) split() (blocks []block, prose []string) {
	var open *block
	var indent, declared string
	var code []string
	for i, line := range d.lines {
		text := strings.TrimLeft(line, " ")
		fence := strings.HasPrefix(text, "```")
		switch {
		case fence && open == nil:
			indent = line[:len(line)-len(text)]
			open = &block{path: d.path, line: i + 2, language: strings.TrimPrefix(text, "```"), given: declared}
			declared, code = "", nil
		case fence:
			open.code = strings.Join(code, "\n")
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			code = append(code, strings.TrimPrefix(line, indent))
		default:
			if rest, found := strings.CutPrefix(line, given); found {
				declared = strings.TrimSuffix(rest, " -->")
			} else {
				prose = append(prose, line)
				continue
			}
		}
		prose = append(prose, "")
	}
	return blocks, prose
}

// A command is a line for a shell in a document.
type command struct {
	place  string // its document and line
	line   string
	input  string   // what a reader types while the command runs
	output []string // the lines below it, without the input
}

// commands returns the commands of a block: all lines of a script, or the lines
// after a prompt.
func (b block) commands() (all []command) {
	for i, line := range strings.Split(b.code, "\n") {
		line, prompt := strings.CutPrefix(line, "$ ")
		switch {
		case prompt || b.language == "sh":
			all = append(all, command{place: fmt.Sprintf("%s:%d", b.path, b.line+i), line: line, input: b.given})
		case len(all) > 0 && line != b.given:
			last := &all[len(all)-1]
			last.output = append(last.output, line)
		}
	}
	return all
}

// spans returns the inline code of a line.
func spans(line string) (code []string) {
	for i, part := range strings.Split(line, "`") {
		if i%2 == 1 {
			code = append(code, part)
		}
	}
	return code
}
