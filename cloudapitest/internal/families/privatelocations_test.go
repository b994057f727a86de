package families_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func createPlace(t *testing.T, client *cloudapi.Client, name, region string) *cloudapi.PrivateLocation {
	t.Helper()
	return must(client.PrivateLocations.Create(t.Context(), &cloudapi.PrivateLocationCreateRequest{
		Name: name, ProviderLocationName: region,
		AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret"),
	}))
}

func TestPrivateLocationsAreLocations(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client) {
		ctx, places := t.Context(), client.PrivateLocations
		created := createPlace(t, client, "mine", "us-east-1")
		want := cloudapi.PrivateLocation{
			ID: created.ID, Name: "us-east-1", UIName: "mine", Provider: "aws", Path: "/private-location/mine",
		}
		if !cloudapi.IsID(created.ID, cloudapi.KindPrivateLocation) || *created != want {
			t.Errorf("created as %+v, want %+v", created, want)
		}
		s := createSubnet(t, client, "mine", "net")
		v := must(client.VMs.Create(ctx, "mine", "web", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA", PrivateSubnetID: s.ID}))
		if v.Location != "mine" {
			t.Errorf("the VM is in %s", v.Location)
		}

		renamed := must(places.Rename(ctx, "mine", "ours"))
		want.UIName, want.Path = "ours", "/private-location/ours"
		if *renamed != want {
			t.Errorf("renamed to %+v, want %+v", renamed, want)
		}
		if v := must(client.VMs.Get(ctx, "ours", "web")); v.Location != "ours" {
			t.Errorf("the VM is in %s after the rename", v.Location)
		}
		_, err := client.VMs.Get(ctx, "mine", "web")
		e, ok := errors.AsType[*cloudapi.Error](err)
		available := []string{"Given location is not a valid location. Available locations: eu-central-h1, eu-north-h1, ours, us-east-a2"}
		if !ok || e.Type != "InvalidLocation" || !reflect.DeepEqual(e.FieldErrors()["location"], available) {
			t.Errorf("under the former name: %v, want %q", err, available)
		}
		if _, err := places.Get(ctx, "mine"); !errors.Is(err, cloudapi.ErrNotFound) {
			t.Errorf("%v, want %v", err, cloudapi.ErrNotFound)
		}
	})
}

func TestPrivateLocationsBelongToAProject(t *testing.T) {
	t.Parallel()
	stranger := "pat-another"
	srv := cloudapitest.New(t, cloudapitest.WithTokenAccess(stranger, cloudapitest.AccessForeign))
	createPlace(t, srv.Client(), "mine", "us-west-2")
	other := srv.Client(cloudapi.WithToken(stranger), cloudapi.WithProject(srv.OtherProjectID()))
	createPlace(t, other, "theirs", "us-west-2")
	createPlace(t, other, "mine", "eu-west-1") // taken in another project only

	names := map[string]string{}
	for l, err := range other.PrivateLocations.All(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names[l.UIName] = l.Name
	}
	if want := map[string]string{"theirs": "us-west-2", "mine": "eu-west-1"}; !reflect.DeepEqual(names, want) {
		t.Errorf("the other project has %v, want %v", names, want)
	}
	_, err := srv.Client().VMs.List(t.Context(), &cloudapi.ListOptions{Location: "theirs"})
	refused(t, err, "InvalidLocation")
}

func TestPrivateLocationsAreListedByRegion(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t).Client()
	for name, region := range map[string]string{"a": "us-west-2", "b": "eu-west-1", "c": "us-east-1"} {
		createPlace(t, client, name, region)
	}
	var names []string
	for _, l := range must(client.PrivateLocations.List(t.Context(), &cloudapi.ListOptions{OrderColumn: "name"})).Items {
		names = append(names, l.UIName)
	}
	if want := []string{"b", "c", "a"}; !reflect.DeepEqual(names, want) {
		t.Errorf("listed as %q, want %q", names, want)
	}
}

