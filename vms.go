package cloudapi

import (
	"cmp"
	"context"
	"iter"
)

// VMsService works with virtual machines.
//
// A reference is the ID (prefix vm) or the name.
type VMsService service

// VM is a virtual machine.
type VM struct {
	ID       string `json:"id"`        // prefix vm
	Name     string `json:"name"`      // unique in its project and location
	State    string `json:"state"`     // one of the VMState constants, or another
	Location string `json:"location"`  // such as "eu-central-h1"
	Size     string `json:"size"`      // such as "standard-2": the family and the number of vCPUs
	UnixUser string `json:"unix_user"` // the user who can log in with the public key

	// BootImage is the boot image of Create, such as "ubuntu-noble" or
	// "golden@latest", or the server's default. It is "" from a server of
	// October 2025, which does not send it.
	BootImage string `json:"boot_image,omitzero"`

	StorageSizeGiB int    `json:"storage_size_gib"` // of all volumes; 0 until the VM is placed on a host
	IP6            string `json:"ip6"`              // public address; "" until the VM is placed on a host
	IP4Enabled     bool   `json:"ip4_enabled"`      // whether it has a public IPv4 address
	IP4            string `json:"ip4"`              // public address; "" if it has none, or none yet

	// The remaining fields are returned only by Get, Create, Start, Stop and
	// Restart.
	Firewalls   []Firewall `json:"firewalls"`    // of its subnet, each with its Path
	PrivateIPv4 string     `json:"private_ipv4"` // known from the beginning
	PrivateIPv6 string     `json:"private_ipv6"` // known from the beginning
	Subnet      string     `json:"subnet"`       // the name of its private subnet
	GPU         string     `json:"gpu"`          // such as "1x NVIDIA A100 80GB PCIe"; "" if it has none
}

func (v *VM) lacks() string               { return lacksID(v.ID) }
func (v *VM) cursor(column string) string { return idOrName(column, v.ID, v.Name) }
func (v *VM) identity() Resource {
	return Resource{Kind: KindVM, ID: v.ID, Location: v.Location, Name: v.Name}
}
func (v *VM) stateText() string { return v.State }

// Known values of [VM.State]. There is none for failure: if a VM cannot be set
// up it stays "creating".
const (
	VMStateCreating = "creating"

	// No host has room, and the server keeps trying. After 15 minutes the state
	// changes to VMStateNoCapacityAvailable, and the server still tries.
	VMStateWaitingForCapacity  = "waiting for capacity"
	VMStateNoCapacityAvailable = "no capacity available"

	VMStateRunning    = "running"
	VMStateRestarting = "restarting"
	VMStateRebooting  = "rebooting" // its host is rebooting
	VMStateStarting   = "starting"  // after Start, or after its host was rebooted
	VMStateStopping   = "stopping"  // after Stop
	VMStateStopped    = "stopped"
	VMStateDeleting   = "deleting" // until it is gone

	// The provider has stopped the VM, and Start is refused.
	VMStateStoppedByAdmin = "stopped by admin"

	// The VM does not respond to its host.
	VMStateUnavailable = "unavailable"
)

// VMCreateRequest is the body of [VMsService.Create].
type VMCreateRequest struct {
	// PublicKey is one or more lines as in an authorized_keys file, or the name
	// of a registered SSH public key, which is copied. Its owner can log in.
	// Required. A single word that is not the name of a registered key is a 400
	// ("public_key invalid SSH public key format"). The real server checks only
	// that a line has the form of a key.
	PublicKey string `json:"public_key"`

	// BootImage is the operating system, such as "ubuntu-noble",
	// "ubuntu-jammy", "debian-12" or "almalinux-9". In August 2026 it can be a
	// machine image of the location: "golden@v1" for a version, "golden@latest"
	// for the latest. The default is the server's.
	BootImage string `json:"boot_image,omitzero"`

	// Size is "standard-" and 2, 4, 8, 16, 30 or 60 vCPUs, or "burstable-" and
	// 1 or 2. The server's default is "standard-2".
	Size string `json:"size,omitzero"`

	// StorageSize is in GiB. Each size allows two values: 20 and 40 per vCPU,
	// or 10 and 20 if it is burstable. The default is the smaller one, also for
	// negative values on the real server.
	StorageSize int `json:"storage_size,omitzero"`

	// PrivateSubnetID is the ID of a subnet in the same location. The default
	// is the subnet "default-<location>". If it does not exist the server makes
	// it, with a firewall that lets everything in. Both stay when the VM is
	// deleted.
	PrivateSubnetID string `json:"private_subnet_id,omitzero"`

	// EnableIP4 gives the VM a public IPv4 address. The real server's default
	// is false.
	EnableIP4 *bool `json:"enable_ip4,omitzero"`

	// UnixUser is the user that the public key is for, up to 32 lower-case
	// letters, digits, hyphens and underscores. The server's default is "ubi".
	UnixUser string `json:"unix_user,omitzero"`

	// GPU is "count:type", such as "1:20b5".
	GPU string `json:"gpu,omitzero"`

	// InitScript is the name or ID of a registered init script. It runs at the
	// first start with InitScriptArgs as its arguments, split as in a shell.
	// This is the contract's form. The real server of October 2025 does not
	// know these fields. That of August 2026 takes InitScript for the script
	// itself. To prevent that, the SDK always sends InitScriptArgs, which that
	// server refuses: use InitScriptText there.
	InitScript     string `json:"init_script,omitzero"`
	InitScriptArgs string `json:"init_script_args,omitzero"`

	// InitScriptText is a script that runs at the first start, up to 2000
	// characters: see [NewScript]. It is of August 2026; a server of October
	// 2025 takes it for the name of a registered script. It cannot be combined
	// with InitScript and InitScriptArgs.
	InitScriptText Script `json:"-"`
}

