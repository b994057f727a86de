package cloudapi

import (
	"cmp"
	"context"
	"iter"

	"github.com/cloudapi-sdk/cloudapi/internal/syntax"
)

// VMsService manages virtual machines. A VM is referred to by its ID (prefix
// vm) or its name.
type VMsService service

// VM is a virtual machine.
type VM struct {
	ID       string `json:"id"`        // prefix vm
	Name     string `json:"name"`      // unique in its project and location
	State    string `json:"state"`     // one of the VMState constants, or another
	Location string `json:"location"`  // such as "eu-central-h1"
	Size     string `json:"size"`      // such as "standard-2": the family and the number of vCPUs
	UnixUser string `json:"unix_user"` // the user who can log in with the public key

	// BootImage is the image the VM was created with, such as "ubuntu-noble" or
	// "golden@latest". Servers with the October 2025 API don't send it.
	BootImage string `json:"boot_image,omitzero"`

	StorageSizeGiB int    `json:"storage_size_gib"` // of all volumes; 0 until the VM is placed on a host
	IP6            string `json:"ip6"`              // public address; "" until the VM is placed on a host
	IP4Enabled     bool   `json:"ip4_enabled"`      // whether it has a public IPv4 address
	IP4            string `json:"ip4"`              // public address; "" if it has none, or none yet

	// Only Get, Create, Start, Stop and Restart return the fields below.
	Firewalls   []Firewall `json:"firewalls"`    // of its subnet, each with its Path
	PrivateIPv4 string     `json:"private_ipv4"` // assigned by Create
	PrivateIPv6 string     `json:"private_ipv6"` // assigned by Create
	Subnet      string     `json:"subnet"`       // the name of its private subnet
	GPU         string     `json:"gpu"`          // such as "1x NVIDIA A100 80GB PCIe"; "" if it has none
}

func (v *VM) lacks() string               { return lacksID(v.ID) }
func (v *VM) cursor(column string) string { return idOrName(column, v.ID, v.Name) }
func (v *VM) identity() Resource {
	return Resource{Kind: KindVM, ID: v.ID, Location: v.Location, Name: v.Name}
}
func (v *VM) stateText() string { return v.State }

// Known values of [VM.State]. There's none for failure: a VM that can't be set
// up stays "creating".
const (
	VMStateCreating = "creating"

	// No host has capacity, and the server keeps trying. After 15 minutes the
	// state changes to VMStateNoCapacityAvailable, and the server still tries.
	VMStateWaitingForCapacity  = "waiting for capacity"
	VMStateNoCapacityAvailable = "no capacity available"

	VMStateRunning    = "running"
	VMStateRestarting = "restarting"
	VMStateRebooting  = "rebooting" // its host is rebooting
	VMStateStarting   = "starting"  // after Start, or after a reboot of its host
	VMStateStopping   = "stopping"  // after Stop
	VMStateStopped    = "stopped"
	VMStateDeleting   = "deleting" // until it's gone

	// The provider has stopped the VM, and refuses to start it.
	VMStateStoppedByAdmin = "stopped by admin"

	// The VM doesn't respond to its host.
	VMStateUnavailable = "unavailable"
)

