package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
	"github.com/cloudapi-sdk/cloudapi/examples/demo/demotest"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

func TestMain(m *testing.M) { demotest.Isolate(m) }

func TestQuickstart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stdout, _ := demotest.Runs(t, run, nil)
		for text, want := range map[string]int{"created: ": 5, "open to ": 2, "  addresses ": 2, "listed ": 2, "deleted\n": 5, "All 5 resources that it created are deleted again.\nNext: ": 1} {
			if n := strings.Count(stdout, text); n != want {
				t.Errorf("%d times %q, want %d:\n%s", n, text, want, stdout)
			}
		}
	})
}

func newEnvironment(server *cloudapitest.Server) *environment {
	return &environment{client: server.Client(), location: "eu-central-h1", out: io.Discard, start: time.Now()}
}

// TestTellsWhatIsLeft: the program lists what is left by name and ID.
func TestTellsWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := cloudapitest.New(t)
		server.Fail(cloudapitest.Match{Operation: "VMs.Delete"}, cloudapitest.Reply(403, nil, "{}"))
		env := newEnvironment(server)
		err := env.provision(t.Context())
		vms, listErr := cloudapi.Collect(env.client.VMs.All(t.Context(), nil))
		if listErr != nil || len(vms) != 1 {
			t.Fatalf("there are %v, %v", vms, listErr)
		}
		if want := "VM " + vms[0].Name + " " + vms[0].ID + " is left over: "; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	})
}

// TestSparesAnotherWithTheName: while the program runs, another program renames
// its VM, and creates one with the VM's name.
func TestSparesAnotherWithTheName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := cloudapitest.New(t)
		client := server.Client()
		var other *cloudapi.VM
		server.Fail(cloudapitest.Match{Operation: "VMs.ListInLocation"}, cloudapitest.Handle(func(w http.ResponseWriter, _ *http.Request) {
			vms, err := cloudapi.Collect(client.VMs.All(t.Context(), nil))
			if err == nil {
				_, err = client.VMs.Rename(t.Context(), "eu-central-h1", vms[0].ID, "renamed")
			}
			if err == nil {
				other, err = client.VMs.Create(t.Context(), "eu-central-h1", vms[0].Name, &cloudapi.VMCreateRequest{PublicKey: demo.PublicKey})
			}
			if err != nil {
				t.Error(err)
			}
			w.WriteHeader(403)
		}))
		if err := newEnvironment(server).provision(t.Context()); !errors.Is(err, cloudapi.ErrForbidden) {
			t.Errorf("error %v, want only that of the list", err)
		}
		vms, err := cloudapi.Collect(client.VMs.All(t.Context(), nil))
		if err != nil || len(vms) != 1 || vms[0].ID != other.ID {
			t.Errorf("there are %d VMs, %v, want only %s", len(vms), err, other.ID)
		}
	})
}

// dropAfter loses the response to an operation.
func dropAfter(operation string) func(*cloudapitest.Server, func()) {
	return func(server *cloudapitest.Server, _ func()) {
		server.Fail(cloudapitest.Match{Operation: operation}, cloudapitest.DropAfter())
	}
}

func TestLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		do   func(*cloudapitest.Server, func())
		want error
	}{
		{"interrupt", func(_ *cloudapitest.Server, interrupt func()) { time.AfterFunc(time.Second, interrupt) }, context.Canceled},
		{"failure", func(server *cloudapitest.Server, _ func()) {
			server.Fail(cloudapitest.Match{Operation: "VMs.Create", Nth: 2}, cloudapitest.Reply(403, nil, "{}"))
		}, cloudapi.ErrForbidden},
		{"lost key", dropAfter("SSHPublicKeys.Create"), cloudapi.ErrOutcomeUnknown},
		{"lost firewall", dropAfter("Firewalls.Create"), cloudapi.ErrOutcomeUnknown},
		{"lost subnet", dropAfter("PrivateSubnets.Create"), cloudapi.ErrOutcomeUnknown},
		{"lost VM", dropAfter("VMs.Create"), cloudapi.ErrOutcomeUnknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := cloudapitest.New(t)
				client := server.Client()
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				test.do(server, interrupt)
				if err := newEnvironment(server).provision(ctx); !errors.Is(err, test.want) {
					t.Errorf("error %v, want %v", err, test.want)
				}
				plan := demotest.Must(teardown.NewPlan(t.Context(), client, nil))(t)
				if stages := plan.Stages(); len(stages) != 0 {
					t.Errorf("left: %v", stages)
				}
			})
		})
	}
}