func (r VMCreateRequest) checkIDs() *ArgumentError {
	return cmp.Or(checkOptionalID("private_subnet_id", r.PrivateSubnetID), r.checkInitScript())
}

// Script is the text of a script, made by [NewScript]. It has its own type so
// that it is not confused with the name of a registered script. The zero Script
// is no script.
type Script struct{ text string }

// NewScript returns a script. A text that could be the name of a registered
// script, such as a single word, is refused when the script is used.
func NewScript(text string) Script { return Script{text} }

// String returns the text.
func (s Script) String() string { return s.text }

// checkInitScript refuses a name in place of a script, a script in place of a
// name, and both together.
func (r VMCreateRequest) checkInitScript() *ArgumentError {
	script := r.InitScriptText.text
	switch {
	case r.InitScript != "" && checkSegment(r.InitScript) != "":
		return &ArgumentError{Name: "init_script", Reason: "must be the name or ID of a registered script; for the text of a script use InitScriptText"}
	case script != "" && checkSegment(script) == "":
		return argumentError("", "init_script", script, "must be the text of a script; for the name of a registered script use InitScript")
	case script != "" && (r.InitScript != "" || r.InitScriptArgs != ""):
		return &ArgumentError{Name: "init_script", Reason: "must not be both a text and a name, and a text has no arguments"}
	}
	return nil
}

// vmCreateBody is a VMCreateRequest with an init script, in the form that is
// sent.
type vmCreateBody struct {
	*VMCreateRequest
	InitScript     string  `json:"init_script"`
	InitScriptArgs *string `json:"init_script_args,omitzero"`
}

// body returns the body to send. A name is always sent with init_script_args,
// even if they are empty: a server that takes init_script for a script refuses
// the arguments, and so does not run the name.
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

	vmFamily = family[VM, *VM]{lists: &listVMs, get: &opVMsGet, del: &opVMsDelete, pauses: waitQuick, lingers: true}
)

// List returns one page of the project's VMs, or of those in
// [ListOptions.Location]. Items have the short form.
func (s *VMsService) List(ctx context.Context, opts *ListOptions) (*Page[VM], error) {
	return list[VM](ctx, s.conn, &listVMs, opts)
}

// All returns the project's VMs, or those in [ListOptions.Location], page by
// page. Items have the short form.
func (s *VMsService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*VM, error] {
	return all[VM](ctx, s.conn, &listVMs, opts)
}

// Watch yields the project's VMs, or those in [WatchOptions.Location], and then
// their changes, until the context ends. Records have the short form;
// [VMsService.Get] returns the rest.
func (s *VMsService) Watch(ctx context.Context, opts *WatchOptions) iter.Seq2[Event[VM], error] {
	return vmFamily.watch(ctx, s.conn, opts)
}

// Get returns a VM with all its fields, or [ErrNotFound] if it does not exist.
func (s *VMsService) Get(ctx context.Context, location, vm string) (*VM, error) {
	return fetch[VM](ctx, s.conn, &opVMsGet, location, vm)
}

// Create starts to make a VM with the given name: 1 to 63 lower-case letters,
// digits and hyphens, no hyphen at either end. It returns the VM in state
// "creating", with only the fields that are known so far;
// [VMsService.WaitRunning] waits for the rest.
//
// If the name is taken the error is [ErrAlreadyExists]; the name stays taken
// while its last owner is being deleted. If a value is invalid the error is
// [ErrInvalidRequest], and [Error.FieldErrors] names the field. If the vCPU
// quota is exceeded the error also matches [ErrQuotaExceeded], and if billing
// information is missing, [ErrBillingRequired]. If the response is lost the
// error is [ErrOutcomeUnknown]: look the name up with Get.
func (s *VMsService) Create(ctx context.Context, location, name string, request *VMCreateRequest) (*VM, error) {
	return send[VM](ctx, s.conn, &opVMsCreate, request.body(), location, name)
}

