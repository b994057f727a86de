package families_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func createScript(t *testing.T, client *cloudapi.Client, name, script string) *cloudapi.VMInitScript {
	t.Helper()
	return must(client.VMInitScripts.Create(t.Context(), &cloudapi.VMInitScriptCreateRequest{Name: name, Script: script}))
}

func TestVMInitScripts(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t).Client()
	ctx, scripts := t.Context(), client.VMInitScripts
	b, a := createScript(t, client, "b", "echo b"), createScript(t, client, "a", "echo a")
	if want := (cloudapi.VMInitScript{ID: b.ID, Name: "b", Script: "echo b"}); *b != want || !cloudapi.IsID(b.ID, cloudapi.KindVMInitScript) {
		t.Errorf("created as %+v, want %+v", b, want)
	}

	listed := must(scripts.List(ctx, nil))
	want := []*cloudapi.VMInitScript{{ID: a.ID, Name: "a"}, {ID: b.ID, Name: "b"}}
	if !reflect.DeepEqual(listed.Items, want) {
		t.Errorf("listed as %v, want %v", listed.Items, want)
	}

	for _, step := range []struct {
		change       cloudapi.VMInitScriptUpdateRequest
		name, script string
	}{
		{cloudapi.VMInitScriptUpdateRequest{Script: "echo c"}, "b", "echo c"},
		{cloudapi.VMInitScriptUpdateRequest{Name: "c"}, "c", "echo c"},
		{cloudapi.VMInitScriptUpdateRequest{Name: "d", Script: "echo d"}, "d", "echo d"},
		{cloudapi.VMInitScriptUpdateRequest{Name: "d", Script: " "}, "d", "echo d"},
	} {
		want := cloudapi.VMInitScript{ID: b.ID, Name: step.name, Script: step.script}
		updated := must(scripts.Update(ctx, b.ID, &step.change))
		if got := must(scripts.Get(ctx, step.name)); *updated != want || *got != want {
			t.Errorf("%+v: updated to %+v, which reads %+v, want %+v", step.change, updated, got, want)
		}
	}

	must(client.VMs.Create(ctx, here, "web", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", InitScript: "d"}))
	for range 2 {
		if err := scripts.Delete(ctx, "d"); err != nil {
			t.Errorf("deleting: %v", err)
		}
	}
	if _, err := scripts.Get(ctx, b.ID); !errors.Is(err, cloudapi.ErrNotFound) {
		t.Errorf("%v, want %v", err, cloudapi.ErrNotFound)
	}
	_, err := client.VMs.Create(ctx, here, "web-2", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", InitScript: "d"})
	refused(t, err, `VM init script "d" is not found`)
}

func TestRefusedVMInitScripts(t *testing.T) {
	t.Parallel()
	powerless := "pat-another"
	srv := cloudapitest.New(t, cloudapitest.WithTokenAccess(powerless, cloudapitest.AccessNone))
	client := srv.Client()
	createScript(t, client, "a", "echo")
	createScript(t, client, "taken", "echo")
	all := "/project/" + srv.ProjectID() + "/vm-init-script"
	for _, tt := range []struct{ path, body, want string }{
		{"", `{"name":"taken","script":"x"}`, "project_id and name is already taken"},
		{"/a", `{"name":"taken"}`, "project_id and name is already taken"},
		{"", `{"name":"No","script":""}`, "script is not present, name must only contain lowercase letters, numbers, and hyphens and have max length 63."},
		{"", `{"name":"","script":"x"}`, "name is not present"},
		{"", `{"name":"1n164pbm96ba3grq6vbsvjb3ax","script":"x"}`, "name cannot be exactly 26"},
		{"", `{"name":"b"}`, "Request body must include required parameters: script"},
		{"/a", `{}`, "{} isn't any of in #/components/schemas/VmInitScriptUpdate"},
	} {
		if status, body := stub.Do(t, srv, "POST", all+tt.path, tt.body); status != 400 || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %s, want %s", tt.body, status, body, tt.want)
		}
	}

	_, listErr := srv.Client(cloudapi.WithToken(powerless)).VMInitScripts.List(t.Context(), nil)
	_, getErr := srv.Client(cloudapi.WithToken(powerless)).VMInitScripts.Get(t.Context(), "nope")
	for _, err := range []error{listErr, getErr} {
		if !errors.Is(err, cloudapi.ErrForbidden) {
			t.Errorf("without permission: %v, want %v", err, cloudapi.ErrForbidden)
		}
	}
}
