package waits_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestWaitSerialLog: the wait returns the text of the fetch, or says that there
// is none, and a refresh counts once a minute has passed since the last fetch.
func TestWaitSerialLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service))
		vms, ctx := srv.Client().VMs, t.Context()
		vm := stub.Must(vms.Create(ctx, sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
		if _, err := vms.WaitSerialLog(ctx, vm.Location, vm.ID, nil); !errors.Is(err, cloudapi.ErrInvalidRequest) {
			t.Errorf("without a host: %v", err)
		}
		stub.Must(vms.WaitRunning(ctx, vm.Location, vm.ID, nil))(t)

		srv.FailSerialLog(vm.ID)
		_, err := vms.WaitSerialLog(ctx, vm.Location, vm.ID, nil)
		var failure *cloudapi.WaitError
		if !errors.As(err, &failure) || !errors.Is(err, cloudapi.ErrWaitFailed) || failure.State != cloudapi.VMSerialLogStatusFailed || failure.Elapsed < 30*time.Second {
			t.Errorf("a failed fetch: %v", err)
		}
		srv.SetSerialLog(vm.ID, "login:")
		refresh := &cloudapi.VMSerialLogOptions{Refresh: true}
		if log, err := vms.SerialLog(ctx, vm.Location, vm.ID, refresh); err != nil || log.Status != cloudapi.VMSerialLogStatusFailed {
			t.Errorf("a refresh at once: %+v, %v", log, err)
		}
		<-time.After(time.Minute)
		if log, err := vms.SerialLog(ctx, vm.Location, vm.ID, refresh); err != nil || log.Status != cloudapi.VMSerialLogStatusCreated || log.Output != "" {
			t.Errorf("a refresh after a minute: %+v, %v", log, err)
		}
		if log, err := vms.WaitSerialLog(ctx, vm.Location, vm.ID, nil); err != nil || log.Output != "login:" {
			t.Errorf("the next fetch: %+v, %v", log, err)
		}
	})
}
