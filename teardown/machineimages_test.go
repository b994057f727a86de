package teardown_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// imageProject is a project with a machine image, its versions, and VMs, as a
// server keeps it.
type imageProject struct {
	mu       sync.Mutex
	versions map[string]string // their states, by label
	vms      []*cloudapi.VM
	image    bool
	changes  []string // the requests that change something
}

const (
	projectPath   = "/project/" + stub.Project
	testImageID   = "m14f5v56byre4n6hhfmcm0thd1"
	testImageJSON = `{"id":"` + testImageID + `","name":"golden","location":"eu-central-h1","arch":"x64","latest_version":"v1","created_at":"2026-11-22T03:07:36Z"}`
)

// answer executes a request. A resource that is being deleted is gone after the
// next look at it, but a version stays while VMs use it.
func (p *imageProject) answer(req *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	path := strings.TrimPrefix(req.URL.Path, projectPath)
	last := path[strings.LastIndex(path, "/")+1:]
	list := func(items ...any) (*http.Response, error) {
		return stub.Respond(200, string(stub.JSON(map[string]any{"items": append([]any{}, items...), "count": len(items)}))), nil
	}
	if req.Method != http.MethodGet {
		p.changes = append(p.changes, req.Method+" "+path)
	}
	switch {
	case path == "/vm" || path == "/location/eu-central-h1/vm":
		var vms []any
		for _, vm := range p.vms {
			vms = append(vms, *vm)
		}
		p.vms = slices.DeleteFunc(p.vms, func(vm *cloudapi.VM) bool { return vm.State == cloudapi.VMStateDeleting })
		return list(vms...)
	case strings.HasPrefix(path, "/location/eu-central-h1/vm/"):
		i := slices.IndexFunc(p.vms, func(vm *cloudapi.VM) bool { return vm.ID == last })
		switch {
		case i < 0:
			return stub.Respond(404, stub.Envelope(404)), nil
		case req.Method == http.MethodDelete && p.isCaptured(p.vms[i]):
			return stub.Respond(400, captured), nil
		case req.Method == http.MethodDelete:
			p.vms[i].State = cloudapi.VMStateDeleting
			return stub.Respond(204, ""), nil
		}
		vm := *p.vms[i]
		p.vms = slices.Delete(p.vms, i, i+1)
		return stub.Respond(200, string(stub.JSON(vm))), nil
	case path == "/machine-image" && p.image, path == "/location/eu-central-h1/machine-image" && p.image:
		return list(json.RawMessage(testImageJSON))
	case path == "/location/eu-central-h1/machine-image/"+testImageID && p.image:
		if req.Method == http.MethodDelete {
			if len(p.versions) > 0 {
				return stub.Respond(400, stub.Envelope(400)), nil
			}
			p.image = false
			return stub.Respond(204, ""), nil
		}
		return stub.Respond(200, testImageJSON), nil
	case strings.HasSuffix(path, "/machine-image/"+testImageID+"/version"):
		var versions []any
		for label, state := range p.versions {
			versions = append(versions, cloudapi.MachineImageVersion{ID: "mv-" + label, Version: label, State: state})
			if state == cloudapi.MachineImageVersionStateDestroying && !p.isUsed(label) {
				delete(p.versions, label)
			}
		}
		return list(versions...)
	case strings.Contains(path, "/machine-image/"+testImageID+"/version/"):
		if p.versions[last] == "" {
			return stub.Respond(404, stub.Envelope(404)), nil
		}
		p.versions[last] = cloudapi.MachineImageVersionStateDestroying
		return stub.Respond(204, ""), nil
	case strings.Count(path, "/") == 1: // the list of another kind
		return list()
	}
	return stub.Respond(404, stub.Envelope(404)), nil
}

// captured is the response to the deletion of a VM that is being copied to a
// version.
const captured = `{"error":{"code":400,"type":"InvalidRequest","message":"Cannot delete VM while it is being captured as a machine image version","details":null}}`

// isCaptured reports whether a VM is being copied to a version, which the
// stopped one is.
func (p *imageProject) isCaptured(vm *cloudapi.VM) bool {
	for _, state := range p.versions {
		if state == cloudapi.MachineImageVersionStateCreating && vm.State == cloudapi.VMStateStopped {
			return true
		}
	}
	return false
}