func TestPrivateLocationNames(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t).Client()
	createPlace(t, client, "a", "us-west-2")
	createPlace(t, client, here, "us-west-2")
	for name, want := range map[string]string{
		"a":    "", // the name that it already has
		here:   "project_id and display_name is already taken, project_id and ui_name is already taken",
		"-":    "must only contain lowercase letters, numbers, and hyphens and have max length 63.",
		"free": "",
	} {
		if want == "" {
			must(client.PrivateLocations.Rename(t.Context(), "a", name))
			must(client.PrivateLocations.Rename(t.Context(), name, "a"))
			continue
		}
		_, err := client.PrivateLocations.Rename(t.Context(), "a", name)
		refused(t, err, want)
	}
}

func TestPrivateLocationsInUse(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client) {
		ctx := t.Context()
		createPlace(t, client, "mine", "us-west-2")
		must(client.Firewalls.Create(ctx, "mine", "fw", nil))
		must(client.Postgres.Create(ctx, "mine", "db", &cloudapi.PostgresCreateRequest{Size: "m6id.large", StorageSize: 118}))

		path := "/project/" + srv.ProjectID() + "/private-location/mine"
		steps := []struct {
			do     func() error
			status int
			want   string
		}{
			{func() error { return nil }, 409, "Private location 'mine' has some resources, first, delete them."},
			{func() error { return client.Postgres.Delete(ctx, "mine", "db") }, 409, "DependencyError"}, // there for a while
			{func() error { stub.Elapse(time.Hour); return nil }, 500, "UnexceptedError"},
			{func() error { return client.Firewalls.Delete(ctx, "mine", "fw") }, 500, "UnexceptedError"}, // backups are kept
			{func() error { stub.Elapse(10*24*time.Hour - time.Hour); return nil }, 500, "UnexceptedError"},
			{func() error { stub.Elapse(time.Hour); return nil }, 204, ""},
			{func() error { return nil }, 204, ""},
		}
		for i, step := range steps {
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			if status, body := stub.Do(t, srv, "DELETE", path, ""); status != step.status || !strings.Contains(body, step.want) {
				t.Errorf("step %d: %d %s, want %d %s", i, status, body, step.status, step.want)
			}
		}
		_, err := client.VMs.List(ctx, &cloudapi.ListOptions{Location: "mine"})
		refused(t, err, "InvalidLocation")
	}, cloudapitest.WithAPI(cloudapitest.Contract))
}

func TestRegionsThatOfferVMs(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract)).Client()
	for region, offered := range map[string]bool{"us-east-1": true, "us-east-2": true, "eu-west-1": false} {
		createPlace(t, client, region, region)
		_, err := client.VMs.Create(t.Context(), region, "web", &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA"})
		e, _ := errors.AsType[*cloudapi.Error](err)
		if refused := e != nil && e.FieldErrors()["location"] != nil; refused == offered || refused != (err != nil) {
			t.Errorf("%s: %v, want a VM there: %t", region, err, offered)
		}
	}
}

// TestPrivateLocationIsDeletedWhenEmpty: in the service a location
// that is in use is deleted when its last resource is gone.
func TestPrivateLocationIsDeletedWhenEmpty(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client) {
		ctx := t.Context()
		createPlace(t, client, "mine", "us-west-2")
		must(client.Firewalls.Create(ctx, "mine", "fw", nil))
		for range 2 {
			if err := client.PrivateLocations.Delete(ctx, "mine"); err != nil {
				t.Fatal(err)
			}
			stub.Elapse(time.Hour)
			must(client.PrivateLocations.Get(ctx, "mine"))
		}
		if err := client.Firewalls.Delete(ctx, "mine", "fw"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		if err := client.PrivateLocations.WaitDeleted(ctx, "mine", nil); err != nil {
			t.Error(err)
		}
	}, cloudapitest.WithAPI(cloudapitest.Service))
}
