package cloudapi

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"
)

// VMsService manages virtual machines.
type VMsService service

// VM is a virtual machine.
type VM struct {
	ID             string `json:"id"`                  // prefix vm
	Name           string `json:"name"`                // unique in its project and location
	State          string `json:"state"`               // a constant such as [VMStateRunning], or another value
	Location       string `json:"location"`            // such as "eu-central-h1"
	Size           string `json:"size"`                // such as "standard-2": the family and the number of vCPUs
	UnixUser       string `json:"unix_user"`           // the user who can log in with the public key
	BootImage      string `json:"boot_image,omitzero"` // such as "ubuntu-noble"; † only the service
	StorageSizeGiB int    `json:"storage_size_gib"`    // of all volumes; 0 until the VM is placed on a host
	IPv6           string `json:"ip6"`                 // public address; "" until the VM is placed on a host
	IPv4Enabled    bool   `json:"ip4_enabled"`         // whether it has a public IPv4 address
	IPv4           string `json:"ip4"`                 // public address; "" if it has none, or none yet

	// MaintenanceWindowStartAt is the hour in UTC, 0 to 23, at which the two-hour
	// maintenance window begins; nil means at any time. † Only the service has it.
	MaintenanceWindowStartAt *int `json:"maintenance_window_start_at,omitzero"`

	// Only Get, Create, Start, Stop and Restart return the fields below.
	Firewalls   []Firewall `json:"firewalls"`    // the firewalls of its subnet, with their Path
	PrivateIPv4 string     `json:"private_ipv4"` // assigned by Create
	PrivateIPv6 string     `json:"private_ipv6"` // assigned by Create
	Subnet      string     `json:"subnet"`       // the name of its private subnet; requests have the ID, which PrivateSubnets.Get returns
	GPU         string     `json:"gpu"`          // such as "1x NVIDIA A100 80GB PCIe"; "" if it has none
}

func (v *VM) Resource() Resource {
	return Resource{Kind: KindVM, ID: v.ID, Location: v.Location, Name: v.Name}
}
func (v *VM) stateText() string { return v.State }

// Known values of [VM.State].
const (
	VMStateCreating            = "creating"              // also if the VM can't be set up: there is no state for failures
	VMStateWaitingForCapacity  = "waiting for capacity"  // no host has capacity, and the server keeps trying
	VMStateNoCapacityAvailable = "no capacity available" // no host has had capacity for 15 minutes; the server still tries
	VMStateRunning             = "running"
	VMStateRestarting          = "restarting"
	VMStateRebooting           = "rebooting" // its host is rebooting
	VMStateStarting            = "starting"  // after Start, or after a reboot of its host
	VMStateStopping            = "stopping"  // after Stop; † only the service
	VMStateStopped             = "stopped"
	VMStateDeleting            = "deleting"         // until it's gone
	VMStateStoppedByAdmin      = "stopped by admin" // the provider has stopped the VM, and refuses to start it; † only the service
	VMStateUnavailable         = "unavailable"      // the VM doesn't respond to its host; † only the service
)

var vmPhases = map[string]Phase{
	VMStateCreating:            PhasePending,
	VMStateWaitingForCapacity:  PhaseNoCapacity,
	VMStateNoCapacityAvailable: PhaseNoCapacity,
	VMStateStarting:            PhasePending,
	VMStateRunning:             PhaseUsable,
	VMStateRestarting:          PhaseInterrupted,
	VMStateRebooting:           PhaseInterrupted,
	VMStateUnavailable:         PhaseInterrupted,
	VMStateStopping:            PhaseOff,
	VMStateStopped:             PhaseOff,
	VMStateStoppedByAdmin:      PhaseOff,
	VMStateDeleting:            PhaseDeleting,
}

// Phase returns the phase of a VM. "waiting for capacity" and "no capacity
// available" are [PhaseNoCapacity], "stopping", "stopped" and "stopped by admin"
// [PhaseOff].
func (v *VM) Phase() Phase { return cmp.Or(vmPhases[v.State], PhasePending) }

