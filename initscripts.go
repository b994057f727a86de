package cloudapi

import (
	"context"
	"fmt"
	"iter"
)

// VMInitScriptsService is in the contract only: no version of the service has
// its operations. They return [ErrNotFound], which also matches
// [ErrMaybeUnsupported]. With the August 2026 API, use
// [VMCreateRequest.InitScriptText] instead.
//
// It manages the init scripts that are registered in a project. A VM can be
// created with the name of one. A script is referred to by its ID (prefix 1n)
// or its name.
type VMInitScriptsService service

// VMInitScript is a script that runs when a VM starts for the first time.
type VMInitScript struct {
	ID   string `json:"id"`   // prefix 1n
	Name string `json:"name"` // unique in its project

	// Script is the text of the script. List and All don't return it.
	Script string `json:"script"`
}

func (s *VMInitScript) lacks() string               { return lacksID(s.ID) }
func (s *VMInitScript) cursor(column string) string { return idOrName(column, s.ID, s.Name) }
func (s *VMInitScript) identity() Resource {
	return Resource{Kind: KindVMInitScript, ID: s.ID, Name: s.Name}
}

// VMInitScriptCreateRequest is the body of [VMInitScriptsService.Create].
type VMInitScriptCreateRequest struct {
	// Name is 1 to 63 lower-case letters, digits and hyphens. It can't start or
	// end with a hyphen. Required.
	Name string `json:"name"`

	// Script is the text of the script. Required.
	Script string `json:"script"`
}

func (r VMInitScriptCreateRequest) newName() string { return r.Name }

// VMInitScriptUpdateRequest is the body of [VMInitScriptsService.Update]. Empty
// fields keep their value; at least one must be set.
type VMInitScriptUpdateRequest struct {
	Name   string `json:"name,omitzero"`
	Script string `json:"script,omitzero"`
}

func (r VMInitScriptUpdateRequest) newName() string { return r.Name }

const vmInitScriptRoute = projectRoute + "/vm-init-script/{vm_init_script_reference}"

var (
	opVMInitScriptsList   = Operation{"VMInitScripts.List", "GET", projectRoute + "/vm-init-script", idempotent | contractOnly}
	opVMInitScriptsCreate = Operation{"VMInitScripts.Create", "POST", projectRoute + "/vm-init-script", once | contractOnly}
	opVMInitScriptsGet    = Operation{"VMInitScripts.Get", "GET", vmInitScriptRoute, idempotent | contractOnly}
	opVMInitScriptsUpdate = Operation{"VMInitScripts.Update", "POST", vmInitScriptRoute, idempotent | contractOnly}
	opVMInitScriptsDelete = Operation{"VMInitScripts.Delete", "DELETE", vmInitScriptRoute, idempotent | contractOnly}

	listVMInitScripts  = listRoutes{project: &opVMInitScriptsList, unpaged: true}
	vmInitScriptFamily = family[VMInitScript, *VMInitScript]{lists: &listVMInitScripts, get: &opVMInitScriptsGet, del: &opVMInitScriptsDelete, pauses: &waitQuick}
)

// List is in the contract only: no version of the service has it. It returns
// the project's init scripts in one page, without their text and without a
// count.
func (s *VMInitScriptsService) List(ctx context.Context, opts *ListOptions) (*Page[VMInitScript], error) {
	return list[VMInitScript](ctx, s.conn, &listVMInitScripts, opts)
}

// All is in the contract only: no version of the service has it. It returns an
// iterator over the project's init scripts, without their text.
func (s *VMInitScriptsService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*VMInitScript, error] {
	return all[VMInitScript](ctx, s.conn, &listVMInitScripts, opts)
}

// Watch yields the project's init scripts, and then their changes, until the
// context ends. Records lack the text, so a change of it isn't an event.
func (s *VMInitScriptsService) Watch(ctx context.Context, opts *WatchOptions, known ...*VMInitScript) iter.Seq2[Event[VMInitScript], error] {
	return vmInitScriptFamily.watch(ctx, s.conn, opts, known)
}

// Create is in the contract only: no version of the service has it. It
// registers an init script. It returns [ErrAlreadyExists] if the name is taken.
// It returns [ErrOutcomeUnknown] if the response is lost; see [Confirm].
func (s *VMInitScriptsService) Create(ctx context.Context, request *VMInitScriptCreateRequest) (*VMInitScript, error) {
	return send[VMInitScript](ctx, s.conn, &opVMInitScriptsCreate, request)
}

// Get is in the contract only: no version of the service has it. It returns an
// init script. It returns [ErrNotFound] if the script doesn't exist.
func (s *VMInitScriptsService) Get(ctx context.Context, script string) (*VMInitScript, error) {
	return fetch[VMInitScript](ctx, s.conn, &opVMInitScriptsGet, script)
}

// Update is in the contract only: no version of the service has it. It changes
// the name of an init script, its text, or both. VMs created with the script
// don't run it again. It returns [ErrAlreadyExists] if the name is taken, and
// an [*ArgumentError] if the request sets nothing. A change of the name is
// idempotent only if script is an ID.
func (s *VMInitScriptsService) Update(ctx context.Context, script string, request *VMInitScriptUpdateRequest) (*VMInitScript, error) {
	if request == nil || *request == (VMInitScriptUpdateRequest{}) {
		return nil, &ArgumentError{Operation: opVMInitScriptsUpdate.Name, Name: "request", Reason: "must set the name or the script"}
	}
	return send[VMInitScript](ctx, s.conn, &opVMInitScriptsUpdate, request, script)
}

// Ensure registers an init script unless one with the name exists; see
// [EnsureOptions]. The name must not be an ID. Ensure compares the script, and
// can update it. A [*DriftError] has the sizes in place of the texts, which may
// contain secrets.
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
// an init script; VMs created with it aren't affected. It succeeds if the
// script doesn't exist. Pass the ID: a retry by name could delete another
// script that has taken the name.
func (s *VMInitScriptsService) Delete(ctx context.Context, script string) error {
	return remove(ctx, s.conn, &opVMInitScriptsDelete, script)
}
