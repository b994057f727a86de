package waits_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/apitables"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestPhases: each known state of a family has a phase.
func TestPhases(t *testing.T) {
	t.Parallel()
	const (
		pending, usable, interrupted = cloudapi.PhasePending, cloudapi.PhaseUsable, cloudapi.PhaseInterrupted
		off, full, deleting, failed  = cloudapi.PhaseOff, cloudapi.PhaseNoCapacity, cloudapi.PhaseDeleting, cloudapi.PhaseFailed
	)
	for field, tt := range map[string]struct {
		phase func(state string) cloudapi.Phase
		want  map[string]cloudapi.Phase
	}{
		"VM.State": {func(s string) cloudapi.Phase { return (&cloudapi.VM{State: s}).Phase() }, map[string]cloudapi.Phase{
			"creating": pending, "waiting for capacity": full, "no capacity available": full, "running": usable, "restarting": interrupted, "rebooting": interrupted,
			"starting": pending, "stopping": off, "stopped": off, "deleting": deleting, "stopped by admin": off, "unavailable": interrupted}},
		"Postgres.State": {func(s string) cloudapi.Phase { return (&cloudapi.Postgres{State: s}).Phase() }, map[string]cloudapi.Phase{
			"creating": pending, "running": usable, "unavailable": interrupted, "deleting": deleting, "restarting": interrupted,
			"restoring_backup": pending, "replaying_wal": pending, "finalizing_restore": pending}},
		"KubernetesCluster.DisplayState": {func(s string) cloudapi.Phase { return (&cloudapi.KubernetesCluster{DisplayState: s}).Phase() }, map[string]cloudapi.Phase{
			"creating": pending, "running": usable, "upgrading": usable, "deleting": deleting}},
		"PrivateSubnet.State": {func(s string) cloudapi.Phase { return (&cloudapi.PrivateSubnet{State: s}).Phase() }, map[string]cloudapi.Phase{
			"available": usable, "adding_new_nic": usable, "refreshing_keys": usable, "deleting": deleting}},
		"PrivateLinkService.State": {func(s string) cloudapi.Phase { return (&cloudapi.PrivateLinkService{State: s}).Phase() }, map[string]cloudapi.Phase{
			"creating": pending, "available": usable, "deleting": deleting}},
		"MachineImageVersion.State": {func(s string) cloudapi.Phase { return (&cloudapi.MachineImageVersion{State: s}).Phase() }, map[string]cloudapi.Phase{
			"creating": pending, "ready": usable, "failed": failed, "destroying": deleting}},
	} {
		states := apitables.Values()[field]
		if len(states) != len(tt.want) {
			t.Errorf("%s: %d states, and phases for %d", field, len(states), len(tt.want))
		}
		for state := range states {
			if got := tt.phase(state); got != tt.want[state] {
				t.Errorf("%s %q: the phase is %q, want %q", field, state, got, tt.want[state])
			}
		}
		if got := tt.phase("odd"); got != pending && field != "PrivateSubnet.State" {
			t.Errorf("%s: an unknown state has the phase %q", field, got)
		}
	}
}

// TestFailWithoutCapacity: a wait can end when no host has capacity, also with
// others that share a list.
func TestFailWithoutCapacity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		delays := cloudapitest.DefaultDelays()
		delays.Create = time.Hour
		srv := cloudapitest.New(t, cloudapitest.WithDelays(delays))
		client := srv.Client(cloudapi.WithSharedWaits())
		created := createVMs(t, client, 4)
		for i, state := range []string{cloudapi.VMStateNoCapacityAvailable, cloudapi.VMStateNoCapacityAvailable, cloudapi.VMStateWaitingForCapacity} {
			time.AfterFunc(time.Minute, func() { srv.SetState(created[i].ID, state) })
		}
		done := make(chan error)
		for i, vm := range created {
			go func() {
				_, err := client.VMs.WaitRunning(t.Context(), sdktest.Somewhere, vm.ID, &cloudapi.WaitOptions{FailWithoutCapacity: i != 1})
				e, _ := errors.AsType[*cloudapi.WaitError](err)
				if errors.Is(err, cloudapi.ErrNoCapacity) != (i == 0) || i == 0 && e.State != cloudapi.VMStateNoCapacityAvailable {
					t.Errorf("VM %d: %v", i, err)
				}
				done <- err
			}()
		}
		start := time.Now()
		<-done
		if took := time.Since(start); took > 70*time.Second {
			t.Errorf("the first wait ended after %v", took)
		}
		for _, vm := range created[1:3] {
			srv.SetState(vm.ID, "")
		}
		for range created[1:] {
			stub.Must(0, <-done)(t)
		}
	})
}