// VMSerialLog reports the last fetch of the text on a VM's serial console.
type VMSerialLog struct {
	Status    string    `json:"status"`    // a constant such as [VMSerialLogStatusSucceeded]
	Timestamp time.Time `json:"timestamp"` // when the fetch ended, or began if it hasn't

	// Output is the last 64 KiB of the text, with terminal escape codes. Bytes
	// that aren't UTF-8 are replaced. Output is "" unless the fetch has succeeded.
	Output string `json:"output"`
}

func (l *VMSerialLog) lacks() string     { return missing("status", l.Status == "") }
func (l *VMSerialLog) stateText() string { return l.Status }

// Known values of [VMSerialLog.Status]. † Only the service has these.
const (
	VMSerialLogStatusCreated   = "created" // the fetch is in progress
	VMSerialLogStatusSucceeded = "succeeded"
	VMSerialLogStatusFailed    = "failed" // the host didn't respond to three attempts, 15 seconds apart
)

// VMSerialLogOptions are the options of [VMsService.SerialLog]. Refresh starts a
// fetch unless the last one is in progress, or ended less than 60 seconds ago.
type VMSerialLogOptions struct {
	Refresh bool `url:"refresh,omitempty"`
}

// VMCreateRequest is the body of [VMsService.Create].
type VMCreateRequest struct {
	// PublicKey is the name of a registered SSH public key, or lines in the format
	// of an authorized_keys file. Required.
	PublicKey string `json:"public_key"`

	// BootImage is the operating system, such as "ubuntu-noble", "ubuntu-jammy",
	// "debian-12" or "almalinux-10", or, with the service, a machine image of the
	// location, such as "golden@v1" or "golden@latest". The server has a default.
	BootImage string `json:"boot_image,omitzero"`

	// Size is "standard-" followed by 2, 4, 8, 16, 30 or 60 vCPUs, or "burstable-"
	// followed by 1 or 2; default "standard-2". StorageSize is in GiB: 20 or 40
	// per vCPU, or 10 or 20 if burstable. 0 or less means the smaller of these.
	Size        string `json:"size,omitzero"`
	StorageSize int    `json:"storage_size,omitzero"`

	// PrivateSubnetID is the ID of a subnet in the same location. The default is
	// the subnet "default-<location>". The server creates it if necessary, with a
	// firewall that allows all incoming traffic; both outlive the VM.
	PrivateSubnetID string `json:"private_subnet_id,omitzero" id:"ps"`

	EnableIPv4 *bool  `json:"enable_ip4,omitzero"` // whether the VM gets a public IPv4 address; default false. A load balancer needs it, unless its stack is "ipv6"
	UnixUser   string `json:"unix_user,omitzero"`  // default "ubi"; up to 32 lower-case letters, digits, "-" and "_"
	GPU        string `json:"gpu,omitzero"`        // a count and a type, such as "1:20b5"

	InitScript     string `json:"init_script,omitzero"`      // the name or ID of a registered script; ‡ only the contract
	InitScriptArgs string `json:"init_script_args,omitzero"` // for InitScript, split as in a shell; ‡ only the contract

	// InitScriptText is a script of up to 2000 characters that /bin/sh runs as root
	// at the end of the first start, whatever its first line says. A text that could
	// be a name, such as a single word, is invalid, and so is one with a carriage
	// return, a byte order mark, or #cloud-config. † Only the service has it.
	InitScriptText string `json:"-"` // the JSON of a request that you store lacks it
}

func (r VMCreateRequest) check() *ArgumentError {
	return cmp.Or(checkPublicKey(r.PublicKey), r.checkInitScript())
}

