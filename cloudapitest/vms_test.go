package cloudapitest

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func TestAddVMs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tb := &recorder{TB: t}
		srv := New(tb)
		client := srv.Client()
		ids := srv.AddVMs(here, "load", 130)
		vms, err := cloudapi.Collect(client.VMs.All(t.Context(), &cloudapi.ListOptions{Location: here, PageSize: 50}))
		if err != nil || len(vms) != 130 || len(ids) != 130 {
			t.Fatalf("%d VMs with %d IDs are listed as %d: %v", 130, len(ids), len(vms), err)
		}
		addresses := map[string]bool{}
		for _, v := range vms {
			v := stub.Must(client.VMs.Get(t.Context(), here, v.ID))(t)
			addresses[v.Subnet+" "+v.PrivateIPv4], addresses[v.IPv6] = true, true
			if !slices.Contains(ids, v.ID) || v.State != "running" || v.Size != "burstable-1" || v.BootImage != "ubuntu-noble" || v.UnixUser != "ubi" || !strings.HasPrefix(v.Subnet, "load-net-") {
				t.Errorf("%+v", v)
			}
		}
		if len(addresses) != 260 {
			t.Errorf("130 VMs have %d addresses", len(addresses))
		}
		if _, err := client.VMs.Get(t.Context(), here, "load-130"); err != nil {
			t.Error(err)
		}
		if tb.reports != nil {
			t.Errorf("reported %q", tb.reports)
		}
		srv.AddVMs(here, "load", 1)
		srv.AddVMs("nowhere", "load", 1)
		srv.AddVMs(here, "No", 1)
		stub.Must(client.VMs.Rename(t.Context(), here, ids[0], "part-3"))(t)
		srv.AddVMs(here, "part", 3)
		if len(tb.reports) != 4 || srv.IDs(cloudapi.KindVM, "part-1") != nil {
			t.Errorf("reported %q, want four mistakes, and that no VM was added", tb.reports)
		}
	})
}
