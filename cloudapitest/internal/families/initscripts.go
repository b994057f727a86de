package families

import (
	"net/http"
	"slices"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

// Init scripts are in the contract only: what it does not say is as it is for
// SSH keys.
func vmInitScriptOperations() []api.Operation {
	const (
		scripts = api.ProjectRoute + "/vm-init-script"
		script  = scripts + "/{vm_init_script_reference}"
	)
	create := schema.Closed(schema.Required("name", schema.Text), schema.Required("script", schema.Text)).Named("VmInitScriptCreate")
	update := schema.AnyOf(
		schema.Closed(schema.Required("name", schema.Text), schema.Optional("script", schema.Text)),
		schema.Closed(schema.Required("script", schema.Text)),
	).Named("VmInitScriptUpdate")
	return []api.Operation{
		{Name: "VMInitScripts.List", Method: http.MethodGet, Route: scripts, List: api.Unpaged, Guarded: true, Permission: "Project:edit", Handle: listVMInitScripts},
		{Name: "VMInitScripts.Create", Method: http.MethodPost, Route: scripts, Body: create, Guarded: true, Permission: "Project:edit", Handle: createVMInitScript},
		{Name: "VMInitScripts.Get", Method: http.MethodGet, Route: script, Guarded: true, Permission: "Project:edit", Handle: getVMInitScript},
		{Name: "VMInitScripts.Update", Method: http.MethodPost, Route: script, Body: update, Guarded: true, Permission: "Project:edit", Handle: updateVMInitScript},
		{Name: "VMInitScripts.Delete", Method: http.MethodDelete, Route: script, Guarded: true, Permission: "Project:edit", Handle: deleteVMInitScript},
	}
}

type vmInitScript struct {
	api.Object
	script string
}

// vmInitScriptRecord is without the script in lists.
type vmInitScriptRecord struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Script string `json:"script,omitempty"`
}

func (s *vmInitScript) record() vmInitScriptRecord {
	return vmInitScriptRecord{s.ID, s.Name, s.script}
}

func findVMInitScript(c *api.Call) (*vmInitScript, error) {
	return api.Find[*vmInitScript](c, cloudapi.KindVMInitScript, "vm_init_script_reference")
}

func listVMInitScripts(c *api.Call) (any, error) {
	scripts := api.As[*vmInitScript](api.Listed(cloudapi.KindVMInitScript)(c))
	slices.SortFunc(scripts, api.ByName)
	return api.Items[vmInitScriptRecord]{Items: api.Records(scripts, func(s *vmInitScript) vmInitScriptRecord {
		return vmInitScriptRecord{ID: s.ID, Name: s.Name}
	})}, nil
}

func createVMInitScript(c *api.Call) (any, error) {
	s := &vmInitScript{c.NewObject(cloudapi.KindVMInitScript, c.Body.Text("name")), c.Body.Text("script")}
	if err := s.validate(c, nil); err != nil {
		return nil, err
	}
	c.State.Add(s)
	return s.record(), nil
}

func getVMInitScript(c *api.Call) (any, error) {
	s, err := findVMInitScript(c)
	if err != nil {
		return nil, err
	}
	return s.record(), nil
}

// updateVMInitScript leaves unchanged what is blank.
func updateVMInitScript(c *api.Call) (any, error) {
	s, err := findVMInitScript(c)
	if err != nil {
		return nil, err
	}
	changed := *s
	changed.Name = c.Choice("name", s.Name)
	changed.script = c.Choice("script", s.script)
	if err := changed.validate(c, s); err != nil {
		return nil, err
	}
	c.State.Index.Rename(s, changed.Name)
	*s = changed
	return s.record(), nil
}

func deleteVMInitScript(c *api.Call) (any, error) {
	s, err := findVMInitScript(c)
	if err != nil {
		return reply.DeletedOr(err)
	}
	c.Remove(s, 0, nil)
	return reply.NoContent{}, nil
}

// validate reports all that is wrong with a script in one message. Before is the
// script as it is stored, or nil.
func (s *vmInitScript) validate(c *api.Call, before api.Stored) error {
	return reply.InvalidRecord(api.TextProblems(c, cloudapi.KindVMInitScript, s.Name, before, "script", s.script, "")...)
}
