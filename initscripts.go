package cloudapi

import (
	"context"
	"fmt"
	"iter"
)

// VMInitScriptsService is in the contract only: no version of the service has
// its operations, and answers [ErrNotFound], which is also
// [ErrMaybeUnsupported]. It works with the init scripts that are registered in a
// project. A VM can be created with the name of one. A server of August 2026
// takes the script itself when a VM is created:
// [VMCreateRequest.InitScriptText].
//
// A reference is the ID (prefix 1n) or the name.
type VMInitScriptsService service

// VMInitScript is a script that runs at the first start of a VM.
type VMInitScript struct {
	ID   string `json:"id"`   // prefix 1n
	Name string `json:"name"` // unique in its project

	// Script is the text of the script. List and All do not return it.
	Script string `json:"script"`
}

func (s *VMInitScript) lacks() string               { return lacksID(s.ID) }
func (s *VMInitScript) cursor(column string) string { return idOrName(column, s.ID, s.Name) }
func (s *VMInitScript) identity() Resource {
	return Resource{Kind: KindVMInitScript, ID: s.ID, Name: s.Name}
}

// VMInitScriptCreateRequest is the body of [VMInitScriptsService.Create].
type VMInitScriptCreateRequest struct {
	// Name is 1 to 63 lower-case letters, digits and hyphens, with no hyphen at
	// either end. Required.
	Name string `json:"name"`

	// Script is the text of the script. Required.
	Script string `json:"script"`
}

func (r *VMInitScriptCreateRequest) newName() string {
	if r == nil {
		return ""
	}
	return r.Name
}

// VMInitScriptUpdateRequest is the body of [VMInitScriptsService.Update]. An
// empty field stays unchanged; at least one must be set.
type VMInitScriptUpdateRequest struct {
	Name   string `json:"name,omitzero"`
	Script string `json:"script,omitzero"`
}

func (r *VMInitScriptUpdateRequest) newName() string {
	if r == nil {
		return ""
	}
	return r.Name
}

const vmInitScriptRoute = projectRoute + "/vm-init-script/{vm_init_script_reference}"

var (
	opVMInitScriptsList   = Operation{"VMInitScripts.List", "GET", projectRoute + "/vm-init-script", idempotent | contractOnly}
	opVMInitScriptsCreate = Operation{"VMInitScripts.Create", "POST", projectRoute + "/vm-init-script", once | contractOnly}
	opVMInitScriptsGet    = Operation{"VMInitScripts.Get", "GET", vmInitScriptRoute, idempotent | contractOnly}
	opVMInitScriptsUpdate = Operation{"VMInitScripts.Update", "POST", vmInitScriptRoute, idempotent | contractOnly}
	opVMInitScriptsDelete = Operation{"VMInitScripts.Delete", "DELETE", vmInitScriptRoute, idempotent | contractOnly}

	listVMInitScripts  = listRoutes{project: &opVMInitScriptsList, unpaged: true}
	vmInitScriptFamily = family[VMInitScript, *VMInitScript]{lists: &listVMInitScripts, get: &opVMInitScriptsGet, del: &opVMInitScriptsDelete, pauses: waitQuick}
)

// List is in the contract only: no version of the service has it. It returns
// the project's init scripts, without their text, all at once and without a
// count.
func (s *VMInitScriptsService) List(ctx context.Context, opts *ListOptions) (*Page[VMInitScript], error) {
	return list[VMInitScript](ctx, s.conn, &listVMInitScripts, opts)
}

// All is in the contract only: no version of the service has it. It returns the
// project's init scripts, without their text.
func (s *VMInitScriptsService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*VMInitScript, error] {
	return all[VMInitScript](ctx, s.conn, &listVMInitScripts, opts)
}

// Watch yields the project's init scripts, and then their changes, until the
// context ends. Records lack the text, so a changed text is not an event.
func (s *VMInitScriptsService) Watch(ctx context.Context, opts *WatchOptions) iter.Seq2[Event[VMInitScript], error] {
	return vmInitScriptFamily.watch(ctx, s.conn, opts)
}

