package ensure_test

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

// TestEnsureAfterAnUpgrade: from the moment at which an upgrade begins, the new
// version is the one that matches. The old one differs, and no update changes
// that, so Ensure never undoes an upgrade.
func TestEnsureAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	update := &cloudapi.EnsureOptions{Update: true}
	for name, tt := range map[string]struct {
		before, after string
		ensure        func(*testing.T, *cloudapi.Client, string) (cloudapi.EnsureOutcome, error)
		upgrade       func(*testing.T, *cloudapi.Client)
	}{
		"a cluster": {"v1.36", "v1.37", func(t *testing.T, c *cloudapi.Client, version string) (cloudapi.EnsureOutcome, error) {
			_, outcome, err := c.Kubernetes.Ensure(t.Context(), sdktest.Somewhere, "apps", &cloudapi.KubernetesClusterCreateRequest{Version: version, WorkerSize: "standard-2"}, update)
			return outcome, err
		}, func(t *testing.T, c *cloudapi.Client) {
			stub.Must(c.Kubernetes.WaitRunning(t.Context(), sdktest.Somewhere, "apps", nil))(t)
			stub.Must(c.Kubernetes.Upgrade(t.Context(), sdktest.Somewhere, "apps"))(t)
		}},
		"a database": {"17", "18", func(t *testing.T, c *cloudapi.Client, version string) (cloudapi.EnsureOutcome, error) {
			_, outcome, err := c.Postgres.Ensure(t.Context(), sdktest.Somewhere, "orders", &cloudapi.PostgresCreateRequest{Version: version, Size: "standard-2", StorageSize: 64}, update)
			return outcome, err
		}, func(t *testing.T, c *cloudapi.Client) {
			stub.Must(c.Postgres.WaitRunning(t.Context(), sdktest.Somewhere, "orders", nil))(t)
			stub.Must(c.Postgres.Upgrade(t.Context(), sdktest.Somewhere, "orders"))(t)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := cloudapitest.New(t)
				client := srv.Client()
				if outcome, err := tt.ensure(t, client, tt.before); outcome != cloudapi.EnsureCreated || err != nil {
					t.Fatal(outcome, err)
				}
				tt.upgrade(t, client)
				before := sdktest.Changes(srv)
				for _, pause := range []time.Duration{0, 24 * time.Hour} { // during and after the upgrade
					stub.Elapse(pause)
					if outcome, err := tt.ensure(t, client, tt.after); outcome != cloudapi.EnsureUnchanged || err != nil {
						t.Errorf("after %v, the new version: %q, %v", pause, outcome, err)
					}
					_, err := tt.ensure(t, client, tt.before)
					want := cloudapi.Drift{Field: "version", Wanted: tt.before, Found: tt.after}
					if e, ok := errors.AsType[*cloudapi.DriftError](err); !ok || len(e.Fields) != 1 || e.Fields[0] != want {
						t.Errorf("after %v, the old version: %v", pause, err)
					}
				}
				if n := sdktest.Changes(srv) - before; n != 0 {
					t.Errorf("%d requests that change something", n)
				}
			})
		})
	}
}
