package families_test

import (
	"errors"
	"net/netip"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func TestVMLifecycle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract), cloudapitest.WithDelays(cloudapitest.Delays{Create: 3 * time.Minute, Restart: 2 * time.Minute, Delete: time.Minute}))
		client := srv.Client()
		began := time.Now()
		created := stub.Must(client.VMs.Create(t.Context(), here, "web", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", EnableIP4: new(true)}))(t)
		restart := func() { client.VMs.Restart(t.Context(), here, "web") }
		for _, step := range []struct {
			do    func()
			after time.Duration
			state string // "" if it is gone
		}{
			{nil, 0, "creating"},
			{restart, 0, "restarting"},
			{nil, 2*time.Minute - 1, "restarting"},
			{nil, 1, "creating"},
			{nil, time.Minute, "running"},
			{restart, 0, "restarting"},
			{nil, 2 * time.Minute, "running"},
			{func() { srv.SetState(created.ID, "no capacity available") }, time.Hour, "no capacity available"},
			{func() { srv.SetState(created.ID, "") }, 0, "running"},
			{func() { client.VMs.Delete(t.Context(), here, "web") }, 0, "deleting"},
			{restart, 0, "deleting"},
			{nil, time.Minute, ""},
		} {
			if step.do != nil {
				step.do()
			}
			stub.Elapse(step.after)
			v, err := client.VMs.Get(t.Context(), here, "web")
			if step.state == "" {
				if !errors.Is(err, cloudapi.ErrNotFound) {
					t.Errorf("%v, want %v", err, cloudapi.ErrNotFound)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			placed := time.Since(began) >= 3*time.Minute
			if v.State != step.state || (v.StorageSizeGiB == 40) != placed || (v.IP4 != "") != placed || (v.IP6 != "") != placed {
				t.Errorf("the VM is %+v, want it %s, placed: %t", v, step.state, placed)
			}
		}
	})
}

func TestVMsHaveSeparateAddresses(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{})).Client()
	seen := map[string]bool{}
	for _, name := range []string{"a", "b", "c"} {
		v := stub.Must(client.VMs.Create(t.Context(), here, name, &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", EnableIP4: new(true)}))(t)
		for _, a := range []string{v.IP4, v.IP6, v.PrivateIPv4, v.PrivateIPv6} {
			if _, err := netip.ParseAddr(a); err != nil || seen[a] {
				t.Errorf("%s has the address %q, %v", name, a, err)
			}
			seen[a] = true
		}
	}

	stub.Must(client.VMs.Rename(t.Context(), here, "a", "z"))(t)
	s := stub.Must(client.PrivateSubnets.Get(t.Context(), here, "default-"+here))(t)
	nics := map[string]string{}
	for _, n := range s.NICs {
		nics[n.Name] = n.VMName
		if !seen[n.PrivateIPv4] || !seen[n.PrivateIPv6] {
			t.Errorf("the NIC %+v has addresses that no VM has", n)
		}
	}
	if want := map[string]string{"a-nic": "z", "b-nic": "b", "c-nic": "c"}; !reflect.DeepEqual(nics, want) {
		t.Errorf("the subnet's NICs are %v, want %v", nics, want)
	}
}

// TestRefusedVMs also checks that a refused create leaves nothing behind.
func TestRefusedVMs(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t).Client()
	elsewhere := stub.Must(client.PrivateSubnets.Create(t.Context(), "us-east-a2", "net", nil))(t)
	for _, tt := range []struct {
		location, field string
		request         cloudapi.VMCreateRequest
	}{
		{here, "private_subnet_id", cloudapi.VMCreateRequest{PrivateSubnetID: elsewhere.ID}},
		{here, "gpu", cloudapi.VMCreateRequest{GPU: "3:20b5"}},
		{here, "gpu", cloudapi.VMCreateRequest{GPU: "1:20b5", Size: "burstable-1"}},
		{here, "init_script", cloudapi.VMCreateRequest{InitScript: "setup"}},
		{here, "init_script", cloudapi.VMCreateRequest{InitScript: cloudapitest.NewID(cloudapi.KindVMInitScript).String()}},
		{"eu-north-h1", "location", cloudapi.VMCreateRequest{Size: "burstable-1"}},
		{here, "user", cloudapi.VMCreateRequest{UnixUser: "0"}},
		{here, "size", cloudapi.VMCreateRequest{Size: "standard-60", UnixUser: "0"}}, // the quota comes first
		{here, "boot_image", cloudapi.VMCreateRequest{Size: "huge", BootImage: "dos"}},
		{here, "storage_size", cloudapi.VMCreateRequest{Size: "burstable-2", StorageSize: 80}},
	} {
		tt.request.PublicKey = "key"
		_, err := client.VMs.Create(t.Context(), tt.location, "web", &tt.request)
		e, ok := errors.AsType[*cloudapi.Error](err)
		if !ok || e.FieldErrors()[tt.field] == nil {
			t.Errorf("%+v: %v, want an error of the field %s", tt.request, err, tt.field)
		}
	}
	if page, err := client.PrivateSubnets.List(t.Context(), nil); err != nil || len(page.Items) != 1 {
		t.Errorf("%v, %v, want no default subnets", page, err)
	}
}

func TestVMsCountUntilTheyAreGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.WithQuota(cloudapitest.Quota{VM: 3}))
		client := srv.Client()
		create := func(name, size string) error {
			_, err := client.VMs.Create(t.Context(), here, name, &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", Size: size})
			return err
		}
		if err := create("a", "standard-2"); err != nil {
			t.Fatal(err)
		}
		if err := create("b", "burstable-1"); err != nil {
			t.Fatal(err)
		}
		if err := client.VMs.Delete(t.Context(), here, "a"); err != nil {
			t.Fatal(err)
		}
		e, ok := errors.AsType[*cloudapi.Error](create("a", "burstable-1"))
		want := []string{"Insufficient quota for requested size. Requested vCPU count: 1, currently used vCPU count: 3, " +
			"maximum allowed vCPU count: 3, remaining vCPU count: 0"}
		if !ok || !reflect.DeepEqual(e.FieldErrors()["size"], want) {
			t.Errorf("%v, want %q", e, want)
		}
		if err := client.Projects.Delete(t.Context(), srv.ProjectID()); !errors.Is(err, cloudapi.ErrConflict) {
			t.Errorf("deleting the project: %v, want %v", err, cloudapi.ErrConflict)
		}
		stub.Elapse(cloudapitest.DefaultDelays().Delete)
		if err := create("a", "burstable-2"); err != nil {
			t.Error(err)
		}
	})
}
