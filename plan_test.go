package cloudapi_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestPlan: a plan changes nothing, and an Ensure with the same arguments does
// what the plan says.
func TestPlan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		ctx := t.Context()
		step := func(name string, want cloudapi.EnsureOutcome, fields int, plan func() (cloudapi.EnsureOutcome, []cloudapi.Drift, error), ensure func() (cloudapi.EnsureOutcome, error)) {
			t.Helper()
			before := changes(srv)
			outcome, drift, err := plan()
			if err != nil || outcome != want || len(drift) != fields || changes(srv) != before {
				t.Errorf("%s: the plan is %s, %v, %v after %d changes, want %s with %d differences", name, outcome, drift, err, changes(srv)-before, want, fields)
			}
			done, err := ensure()
			if _, drifted := errors.AsType[*cloudapi.DriftError](err); drifted {
				done, err = cloudapi.EnsureDrifted, nil
			}
			if err != nil || done != want {
				t.Errorf("%s: Ensure says %s, %v, want %s", name, done, err, want)
			}
		}
		database := func(size int, opts *cloudapi.EnsureOptions) (func() (cloudapi.EnsureOutcome, []cloudapi.Drift, error), func() (cloudapi.EnsureOutcome, error)) {
			request := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: size}
			return func() (cloudapi.EnsureOutcome, []cloudapi.Drift, error) {
					plan, err := client.Postgres.Plan(ctx, somewhere, "db-1", request, opts)
					if err != nil {
						return "", nil, err
					}
					if text := fmt.Sprint(plan); !strings.HasPrefix(text, string(plan.Outcome)) || strings.Contains(text, "storage_size is 64, wanted 128") != (len(plan.Drift) > 0) {
						t.Errorf("the plan prints as %s", text)
					}
					if (plan.Record == nil) != (plan.Outcome == cloudapi.EnsureCreated) {
						t.Errorf("the plan %s has the record %v", plan.Outcome, plan.Record)
					}
					return plan.Outcome, plan.Drift, nil
				}, func() (cloudapi.EnsureOutcome, error) {
					_, outcome, err := client.Postgres.Ensure(ctx, somewhere, "db-1", request, opts)
					return outcome, err
				}
		}
		plan, ensure := database(64, nil)
		step("nothing there", cloudapi.EnsureCreated, 0, plan, ensure)
		stub.Must(client.Postgres.WaitRunning(ctx, somewhere, "db-1"))(t)
		step("as it should be", cloudapi.EnsureUnchanged, 0, plan, ensure)
		plan, ensure = database(128, nil)
		step("different, without Update", cloudapi.EnsureDrifted, 1, plan, ensure)
		plan, ensure = database(128, &cloudapi.EnsureOptions{})
		step("different, with other options", cloudapi.EnsureDrifted, 1, plan, ensure)
		plan, ensure = database(128, &cloudapi.EnsureOptions{Update: true})
		step("different, with Update", cloudapi.EnsureUpdated, 1, plan, ensure)
		step("updated", cloudapi.EnsureUnchanged, 0, plan, ensure)
		other := &cloudapi.PostgresCreateRequest{Size: "standard-2", Flavor: "paradedb"}
		step("different in what no update can change", cloudapi.EnsureDrifted, 1, func() (cloudapi.EnsureOutcome, []cloudapi.Drift, error) {
			plan, err := client.Postgres.Plan(ctx, somewhere, "db-1", other, &cloudapi.EnsureOptions{Update: true})
			if err != nil {
				return "", nil, err
			}
			return plan.Outcome, plan.Drift, nil
		}, func() (cloudapi.EnsureOutcome, error) {
			_, outcome, err := client.Postgres.Ensure(ctx, somewhere, "db-1", other, &cloudapi.EnsureOptions{Update: true})
			return outcome, err
		})

		db := stub.Must(client.Postgres.Get(ctx, somewhere, "db-1"))(t)
		drift, err := client.Postgres.Compare(ctx, db, &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 256, Flavor: "paradedb"})
		if err != nil || len(drift) != 2 || !drift[0].Updatable || drift[1].Updatable || drift[1].Field != "flavor" {
			t.Errorf("a record in hand compares as %+v, %v", drift, err)
		}
		if _, err := client.Postgres.Compare(ctx, nil, &cloudapi.PostgresCreateRequest{}); !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("no record compares as %v", err)
		}
	})
}

// TestPlanOfDeleting: a resource that is being deleted would be created again.
func TestPlanOfDeleting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cloudapitest.New(t).Client()
		ctx := t.Context()
		request := &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}
		stub.Must(client.VMs.Create(ctx, somewhere, "web-1", request))(t)
		if err := client.VMs.Delete(ctx, somewhere, "web-1"); err != nil {
			t.Fatal(err)
		}
		plan, err := client.VMs.Plan(ctx, somewhere, "web-1", request, nil)
		if err != nil || plan.Outcome != cloudapi.EnsureCreated || plan.Record == nil {
			t.Errorf("it is %+v, %v", plan, err)
		}
	})
}

// TestPlanRefuses: a plan refuses the same arguments as Ensure, under its own
// name. If the resource may not be seen there is no plan.
func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client := srv.Client()
		for name, plan := range map[string]func(context.Context) error{
			"LoadBalancers.Plan": func(ctx context.Context) error {
				_, err := client.LoadBalancers.Plan(ctx, somewhere, "lb", &cloudapi.LoadBalancerCreateRequest{PrivateSubnetID: "net"}, nil)
				return err
			},
			"VMs.Compare": func(ctx context.Context) error {
				_, err := client.VMs.Compare(ctx, &cloudapi.VM{}, &cloudapi.VMCreateRequest{PrivateSubnetID: "net"})
				return err
			},
			"SSHPublicKeys.Plan": func(ctx context.Context) error {
				_, err := client.SSHPublicKeys.Plan(ctx, nil, nil)
				return err
			},
			"Firewalls.Plan": func(ctx context.Context) error {
				_, err := client.Firewalls.Plan(ctx, somewhere, cloudapi.NewID(cloudapi.KindFirewall).String(), nil, nil)
				return err
			},
		} {
			err := plan(t.Context())
			arguments := map[string]string{"LoadBalancers.Plan": "private_subnet_id", "VMs.Compare": "private_subnet_id", "SSHPublicKeys.Plan": "request", "Firewalls.Plan": "name"}
			if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Operation != name || e.Name != arguments[name] || len(srv.Requests()) != 0 {
				t.Errorf("%s: it is %v after %d requests", name, err, len(srv.Requests()))
			}
		}
		if plan, err := client.VMs.Plan(t.Context(), "nowhere", "web-1", nil, nil); !errors.Is(err, cloudapi.ErrLocationNotFound) {
			t.Errorf("in no location it is %v, %v", plan, err)
		}
	})
}