// checkInitScript refuses a name in InitScriptText, the text of a script in
// InitScript, and both fields together.
func (r VMCreateRequest) checkInitScript() *ArgumentError {
	script := r.InitScriptText
	switch {
	case optionalReference.check("", "init_script", r.InitScript) != nil:
		return &ArgumentError{Name: "init_script", Reason: "must be the name or ID of a registered script; for the text of a script use InitScriptText"}
	case script != "" && anyReference.check("", "init_script", script) == nil:
		return argumentError("", "init_script", script, "must be the text of a script; for the name of a registered script use InitScript")
	case script != "" && (r.InitScript != "" || r.InitScriptArgs != ""):
		return &ArgumentError{Name: "init_script", Reason: "must not be both a text and a name, and a text has no arguments"}
	}
	return checkScript("init_script", script)
}

// vmCreateBody is the body of a VMCreateRequest with an init script.
type vmCreateBody struct {
	*VMCreateRequest
	InitScript     string  `json:"init_script"`
	InitScriptArgs *string `json:"init_script_args,omitzero"`
}

// body returns the body to send. With the name of a script, the body always has
// init_script_args, even if empty: a server that expects a script's text in
// init_script refuses arguments. Without arguments, such a server would run the
// name as a script.
func (r *VMCreateRequest) body() any {
	switch {
	case r == nil:
		return r // sent as {}
	case r.InitScriptText != "":
		return vmCreateBody{r, r.InitScriptText, nil}
	case r.InitScript != "":
		return vmCreateBody{r, r.InitScript, &r.InitScriptArgs}
	}
	return r
}

// VMMaintenanceWindowRequest is the body of [VMsService.SetMaintenanceWindow].
type VMMaintenanceWindowRequest struct {
	StartAt *int `json:"maintenance_window_start_at"` // as in [VM], such as new(3); nil removes the window
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
	opVMsStart          = Operation{"VMs.Start", "POST", vmRoute + "/start", once | serviceOnly}
	opVMsStop           = Operation{"VMs.Stop", "POST", vmRoute + "/stop", once | serviceOnly}
	opVMsSerialLog      = Operation{"VMs.SerialLog", "GET", vmRoute + "/serial-log", idempotent | serviceOnly}

	opVMsSetMaintenanceWindow = Operation{"VMs.SetMaintenanceWindow", "POST", vmRoute + "/set-maintenance-window", idempotent | serviceOnly}

	listVMs = listRoutes{project: &opVMsList, location: &opVMsListInLocation}

	vmFamily = family[VM]{lists: &listVMs, get: &opVMsGet, del: &opVMsDelete, pauses: &waitQuick}
)

// List returns one page of the VMs.
func (s *VMsService) List(ctx context.Context, opts *ListOptions) (*Page[VM], error) {
	return list[VM](ctx, s.conn, &listVMs, opts)
}

// All iterates over the VMs.
func (s *VMsService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*VM, error] {
	return all[VM](ctx, s.conn, &listVMs, opts)
}

// Watch yields the VMs and then their changes; see [WatchOptions].
func (s *VMsService) Watch(ctx context.Context, opts *WatchOptions, known ...*VM) iter.Seq2[Event[VM], error] {
	return vmFamily.watch(ctx, s.conn, opts, known)
}

// Get returns a VM with all its fields.
func (s *VMsService) Get(ctx context.Context, location, vm string) (*VM, error) {
	return perform[VM](ctx, s.conn, &opVMsGet, location, vm)
}

// Create creates a VM, and returns before it's running; see
// [VMsService.WaitRunning]. It returns [ErrAlreadyExists] even while a VM with
// the name is being deleted, and [ErrQuotaExceeded] or [ErrBillingRequired]
// without vCPU quota or billing information.
func (s *VMsService) Create(ctx context.Context, location, name string, request *VMCreateRequest) (*VM, error) {
	return send[VM](ctx, s.conn, &opVMsCreate, request.body(), location, name)
}

