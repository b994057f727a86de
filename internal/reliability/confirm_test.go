package reliability

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

const sshKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPlaceholderKeyForTestsOnlyxxxxxxxxxxxxxxxxxxx a@example.com"

// family says how to create a resource by name, look it up, and count it.
type family struct {
	name    string
	create  func(context.Context, *cloudapi.Client) error
	confirm func(context.Context, *cloudapi.Client, error) error
	count   func(context.Context, *cloudapi.Client) (int, error)
}

// addressed returns a family whose resources are found by their name.
func addressed[T any](name string, create, get func(context.Context, *cloudapi.Client) (*T, error), all func(*cloudapi.Client, context.Context) iter.Seq2[*T, error]) family {
	return family{
		name: name,
		create: func(ctx context.Context, c *cloudapi.Client) error {
			_, err := create(ctx, c)
			return err
		},
		confirm: func(ctx context.Context, c *cloudapi.Client, err error) error {
			found, err := cloudapi.Confirm(ctx, err, func(ctx context.Context) (*T, error) { return get(ctx, c) }, func(*T) bool { return true })
			if (found == nil) == (err == nil) {
				return fmt.Errorf("found %v and %w", found, err)
			}
			return err
		},
		count: func(ctx context.Context, c *cloudapi.Client) (int, error) {
			items, err := cloudapi.Collect(all(c, ctx))
			return len(items), err
		},
	}
}

func families() []family {
	type clt = *cloudapi.Client
	const name = "web-1"
	return []family{
		addressed("VMs", func(ctx context.Context, c clt) (*cloudapi.VM, error) {
			return c.VMs.Create(ctx, location, name, &cloudapi.VMCreateRequest{PublicKey: sshKey})
		}, func(ctx context.Context, c clt) (*cloudapi.VM, error) { return c.VMs.Get(ctx, location, name) },
			func(c clt, ctx context.Context) iter.Seq2[*cloudapi.VM, error] { return c.VMs.All(ctx, nil) }),
		addressed("Firewalls", func(ctx context.Context, c clt) (*cloudapi.Firewall, error) {
			return c.Firewalls.Create(ctx, location, name, nil)
		}, func(ctx context.Context, c clt) (*cloudapi.Firewall, error) {
			return c.Firewalls.Get(ctx, location, name)
		},
			func(c clt, ctx context.Context) iter.Seq2[*cloudapi.Firewall, error] {
				return c.Firewalls.All(ctx, nil)
			}),
		addressed("PrivateSubnets", func(ctx context.Context, c clt) (*cloudapi.PrivateSubnet, error) {
			return c.PrivateSubnets.Create(ctx, location, name, nil)
		}, func(ctx context.Context, c clt) (*cloudapi.PrivateSubnet, error) {
			return c.PrivateSubnets.Get(ctx, location, name)
		},
			func(c clt, ctx context.Context) iter.Seq2[*cloudapi.PrivateSubnet, error] {
				return c.PrivateSubnets.All(ctx, nil)
			}),
		addressed("Postgres", func(ctx context.Context, c clt) (*cloudapi.Postgres, error) {
			return c.Postgres.Create(ctx, location, name, &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64})
		}, func(ctx context.Context, c clt) (*cloudapi.Postgres, error) {
			return c.Postgres.Get(ctx, location, name)
		},
			func(c clt, ctx context.Context) iter.Seq2[*cloudapi.Postgres, error] { return c.Postgres.All(ctx, nil) }),
		addressed("Kubernetes", func(ctx context.Context, c clt) (*cloudapi.KubernetesCluster, error) {
			return c.Kubernetes.Create(ctx, location, name, &cloudapi.KubernetesClusterCreateRequest{
				Version: "v1.36", WorkerSize: "standard-2", WorkerNodes: 1, CPNodes: 1})
		}, func(ctx context.Context, c clt) (*cloudapi.KubernetesCluster, error) {
			return c.Kubernetes.Get(ctx, location, name)
		},
			func(c clt, ctx context.Context) iter.Seq2[*cloudapi.KubernetesCluster, error] {
				return c.Kubernetes.All(ctx, nil)
			}),
		addressed("LoadBalancers", func(ctx context.Context, c clt) (*cloudapi.LoadBalancer, error) {
			subnet, err := c.PrivateSubnets.Get(ctx, location, "backend")
			if err != nil {
				return nil, err
			}
			return c.LoadBalancers.Create(ctx, location, name, &cloudapi.LoadBalancerCreateRequest{
				PrivateSubnetID: subnet.ID, Algorithm: "round_robin", Stack: "dual", SrcPort: 80, DstPort: 80,
				HealthCheckEndpoint: "/up", HealthCheckProtocol: "http"})
		}, func(ctx context.Context, c clt) (*cloudapi.LoadBalancer, error) {
			return c.LoadBalancers.Get(ctx, location, name)
		},
			func(c clt, ctx context.Context) iter.Seq2[*cloudapi.LoadBalancer, error] {
				return c.LoadBalancers.All(ctx, nil)
			}),
		addressed("PrivateLocations", func(ctx context.Context, c clt) (*cloudapi.PrivateLocation, error) {
			return c.PrivateLocations.Create(ctx, &cloudapi.PrivateLocationCreateRequest{Name: name,
				ProviderLocationName: cloudapi.ProviderLocationUSWest2, AccessKey: cloudapi.NewSecret("a"), SecretKey: cloudapi.NewSecret("s")})
		}, func(ctx context.Context, c clt) (*cloudapi.PrivateLocation, error) {
			return c.PrivateLocations.Get(ctx, name)
		},
			func(c clt, ctx context.Context) iter.Seq2[*cloudapi.PrivateLocation, error] {
				return c.PrivateLocations.All(ctx, nil)
			}),
		addressed("SSHPublicKeys", func(ctx context.Context, c clt) (*cloudapi.SSHPublicKey, error) {
			return c.SSHPublicKeys.Create(ctx, &cloudapi.SSHPublicKeyCreateRequest{Name: name, PublicKey: sshKey})
		}, func(ctx context.Context, c clt) (*cloudapi.SSHPublicKey, error) {
			return c.SSHPublicKeys.Get(ctx, name)
		},
			func(c clt, ctx context.Context) iter.Seq2[*cloudapi.SSHPublicKey, error] {
				return c.SSHPublicKeys.All(ctx, nil)
			}),
		addressed("VMInitScripts", func(ctx context.Context, c clt) (*cloudapi.VMInitScript, error) {
			return c.VMInitScripts.Create(ctx, &cloudapi.VMInitScriptCreateRequest{Name: name, Script: "#!/bin/sh"})
		}, func(ctx context.Context, c clt) (*cloudapi.VMInitScript, error) {
			return c.VMInitScripts.Get(ctx, name)
		},
			func(c clt, ctx context.Context) iter.Seq2[*cloudapi.VMInitScript, error] {
				return c.VMInitScripts.All(ctx, nil)
			}),
		// A project can't be read by name, so a list is searched.
		addressed("Projects", func(ctx context.Context, c clt) (*cloudapi.Project, error) {
			return c.Projects.Create(ctx, &cloudapi.ProjectCreateRequest{Name: name})
		}, func(ctx context.Context, c clt) (*cloudapi.Project, error) {
			for project, err := range c.Projects.All(ctx, nil) {
				if err != nil || project.Name == name {
					return project, err
				}
			}
			return nil, cloudapi.ErrNotFound
		},
			func(c clt, ctx context.Context) iter.Seq2[*cloudapi.Project, error] { return c.Projects.All(ctx, nil) }),
	}
}

