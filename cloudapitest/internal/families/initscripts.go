package families

import (
	"slices"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// Init scripts are only in the contract. They behave like SSH keys where the
// contract doesn't say more.
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
	return api.AllOnly(version.Contract,
		api.GET("VMInitScripts.List", scripts, listVMInitScripts).Paged(api.Unpaged).Needs("Project:edit").Guarded(),
		api.POST("VMInitScripts.Create", scripts, create, createVMInitScript).Needs("Project:edit").Guarded(),
		api.GET("VMInitScripts.Get", script, api.Show(findVMInitScript, (*vmInitScript).record)).Needs("Project:edit").Guarded(),
		api.POST("VMInitScripts.Update", script, update, api.On(findVMInitScript, (*vmInitScript).update)).Needs("Project:edit").Guarded(),
		api.DELETE("VMInitScripts.Delete", script, api.Delete(findVMInitScript, (*vmInitScript).delete)).Needs("Project:edit").Guarded(),
	)
}

type vmInitScript struct {
	api.Object
	script string
}

// vmInitScriptRecord has no script in lists.
type vmInitScriptRecord struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Script string `json:"script,omitempty"`
}

func (s *vmInitScript) record(*api.Moment) vmInitScriptRecord {
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
	return s.record(c.Moment), nil
}

// update changes the fields that aren't blank.
func (s *vmInitScript) update(c *api.Call) (any, error) {
	changed := *s
	changed.Name = c.Choice("name", s.Name)
	changed.script = c.Choice("script", s.script)
	if err := changed.validate(c, s); err != nil {
		return nil, err
	}
	c.State.Index.Rename(s, changed.Name)
	*s = changed
	return s.record(c.Moment), nil
}

func (s *vmInitScript) delete(c *api.Call) error {
	c.Remove(s, 0, nil)
	return nil
}

// validate reports all problems of a script in one message. before is the
// stored script, or nil.
func (s *vmInitScript) validate(c *api.Call, before api.Stored) error {
	return reply.InvalidRecord(api.TextProblems(c, cloudapi.KindVMInitScript, s.Name, before, "script", s.script, "")...)
}
