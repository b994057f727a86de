package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const documents = "../../docs/other-languages"

func read(t *testing.T, path string) string {
	t.Helper()
	text := stub.Must(os.ReadFile(path))(t)
	return string(text)
}

// TestEveryFieldIsDocumented: the page describes each change, and each field of
// it.
func TestEveryFieldIsDocumented(t *testing.T) {
	t.Parallel()
	page := read(t, "control.md")
	var check func(change string, value reflect.Type)
	check = func(change string, value reflect.Type) {
		for i := range value.NumField() {
			field := value.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !strings.Contains(page, "`"+name+"`") && !strings.Contains(page, `"`+name+`"`) {
				t.Errorf("%s: %q is not documented", change, name)
			}
			if field.Type == reflect.TypeFor[[]fault]() {
				check(change, reflect.TypeFor[fault]())
			}
		}
	}
	for name, empty := range changes {
		if !strings.Contains(page, `{"`+name+`": {`) {
			t.Errorf("there is no example of %q", name)
		}
		check(name, reflect.TypeOf(empty()).Elem())
	}
	check("GET /faults", reflect.TypeFor[faultReport]())
	check("GET /requests", reflect.TypeFor[requestReport]())
}

// TestDocumentedScenariosWork applies all changes that the page shows.
func TestDocumentedScenariosWork(t *testing.T) {
	t.Parallel()
	page := read(t, "control.md")
	examples := regexp.MustCompile("(?s)```json\n(.*?)```|`({\"[^`]*}})`|-d '(.*?)'").FindAllStringSubmatch(page, -1)
	if len(examples) < 10 {
		t.Fatalf("the page has only %d examples", len(examples))
	}
	c := startControlled(t, "-demo", "-delay", "0")
	for _, example := range examples {
		if text := example[1] + example[2] + example[3]; strings.Contains(text, `"quota"`) || !strings.Contains(text, `"error"`) {
			c.post(text)
			if status, answer := c.ask("POST", "/reset", "", nil); status != 204 {
				t.Fatalf("%d %s", status, answer)
			}
		}
	}
	startControlled(t, "-scenario", filepath.Join(documents, "scenario.json"))
}

// TestImage: the image and the container start the server with arguments that
// it accepts, and clients get its token and its project.
func TestImage(t *testing.T) {
	t.Parallel()
	image, compose := read(t, "Dockerfile"), read(t, filepath.Join(documents, "compose.yaml"))
	list := func(text, before string) (list []string) {
		t.Helper()
		_, rest, found := strings.Cut(text, before+" [")
		line, _, _ := strings.Cut(rest, "\n")
		if err := json.Unmarshal([]byte("["+line), &list); err != nil || !found {
			t.Fatalf("%s [%s: %v", before, line, err)
		}
		return list
	}
	entry := list(image, "\nENTRYPOINT")
	for _, arguments := range [][]string{
		slices.Concat(entry, list(image, "\nCMD")), slices.Concat(entry, list(compose, "\n    command:")), list(image, " CMD"),
	} {
		o, err := parse(arguments[1:], io.Discard)
		if err != nil || arguments[0] != "/cloudapi-testserver" {
			t.Fatalf("%q: %v", arguments, err)
		}
		if o.healthCheck != "" {
			continue
		}
		for _, file := range []string{compose, read(t, filepath.Join(documents, "workflow.yaml"))} {
			if !strings.Contains(file, "CLOUDAPI_TOKEN: "+o.token+"\n") || !strings.Contains(file, "CLOUDAPI_PROJECT: "+o.project+"\n") {
				t.Errorf("clients do not have the token %s and the project %s of\n%s", o.token, o.project, file)
			}
		}
	}
}

// TestProgramInPython runs a program in another language against the built
// program.
func TestProgramInPython(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	server := exec.CommandContext(ctx, build(t), "-addr", "127.0.0.1:0", "-control", "127.0.0.1:0")
	printed := startProgram(t, server, 4)
	defer server.Wait()
	defer stop()
	program := exec.CommandContext(ctx, python, filepath.Join(documents, "faults.py"))
	program.Env = os.Environ()
	for line := range strings.Lines(printed) {
		program.Env = append(program.Env, strings.TrimSpace(strings.TrimPrefix(line, "export ")))
	}
	out, err := program.CombinedOutput()
	for _, want := range []string{"from-faults is creating\n", "down for a minute\n", "it is running\n", "VMs.Create 0, VMs.Get 200, VMs.Get 503,"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v, without %q:\n%s", err, want, out)
		}
	}
	if !strings.Contains(printed, cloudapi.EnvBaseURL) {
		t.Errorf("printed %s", printed)
	}
}