// VMCreateRequest is the body of [VMsService.Create].
type VMCreateRequest struct {
	// PublicKey is the key that can log in: one or more lines in the format of
	// an authorized_keys file, or the name of a registered SSH public key, which
	// the server copies. Required. The server checks only the format of a line,
	// and returns ErrInvalidRequest for the name of a key that isn't registered.
	PublicKey string `json:"public_key"`

	// BootImage is the operating system, such as "ubuntu-noble",
	// "ubuntu-jammy", "debian-12" or "almalinux-9". The August 2026 API also
	// accepts a machine image of the location, such as "golden@v1" for a version
	// or "golden@latest" for the latest one. The server chooses the default.
	BootImage string `json:"boot_image,omitzero"`

	// Size is "standard-" followed by 2, 4, 8, 16, 30 or 60 vCPUs, or
	// "burstable-" followed by 1 or 2. The default is "standard-2".
	Size string `json:"size,omitzero"`

	// StorageSize is in GiB. A size allows two values: 20 or 40 per vCPU, or 10
	// or 20 per vCPU if it's burstable. The default is the smaller one, which the
	// server also uses in place of a negative value.
	StorageSize int `json:"storage_size,omitzero"`

	// PrivateSubnetID is the ID of a subnet in the same location. The default is
	// the subnet "default-<location>". The server creates it if it doesn't exist,
	// with a firewall that allows all incoming traffic; both outlive the VM.
	PrivateSubnetID string `json:"private_subnet_id,omitzero"`

	// EnableIP4 gives the VM a public IPv4 address. The default is false.
	EnableIP4 *bool `json:"enable_ip4,omitzero"`

	// UnixUser is the user who can log in with the public key: up to 32
	// lower-case letters, digits, hyphens and underscores. The default is "ubi".
	UnixUser string `json:"unix_user,omitzero"`

	// GPU is a count and a type, such as "1:20b5".
	GPU string `json:"gpu,omitzero"`

	// InitScript is the name or ID of a registered init script, which runs when
	// the VM starts for the first time. InitScriptArgs are its arguments, split
	// as in a shell. Only the contract has these fields: Ubicloud's service
	// refuses them, and needs InitScriptText. The SDK always sends both fields,
	// so that no server takes the name for the text of a script.
	InitScript     string `json:"init_script,omitzero"`
	InitScriptArgs string `json:"init_script_args,omitzero"`

	// InitScriptText is a script of up to 2000 characters, which runs when the VM
	// starts for the first time; see [NewScript]. It can't be combined with
	// InitScript and InitScriptArgs.
	//
	// Requires the August 2026 API; a server with the contract's init scripts
	// takes the text for the name of a registered script.
	InitScriptText Script `json:"-"`
}

func (r VMCreateRequest) checkIDs() *ArgumentError {
	return cmp.Or(checkOptionalID("private_subnet_id", r.PrivateSubnetID), r.checkInitScript())
}

// Script is the text of a script. Its own type keeps it apart from the name of a
// registered script. The zero Script is no script; [NewScript] returns others.
type Script struct{ text string }

// NewScript returns a script. Create returns an [*ArgumentError] for a text that
// could be the name of a registered script, such as a single word.
func NewScript(text string) Script { return Script{text} }

// String returns the text.
func (s Script) String() string { return s.text }

// checkInitScript refuses a name in place of a script, a script in place of a
// name, and both together.
func (r VMCreateRequest) checkInitScript() *ArgumentError {
	script := r.InitScriptText.text
	switch {
	case r.InitScript != "" && syntax.Segment(r.InitScript) != "":
		return &ArgumentError{Name: "init_script", Reason: "must be the name or ID of a registered script; for the text of a script use InitScriptText"}
	case script != "" && syntax.Segment(script) == "":
		return argumentError("", "init_script", script, "must be the text of a script; for the name of a registered script use InitScript")
	case script != "" && (r.InitScript != "" || r.InitScriptArgs != ""):
		return &ArgumentError{Name: "init_script", Reason: "must not be both a text and a name, and a text has no arguments"}
	}
	return nil
}

// vmCreateBody is the body of a VMCreateRequest with an init script.
type vmCreateBody struct {
	*VMCreateRequest
	InitScript     string  `json:"init_script"`
	InitScriptArgs *string `json:"init_script_args,omitzero"`
}

// body returns the body to send. The name of a script always goes with
// init_script_args, even if they're empty: a server that takes init_script for a
// script refuses the arguments, and so doesn't run the name.
func (r *VMCreateRequest) body() any {
	switch {
	case r == nil:
		return r // sent as {}
	case r.InitScriptText.text != "":
		return vmCreateBody{r, r.InitScriptText.text, nil}
	case r.InitScript != "":
		return vmCreateBody{r, r.InitScript, &r.InitScriptArgs}
	}
	return r
}

const vmRoute = locationRoute + "/vm/{vm_reference}"

var (
	opVMsList           = Operation{"VMs.List", "GET", projectRoute + "/vm", idempotent}
	opVMsListInLocation = Operation{"VMs.ListInLocation", "GET", locationRoute + "/vm", idempotent}
	opVMsGet            = Operation{"VMs.Get", "GET", vmRoute, idempotent}
	opVMsCreate         = Operation{"VMs.Create", "POST", vmRoute, once}
	opVMsDelete         = Operation{"VMs.Delete", "DELETE", vmRoute, idempotent}
	opVMsRename         = Operation{"VMs.Rename", "POST", vmRoute + "/rename", idempotent}
	opVMsRestart        = Operation{"VMs.Restart", "POST", vmRoute + "/restart", once}
	opVMsStart          = Operation{"VMs.Start", "POST", vmRoute + "/start", once | august2026}
	opVMsStop           = Operation{"VMs.Stop", "POST", vmRoute + "/stop", once | august2026}

	listVMs = listRoutes{project: &opVMsList, location: &opVMsListInLocation}

	vmFamily = family[VM, *VM]{lists: &listVMs, get: &opVMsGet, del: &opVMsDelete, pauses: &waitQuick, lingers: true}
)