// Ensure creates a VM unless one with the name exists. It compares only size,
// unix_user, enable_ip4, private_subnet_id, boot_image if the server sends it,
// and storage_size once the VM is on a host. It updates nothing.
func (s *VMsService) Ensure(ctx context.Context, location, name string, request *VMCreateRequest, opts *EnsureOptions) (vm *VM, outcome EnsureOutcome, err error) {
	r := orZero(request)
	return vmFamily.ensure(ctx, s.conn, location, name, ensureSpec[VM]{
		request: request,
		create:  func(ctx context.Context) (*VM, error) { return s.Create(ctx, location, name, request) },
		compare: func(ctx context.Context, vm *VM) (comparison, error) {
			c := compared(request.Compare(vm))
			err := wantsSubnet(ctx, s.conn, &c, r.PrivateSubnetID, vm.Location, vm.Subnet)
			return c, err
		},
		unshown: []string{"storage_size", "boot_image", "private_subnet_id", "public_key", "gpu", "init_script", "init_script_args"},
	}, opts)
}

// Compare returns the differences between a VM and the request, all of which
// only a replacement removes, and the fields that it can't compare.
func (r *VMCreateRequest) Compare(vm *VM) (differences []Drift, uncompared []string) {
	if r == nil {
		return nil, nil
	}
	var c comparison
	wants(&c, "size", r.Size, vm.Size)
	wants(&c, "storage_size", max(r.StorageSize, 0), vm.StorageSizeGiB) // 0 until the VM is placed on a host
	wants(&c, "boot_image", r.BootImage, vm.BootImage)
	wants(&c, "unix_user", r.UnixUser, vm.UnixUser)
	if r.EnableIPv4 != nil && *r.EnableIPv4 != vm.IPv4Enabled {
		c.drift = append(c.drift, Drift{Field: "enable_ip4", Wanted: *r.EnableIPv4, Found: vm.IPv4Enabled, Remedy: RemedyReplace})
	}
	c.skip("private_subnet_id", r.PrivateSubnetID != "")
	c.skip("public_key", r.PublicKey != "")
	c.skip("gpu", r.GPU != "")
	c.skip("init_script", r.InitScript != "" || r.InitScriptText != "")
	c.skip("init_script_args", r.InitScriptArgs != "")
	return c.result()
}

// Delete deletes a VM, but not its subnet; see WaitDeleted. It returns
// [ErrInvalidRequest] while the server copies the VM to a machine image.
func (s *VMsService) Delete(ctx context.Context, location, vm string) error {
	return remove(ctx, s.conn, &opVMsDelete, location, vm)
}

// Rename renames a VM; its operating system keeps the old host name.
func (s *VMsService) Rename(ctx context.Context, location, vm, newName string) (*VM, error) {
	return send[VM](ctx, s.conn, &opVMsRename, renameRequest{newName}, location, vm)
}

// Restart restarts a VM; [VMsService.WaitRunning] waits until it's running. The
// returned VM still has its previous state; Get then reports "restarting". With
// the service, it returns [ErrInvalidRequest] unless the VM is running.
func (s *VMsService) Restart(ctx context.Context, location, vm string) (*VM, error) {
	return perform[VM](ctx, s.conn, &opVMsRestart, location, vm)
}

// Start starts a VM that is stopped or unavailable, and returns it in state
// "starting"; [VMsService.WaitRunning] waits until it's running. In other
// states, and while the server creates a machine image from the VM, Start
// returns [ErrInvalidRequest]. † Only the service has this.
func (s *VMsService) Start(ctx context.Context, location, vm string) (*VM, error) {
	return perform[VM](ctx, s.conn, &opVMsStart, location, vm)
}

// Stop stops a VM that is running, starting, restarting, rebooting or
// unavailable, and returns [ErrInvalidRequest] in other states. The returned VM
// still has its previous state, and Get then reports "stopping"; see
// [VMsService.WaitStopped]. A stopped VM costs as much as a running one.
// † Only the service has this.
func (s *VMsService) Stop(ctx context.Context, location, vm string) (*VM, error) {
	return perform[VM](ctx, s.conn, &opVMsStop, location, vm)
}

