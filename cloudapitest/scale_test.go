package cloudapitest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
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
			addresses[v.Subnet+" "+v.PrivateIPv4], addresses[v.IP6] = true, true
			if !slices.Contains(ids, v.ID) || v.State != "running" || v.Size != "burstable-1" || !strings.HasPrefix(v.Subnet, "load-net-") {
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
		if len(tb.reports) != 3 {
			t.Errorf("reported %q, want three mistakes", tb.reports)
		}
	})
}

// BenchmarkWalk lists many VMs, 1000 a page.
func BenchmarkWalk(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			srv := New(b, WithRequestLog(0))
			client := srv.Client()
			srv.AddVMs(here, "load", n)
			b.ReportAllocs()
			for b.Loop() {
				seen := 0
				for _, err := range client.VMs.All(b.Context(), nil) {
					if err != nil {
						b.Fatal(err)
					}
					seen++
				}
				if seen != n {
					b.Fatalf("%d VMs, want %d", seen, n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/record")
		})
	}
}

func BenchmarkAddVMs(b *testing.B) {
	for b.Loop() {
		srv := NewServer()
		srv.AddVMs(here, "load", 100_000)
		srv.Close()
	}
}

// TestAddVMsOfService: their records have all fields that records of created
// VMs have.
func TestAddVMsOfService(t *testing.T) {
	t.Parallel()
	srv := New(t, WithAPI(Service), WithDelays(Delays{}))
	c, ctx := srv.Client(), t.Context()
	srv.AddVMs(here, "load", 1)
	created := stub.Must(c.VMs.Create(ctx, here, "web", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA"}))(t)
	added, err := c.VMs.Get(ctx, here, "load-1")
	if err != nil || added.BootImage != created.BootImage || added.UnixUser != created.UnixUser {
		t.Errorf("%+v, %v, want the image %q and the user %q", added, err, created.BootImage, created.UnixUser)
	}
}
