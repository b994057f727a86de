package wire_test

import (
	"errors"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
)

func TestVMInitScriptsWire(t *testing.T) {
	t.Parallel()
	const (
		base  = projectPath + "/vm-init-script"
		id    = "1ny350r73gma5hpsted9dg8xrf"
		full  = `{"id":"` + id + `","name":"bootstrap","script":"#!/bin/sh\napt-get update\n"}`
		short = `{"id":"` + id + `","name":"bootstrap"}`
	)
	record := &cloudapi.VMInitScript{ID: id, Name: "bootstrap", Script: "#!/bin/sh\napt-get update\n"}
	item := &cloudapi.VMInitScript{ID: id, Name: "bootstrap"}
	runWireCases(t, "VMInitScripts", []wireCase{
		{
			method: "GET", target: base, reply: `{"items":[` + short + `]}`,
			call: calls("VMInitScripts.List", nil),
			want: &cloudapi.Page[cloudapi.VMInitScript]{Items: []*cloudapi.VMInitScript{item}},
		},
		{
			name: "all", method: "GET", target: base, reply: `{"items":[` + short + `]}`,
			call: calls("VMInitScripts.All", nil),
			want: []*cloudapi.VMInitScript{item},
		},
		{
			name: "create", method: "POST", target: base, reply: full,
			body: `{"name":"bootstrap","script":"#!/bin/sh\napt-get update\n"}`,
			call: calls("VMInitScripts.Create", &cloudapi.VMInitScriptCreateRequest{Name: "bootstrap", Script: "#!/bin/sh\napt-get update\n"}),
			want: record,
		},
		{
			method: "GET", target: base + "/bootstrap", reply: full,
			call: calls("VMInitScripts.Get", "bootstrap"),
			want: record,
		},
		{
			name: "update the name", method: "POST", target: base + "/" + id, body: `{"name":"bootstrap"}`, reply: full,
			call: calls("VMInitScripts.Update", id, &cloudapi.VMInitScriptUpdateRequest{Name: "bootstrap"}),
			want: record,
		},
		{
			name: "update the name by the name", byName: true, method: "POST", target: base + "/startup", body: `{"name":"bootstrap"}`, reply: full,
			call: calls("VMInitScripts.Update", "startup", &cloudapi.VMInitScriptUpdateRequest{Name: "bootstrap"}),
			want: record,
		},
		{
			name: "update the script", method: "POST", target: base + "/bootstrap", body: `{"script":"true"}`, reply: full,
			call: calls("VMInitScripts.Update", "bootstrap", &cloudapi.VMInitScriptUpdateRequest{Script: "true"}),
			want: record,
		},
		{
			method: "DELETE", target: base + "/bootstrap",
			call: calls("VMInitScripts.Delete", "bootstrap"),
		},
	})
}

// A server may keep the old name if the new one is blank, and respond as to a
// change.
func TestEmptyVMInitScriptUpdate(t *testing.T) {
	t.Parallel()
	client := sdktest.SendingNothing(t)
	for _, request := range []*cloudapi.VMInitScriptUpdateRequest{nil, {}, {Name: " \t"}} {
		_, err := client.VMInitScripts.Update(t.Context(), "bootstrap", request)
		if !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("Update with %+v: %v", request, err)
		}
	}
}
