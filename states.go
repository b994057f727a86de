package cloudapi

// Phase says what a program can expect of a resource, whatever its state is
// called. The Phase methods of records return one of the constants.
type Phase string

// Values of [Phase].
const (
	PhasePending     Phase = "pending"     // on the way to usable: the server is working on it; also for a state that the SDK doesn't know
	PhaseUsable      Phase = "usable"      // in use, also during a change that doesn't interrupt it
	PhaseInterrupted Phase = "interrupted" // was usable, and becomes usable again without a call: a restart, a failover, or a failure that the server may repair
	PhaseOff         Phase = "off"         // stays unusable until it's started, which only the provider can if a VM is "stopped by admin"
	PhaseNoCapacity  Phase = "no capacity" // no host has room for it; the server keeps trying
	PhaseDeleting    Phase = "deleting"    // is being deleted
	PhaseFailed      Phase = "failed"      // stays unusable until it's deleted
)

// isDeleting reports whether a record shows that its resource is being deleted.
func isDeleting[T any](record *T) bool {
	r, ok := any(record).(interface{ Phase() Phase })
	return ok && record != nil && r.Phase() == PhaseDeleting
}
