package wire_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
)

// TestUpdatesOfNothing: an update that keeps what its request doesn't set is
// refused if the request sets nothing. That's a mistake, such as a zero value
// that should have changed something, but some servers answer it with success.
func TestUpdatesOfNothing(t *testing.T) {
	t.Parallel()
	const location, ruleID = "eu-central-h1", "frhgen1ff6864nrqg8etdv647m"
	client, ctx := sdktest.SendingNothing(t), t.Context()
	updates := map[string][]error{
		"Firewalls.ModifyRule": ofNothing(func(r *cloudapi.FirewallRuleModifyRequest) (any, error) {
			return client.Firewalls.ModifyRule(ctx, location, "edge", ruleID, r)
		}),
		"Postgres.Update": ofNothing(func(r *cloudapi.PostgresUpdateRequest) (any, error) {
			return client.Postgres.Update(ctx, location, "orders-db", r)
		}),
		"Postgres.UpdateConfig": ofNothing(func(r *cloudapi.PostgresConfigUpdateRequest) (any, error) {
			return client.Postgres.UpdateConfig(ctx, location, "orders-db", r)
		}, cloudapi.PostgresConfigUpdateRequest{PGConfig: map[string]cloudapi.Opt[string]{"work_mem": {}}, PgBouncerConfig: map[string]cloudapi.Opt[string]{}}),
		"Postgres.UpdateFirewallRule": ofNothing(func(r *cloudapi.PostgresFirewallRuleUpdateRequest) (any, error) {
			return client.Postgres.UpdateFirewallRule(ctx, location, "orders-db", ruleID, r)
		}),
		"SSHPublicKeys.Update": ofNothing(func(r *cloudapi.SSHPublicKeyUpdateRequest) (any, error) {
			return client.SSHPublicKeys.Update(ctx, "laptop", r)
		}),
		"VMInitScripts.Update": ofNothing(func(r *cloudapi.VMInitScriptUpdateRequest) (any, error) {
			return client.VMInitScripts.Update(ctx, "startup", r)
		}),
	}
	for _, m := range sdktest.Methods(t) {
		service, _ := reflect.TypeFor[cloudapi.Client]().FieldByName(strings.Split(m.Name, ".")[0])
		method, _ := service.Type.MethodByName(strings.Split(m.Name, ".")[1])
		if updates[m.Name] == nil && isPartial(method.Type) {
			t.Errorf("%s isn't tested", m.Name)
		}
	}
	for name, errs := range updates {
		for _, err := range errs {
			if err == nil || err.Error() != "cloudapi: "+name+": request must set at least one field" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// ofNothing returns the errors of an update without a request, with an empty
// one, and with others that set nothing.
func ofNothing[R any](update func(*R) (any, error), more ...R) (errs []error) {
	requests := []*R{nil, new(R)}
	for _, request := range more {
		requests = append(requests, &request)
	}
	for _, request := range requests {
		_, err := update(request)
		errs = append(errs, err)
	}
	return errs
}

// isPartial reports whether the request of a method is an update without
// required fields.
func isPartial(method reflect.Type) bool {
	request := method.In(method.NumIn() - 1)
	if request.Kind() != reflect.Pointer || !strings.HasSuffix(request.Elem().Name(), "UpdateRequest") && !strings.HasSuffix(request.Elem().Name(), "ModifyRequest") {
		return false
	}
	for _, field := range reflect.VisibleFields(request.Elem()) {
		if !strings.HasSuffix(field.Tag.Get("json"), ",omitzero") {
			return false
		}
	}
	return true
}
