package wire_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

const (
	testImageID     = "m14f5v56byre4n6hhfmcm0thd1"
	testImageJSON   = `{"id":"` + testImageID + `","name":"golden","location":"eu-central-h1","arch":"x64","latest_version":"v1","created_at":"2026-11-22T03:07:36Z"}`
	testVersionID   = "mv3jb6qjryhy2gznk3ksvganvv"
	testVersionJSON = `{"id":"` + testVersionID + `","version":"v1","state":"ready","actual_size_mib":40960,"archive_size_mib":5123,"created_at":"2026-11-22T03:07:36Z","latest":true}`
)

func TestMachineImagesWire(t *testing.T) {
	t.Parallel()
	const (
		location = "eu-central-h1"
		base     = locationPath + "/machine-image"
		item     = base + "/golden"
		page     = `{"items":[` + testImageJSON + `],"count":1}`
		versions = `{"items":[` + testVersionJSON + `],"count":1}`
		young    = `{"id":"` + testImageID + `","name":"golden","location":"eu-central-h1","arch":"arm64","latest_version":null,"created_at":"2026-11-22T03:07:36Z"}`
		begun    = `{"id":"` + testVersionID + `","version":"v1","state":"creating","actual_size_mib":null,"archive_size_mib":null,"created_at":"2026-11-22T03:07:36Z","latest":false}`
	)
	created := time.Date(2026, 11, 22, 3, 7, 36, 0, time.UTC)
	image := &cloudapi.MachineImage{ID: testImageID, Name: "golden", Location: location, Arch: cloudapi.MachineImageArchX64, LatestVersion: "v1", CreatedAt: created}
	version := &cloudapi.MachineImageVersion{ID: testVersionID, Version: "v1", State: cloudapi.MachineImageVersionStateReady, ActualSizeMiB: 40960, ArchiveSizeMiB: 5123, CreatedAt: created, Latest: true}
	runWireCases(t, "MachineImages", []wireCase{
		{
			method: "GET", target: projectPath + "/machine-image?order_column=name&page_size=1&start_after=a", reply: page,
			call: calls("MachineImages.List", &cloudapi.ListOptions{PageSize: 1, OrderColumn: cloudapi.OrderByName, StartAfter: "a"}),
			want: &cloudapi.Page[cloudapi.MachineImage]{Items: []*cloudapi.MachineImage{image}, Count: new(1), Next: "golden"},
		},
		{
			name: "all in a location", method: "GET", target: base + "?page_size=1000", reply: page,
			call: calls("MachineImages.All", &cloudapi.ListOptions{Location: location}),
			want: []*cloudapi.MachineImage{image},
		},
		{
			method: "GET", target: item, reply: testImageJSON,
			call: calls("MachineImages.Get", location, "golden"),
			want: image,
		},
		{
			name: "create", method: "POST", target: item, body: `{"vm":"` + stub.VMID + `"}`, reply: young,
			call: calls("MachineImages.Create", location, "golden", &cloudapi.MachineImageCreateRequest{VM: stub.VMID}),
			want: &cloudapi.MachineImage{ID: testImageID, Name: "golden", Location: location, Arch: cloudapi.MachineImageArchARM64, CreatedAt: created},
		},
		{
			name: "create with everything", method: "POST", target: item, body: `{"vm":"` + stub.VMID + `","version":"v1","destroy_source":true}`, reply: testImageJSON,
			call: calls("MachineImages.Create", location, "golden", &cloudapi.MachineImageCreateRequest{VM: stub.VMID, Version: "v1", DestroySource: true}),
			want: image,
		},
		{
			name: "update", method: "PATCH", target: item, body: `{"latest_version":"v1"}`, reply: testImageJSON,
			call: calls("MachineImages.Update", location, "golden", &cloudapi.MachineImageUpdateRequest{LatestVersion: "v1"}),
			want: image,
		},
		{
			name: "delete", method: "DELETE", target: item,
			call: calls("MachineImages.Delete", location, "golden"),
		},
		{
			name: "rename", byName: true, method: "POST", target: base + "/old/rename", body: `{"name":"golden"}`, reply: testImageJSON,
			call: calls("MachineImages.Rename", location, "old", "golden"),
			want: image,
		},
		{
			name: "rename by ID", method: "POST", target: base + "/" + testImageID + "/rename", body: `{"name":"golden"}`, reply: testImageJSON,
			call: calls("MachineImages.Rename", location, testImageID, "golden"),
			want: image,
		},
		{
			name: "list versions", method: "GET", target: item + "/version", reply: versions,
			call: calls("MachineImages.ListVersions", location, "golden", nil),
			want: &cloudapi.Page[cloudapi.MachineImageVersion]{Items: []*cloudapi.MachineImageVersion{version}, Count: new(1), Next: testVersionID},
		},
		{
			name: "all versions", method: "GET", target: item + "/version?page_size=1000", reply: versions,
			call: calls("MachineImages.AllVersions", location, "golden", nil),
			want: []*cloudapi.MachineImageVersion{version},
		},
		{
			name: "create a version", method: "POST", target: item + "/version/v1", body: `{"vm":"` + stub.VMID + `","destroy_source":true}`, reply: begun,
			call: calls("MachineImages.CreateVersion", location, "golden", "v1", &cloudapi.MachineImageVersionCreateRequest{VM: stub.VMID, DestroySource: true}),
			want: &cloudapi.MachineImageVersion{ID: testVersionID, Version: "v1", State: cloudapi.MachineImageVersionStateCreating, CreatedAt: created},
		},
		{
			name: "delete a version", method: "DELETE", target: item + "/version/v1",
			call: calls("MachineImages.DeleteVersion", location, "golden", "v1"),
		},
	})
}

