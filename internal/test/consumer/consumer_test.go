package consumer

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const (
	root    = "../../.."
	module  = "github.com/cloudapi-sdk/cloudapi"
	version = "v" + cloudapi.Version
)

// program is an example of a user's program with a test.
var program = map[string]string{
	"main.go": `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/cloudapi-sdk/cloudapi"
)

func names(ctx context.Context, client *cloudapi.Client) (names []string, err error) {
	for firewall, err := range client.Firewalls.All(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, firewall.Name)
	}
	return names, nil
}

func main() {
	client, err := cloudapi.NewClient(cloudapi.FromEnv())
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(names(context.Background(), client))
}
`,
	"main_test.go": `package main

import (
	"slices"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

func TestNames(t *testing.T) {
	srv := cloudapitest.New(t)
	client := srv.Client()
	if _, err := client.Firewalls.Create(t.Context(), "eu-central-h1", "edge", nil); err != nil {
		t.Fatal(err)
	}
	if got, err := names(t.Context(), client); err != nil || !slices.Equal(got, []string{"edge"}) {
		t.Errorf("%v, %v", got, err)
	}
}
`,
}

// traced is a program with the nested module.
const traced = `package main

import (
	"fmt"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/otelcloudapi"
)

func main() {
	fmt.Println(cloudapi.NewClient(cloudapi.WithBaseURL("https://api.example.com"), otelcloudapi.Instrument()))
}
`

// build is for .ci/run: go get needs modules that no test needs, and the SDK is
// compiled anew.
var build = flag.Bool("build", false, "get the SDK with go get; build, test and run the programs")

// TestConsumer finds all packages of a program in the SDK as a proxy has it. The
// program requires what the SDK requires, so that modules which go test has
// downloaded for the SDK suffice. With -build the requirements come from go get,
// and the program then gets the module for OpenTelemetry, too.
func TestConsumer(t *testing.T) {
	t.Parallel()
	c := newConsumer(t)
	c.publish(t, module, root)
	c.write(t, program)
	if *build {
		c.run(t, "go", "mod", "init", "example.com/program")
		c.run(t, "go", "get", module+"@"+version)
	} else {
		c.copy(t, "go.mod", "go.sum")
		c.run(t, "go", "mod", "edit", "-module=example.com/program", "-require="+module+"@"+version)
		c.run(t, "go", "list", "-mod=mod", "-deps", "-test", "./...") // adds the SDK to go.sum
	}
	c.run(t, "go", "list", "-mod=readonly", "-deps", "-test", "./...")
	if modules := c.run(t, "go", "list", "-mod=readonly", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "."); strings.Contains(modules, "httpmock") {
		t.Errorf("the program is linked with what only tests of the SDK need: %s", modules)
	}
	if !*build {
		return
	}
	c.run(t, "go", "test", "-mod=readonly", "./...")
	c.run(t, "go", "build", "-mod=readonly", "-o", "program", ".")
	cmd := c.command("./program")
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "no project") {
		t.Errorf("the program ended with %v and says %q", err, out)
	}

	c.publish(t, module+"/otelcloudapi", filepath.Join(root, "otelcloudapi"))
	c.run(t, "go", "get", module+"/otelcloudapi@"+version)
	c.write(t, map[string]string{"traced/main.go": traced})
	if out := c.run(t, "go", "run", "-mod=readonly", "./traced"); !strings.Contains(out, "<nil>") {
		t.Errorf("the program with traces says %q", out)
	}
}

// A consumer is a folder for a user's module, and the proxy that it asks.
type consumer struct {
	dir, proxy string
	env        []string
}

// newConsumer returns a consumer that asks a folder with the modules of this
// repository, then the modules that were downloaded before and, with -build, the
// proxy of the machine.
func newConsumer(t *testing.T) *consumer {
	t.Helper()
	out := stub.Must(exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output())(t)
	modules, others, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if !*build {
		others = "off"
	}
	c := &consumer{dir: t.TempDir(), proxy: t.TempDir()}
	downloaded := filepath.Join(modules, "cache", "download")
	c.env = append(os.Environ(),
		"GOPROXY=file://"+filepath.ToSlash(c.proxy)+",file://"+filepath.ToSlash(downloaded)+","+others,
		"GOMODCACHE="+t.TempDir(), "GOFLAGS=-modcacherw", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=off", "GOEXPERIMENT=",
		"CLOUDAPI_BASE_URL=", "CLOUDAPI_TOKEN=", "CLOUDAPI_PROJECT=")
	return c
}

func (c *consumer) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	return cmd
}

func (c *consumer) run(t *testing.T, name string, args ...string) (output string) {
	t.Helper()
	out, err := c.command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (c *consumer) write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(c.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
}

// copy copies files of the SDK into the consumer's folder.
func (c *consumer) copy(t *testing.T, names ...string) {
	t.Helper()
	files := make(map[string]string)
	for _, name := range names {
		text := stub.Must(os.ReadFile(filepath.Join(root, name)))(t)
		files[name] = string(text)
	}
	c.write(t, files)
}

// publish adds a module to the proxy: the files in its folder, without nested
// modules and hidden folders.
func (c *consumer) publish(t *testing.T, path, dir string) {
	t.Helper()
	versions := filepath.Join(c.proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(versions, 0o777); err != nil {
		t.Fatal(err)
	}
	info := stub.Must(json.Marshal(map[string]string{"Version": version}))(t)
	mod := stub.Must(os.ReadFile(filepath.Join(dir, "go.mod")))(t)
	for name, content := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": mod} {
		if err := os.WriteFile(filepath.Join(versions, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Create(filepath.Join(versions, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	archive := zip.NewWriter(file)
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			_, nested := os.Stat(filepath.Join(name, "go.mod"))
			if name != dir && (nested == nil || strings.HasPrefix(entry.Name(), ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || entry.Name() == ".git" {
			return nil
		}
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		w, err := archive.Create(fmt.Sprintf("%s@%s/%s", path, version, filepath.ToSlash(relative)))
		if err == nil {
			_, err = w.Write(content)
		}
		return err
	})
	if err == nil {
		err = archive.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