// List returns one page of the VMs in the project, or in [ListOptions.Location].
// Items have the short form.
func (s *VMsService) List(ctx context.Context, opts *ListOptions) (*Page[VM], error) {
	return list[VM](ctx, s.conn, &listVMs, opts)
}

// All returns an iterator over the VMs in the project, or in
// [ListOptions.Location]. Items have the short form.
func (s *VMsService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*VM, error] {
	return all[VM](ctx, s.conn, &listVMs, opts)
}

// Watch yields the VMs in the project, or in [WatchOptions.Location], and then
// their changes, until the context ends. Records have the short form.
func (s *VMsService) Watch(ctx context.Context, opts *WatchOptions, known ...*VM) iter.Seq2[Event[VM], error] {
	return vmFamily.watch(ctx, s.conn, opts, known)
}

// Get returns a VM with all its fields. It returns [ErrNotFound] if the VM
// doesn't exist.
func (s *VMsService) Get(ctx context.Context, location, vm string) (*VM, error) {
	return fetch[VM](ctx, s.conn, &opVMsGet, location, vm)
}

// Create creates a VM. It returns while the VM is still "creating", with the
// fields that are known by then; [VMsService.WaitRunning] waits for the others.
// A name is 1 to 63 lower-case letters, digits and hyphens, and can't start or
// end with a hyphen.
//
// It returns [ErrAlreadyExists] if the name is taken, which it is until the VM
// that had it before is deleted completely. It returns [ErrInvalidRequest] if a
// value is invalid; [Error.FieldErrors] names the field. That error also matches
// [ErrQuotaExceeded] if the VM would exceed the project's vCPU quota, and
// [ErrBillingRequired] if the project has no billing information. It returns
// [ErrOutcomeUnknown] if the response is lost: [Confirm] finds out whether the
// VM exists.
func (s *VMsService) Create(ctx context.Context, location, name string, request *VMCreateRequest) (*VM, error) {
	return send[VM](ctx, s.conn, &opVMsCreate, request.body(), location, name)
}

// Ensure creates a VM unless one with the name exists; see [EnsureOptions]. The
// name must not be an ID. Ensure compares size, storage_size (once the VM is
// placed on a host), boot_image (if the server sends it), unix_user, enable_ip4
// and private_subnet_id. It can't compare the other fields, and can't update
// any.
func (s *VMsService) Ensure(ctx context.Context, location, name string, request *VMCreateRequest, opts *EnsureOptions) (vm *VM, outcome EnsureOutcome, err error) {
	return s.ensurer(location, name, request).ensure(ctx, "VMs.Ensure", opts)
}

// ensurer returns what Ensure needs to know about VMs.
func (s *VMsService) ensurer(location, name string, request *VMCreateRequest) ensureSpec[VM] {
	if request != nil && request.PrivateSubnetID != "" {
		if err := checkIDOf(KindPrivateSubnet, "", "private_subnet_id", request.PrivateSubnetID); err != nil {
			return ensureSpec[VM]{invalid: err}
		}
	}
	return ensureSpec[VM]{
		location: location,
		name:     name,
		pauses:   vmFamily.pauses,
		find:     func(ctx context.Context) (*VM, error) { return s.Get(ctx, location, name) },
		create:   func(ctx context.Context) (*VM, error) { return s.Create(ctx, location, name, request) },
		compare: func(ctx context.Context, vm *VM) (d drift, err error) {
			if request == nil {
				return nil, nil
			}
			wants(&d, "size", request.Size, vm.Size)
			if vm.StorageSizeGiB != 0 {
				wants(&d, "storage_size", request.StorageSize, vm.StorageSizeGiB)
			}
			if vm.BootImage != "" {
				wants(&d, "boot_image", request.BootImage, vm.BootImage)
			}
			wants(&d, "unix_user", request.UnixUser, vm.UnixUser)
			if request.EnableIP4 != nil && *request.EnableIP4 != vm.IP4Enabled {
				d = append(d, Drift{Field: "enable_ip4", Wanted: *request.EnableIP4, Found: vm.IP4Enabled})
			}
			err = wantsSubnet(ctx, s.conn, &d, request.PrivateSubnetID, vm.Location, vm.Subnet)
			return d, err
		},
	}
}

