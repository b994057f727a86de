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

// TestCommands checks that the folders, packages and tests in the commands of
// the documents exist.
func TestCommands(t *testing.T) {
	t.Parallel()
	found := 0
	for _, d := range documents(t) {
		blocks, prose := d.split()
		check := func(command string) {
			command, _, _ = strings.Cut(command, " #")
			words := strings.Fields(command)
			if len(words) < 2 || !slices.Contains([]string{"go", "bash"}, words[0]) {
				return
			}
			found++
			for _, problem := range missing(root, words) {
				t.Errorf("%s: %s: %s", d.path, command, problem)
			}
		}
		for _, b := range blocks {
			if b.language == "sh" {
				for line := range strings.Lines(b.code) {
					check(line)
				}
			}
		}
		for _, paragraph := range strings.Split(strings.Join(prose, "\n"), "\n\n") {
			for _, code := range spans(paragraph) { // a command can begin on one line and end on the next
				check(code)
			}
		}
	}
	if found == 0 {
		t.Error("there are no commands")
	}
}

// missing returns what a command names but doesn't exist below dir.
func missing(dir string, words []string) (problems []string) {
	pattern := ""
	var packages []string
	for i, word := range words {
		following := ""
		if i+1 < len(words) {
			following = strings.Trim(words[i+1], "'\"")
		}
		switch {
		case word == "-C":
			dir = filepath.Join(dir, following)
		case word == "-run" || word == "-bench":
			pattern = following
		case strings.HasPrefix(word, "./"), strings.HasPrefix(word, ".ci/"), words[0] == "bash" && i == 1:
			path := filepath.Join(dir, strings.TrimSuffix(word, "/..."))
			if _, err := os.Stat(path); err != nil {
				problems = append(problems, "there is no "+word)
			}
			packages = append(packages, path)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		problems = append(problems, "there is no folder "+dir)
	}
	if pattern = strings.Trim(pattern, "^$"); pattern != "" && pattern != "." && !hasTest(packages, pattern) {
		problems = append(problems, "there is no test "+pattern)
	}
	return problems
}

// hasTest reports whether the packages, or the root, have a test or benchmark
// whose name begins with a text.
func hasTest(packages []string, name string) bool {
	if len(packages) == 0 {
		packages = []string{root}
	}
	for _, dir := range packages {
		files, _ := filepath.Glob(filepath.Join(dir, "*_test.go")) // the pattern is well-formed
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "\nfunc "+name) {
				return true
			}
		}
	}
	return false
}

var (
	link    = regexp.MustCompile(`(?:\]\(|src="|href=")([^)"\s]+)[)"]`)
	heading = regexp.MustCompile(`^#+ (.*)`)
)

// TestLinks follows the links from document to document.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, d := range documents(t) {
		_, prose := d.split()
		for i, line := range prose {
			for _, match := range link.FindAllStringSubmatch(line, -1) {
				target, anchor, _ := strings.Cut(match[1], "#")
				if strings.Contains(target, "://") {
					continue
				}
				path := filepath.Join(root, d.path)
				if target != "" {
					path = filepath.Join(filepath.Dir(path), target)
				}
				text, err := os.ReadFile(path)
				if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
					err = nil
				}
				if err != nil {
					t.Errorf("%s:%d: there is no %s", d.path, i+1, target)
				} else if anchor != "" && !slices.Contains(anchors(string(text)), anchor) {
					t.Errorf("%s:%d: %s has no heading %s", d.path, i+1, target, anchor)
				}
			}
		}
	}
}

// anchors returns the names by which links reach the headings of a document.
func anchors(text string) (names []string) {
	for line := range strings.Lines(text) {
		if match := heading.FindStringSubmatch(strings.TrimSpace(line)); match != nil {
			name := strings.ToLower(regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(match[1], ""))
			names = append(names, strings.ReplaceAll(name, " ", "-"))
		}
	}
	return names
}

// aboutTheAPI are the documents whose inline code mostly consists of names of
// the SDK.
var aboutTheAPI = slices.Concat(topics, []string{"README.md", "docs/design.md", "docs/recipes.md"})

// TestNames checks that the exported names in these documents exist.
func TestNames(t *testing.T) {
	t.Parallel()
	exported := map[string]bool{}
	for _, word := range regexp.MustCompile(`\w+`).FindAllString(string(stub.Must(os.ReadFile(filepath.Join(root, "testdata/api.txt")))(t)), -1) {
		exported[word] = true
	}
	name := regexp.MustCompile(`^(?:cloudapi\.|cloudapitest\.|client\.|srv\.)?([A-Z]\w+)(?:\.([A-Z]\w+))?(?:\(.*\))?$`)
	for _, d := range documents(t) {
		if !slices.Contains(aboutTheAPI, d.path) {
			continue
		}
		_, prose := d.split()
		for i, line := range prose {
			for _, code := range spans(line) {
				match := name.FindStringSubmatch(code)
				if match == nil || strings.ToUpper(code) == code { // an environment variable, an HTTP method
					continue
				}
				for _, part := range match[1:] {
					if part != "" && !exported[part] && !exported[part+"Service"] {
						t.Errorf("%s:%d: %s is not exported", d.path, i+1, code)
					}
				}
			}
		}
	}
}
