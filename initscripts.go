package cloudapi

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
)

// VMInitScriptsService manages registered scripts for VMs. With the service,
// use [VMCreateRequest.InitScriptText]. ‡ Only the contract has these.
type VMInitScriptsService service

// VMInitScript is a script that runs when a VM starts for the first time.
type VMInitScript struct {
	ID     string `json:"id"`     // prefix 1n
	Name   string `json:"name"`   // unique in its project
	Script string `json:"script"` // its text; List and All don't return it
}

func (s *VMInitScript) Resource() Resource {
	return Resource{Kind: KindVMInitScript, ID: s.ID, Name: s.Name}
}

// VMInitScriptCreateRequest is the body of [VMInitScriptsService.Create].
type VMInitScriptCreateRequest struct {
	Script string `json:"script"` // its text, which /bin/sh runs as root, as [VMCreateRequest.InitScriptText]; required
}

func (r VMInitScriptCreateRequest) check() *ArgumentError { return checkScript("script", r.Script) }

// vmInitScriptBody is the body of a VMInitScriptCreateRequest.
type vmInitScriptBody struct {
	named
	VMInitScriptCreateRequest
}

// VMInitScriptUpdateRequest is the body of [VMInitScriptsService.Update], which
// keeps fields that aren't set. At least one field is required.
type VMInitScriptUpdateRequest struct {
	Name   string `json:"name,omitzero"`
	Script string `json:"script,omitzero"`
}

func (r VMInitScriptUpdateRequest) newName() string { return r.Name }

func (r VMInitScriptUpdateRequest) check() *ArgumentError {
	return cmp.Or(checkOptionalName(r.Name), checkScript("script", r.Script))
}

// checkScript refuses a script that /bin/sh would misunderstand: it would fail
// unnoticed, on a VM that is otherwise running.
func checkScript(name, script string) *ArgumentError {
	reason := ""
	switch {
	case strings.Contains(script, "\r"):
		reason = "has a carriage return: end its lines with \\n"
	case strings.HasPrefix(script, "\uFEFF"):
		reason = "has a byte order mark (U+FEFF) at its beginning"
	case strings.HasPrefix(strings.TrimSpace(script), "#cloud-config"):
		reason = "is for cloud-init, but /bin/sh runs it"
	default:
		return nil
	}
	return &ArgumentError{Name: name, Reason: reason}
}

const vmInitScriptRoute = projectRoute + "/vm-init-script/{vm_init_script_reference}"

var (
	opVMInitScriptsList   = Operation{"VMInitScripts.List", "GET", projectRoute + "/vm-init-script", idempotent | contractOnly}
	opVMInitScriptsCreate = Operation{"VMInitScripts.Create", "POST", projectRoute + "/vm-init-script", once | contractOnly}
	opVMInitScriptsGet    = Operation{"VMInitScripts.Get", "GET", vmInitScriptRoute, idempotent | contractOnly}
	opVMInitScriptsUpdate = Operation{"VMInitScripts.Update", "POST", vmInitScriptRoute, idempotent | contractOnly}
	opVMInitScriptsDelete = Operation{"VMInitScripts.Delete", "DELETE", vmInitScriptRoute, idempotent | contractOnly}

	listVMInitScripts  = listRoutes{project: &opVMInitScriptsList, unpaged: true}
	vmInitScriptFamily = family[VMInitScript]{lists: &listVMInitScripts, get: &opVMInitScriptsGet, del: &opVMInitScriptsDelete, pauses: &waitQuick}
)

// List returns all init scripts in one page, without their text.
func (s *VMInitScriptsService) List(ctx context.Context, opts *ListOptions) (*Page[VMInitScript], error) {
	return list[VMInitScript](ctx, s.conn, &listVMInitScripts, opts)
}

// All iterates over the init scripts, without their text.
func (s *VMInitScriptsService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*VMInitScript, error] {
	return all[VMInitScript](ctx, s.conn, &listVMInitScripts, opts)
}

// Watch yields the init scripts and then their changes, except of their text.
func (s *VMInitScriptsService) Watch(ctx context.Context, opts *WatchOptions, known ...*VMInitScript) iter.Seq2[Event[VMInitScript], error] {
	return vmInitScriptFamily.watch(ctx, s.conn, opts, known)
}

// Create registers an init script.
func (s *VMInitScriptsService) Create(ctx context.Context, name string, request *VMInitScriptCreateRequest) (*VMInitScript, error) {
	return send[VMInitScript](ctx, s.conn, &opVMInitScriptsCreate, vmInitScriptBody{named{name}, orZero(request)})
}

// Get returns an init script.
func (s *VMInitScriptsService) Get(ctx context.Context, script string) (*VMInitScript, error) {
	return perform[VMInitScript](ctx, s.conn, &opVMInitScriptsGet, script)
}

// Update changes an init script's name, text, or both. VMs don't rerun it.
func (s *VMInitScriptsService) Update(ctx context.Context, script string, request *VMInitScriptUpdateRequest) (*VMInitScript, error) {
	if request == nil || *request == (VMInitScriptUpdateRequest{}) {
		return nil, &ArgumentError{Operation: opVMInitScriptsUpdate.Name, Name: "request", Reason: "must set the name or the script"}
	}
	return send[VMInitScript](ctx, s.conn, &opVMInitScriptsUpdate, request, script)
}

// Ensure registers an init script unless one with the name exists. It compares
// and can update the script. A [*DriftError] has only the sizes of the texts.
func (s *VMInitScriptsService) Ensure(ctx context.Context, name string, request *VMInitScriptCreateRequest, opts *EnsureOptions) (script *VMInitScript, outcome EnsureOutcome, err error) {
	if request == nil {
		return nil, "", &ArgumentError{Operation: "VMInitScripts.Ensure", Name: "request", Reason: "must not be nil"}
	}
	return vmInitScriptFamily.ensure(ctx, s.conn, "", name, ensureSpec[VMInitScript]{
		request: request,
		create:  func(ctx context.Context) (*VMInitScript, error) { return s.Create(ctx, name, request) },
		compare: func(_ context.Context, script *VMInitScript) (comparison, error) {
			return compared(request.Compare(script)), nil
		},
		update: func(ctx context.Context, script *VMInitScript, _ drift) (*VMInitScript, error) {
			return s.Update(ctx, script.ID, &VMInitScriptUpdateRequest{Script: request.Script})
		},
	}, opts)
}

// Compare returns the difference between an init script and the request, which
// an update removes. It has only the sizes of the texts. Compare can't compare
// the script of an item of a list.
func (r *VMInitScriptCreateRequest) Compare(script *VMInitScript) (differences []Drift, uncompared []string) {
	if r == nil {
		return nil, nil
	}
	var c comparison
	c.skip("script", script.Script == "" && r.Script != "")
	if script.Script != "" && r.Script != "" && r.Script != script.Script {
		size := func(s string) string { return fmt.Sprintf("a script of %d bytes", len(s)) }
		c.drift = append(c.drift, Drift{Field: "script", Wanted: size(r.Script), Found: size(script.Script), Remedy: RemedyUpdate})
	}
	return c.result()
}

// Delete deletes an init script; VMs created with it aren't affected.
func (s *VMInitScriptsService) Delete(ctx context.Context, script string) error {
	return remove(ctx, s.conn, &opVMInitScriptsDelete, script)
}
