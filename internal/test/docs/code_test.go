package docs

import (
	"errors"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/format"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const module = "github.com/cloudapi-sdk/cloudapi"

// known are the packages that a fragment may use without an import. Those of
// the repository also determine the module in which it is compiled.
var known = map[string]string{
	"cloudapi": module, "cloudapitest": module + "/cloudapitest", "teardown": module + "/teardown",
	"context": "context", "errors": "errors", "fmt": "fmt", "slices": "slices", "http": "net/http", "json": "encoding/json", "log": "log",
	"cmp": "cmp", "exec": "os/exec", "filepath": "path/filepath", "netip": "net/netip", "os": "os", "regexp": "regexp", "slog": "log/slog", "sql": "database/sql", "strconv": "strconv", "strings": "strings", "synctest": "testing/synctest", "testing": "testing", "time": "time",
	"tls": "crypto/tls", "url": "net/url", "x509": "crypto/x509",
}

// fragment is the code around statements. Variables that it declares need not
// be used.
const fragment = `func _(ctx context.Context, t *testing.T, client *cloudapi.Client, srv *cloudapitest.Server) error {
	var location, name string
	var err error
	%s
	{
%s
	}
	return err
}
`

// TestGoBlocks compiles all Go code of the documents.
func TestGoBlocks(t *testing.T) {
	t.Parallel()
	var blocks []block
	for _, d := range documents(t) {
		all, _ := d.split()
		for _, b := range all {
			switch b.language {
			case "go":
				blocks = append(blocks, b)
				if formatted, err := format.Source([]byte(b.code)); err == nil && strings.TrimSpace(string(formatted)) != b.code {
					t.Errorf("%s:%d: gofmt would write\n%s", b.path, b.line, formatted)
				}
			case "":
			case "sh", "json", "yaml", "text", "promql", "diff", "python", "javascript":
			default:
				t.Errorf("%s:%d: a block of an unknown language %q", b.path, b.line, b.language)
			}
		}
	}
	compileAll(t, blocks)
}

// givenInComments declares names that code in comments may use.
const givenInComments = `
var token, id string
var vm *cloudapi.VM
var request *cloudapi.VMCreateRequest
`

// published are the files whose comments go doc shows.
var published = []string{"*.go", "cloudapitest/*.go", "teardown/*.go", "otelcloudapi/*.go"}

// TestGoBlocksInComments compiles all code in doc comments.
func TestGoBlocksInComments(t *testing.T) {
	t.Parallel()
	var blocks []block
	fset, files := sources(t)
	for name, file := range files {
		for _, group := range file.Comments {
			var docs comment.Parser
			for _, b := range docs.Parse(group.Text()).Content {
				if code, ok := b.(*comment.Code); ok {
					blocks = append(blocks, block{path: name, line: fset.Position(group.Pos()).Line, given: givenInComments, code: code.Text})
				}
			}
		}
	}
	compileAll(t, blocks)
}

// sources parses the published files, by their path from the root.
func sources(t *testing.T) (*token.FileSet, map[string]*ast.File) {
	t.Helper()
	fset, files := token.NewFileSet(), map[string]*ast.File{}
	for _, pattern := range published {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file := stub.Must(parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution))(t)
			relative := stub.Must(filepath.Rel(root, name))(t)
			files[filepath.ToSlash(relative)] = file
		}
	}
	return fset, files
}

// TestBlocksThatDoNotCompile checks that the tests above find errors.
func TestBlocksThatDoNotCompile(t *testing.T) {
	t.Parallel()
	compiler := newCompiler(t, root, nil)
	for code, want := range map[string]string{
		"client.VMs.Fetch(ctx)":              "x.md:7: client.VMs.Fetch undefined",
		"\nx := y":                           "x.md:8: undefined: y",
		"if {":                               "x.md:7",
		"func f() int { }":                   "missing return",
		"package main\n\nimport \"nowhere\"": "x.md:9: could not import nowhere",
		"package main\n\nimport \"fmt\"":     "x.md:9: \"fmt\" imported and not used",
	} {
		problems := compiler.compile(block{path: "x.md", line: 7, code: code})
		if len(problems) == 0 || !strings.Contains(problems[0], want) {
			t.Errorf("%q: the problems are %q, want %q", code, problems, want)
		}
	}
}

