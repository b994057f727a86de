package cloudapi

import "cmp"

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

// The phases of all states. The server may have a state that isn't here.
var (
	vmPhases = map[string]Phase{
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
	postgresPhases = map[string]Phase{
		PostgresStateCreating:          PhasePending,
		PostgresStateRestoringBackup:   PhasePending,
		PostgresStateReplayingWAL:      PhasePending,
		PostgresStateFinalizingRestore: PhasePending,
		PostgresStateRunning:           PhaseUsable,
		PostgresStateRestarting:        PhaseInterrupted,
		PostgresStateUnavailable:       PhaseInterrupted,
		PostgresStateDeleting:          PhaseDeleting,
	}
	clusterPhases = map[string]Phase{
		KubernetesClusterDisplayStateCreating:  PhasePending,
		KubernetesClusterDisplayStateRunning:   PhaseUsable,
		KubernetesClusterDisplayStateUpgrading: PhaseUsable,
		KubernetesClusterDisplayStateDeleting:  PhaseDeleting,
	}
	subnetPhases = map[string]Phase{
		PrivateSubnetStateAvailable:      PhaseUsable,
		PrivateSubnetStateAddingNIC:      PhaseUsable,
		PrivateSubnetStateRefreshingKeys: PhaseUsable,
		PrivateSubnetStateDeleting:       PhaseDeleting,
	}
	privateLinkPhases = map[string]Phase{
		PrivateLinkServiceStateCreating:  PhasePending,
		PrivateLinkServiceStateAvailable: PhaseUsable,
		PrivateLinkServiceStateDeleting:  PhaseDeleting,
	}
	imageVersionPhases = map[string]Phase{
		MachineImageVersionStateCreating:   PhasePending,
		MachineImageVersionStateReady:      PhaseUsable,
		MachineImageVersionStateDestroying: PhaseDeleting,
		MachineImageVersionStateFailed:     PhaseFailed,
		"":                                 PhaseFailed, // a version without data
	}
)

// Phase returns the phase of a VM. "waiting for capacity" and "no capacity
// available" are [PhaseNoCapacity], "stopping", "stopped" and "stopped by admin"
// [PhaseOff].
func (v *VM) Phase() Phase { return cmp.Or(vmPhases[v.State], PhasePending) }

// Phase returns the phase of a database. All steps of a restore are
// [PhasePending].
func (p *Postgres) Phase() Phase { return cmp.Or(postgresPhases[p.State], PhasePending) }

// Phase returns the phase of a cluster. An upgrade doesn't interrupt it.
func (k *KubernetesCluster) Phase() Phase {
	return cmp.Or(clusterPhases[k.DisplayState], PhasePending)
}

// Phase returns the phase of a private subnet, which is usable in each state but
// "deleting".
func (s *PrivateSubnet) Phase() Phase { return cmp.Or(subnetPhases[s.State], PhaseUsable) }

// Phase returns the phase of a private link service.
func (l *PrivateLinkService) Phase() Phase { return cmp.Or(privateLinkPhases[l.State], PhasePending) }

// Phase returns the phase of a version of a machine image. A version without
// data, whose State is "", is [PhaseFailed].
func (v *MachineImageVersion) Phase() Phase {
	return cmp.Or(imageVersionPhases[v.State], PhasePending)
}

// isDeleting reports whether a record shows that its resource is being deleted.
func isDeleting[T any](record *T) bool {
	r, ok := recordOf(record).(interface{ Phase() Phase })
	return ok && r.Phase() == PhaseDeleting
}