// Delete deletes a VM, but not its subnet. It returns before the VM is gone;
// [VMsService.WaitDeleted] waits. It succeeds if the VM doesn't exist, so a
// mistyped name or a wrong location looks like success. It returns
// [ErrInvalidRequest] while the server creates a machine image from the VM.
func (s *VMsService) Delete(ctx context.Context, location, vm string) error {
	return remove(ctx, s.conn, &opVMsDelete, location, vm)
}

// Rename renames a VM; its operating system keeps the old host name. It returns
// the short form. It returns [ErrAlreadyExists] if the name is taken. Rename is
// idempotent only if vm is an ID.
func (s *VMsService) Rename(ctx context.Context, location, vm, newName string) (*VM, error) {
	return send[VM](ctx, s.conn, &opVMsRename, renameRequest{newName}, location, vm)
}

// Restart restarts a VM. It returns before the VM is running again;
// [VMsService.WaitRunning] waits. It returns [ErrOutcomeUnknown] if the response
// is lost, since a retry could restart the VM again.
//
// With the August 2026 API, the returned VM still has its previous state, and
// Get then reports "restarting"; Restart returns [ErrInvalidRequest] if the VM
// isn't running. With the October 2025 API, the returned VM is "restarting", and
// a VM in any state can be restarted.
func (s *VMsService) Restart(ctx context.Context, location, vm string) (*VM, error) {
	return fetch[VM](ctx, s.conn, &opVMsRestart, location, vm)
}

// Start starts a VM that is stopped or unavailable, and returns it in state
// "starting"; [VMsService.WaitRunning] waits. It returns [ErrInvalidRequest] in
// any other state, and while the server creates a machine image from the VM. It
// returns [ErrOutcomeUnknown] if the response is lost.
//
// Requires the August 2026 API.
func (s *VMsService) Start(ctx context.Context, location, vm string) (*VM, error) {
	return fetch[VM](ctx, s.conn, &opVMsStart, location, vm)
}

// Stop stops a VM that is running, starting, restarting, rebooting or
// unavailable. The returned VM still has its previous state, and Get then
// reports "stopping"; [VMsService.WaitStopped] waits. A stopped VM costs as much
// as a running one. Stop returns [ErrInvalidRequest] in any other state, and
// [ErrOutcomeUnknown] if the response is lost.
//
// Requires the August 2026 API.
func (s *VMsService) Stop(ctx context.Context, location, vm string) (*VM, error) {
	return fetch[VM](ctx, s.conn, &opVMsStop, location, vm)
}

// WaitStopped waits until a VM is stopped, and returns it. It returns a
// [*WaitError] if the VM is being deleted or is gone. It keeps waiting while the
// VM is stopped by the provider, since such a VM can't be started or copied to
// an image.
func (s *VMsService) WaitStopped(ctx context.Context, location, vm string, opts ...WaitOption) (*VM, error) {
	return vmFamily.waitState(ctx, s.conn, "VMs.WaitStopped", location, vm, reaches[*VM](VMStateStopped), opts)
}

// WaitRunning waits until a VM is running, and returns it with its addresses. It
// returns a [*WaitError] if the VM is being deleted or is gone. It keeps waiting
// while no host has capacity, which [WaitProgress] reports, and while the VM is
// stopped.
func (s *VMsService) WaitRunning(ctx context.Context, location, vm string, opts ...WaitOption) (*VM, error) {
	return vmFamily.waitState(ctx, s.conn, "VMs.WaitRunning", location, vm, reaches[*VM](VMStateRunning), opts)
}

// WaitDeleted waits until a VM is gone and its name is free. It also succeeds if
// another VM has taken the name, or if the token can't see the project. Its
// error is a [*WaitError].
func (s *VMsService) WaitDeleted(ctx context.Context, location, vm string, opts ...WaitOption) error {
	return vmFamily.waitDeleted(ctx, s.conn, location, vm, opts)
}
