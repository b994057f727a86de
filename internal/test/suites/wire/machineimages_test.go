package wire_test

import (
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func machineImageCases() []wireCase {
	const (
		base     = locationPath + "/machine-image"
		golden   = base + "/golden"
		versions = golden + "/version"
		id       = "m14f5v56byre4n6hhfmcm0thd1"
		image    = `{"id":"` + id + `","name":"golden","location":"eu-central-h1","arch":"x64","latest_version":"v1","created_at":"2026-11-22T03:07:36Z"}`
		young    = `{"id":"` + id + `","name":"golden","location":"eu-central-h1","arch":"arm64","latest_version":null,"created_at":"2026-11-22T03:07:36Z"}`
		v        = `{"id":"mv3jb6qjryhy2gznk3ksvganvv","version":"v1","created_at":"2026-11-22T03:07:36Z",`
		version  = v + `"state":"ready","actual_size_mib":40960,"archive_size_mib":5123,"latest":true}`
		begun    = v + `"state":"creating","actual_size_mib":null,"archive_size_mib":null,"latest":false}`
		ofVM     = ` {"vm":"` + stub.VMID + `"`
	)
	return []wireCase{
		{do("MachineImages.List", &cloudapi.ListOptions{PageSize: 1, OrderColumn: cloudapi.OrderByName, StartAfter: "a"}),
			"GET " + projectPath + "/machine-image?order_column=name&page_size=1&start_after=a", list(image)},
		{do("MachineImages.All", &cloudapi.ListOptions{Location: location}), "GET " + base + "?page_size=1000", list(image)},
		{do("MachineImages.Get", location, "golden"), "GET " + golden, image},
		{do("MachineImages.Create", location, "golden", &cloudapi.MachineImageCreateRequest{VMID: stub.VMID}), "POST " + golden + ofVM + `}`, young},
		{do("MachineImages.Create", location, "golden", &cloudapi.MachineImageCreateRequest{VMID: stub.VMID, Version: "v1", DestroySource: true}),
			"POST " + golden + ofVM + `,"version":"v1","destroy_source":true}`, image},
		{do("MachineImages.Update", location, "golden", &cloudapi.MachineImageUpdateRequest{LatestVersion: "v1"}),
			"PATCH " + golden + ` {"latest_version":"v1"}`, image},
		{do("MachineImages.Delete", location, "golden"), "DELETE " + golden, nil},
		{do("MachineImages.Rename", location, "old", "golden"), "POST " + base + `/old/rename {"name":"golden"}`, image},
		{do("MachineImages.Rename", location, id, "golden"), "POST " + base + "/" + id + `/rename {"name":"golden"}`, image},
		{do("MachineImages.ListVersions", location, "golden", nil), "GET " + versions, list(version)},
		{do("MachineImages.AllVersions", location, "golden", nil), "GET " + versions + "?page_size=1000", list(version)},
		{do("MachineImages.CreateVersion", location, "golden", "v1", &cloudapi.MachineImageVersionCreateRequest{VMID: stub.VMID, DestroySource: true}),
			"POST " + versions + "/v1" + ofVM + `,"destroy_source":true}`, begun},
		{do("MachineImages.DeleteVersion", location, "golden", "v1"), "DELETE " + versions + "/v1", nil},
	}
}

func TestMachineImageWaits(t *testing.T) {
	t.Parallel()
	version := func(label, state string) string {
		return `{"id":"mv-` + label + `","version":"` + label + `","state":` + state + `}`
	}
	old, begun, ready, going := version("v1", `"ready"`), version("v2", `"creating"`), version("v2", `"ready"`), version("v2", `"destroying"`)
	waitReady := func(label string) sdktest.Call { return do("MachineImages.WaitVersion", location, "golden", label) }
	gone := do("MachineImages.WaitVersionDeleted", location, "golden", "v2")
	runWaits(t, slow, locationPath+"/machine-image/golden/version?page_size=1000", []waitCase{
		{"ready", waitReady("v2"), polls{list(old, begun), list(old, version("v2", "null")), list(old, ready)}, nil, ready},
		{"an ID is no label", waitReady("mv-v2"), polls{list(old, ready)}, cloudapi.ErrWaitFailed, ""},
		{"failed", waitReady("v2"), polls{list(old, begun), list(old, version("v2", `"failed"`))}, cloudapi.ErrWaitFailed, ""},
		{"deleted before it is ready", waitReady("v2"), polls{list(old, going)}, cloudapi.ErrWaitFailed, ""},
		{"no such version", waitReady("v2"), polls{list(old)}, cloudapi.ErrWaitFailed, ""},
		{"no such image", waitReady("v2"), polls{stub.Envelope(404)}, cloudapi.ErrNotFound, ""},
		{"deleted", gone, polls{list(old, going), list(old)}, nil, ""},
		{"deleted and created again", gone, polls{list(old, going), list(old, strings.Replace(begun, "mv-v2", "mv-other", 1))}, nil, ""},
		{"deleted with its image", gone, polls{list(going), stub.Envelope(404)}, nil, ""},
	})
}
