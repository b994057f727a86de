package cloudapitest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

// Init scripts are in the contract only: what it does not say is as it is for
// SSH keys.
func vmInitScriptOperations() []operation {
	const (
		scripts = projectRoute + "/vm-init-script"
		script  = scripts + "/{vm_init_script_reference}"
	)
	create := closed(required("name", text), required("script", text)).named("VmInitScriptCreate")
	update := anyOf(
		closed(required("name", text), optional("script", text)),
		closed(required("script", text)),
	).named("VmInitScriptUpdate")
	return []operation{
		{name: "VMInitScripts.List", method: http.MethodGet, route: scripts, list: unpaged, guarded: true, handle: listVMInitScripts},
		{name: "VMInitScripts.Create", method: http.MethodPost, route: scripts, body: create, guarded: true, handle: createVMInitScript},
		{name: "VMInitScripts.Get", method: http.MethodGet, route: script, guarded: true, handle: getVMInitScript},
		{name: "VMInitScripts.Update", method: http.MethodPost, route: script, body: update, guarded: true, handle: updateVMInitScript},
		{name: "VMInitScripts.Delete", method: http.MethodDelete, route: script, guarded: true, handle: deleteVMInitScript},
	}
}

type vmInitScript struct {
	object
	script string
}

// vmInitScriptRecord is without the script in lists.
type vmInitScriptRecord struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Script string `json:"script,omitempty"`
}

func recordVMInitScript(s *vmInitScript) vmInitScriptRecord {
	return vmInitScriptRecord{s.id, s.name, s.script}
}

func findVMInitScript(c *call) (*vmInitScript, error) {
	return find[*vmInitScript](c, cloudapi.KindVMInitScript, "vm_init_script_reference")
}

func listVMInitScripts(c *call) (any, error) {
	scripts := as[*vmInitScript](listed(c, cloudapi.KindVMInitScript))
	slices.SortFunc(scripts, byName)
	return items[vmInitScriptRecord]{records(scripts, func(s *vmInitScript) vmInitScriptRecord {
		return vmInitScriptRecord{ID: s.id, Name: s.name}
	})}, nil
}

func createVMInitScript(c *call) (any, error) {
	s := &vmInitScript{c.newObject(cloudapi.KindVMInitScript, c.body.text("name")), c.body.text("script")}
	if err := s.validate(c, nil); err != nil {
		return nil, err
	}
	c.state.add(s)
	return recordVMInitScript(s), nil
}

func getVMInitScript(c *call) (any, error) {
	s, err := findVMInitScript(c)
	if err != nil {
		return nil, err
	}
	return recordVMInitScript(s), nil
}

// updateVMInitScript leaves unchanged what is blank.
func updateVMInitScript(c *call) (any, error) {
	s, err := findVMInitScript(c)
	if err != nil {
		return nil, err
	}
	changed := *s
	changed.name = c.choice("name", s.name)
	changed.script = c.choice("script", s.script)
	if err := changed.validate(c, s); err != nil {
		return nil, err
	}
	c.state.index.rename(s, changed.name)
	*s = changed
	return recordVMInitScript(s), nil
}

func deleteVMInitScript(c *call) (any, error) {
	s, err := findVMInitScript(c)
	if err != nil {
		return deletedOr(err)
	}
	c.remove(s, 0, nil)
	return noContent{}, nil
}

// validate reports all that is wrong with a script in one message. Before is the
// script as it is stored, or nil.
func (s *vmInitScript) validate(c *call, before *vmInitScript) error {
	problems := nameProblems(cloudapi.KindVMInitScript, s.name)
	if strings.TrimSpace(s.script) == "" {
		problems = append(problems, "script is not present")
	}
	if len(problems) > 0 {
		return invalidRequest("%s", strings.Join(problems, ", "))
	}
	if o, ok := findByName[*vmInitScript](c, cloudapi.KindVMInitScript, s.name); ok && o != before {
		return alreadyTaken("project_id and name")
	}
	return nil
}
