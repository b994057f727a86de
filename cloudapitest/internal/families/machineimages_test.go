package families_test

import (
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestImageOfAStoppedVM follows a program that builds images, from a VM to
// another one that boots the image.
func TestImageOfAStoppedVM(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client) {
		ctx := t.Context()
		vm := must(client.VMs.Create(ctx, here, "source", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA"}))
		must(client.VMs.WaitRunning(ctx, here, vm.ID, nil))
		must(client.VMs.Stop(ctx, here, vm.ID))
		stub.Elapse(time.Minute)
		if got := must(client.VMs.Get(ctx, here, vm.ID)); got.State != cloudapi.VMStateStopped {
			t.Errorf("the VM is %s", got.State)
		}
		image := must(client.MachineImages.Create(ctx, here, "golden", &cloudapi.MachineImageCreateRequest{VM: vm.ID, Version: "v1"}))
		if err := client.VMs.Delete(ctx, here, vm.ID); err == nil {
			t.Error("the VM can be deleted while it is captured")
		}
		if v := must(client.MachineImages.WaitVersion(ctx, here, image.ID, "v1", nil)); !v.Latest {
			t.Errorf("%+v is not the latest", v)
		}
		if got := must(client.VMs.Create(ctx, here, "copy", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", BootImage: "golden@latest"})); got.BootImage != "golden@latest" {
			t.Errorf("the copy boots %q", got.BootImage)
		}
	}, cloudapitest.WithAPI(cloudapitest.Service))
}
