package resolve_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestResources compares the resources that Resources yields with the server's,
// and the records that Records yields with the resources.
func TestResources(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewEverything(t)
		for _, tt := range []struct {
			opts  *cloudapi.ListOptions
			kinds []cloudapi.Kind
			want  []string
		}{
			{nil, []cloudapi.Kind{cloudapi.KindVM, cloudapi.KindSSHPublicKey},
				[]string{"SSH public key laptop", "VM eu-central-h1/stray", "VM eu-central-h1/web-1"}},
			{&cloudapi.ListOptions{Location: sdktest.Elsewhere}, nil,
				[]string{"firewall eu-north-h1/net-1-default", "private subnet eu-north-h1/net-1"}},
			{&cloudapi.ListOptions{Location: sdktest.Elsewhere}, []cloudapi.Kind{cloudapi.KindSSHPublicKey}, nil},
		} {
			got := sdktest.Described(stub.Must(collected(t, p.Client, tt.opts, tt.kinds...))(t))
			if slices.Sort(got); !slices.Equal(got, tt.want) {
				t.Errorf("%v in %+v: %q, want %q", tt.kinds, tt.opts, got, tt.want)
			}
		}
		want := sdktest.Contents(t, p.Client)
		all := stub.Must(collected(t, p.Client, nil))(t)
		resources := all
		for record, err := range p.Client.Records(t.Context(), nil) {
			if err != nil || len(resources) == 0 || record.Resource() != resources[0] {
				t.Fatalf("Records yields %v, %v; Resources: %v", record, err, resources)
			}
			if vm, ok := record.(*cloudapi.VM); ok != (resources[0].Kind == cloudapi.KindVM) || ok && vm.State == "" {
				t.Errorf("the record of %v is %#v", resources[0], record)
			}
			resources = resources[1:]
		}
		if len(resources) > 0 {
			t.Errorf("Records leaves out %v", resources)
		}
		for _, r := range all {
			if want[r.ID] == "" {
				t.Errorf("%v is there twice, or not at all", r)
			}
			delete(want, r.ID)
		}
		if len(want) > 0 {
			t.Errorf("%v was left out", want)
		}
	})
}

// TestResourcesFailures: Resources treats a list that the server may lack as
// empty, if other lists exist. It yields any other failure last. It sends
// nothing for invalid kinds.
func TestResourcesFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewEverything(t)
		missing := sdktest.Refusal(404, "ResourceNotFound")
		p.Server.Fail(cloudapitest.Match{Operation: "VMInitScripts.List"}, missing)
		if got, err := collected(t, p.Client, nil, cloudapi.KindVMInitScript, cloudapi.KindSSHPublicKey); err != nil || !slices.Equal(sdktest.Described(got), []string{"SSH public key laptop"}) {
			t.Errorf("without init scripts: %v, %v", got, err)
		}
		p.Server.Fail(cloudapitest.Match{Operation: "VMInitScripts.List"}, missing)
		if got, err := collected(t, p.Client, nil, cloudapi.KindVMInitScript); len(got) != 0 || !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("without any list: %v, %v", got, err)
		}
		p.Server.Fail(cloudapitest.Match{Operation: "VMs.List"}, missing)
		if got, err := collected(t, p.Client, nil, cloudapi.KindVM, cloudapi.KindSSHPublicKey); len(got) != 0 || !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("without a list that every server has: %v, %v", got, err)
		}
		p.Server.Fail(cloudapitest.Match{Operation: "SSHPublicKeys.List"}, sdktest.Refusal(403, "Forbidden"))
		if got, err := collected(t, p.Client, nil, cloudapi.KindVM, cloudapi.KindSSHPublicKey, cloudapi.KindVMInitScript); len(got) != 2 || !errors.Is(err, cloudapi.ErrForbidden) {
			t.Errorf("with a forbidden list: %v, %v", got, err)
		}
		before := len(p.Server.Requests())
		for _, kind := range []cloudapi.Kind{cloudapi.KindFirewallRule, cloudapi.KindProject, "zz"} {
			_, err := collected(t, p.Client, nil, cloudapi.KindVM, kind)
			if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Operation != "Resources" || e.Value != string(kind) {
				t.Errorf("%q: %v", kind, err)
			}
			for _, err := range p.Client.Records(t.Context(), nil, kind) {
				if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Operation != "Records" {
					t.Errorf("%q: %v", kind, err)
				}
			}
		}
		if n := len(p.Server.Requests()) - before; n > 0 {
			t.Errorf("%d requests for bad kinds", n)
		}
	})
}

func collected(t *testing.T, c *cloudapi.Client, opts *cloudapi.ListOptions, kinds ...cloudapi.Kind) (all []cloudapi.Resource, err error) {
	for r, err := range c.Resources(t.Context(), opts, kinds...) {
		if err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, nil
}

// TestDeleteAnyKind deletes a resource of each kind, and waits until it's gone.
// Delete uses the ID, even if the name is wrong.
func TestDeleteAnyKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewEverything(t)
		resolve := func(reference string) cloudapi.Resource {
			return *stub.Must(p.Client.Resolve(t.Context(), reference))(t)
		}
		for _, r := range []cloudapi.Resource{
			resolve(p.Balancer.ID), resolve(p.VM.ID), resolve(p.Cluster.ID), resolve(p.Replica.ID), resolve(p.Postgres.ID), resolve(p.Subnet.ID),
			resolve(p.Firewall.ID), resolve("own"), resolve("laptop"), resolve("setup"), resolve(p.Inference.ID),
		} {
			if r.Kind != cloudapi.KindPrivateLocation {
				r.Name = "another"
			}
			before := len(p.Server.Requests())
			if err := p.Client.Delete(t.Context(), r); err != nil {
				t.Errorf("%v: %v", r, err)
			}
			sent := p.Server.Requests()[before:]
			if r.Kind == cloudapi.KindPrivateLocation {
				sent = sent[1:] // the first request finds out whether it still has the name
			}
			if len(sent) != 1 || sent[0].Method != http.MethodDelete || !strings.HasSuffix(sent[0].Path, "/"+r.ID) && !strings.HasSuffix(sent[0].Path, "/own") {
				t.Errorf("%v: sent %v", r, sent)
			}
			if err := p.Client.WaitDeleted(t.Context(), r, nil); err != nil {
				t.Errorf("%v: %v", r, err)
			}
			if there := sdktest.Contents(t, p.Client)[r.ID]; there != "" {
				t.Errorf("%v is there after WaitDeleted", r)
			}
		}
		before := len(p.Server.Requests())
		for _, r := range []cloudapi.Resource{{Kind: cloudapi.KindFirewallRule, ID: p.Rule.ID}, {Kind: "zz", ID: "zz"}, {}} {
			for _, err := range []error{p.Client.Delete(t.Context(), r), p.Client.WaitDeleted(t.Context(), r, nil)} {
				if !errors.Is(err, cloudapi.ErrInvalidArgument) || !strings.Contains(fmt.Sprint(err), r.ID) {
					t.Errorf("%v: %v", r, err)
				}
			}
		}
		if n := len(p.Server.Requests()) - before; n > 0 {
			t.Errorf("%d requests for parts and unknown kinds", n)
		}
	})
}
