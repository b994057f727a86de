package resolve_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
)

// TestMissingInitScript: a server with the contract responds with a 404 if a
// script is missing. The service sends the same response because it has no
// scripts at all. The methods that look for a script read the list to tell the
// two apart.
func TestMissingInitScript(t *testing.T) {
	t.Parallel()
	id := cloudapitest.NewID(cloudapi.KindVMInitScript).String()
	request := &cloudapi.VMInitScriptCreateRequest{Script: "reboot"}
	for name, client := range map[string]*cloudapi.Client{
		"contract": cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract)).Client(),
		"service": sdktest.Answering(t, http.StatusNotFound, "application/json",
			`{"error":{"code":404,"type":"ResourceNotFound","message":"Sorry, we couldn’t find the resource you’re looking for."}}`),
	} {
		isContract := name == "contract"
		for operation, call := range map[string]func(context.Context) error{
			"Lookup": func(ctx context.Context) error {
				_, err := cloudapi.Lookup[cloudapi.VMInitScript](ctx, client, id)
				return err
			},
			"Lookup by name": func(ctx context.Context) error {
				_, err := cloudapi.Lookup[cloudapi.VMInitScript](ctx, client, "setup")
				return err
			},
			"Fetch": func(ctx context.Context) error {
				_, err := client.Fetch(ctx, cloudapi.Resource{Kind: cloudapi.KindVMInitScript, ID: id})
				return err
			},
			"DeleteExisting": func(ctx context.Context) error {
				_, err := client.DeleteExisting(ctx, id)
				return err
			},
		} {
			err := call(t.Context())
			if !errors.Is(err, cloudapi.ErrNotFound) || cloudapi.IsGone(err) != isContract || errors.Is(err, cloudapi.ErrMaybeUnsupported) == isContract {
				t.Errorf("%s, %s: %v; gone: %v", name, operation, err, cloudapi.IsGone(err))
			}
		}
		if _, err := client.VMInitScripts.Get(t.Context(), "setup"); !errors.Is(err, cloudapi.ErrMaybeUnsupported) || cloudapi.IsGone(err) {
			t.Errorf("%s, Get: %v", name, err)
		}
		if found, err := existing(t.Context(), client, cloudapi.Resource{Kind: cloudapi.KindVMInitScript, ID: id}); len(found) != 0 || (err == nil) != isContract {
			t.Errorf("%s, Fetch: %v, %v", name, found, err)
		}
		for _, plans := range []bool{true, false} {
			_, outcome, err := sdktest.Planning(client, plans).VMInitScripts.Ensure(t.Context(), "setup", request, nil)
			if (outcome == cloudapi.EnsureCreated) != isContract || errors.Is(err, cloudapi.ErrMaybeUnsupported) == isContract {
				t.Errorf("%s, Ensure, plan %v: %v, %v", name, plans, outcome, err)
			}
		}
		if !isContract {
			continue
		}
		script, err := client.DeleteExisting(t.Context(), "setup", cloudapi.KindVMInitScript)
		if err != nil || client.WaitDeleted(t.Context(), *script, nil) != nil {
			t.Errorf("deleting an existing script: %v, %v", script, err)
		}
	}
}
