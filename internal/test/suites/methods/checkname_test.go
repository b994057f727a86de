package methods_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestCheckName: CheckName refuses exactly the names that the server refuses.
func TestCheckName(t *testing.T) {
	t.Parallel()
	const location = sdktest.Somewhere
	srv := cloudapitest.New(t, cloudapitest.WithQuota(cloudapitest.Quota{VM: 1000, Postgres: 1000, Kubernetes: 1000, Projects: 100}))
	client, ctx := srv.Client(), t.Context()
	subnet := stub.Must(client.PrivateSubnets.Create(ctx, location, "net", nil))(t)
	secret := cloudapi.NewSecret("secret")
	creates := map[cloudapi.Kind]func(name string) error{
		cloudapi.KindVM: func(name string) error {
			_, err := client.VMs.Create(ctx, location, name, &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, Size: "burstable-1"})
			return err
		},
		cloudapi.KindFirewall: func(name string) error { _, err := client.Firewalls.Create(ctx, location, name, nil); return err },
		cloudapi.KindPrivateSubnet: func(name string) error {
			_, err := client.PrivateSubnets.Create(ctx, location, name, nil)
			return err
		},
		cloudapi.KindLoadBalancer: func(name string) error {
			_, err := client.LoadBalancers.Create(ctx, location, name, sdktest.BalancerIn(subnet.ID))
			return err
		},
		cloudapi.KindPostgres: func(name string) error {
			_, err := client.Postgres.Create(ctx, location, name, &cloudapi.PostgresCreateRequest{Size: "burstable-1", StorageSize: 16})
			return err
		},
		cloudapi.KindKubernetesCluster: func(name string) error {
			_, err := client.Kubernetes.Create(ctx, location, name, &cloudapi.KubernetesClusterCreateRequest{Version: "v1.37", WorkerSize: "standard-2"})
			return err
		},
		cloudapi.KindSSHPublicKey: func(name string) error {
			_, err := client.SSHPublicKeys.Create(ctx, name, &cloudapi.SSHPublicKeyCreateRequest{PublicKey: stub.PublicKey})
			return err
		},
		cloudapi.KindVMInitScript: func(name string) error {
			_, err := client.VMInitScripts.Create(ctx, name, &cloudapi.VMInitScriptCreateRequest{Script: "true"})
			return err
		},
		cloudapi.KindPrivateLocation: func(name string) error {
			_, err := client.PrivateLocations.Create(ctx, name, &cloudapi.PrivateLocationCreateRequest{ProviderLocationName: "us-east-1", AccessKey: secret, SecretKey: secret})
			return err
		},
		cloudapi.KindProject: func(name string) error {
			_, err := client.Projects.Create(ctx, name)
			return err
		},
	}
	for kind, create := range creates {
		idLike := string(kind) + strings.Repeat("a", 24)
		for _, name := range []string{"a", "a-1", "1a", "C_", "Web", "-a", "a-", "a.b", "", " ", strings.Repeat("a", 40), strings.Repeat("b", 41), strings.Repeat("c", 63),
			strings.Repeat("d", 64), idLike, idLike + "a", string(kind) + "-" + strings.Repeat("a", 23), "zz" + strings.Repeat("a", 24)} {
			checked, created := cloudapi.CheckName(kind, name), create(name)
			if errors.Is(created, cloudapi.ErrAlreadyExists) {
				created = nil
			}
			if (checked == nil) != (created == nil) {
				t.Errorf("%v %q: CheckName: %v; Create: %v", kind, name, checked, created)
			}
			if e, ok := errors.AsType[*cloudapi.ArgumentError](checked); checked != nil && (!ok || e.Name != "name") {
				t.Errorf("%v %q: %v", kind, name, checked)
			}
		}
	}
	for name, want := range map[string]bool{"v1": true, "20261122033026": true, "V1.0_rc-2": true, ".1": false, "-1": false, "a b": false, "": false,
		strings.Repeat("a", 64): true, strings.Repeat("a", 65): false} {
		if err := cloudapi.CheckName(cloudapi.KindMachineImageVersion, name); (err == nil) != want {
			t.Errorf("version %q: %v", name, err)
		}
	}
	for _, kind := range []cloudapi.Kind{cloudapi.KindFirewallRule, cloudapi.KindInferenceAPIKey, "zz", ""} {
		if err := cloudapi.CheckName(kind, "a"); !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("of kind %q: %v", kind, err)
		}
	}
}