// compileAll compiles each block in its module.
func compileAll(t *testing.T, blocks []block) {
	t.Helper()
	if len(blocks) == 0 {
		t.Fatal("there is no code")
	}
	byModule := map[string][]block{}
	for _, b := range blocks {
		dir := moduleOf(b)
		byModule[dir] = append(byModule[dir], b)
	}
	for dir, blocks := range byModule {
		t.Run(filepath.Base(filepath.Join(module, dir)), func(t *testing.T) {
			t.Parallel()
			compiler := newCompiler(t, filepath.Join(root, dir), blocks)
			for _, b := range blocks {
				for _, problem := range compiler.compile(b) {
					t.Error(problem)
				}
			}
		})
	}
}

// moduleOf returns the folder of the module in which to compile a block: one
// whose package it uses, or its document's.
func moduleOf(b block) string {
	for _, word := range regexp.MustCompile(`\b(\w+)\.[A-Z]`).FindAllStringSubmatch(b.code, -1) {
		if _, err := os.Stat(filepath.Join(root, word[1], "go.mod")); err == nil {
			return word[1]
		}
	}
	dir := filepath.Dir(b.path)
	for dir != "." {
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// A compiler checks blocks with the exported names of the packages of one
// module.
type compiler struct {
	importer types.Importer
	fset     *token.FileSet
	known    map[string]string
}

// newCompiler finds the export data of all packages that the blocks may use.
func newCompiler(t *testing.T, dir string, blocks []block) *compiler {
	t.Helper()
	c := &compiler{fset: token.NewFileSet(), known: maps.Clone(known)}
	if own := filepath.Base(dir); own != ".." {
		c.known[own] = module + "/" + own
	}
	paths := slices.Collect(maps.Values(c.known))
	for _, b := range blocks {
		file, err := parser.ParseFile(token.NewFileSet(), "", b.code, parser.ImportsOnly)
		if err != nil {
			continue // a fragment
		}
		for _, spec := range file.Imports {
			paths = append(paths, strings.Trim(spec.Path.Value, `"`))
		}
	}
	slices.Sort(paths)
	list := exec.Command("go", append([]string{"list", "-e", "-export", "-deps",
		"-f", "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}"}, slices.Compact(paths)...)...)
	list.Dir = dir
	list.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	out, err := list.Output()
	if err != nil {
		var stderr []byte
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			stderr = exit.Stderr
		}
		t.Fatalf("%v: %v\n%s", list, err, stderr)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	for name, path := range c.known {
		switch {
		case files[path] != "":
		case dir == root:
			t.Fatalf("package %s does not compile", name)
		default:
			t.Skipf("package %s of module %s cannot be built, perhaps since its dependencies are not here: go -C %s mod download", name, dir, filepath.Base(dir))
		}
	}
	c.importer = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("there is no package %s", path)
		}
		return os.Open(files[path])
	})
	return c
}

// compile returns the errors in a block.
func (c *compiler) compile(b block) (problems []string) {
	file, err := c.parse(b)
	if err != nil {
		return []string{err.Error()}
	}
	complete := file.Name.Name != "fragment"
	config := types.Config{Importer: c.importer, Error: func(err error) {
		if e, ok := errors.AsType[types.Error](err); ok && e.Soft && !complete {
			return // a fragment need not use everything that it declares
		}
		position := ""
		if e, ok := errors.AsType[types.Error](err); ok {
			p := e.Fset.Position(e.Pos)
			position, err = fmt.Sprintf("%s:%d: ", p.Filename, p.Line), errors.New(e.Msg)
		}
		problems = append(problems, position+err.Error())
	}}
	_, _ = config.Check(b.path, c.fset, []*ast.File{file}, nil) // the errors were reported
	return problems
}

var (
	packageClause = regexp.MustCompile(`(?m)^package \w`)
	importClause  = regexp.MustCompile(`(?m)^import\b`)
)

// parse parses a block as a file, as declarations, or as statements.
func (c *compiler) parse(b block) (*ast.File, error) {
	parse := func(format string, args ...any) (*ast.File, error) {
		return parser.ParseFile(c.fset, "", fmt.Sprintf(format, args...), parser.SkipObjectResolution)
	}
	code := fmt.Sprintf("//line %s:%d\n%s", b.path, b.line, strings.ReplaceAll(b.code, "…\n", "\n")) // omissions
	switch {
	case packageClause.MatchString(b.code):
		return parse("%s", code)
	case importClause.MatchString(b.code):
		return parse("package fragment\n%s", code)
	}
	var imports strings.Builder
	for name, path := range c.known {
		fmt.Fprintf(&imports, "import %s %q\n", name, path)
	}
	if file, err := parse("package fragment\n%s\n%s\n%s", &imports, b.given, code); err == nil {
		return file, nil
	}
	return parse("package fragment\n%s\n"+fragment, &imports, b.given, code)
}