// Ensure creates a VM unless there is one of that name; see [EnsureOptions].
// The name must not be an ID. Ensure compares size, storage_size (once the VM
// is placed on a host), boot_image (if the record has it), unix_user,
// enable_ip4 and private_subnet_id. The record does not have the other fields,
// or, for the GPU, not in the request's form. Ensure cannot update anything.
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

// Delete starts to delete a VM; [VMsService.WaitDeleted] waits for the end. Its
// subnet stays. It also succeeds if the VM does not exist, so a mistyped name,
// or another existing location, looks like success. While a machine image is
// being made of the VM the error is [ErrInvalidRequest].
func (s *VMsService) Delete(ctx context.Context, location, vm string) error {
	return remove(ctx, s.conn, &opVMsDelete, location, vm)
}

// Rename gives a VM another name; the operating system keeps the old one. It
// returns the short form of the record. If the name is taken the error is
// [ErrAlreadyExists]. Pass the ID: only then is the call idempotent.
func (s *VMsService) Rename(ctx context.Context, location, vm, newName string) (*VM, error) {
	return send[VM](ctx, s.conn, &opVMsRename, renameRequest{newName}, location, vm)
}

// Restart starts to restart a VM; [VMsService.WaitRunning] waits for the end. A
// retry could restart the VM again, so a lost response is [ErrOutcomeUnknown].
//
// A server of October 2025 returns the VM in state "restarting", and accepts a
// restart in every state. One of August 2026 returns the state before the
// restart, shows "restarting" from the next Get on, and answers
// [ErrInvalidRequest] if the VM is not running.
func (s *VMsService) Restart(ctx context.Context, location, vm string) (*VM, error) {
	return fetch[VM](ctx, s.conn, &opVMsRestart, location, vm)
}

// Start starts a VM that is stopped or unavailable, and returns it in state
// "starting"; [VMsService.WaitRunning] waits for the end. In any other state,
// and while a machine image is being made of the VM, the error is
// [ErrInvalidRequest]. A retry would fail in the same way, so a lost response
// is [ErrOutcomeUnknown]. It is an operation of August 2026; a server of
// October 2025 answers [ErrNotFound].
func (s *VMsService) Start(ctx context.Context, location, vm string) (*VM, error) {
	return fetch[VM](ctx, s.conn, &opVMsStart, location, vm)
}

// Stop starts to stop a VM that is running, starting, restarting, rebooting or
// unavailable; [VMsService.WaitStopped] waits for the end. It returns the VM in
// the state before; from the next Get on the state is "stopping". A stopped VM
// costs as much as a running one. In any other state the error is
// [ErrInvalidRequest]. A retry would fail in the same way, so a lost response
// is [ErrOutcomeUnknown]. It is an operation of August 2026; a server of
// October 2025 answers [ErrNotFound].
func (s *VMsService) Stop(ctx context.Context, location, vm string) (*VM, error) {
	return fetch[VM](ctx, s.conn, &opVMsStop, location, vm)
}

// WaitStopped waits until a VM is stopped, and returns it. It fails if the VM
// is being deleted or is gone. It goes on if the provider has stopped the VM,
// since such a VM can be neither started nor copied to an image. The error is a
// [*WaitError].
func (s *VMsService) WaitStopped(ctx context.Context, location, vm string, opts ...WaitOption) (*VM, error) {
	return vmFamily.waitState(ctx, s.conn, "VMs.WaitStopped", location, vm, reaches[*VM](VMStateStopped), opts)
}

// WaitRunning waits until a VM that was created, started or restarted is
// running, and returns it with its addresses. It fails if the VM is being
// deleted or is gone. It goes on until the context ends while no host has room,
// which [WaitProgress] shows, and while the VM is stopped, since it may be
// started again. The error is a [*WaitError].
func (s *VMsService) WaitRunning(ctx context.Context, location, vm string, opts ...WaitOption) (*VM, error) {
	return vmFamily.waitState(ctx, s.conn, "VMs.WaitRunning", location, vm, reaches[*VM](VMStateRunning), opts)
}

// WaitDeleted waits until a VM that was deleted is gone. Its name is free then.
// If the VM is given by its name, and another VM has taken the name meanwhile,
// the wait succeeds, too. It also succeeds if the token cannot see the project,
// since the token then finds no VM. The error is a [*WaitError].
func (s *VMsService) WaitDeleted(ctx context.Context, location, vm string, opts ...WaitOption) error {
	return vmFamily.waitDeleted(ctx, s.conn, location, vm, opts)
}