func TestMachineImageWaits(t *testing.T) {
	t.Parallel()
	const location = "eu-central-h1"
	version := func(label, state string) string {
		return `{"id":"mv-` + label + `","version":"` + label + `","state":` + state + `}`
	}
	list := func(versions ...string) string {
		return fmt.Sprintf(`{"items":[%s],"count":%d}`, strings.Join(versions, ","), len(versions))
	}
	old := version("v1", `"ready"`)
	ready := func(label string) func(context.Context, *cloudapi.Client) (any, error) {
		return calls("MachineImages.WaitVersion", location, "golden", label)
	}
	gone := calls("MachineImages.WaitVersionDeleted", location, "golden", "v2")
	v2 := &cloudapi.MachineImageVersion{ID: "mv-v2", Version: "v2", State: cloudapi.MachineImageVersionStateReady}
	runWaitCases(t, locationPath+"/machine-image/golden/version?page_size=1000", []waitCase{
		{name: "ready", wait: ready("v2"), slow: true, want: v2, polls: []string{
			list(old, version("v2", `"creating"`)), list(old, version("v2", "null")), list(old, version("v2", `"ready"`)),
		}},
		{name: "an ID is no label", wait: ready("mv-v2"), slow: true, err: cloudapi.ErrWaitFailed, polls: []string{list(old, version("v2", `"ready"`))}},
		{name: "failed", wait: ready("v2"), slow: true, err: cloudapi.ErrWaitFailed, polls: []string{
			list(old, version("v2", `"creating"`)), list(old, version("v2", `"failed"`)),
		}},
		{name: "deleted before it is ready", wait: ready("v2"), slow: true, err: cloudapi.ErrWaitFailed, polls: []string{list(old, version("v2", `"destroying"`))}},
		{name: "no such version", wait: ready("v2"), slow: true, err: cloudapi.ErrWaitFailed, polls: []string{list(old)}},
		{name: "no such image", wait: ready("v2"), slow: true, err: cloudapi.ErrNotFound, polls: []string{stub.Envelope(404)}},
		{name: "deleted", wait: gone, slow: true, polls: []string{list(old, version("v2", `"destroying"`)), list(old)}},
		{name: "deleted with its image", wait: gone, slow: true, polls: []string{list(version("v2", `"destroying"`)), stub.Envelope(404)}},
	})
	for _, label := range []string{"", "v 2", testVersionID} {
		err := sdktest.SendingNothing(t).MachineImages.WaitVersionDeleted(t.Context(), location, "golden", label, nil)
		if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != "version" || e.Value != label {
			t.Errorf("the wait for %q: %v", label, err)
		}
	}
}