// SetMaintenanceWindow sets the maintenance window of a VM; an empty request
// removes it. It returns [ErrInvalidRequest] unless the hour is 0 to 23. † Only
// the service has this.
func (s *VMsService) SetMaintenanceWindow(ctx context.Context, location, vm string, request *VMMaintenanceWindowRequest) (*VM, error) {
	if request == nil {
		return nil, noRequest(opVMsSetMaintenanceWindow)
	}
	return send[VM](ctx, s.conn, &opVMsSetMaintenanceWindow, request, location, vm)
}

// SerialLog returns the text that the service last fetched from a VM's serial
// console. If there is none, or it's an hour old, or Refresh is set, SerialLog
// starts a fetch; [VMsService.WaitSerialLog] waits until the fetch ends. The
// Status, not an error, reports a failed fetch. SerialLog returns
// [ErrInvalidRequest] until the VM has a host. The options may be nil. † Only
// the service has this.
func (s *VMsService) SerialLog(ctx context.Context, location, vm string, opts *VMSerialLogOptions) (*VMSerialLog, error) {
	in, err := s.conn.ask(&opVMsSerialLog, opts, []string{location, vm})
	if err != nil {
		return nil, err
	}
	return doRecord[VMSerialLog](ctx, in)
}

// WaitSerialLog waits until a VM's serial log is fetched, and returns it. The
// log can be up to an hour old; for a newer one, call [VMsService.SerialLog]
// with Refresh first. WaitSerialLog returns [ErrWaitFailed] if the fetch fails,
// which takes half a minute. † Only the service has this.
func (s *VMsService) WaitSerialLog(ctx context.Context, location, vm string, opts *WaitOptions) (*VMSerialLog, error) {
	w := waiter[VMSerialLog]{
		operation: "VMs.WaitSerialLog",
		resource:  qualify(location, vm),
		config:    waitQuick,
		get:       func(ctx context.Context) (*VMSerialLog, error) { return s.SerialLog(ctx, location, vm, nil) },
		done: func(l *VMSerialLog) (bool, error) {
			if l.Status == VMSerialLogStatusFailed {
				return false, fmt.Errorf("%w: the service couldn't fetch the log; SerialLog with Refresh tries again", ErrWaitFailed)
			}
			return l.Status == VMSerialLogStatusSucceeded, nil
		},
	}
	return w.run(ctx, opts)
}

// WaitStopped waits until a VM is stopped, and returns it. It keeps waiting
// while the VM is "stopped by admin": such a VM can't be started or copied.
// † Only the service has this.
func (s *VMsService) WaitStopped(ctx context.Context, location, vm string, opts *WaitOptions) (*VM, error) {
	return vmFamily.waitState(ctx, s.conn, "VMs.WaitStopped", location, vm, reaches[*VM](VMStateStopped), opts)
}

// WaitRunning waits until a VM is running, and returns it with its addresses.
// It keeps waiting while the VM is stopped, and while no host has capacity,
// unless [WaitOptions.FailWithoutCapacity] is set. It returns [ErrWaitFailed] if
// the VM is "stopped by admin".
func (s *VMsService) WaitRunning(ctx context.Context, location, vm string, opts *WaitOptions) (*VM, error) {
	isRunning := reaches[*VM](VMStateRunning)
	done := func(vm *VM) (bool, error) {
		switch {
		case orZero(opts).FailWithoutCapacity && vm.State == VMStateNoCapacityAvailable:
			return false, ErrNoCapacity
		case vm.State == VMStateStoppedByAdmin:
			return false, fmt.Errorf("%w: only the provider can start it", ErrWaitFailed)
		}
		return isRunning(vm)
	}
	return vmFamily.waitState(ctx, s.conn, "VMs.WaitRunning", location, vm, done, opts)
}

// WaitDeleted waits until a VM is gone and its name is free.
func (s *VMsService) WaitDeleted(ctx context.Context, location, vm string, opts *WaitOptions) error {
	return vmFamily.waitDeleted(ctx, s.conn, location, vm, opts)
}
