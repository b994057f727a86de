package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
	"github.com/cloudapi-sdk/cloudapi/examples/demo/demotest"
)

func TestMain(m *testing.M) { demotest.Isolate(m) }

// script is what Ansible reads from an inventory script.
type script map[string]struct {
	Hosts    []string
	HostVars map[string]map[string]any
}

func TestList(t *testing.T) {
	t.Parallel()
	stdout, _ := demotest.Runs(t, run, []string{"--list", "--demo"})
	var got script
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	for group, want := range map[string]string{
		"location_us_east_a2": "render-1 render-2 render-3",
		"subnet_web":          "bastion-1 web-1 web-2 web-3",
		"size_burstable_1":    "bastion-1",
		"state_stopped":       "render-3",
	} {
		if hosts := strings.Join(got[group].Hosts, " "); hosts != want {
			t.Errorf("%s has %s, want %s", group, hosts, want)
		}
	}
	vars := got["_meta"].HostVars
	if len(vars) != 13 || len(got["state_running"].Hosts) != 12 {
		t.Errorf("%d hosts, of which %d are running", len(vars), len(got["state_running"].Hosts))
	}
	for name, host := range vars {
		if host["ansible_host"] == "" || host["ansible_user"] != "ubi" || host["ubicloud_name"] != name || !strings.HasPrefix(host["ubicloud_private_ipv4"].(string), "10.") {
			t.Errorf("%s has %v", name, host)
		}
	}
}

// newServer returns a server with two VMs of the same name, and a third one
// that has no address yet.
func newServer(t *testing.T) *cloudapitest.Server {
	server := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{}))
	create := func(location, name string) {
		t.Helper()
		request := &cloudapi.VMCreateRequest{PublicKey: demo.PublicKey, EnableIPv4: new(true), UnixUser: "admin"}
		demotest.Must(server.Client().VMs.Create(t.Context(), location, name, request))(t)
	}
	create("eu-central-h1", "web")
	create("us-east-a2", "web")
	server.SetDelays(cloudapi.KindVM, "", cloudapitest.Delays{Create: 1 << 40})
	create("us-east-a2", "later")
	return server
}

func TestHost(t *testing.T) {
	demotest.Use(t, newServer(t))
	for name, location := range map[string]string{"web.eu-central-h1": "eu-central-h1", "web.us-east-a2": "us-east-a2"} {
		stdout, _ := demotest.Runs(t, run, []string{"--host", name})
		var vars map[string]string
		if err := json.Unmarshal([]byte(stdout), &vars); err != nil {
			t.Fatal(err)
		}
		got := []string{vars["ubicloud_location"], vars["ansible_host"], vars["ansible_user"]}
		if want := []string{location, vars["ubicloud_public_ipv4"], "admin"}; !slices.Equal(got, want) || want[1] == "" {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
}

// TestEmpty: the inventory of a project without VMs has no hosts. If the token
// can't see the project, there's an error and no inventory.
func TestEmpty(t *testing.T) {
	server := cloudapitest.New(t)
	demotest.Use(t, server)
	if got, _ := demotest.Runs(t, run, []string{"--list"}); strings.Join(strings.Fields(got), "") != `{"_meta":{"hostvars":{}}}` {
		t.Errorf("it is %s", got)
	}
	server.SetPermissions(server.ProjectID(), server.Token())
	var stdout bytes.Buffer
	if err := run(t.Context(), []string{"--list"}, &stdout, io.Discard); !errors.Is(err, cloudapi.ErrForbidden) || stdout.Len() != 0 {
		t.Errorf("without permissions: %v, %s", err, &stdout)
	}
}

// TestRefuses: without --demo, no host of the embedded server is printed, and
// with it none of a real project.
func TestRefuses(t *testing.T) {
	const none = "no project: set CLOUDAPI_TOKEN and CLOUDAPI_PROJECT, or try --demo"
	demotest.Refuses(t, run, none, "--list")
	demotest.Refuses(t, run, none, "--host", "web-1")
	for _, args := range []string{"", "--demo", "--list --host web-1"} {
		demotest.Refuses(t, run, "use either --list or --host", strings.Fields(args)...)
	}
	demotest.Refuses(t, run, `unexpected argument "web-1"`, "--list", "web-1")
	demotest.Use(t, newServer(t))
	demotest.Refuses(t, run, "--demo with a project", "--list", "--demo")
	for _, name := range []string{"web", "later", "_meta"} {
		demotest.Refuses(t, run, "", "--host", name)
	}
}
