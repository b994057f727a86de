package families_test

import (
	"errors"
	"reflect"
	"regexp"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func TestInferenceAPIKeys(t *testing.T) {
	t.Parallel()
	powerless := "pat-another"
	srv := cloudapitest.New(t, cloudapitest.WithTokenAccess(powerless, cloudapitest.AccessNone))
	ctx, keys := t.Context(), srv.Client().InferenceAPIKeys
	a, b := must(keys.Create(ctx)), must(keys.Create(ctx))
	form := regexp.MustCompile(`^[A-Za-z0-9]{32}$`)
	if a.ID == b.ID || a.Key.Reveal() == b.Key.Reveal() || !form.MatchString(a.Key.Reveal()) {
		t.Errorf("the keys are %s and %s", a.Key.Reveal(), b.Key.Reveal())
	}

	blind := srv.Client(cloudapi.WithToken(powerless)).InferenceAPIKeys
	if page := must(blind.List(ctx, nil)); len(page.Items) != 0 {
		t.Errorf("without permission %d keys are listed", len(page.Items))
	}
	if _, err := blind.Get(ctx, a.ID); !errors.Is(err, cloudapi.ErrNotFound) {
		t.Errorf("without permission: %v, want %v", err, cloudapi.ErrNotFound)
	}
	if _, err := blind.Create(ctx); !errors.Is(err, cloudapi.ErrForbidden) {
		t.Errorf("without permission: %v, want %v", err, cloudapi.ErrForbidden)
	}
	if err := blind.Delete(ctx, a.ID); err != nil {
		t.Error(err)
	}
	srv.SetPermissions(srv.ProjectID(), powerless, "InferenceApiKey:view")
	if _, err := blind.Get(ctx, a.ID); err != nil {
		t.Errorf("with the permission to view: %v", err)
	}
	if err := blind.Delete(ctx, a.ID); !errors.Is(err, cloudapi.ErrForbidden) {
		t.Errorf("deleting it with the permission to view: %v, want %v", err, cloudapi.ErrForbidden)
	}
	if got := must(keys.Get(ctx, a.ID)); !reflect.DeepEqual(got, a) {
		t.Errorf("%s was deleted, or changed, without permission", a.ID)
	}

	for range 2 {
		if err := keys.Delete(ctx, a.ID); err != nil {
			t.Error(err)
		}
	}
	if page := must(keys.List(ctx, nil)); len(page.Items) != 1 || !reflect.DeepEqual(page.Items[0], b) {
		t.Errorf("%v are left, want %s", page.Items, b)
	}
	const badParity = "ak164pbm96ba3grq6vbsvjb3ax"
	path := "/project/" + srv.ProjectID() + "/inference-api-key/" + badParity
	if status, body := stub.Do(t, srv, "DELETE", path, ""); status != 404 {
		t.Errorf("deleting %s, which is no ID: %d %s, want 404", badParity, status, body)
	}
}