// isUsed reports whether a VM was created from a version.
func (p *imageProject) isUsed(label string) bool {
	return slices.ContainsFunc(p.vms, func(vm *cloudapi.VM) bool { return vm.BootImage == "golden@"+label })
}

// TestTeardownOfMachineImages: only the teardown itself can find out that
// machine images are left, since they don't prevent the deletion of the
// project.
func TestTeardownOfMachineImages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const other = "vmr6ss8r788e2kc2m7kqvwv4h3"
		project := &imageProject{image: true,
			versions: map[string]string{"v1": "ready", "v2": "destroying", "v3": "failed"},
			vms: []*cloudapi.VM{
				{ID: stub.VMID, Name: "copy", Location: "eu-central-h1", State: cloudapi.VMStateRunning, BootImage: "golden@v1"},
				{ID: other, Name: "plain", Location: "eu-central-h1", State: cloudapi.VMStateRunning, BootImage: "golden"},
			}}
		network := stub.Recorder{Answer: project.answer}
		client := sdktest.Recorded(t, &network)

		kept := stub.Must(teardown.NewPlan(t.Context(), client, &teardown.Options{Keep: func(r cloudapi.Resource) bool { return r.ID == stub.VMID }}))(t)
		if got := kept.String(); !strings.Contains(got, "machine image eu-central-h1/golden ("+testImageID+"), needed by VM eu-central-h1/copy") || !strings.Contains(got, "1 to delete, 2 to keep") {
			t.Errorf("with the VM kept the plan is %s", got)
		}

		plan := stub.Must(teardown.NewPlan(t.Context(), client, nil))(t)
		if err := plan.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		const image = "DELETE /location/eu-central-h1/machine-image/" + testImageID
		want := []string{"DELETE /location/eu-central-h1/vm/" + stub.VMID, image, image + "/version/v1", image + "/version/v3"}
		order := slices.Clone(project.changes)
		slices.Sort(order)
		if want = append(want, "DELETE /location/eu-central-h1/vm/"+other); project.image || len(project.versions) > 0 || !slices.Equal(order, sorted(want)) {
			t.Errorf("what was sent is %q, and %v is left", project.changes, project.versions)
		}
		position := func(request string) int { return slices.Index(project.changes, request) }
		if position(want[0]) > position(want[2]) || position(want[1]) != len(want)-1 {
			t.Errorf("the order is %q", project.changes)
		}
	})
}

// TestTeardownDuringACapture: a VM can't be deleted while it's being copied to
// a version.
func TestTeardownDuringACapture(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		project := &imageProject{image: true,
			versions: map[string]string{"v1": cloudapi.MachineImageVersionStateCreating},
			vms:      []*cloudapi.VM{{ID: stub.VMID, Name: "source", Location: "eu-central-h1", State: cloudapi.VMStateStopped}}}
		network := stub.Recorder{Answer: project.answer}
		plan := stub.Must(teardown.NewPlan(t.Context(), sdktest.Recorded(t, &network), nil))(t)
		if err := plan.Run(t.Context()); err != nil || project.image || len(project.vms) > 0 {
			t.Errorf("%v; sent was %q", err, project.changes)
		}
	})
}

// TestTeardownOfAnImageIsNotBlind: if the VMs can't be listed when the image is
// next, some may need it. Its versions stay as well.
func TestTeardownOfAnImageIsNotBlind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		project := &imageProject{image: true, versions: map[string]string{"v1": "ready"}}
		network := stub.Recorder{Answer: project.answer}
		client := sdktest.Recorded(t, &network)
		plan, err := teardown.NewPlan(t.Context(), client, nil)
		if err != nil {
			t.Fatal(err)
		}
		network.Answer = func(req *http.Request) (*http.Response, error) {
			if strings.HasSuffix(req.URL.Path, "/vm") {
				return stub.Respond(403, stub.Envelope(403)), nil
			}
			return project.answer(req)
		}
		err = plan.Run(t.Context())
		report, ok := errors.AsType[*teardown.Error](err)
		if !ok || !errors.Is(err, cloudapi.ErrForbidden) || report.Failed[0].Outcome != teardown.Failed || len(project.changes) > 0 {
			t.Errorf("%v; sent was %q", err, project.changes)
		}
	})
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}
