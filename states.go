package cloudapi

// Phase says what a program can expect of a resource, whatever its state is
// called. The Phase methods of records return one of the constants.
type Phase string

// Values of [Phase].
const (
	PhasePending     Phase = "pending"     // on the way to usable: the server is working on it; also for a state that the SDK doesn't know
	PhaseUsable      Phase = "usable"      // in use, also during a change that doesn't interrupt it
	PhaseInterrupted Phase = "interrupted" // was usable, and becomes usable again without a call: a restart, a failover, or a failure that the server may repair
	PhaseOff         Phase = "off"         // stays unusable until somebody starts it
	PhaseNoCapacity  Phase = "no capacity" // no host has room for it; the server keeps trying
	PhaseDeleting    Phase = "deleting"    // is being deleted
	PhaseFailed      Phase = "failed"      // stays unusable until it's deleted
)

// Phase returns the phase of a VM. "waiting for capacity" and "no capacity
// available" are [PhaseNoCapacity], "stopping", "stopped" and "stopped by admin"
// [PhaseOff].
func (v *VM) Phase() Phase {
	switch v.State {
	case VMStateRunning:
		return PhaseUsable
	case VMStateRestarting, VMStateRebooting, VMStateUnavailable:
		return PhaseInterrupted
	case VMStateStopping, VMStateStopped, VMStateStoppedByAdmin:
		return PhaseOff
	case VMStateWaitingForCapacity, VMStateNoCapacityAvailable:
		return PhaseNoCapacity
	case VMStateDeleting:
		return PhaseDeleting
	}
	return PhasePending
}

// Phase returns the phase of a database. All steps of a restore are
// [PhasePending].
func (p *Postgres) Phase() Phase {
	switch p.State {
	case PostgresStateRunning:
		return PhaseUsable
	case PostgresStateUnavailable, PostgresStateRestarting:
		return PhaseInterrupted
	case PostgresStateDeleting:
		return PhaseDeleting
	}
	return PhasePending
}

// Phase returns the phase of a cluster. An upgrade doesn't interrupt it.
func (k *KubernetesCluster) Phase() Phase {
	switch k.DisplayState {
	case KubernetesClusterDisplayStateRunning, KubernetesClusterDisplayStateUpgrading:
		return PhaseUsable
	case KubernetesClusterDisplayStateDeleting:
		return PhaseDeleting
	}
	return PhasePending
}

// Phase returns the phase of a private subnet, which is usable in each state but
// "deleting".
func (s *PrivateSubnet) Phase() Phase {
	if s.State == PrivateSubnetStateDeleting {
		return PhaseDeleting
	}
	return PhaseUsable
}

// Phase returns the phase of a private link service.
func (l *PrivateLinkService) Phase() Phase {
	switch l.State {
	case PrivateLinkServiceStateAvailable:
		return PhaseUsable
	case PrivateLinkServiceStateDeleting:
		return PhaseDeleting
	}
	return PhasePending
}

// Phase returns the phase of a version of a machine image. A version without
// data, whose State is "", is [PhaseFailed].
func (v *MachineImageVersion) Phase() Phase {
	switch v.State {
	case MachineImageVersionStateReady:
		return PhaseUsable
	case MachineImageVersionStateFailed, "":
		return PhaseFailed
	case MachineImageVersionStateDestroying:
		return PhaseDeleting
	}
	return PhasePending
}