// TestConfirm loses the request or the response of a create in every family:
// the caller finds out which of them was lost, and ends with exactly one
// resource.
func TestConfirm(t *testing.T) {
	t.Parallel()
	for _, f := range families() {
		for fault, carriedOut := range map[string]bool{"request": false, "reply": true} {
			t.Run(f.name+" without a "+fault, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					srv := cloudapitest.New(t)
					client := srv.Client()
					ctx := t.Context()
					stub.Must(client.PrivateSubnets.Create(ctx, location, "backend", nil))(t)
					before, err := f.count(ctx, client)
					if err != nil {
						t.Fatal(err)
					}
					drop := cloudapitest.DropBefore()
					if carriedOut {
						drop = cloudapitest.DropAfter()
					}
					srv.Fail(cloudapitest.Match{Method: "POST"}, drop)
					err = f.create(ctx, client)
					if !errors.Is(err, cloudapi.ErrOutcomeUnknown) {
						t.Fatalf("the create ended with %v", err)
					}
					err = f.confirm(ctx, client, err)
					if carriedOut && err != nil || !carriedOut && (!errors.Is(err, cloudapi.ErrNotFound) || !errors.Is(err, cloudapi.ErrOutcomeUnknown)) {
						t.Fatalf("executed: %v, confirmed with %v", carriedOut, err)
					}
					if !carriedOut {
						if err := f.create(ctx, client); err != nil {
							t.Fatal(err)
						}
					}
					if after, err := f.count(ctx, client); err != nil || after != before+1 {
						t.Errorf("there were %d and now are %d, %v", before, after, err)
					}
				})
			})
		}
	}
}