// Create is in the contract only: no version of the service has it. It
// registers an init script, at once. If the name is taken the error is
// [ErrAlreadyExists]. If the response is lost it is [ErrOutcomeUnknown]: look
// the name up with Get.
func (s *VMInitScriptsService) Create(ctx context.Context, request *VMInitScriptCreateRequest) (*VMInitScript, error) {
	return send[VMInitScript](ctx, s.conn, &opVMInitScriptsCreate, request)
}

// Get is in the contract only: no version of the service has it. It returns an
// init script, or [ErrNotFound] if it does not exist.
func (s *VMInitScriptsService) Get(ctx context.Context, script string) (*VMInitScript, error) {
	return fetch[VMInitScript](ctx, s.conn, &opVMInitScriptsGet, script)
}

// Update is in the contract only: no version of the service has it. It changes
// the name or the text or both, at once. VMs that were created with the script
// do not run it again. If the name is taken the error is [ErrAlreadyExists]. A
// request that sets nothing is an [*ArgumentError]. To change the name, pass
// the ID: only then is the call idempotent.
func (s *VMInitScriptsService) Update(ctx context.Context, script string, request *VMInitScriptUpdateRequest) (*VMInitScript, error) {
	if request == nil || *request == (VMInitScriptUpdateRequest{}) {
		return nil, &ArgumentError{Operation: opVMInitScriptsUpdate.Name, Name: "request", Reason: "must set the name or the script"}
	}
	return send[VMInitScript](ctx, s.conn, &opVMInitScriptsUpdate, request, script)
}

// Ensure registers a script unless there is one of that name; see
// [EnsureOptions]. The name must not be an ID. Ensure compares the script, and
// Update changes it. A [*DriftError] has the sizes in place of the texts, which
// may contain secrets.
func (s *VMInitScriptsService) Ensure(ctx context.Context, request *VMInitScriptCreateRequest, opts *EnsureOptions) (script *VMInitScript, outcome EnsureOutcome, err error) {
	return s.ensurer(request).ensure(ctx, "VMInitScripts.Ensure", opts)
}

// ensurer returns what Ensure needs to know about init scripts.
func (s *VMInitScriptsService) ensurer(request *VMInitScriptCreateRequest) ensureSpec[VMInitScript] {
	if request == nil {
		return ensureSpec[VMInitScript]{invalid: &ArgumentError{Name: "request", Reason: "must not be nil"}}
	}
	return ensureSpec[VMInitScript]{
		location: "",
		name:     request.Name,
		pauses:   vmInitScriptFamily.pauses,
		find:     func(ctx context.Context) (*VMInitScript, error) { return s.Get(ctx, request.Name) },
		create:   func(ctx context.Context) (*VMInitScript, error) { return s.Create(ctx, request) },
		compare: func(_ context.Context, script *VMInitScript) (d drift, err error) {
			if request.Script != "" && request.Script != script.Script {
				size := func(s string) string { return fmt.Sprintf("a script of %d bytes", len(s)) }
				d = drift{{Field: "script", Wanted: size(request.Script), Found: size(script.Script), Updatable: true}}
			}
			return d, nil
		},
		update: func(ctx context.Context, script *VMInitScript, _ drift) (*VMInitScript, error) {
			return s.Update(ctx, script.ID, &VMInitScriptUpdateRequest{Script: request.Script})
		},
	}
}

// Delete is in the contract only: no version of the service has it. It deletes
// an init script, at once; VMs that were created with it are not affected.
// Deleting one that does not exist is not an error. Pass the ID: a delete is
// retried after a lost response, and by name it could delete another script
// that has taken the name meanwhile.
func (s *VMInitScriptsService) Delete(ctx context.Context, script string) error {
	return remove(ctx, s.conn, &opVMInitScriptsDelete, script)
}
