// Package ensure_test checks what Ensure promises, for each family.
package ensure_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// TestEnsure creates a resource of each family, compares it with requests that
// differ in each field, updates it, and creates it again while it's being deleted.
// Before each Ensure, a plan says what it will do, immediately. Compare finds the
// same differences.
func TestEnsure(t *testing.T) {
	t.Parallel()
	apis := []cloudapitest.API{cloudapitest.Contract, cloudapitest.Service}
	for service := range reflect.TypeFor[cloudapi.Client]().Fields() {
		_, hasEnsure := service.Type.MethodByName("Ensure")
		hasModel := slices.ContainsFunc(apis, func(api cloudapitest.API) bool {
			return slices.ContainsFunc(models(&modelWorld{}, api), func(m model) bool { return m.name == service.Name })
		})
		if hasEnsure != hasModel {
			t.Errorf("%s has an Ensure: %v, and a model: %v", service.Name, hasEnsure, hasModel)
		}
	}
	for _, api := range apis {
		t.Run(fmt.Sprint(api), func(t *testing.T) {
			t.Parallel()
			forEachModel(t, api, func(t *testing.T, srv *cloudapitest.Server, client *cloudapi.Client, m model) {
				run := &modelRun{t, srv, client, m, m.in(api), "", nil}
				start := time.Now()
				id, outcome, err := run.ensure("", false)
				if outcome != cloudapi.EnsureCreated || time.Since(start) != 0 {
					t.Fatalf("the first Ensure: %q, %v, after %v", outcome, err, time.Since(start))
				}
				run.id = id
				stub.Elapse(2 * time.Hour) // for fields that are known later
				before := run.changes()
				run.compare()
				run.spoil()
				if n := run.changes() - before; n != 0 {
					t.Errorf("%d requests that change something", n)
				}
				run.update()
				m.wantOne(t, client)
				run.replace()
			})
		})
	}
}

// modelRun is a run of TestEnsure.
type modelRun struct {
	*testing.T
	srv    *cloudapitest.Server
	client *cloudapi.Client
	m      model
	fields []modelField
	id     string
	events []cloudapi.Progress // of the last Ensure
}

// changes returns how many requests other than GETs the server has carried out.
func (r *modelRun) changes() (n int) {
	for _, request := range r.srv.Requests() {
		if request.Method != http.MethodGet && request.Status < 400 {
			n++
		}
	}
	return n
}

// ensure calls Ensure, and before it in a plan.
func (r *modelRun) ensure(variant string, update bool) (string, cloudapi.EnsureOutcome, error) {
	r.Helper()
	before, start := r.changes(), time.Now()
	plan := cloudapi.NewPlan(r.client)
	dryID, dry, dryErr := r.m.ensure(r.Context(), plan.Client(), variant, &cloudapi.EnsureOptions{Update: update})
	if r.changes() != before || time.Since(start) != 0 {
		r.Errorf("%q: a plan changes something, or takes %v", variant, time.Since(start))
	}
	r.events = nil
	id, outcome, err := r.m.ensure(r.Context(), r.client, variant, &cloudapi.EnsureOptions{Update: update,
		Progress: func(p cloudapi.Progress) { r.events = append(r.events, p) }})
	changes := map[cloudapi.EnsureOutcome]string{cloudapi.EnsureCreated: "+ ", cloudapi.EnsureUpdated: "~ "}[outcome]
	if dry != outcome || fmt.Sprint(dryErr) != fmt.Sprint(err) || (dryID != "") != (err == nil) || ubid.IsPlanned(dryID) != (outcome == cloudapi.EnsureCreated) ||
		!strings.HasPrefix(plan.String(), changes) || (plan.String() == "") != (changes == "") {
		r.Errorf("%q: it is %q, %v, and before it in a plan %q with the ID %q, %v:\n%v", variant, outcome, err, dry, dryID, dryErr, plan)
	}
	return id, outcome, err
}

// is checks the outcome of an Ensure that may update.
func (r *modelRun) is(variant string, want cloudapi.EnsureOutcome) {
	r.Helper()
	if id, outcome, err := r.ensure(variant, true); id != r.id || outcome != want {
		r.Errorf("%q: %s, %q, %v; want %s, %q", variant, id, outcome, err, r.id, want)
	}
}

// drift checks the error of an Ensure that reports differences in the fields.
func (r *modelRun) drift(what string, err error, fields ...modelField) {
	r.Helper()
	drift, ok := errors.AsType[*cloudapi.DriftError](err)
	if !ok || !errors.Is(err, cloudapi.ErrAlreadyExists) || errors.Is(err, cloudapi.ErrConflict) || drift.Resource.ID != r.id || drift.Resource.Kind != r.m.kind ||
		drift.Record == nil || drift.Operation != r.m.name+".Ensure" {
		r.Fatalf("%s: %v", what, err)
	}
	if text := err.Error(); !strings.Contains(text, r.id) || strings.Contains(text, "PASSWORD") {
		r.Errorf("%s: %s", what, text)
	}
	r.differs(what, drift.Fields, fields)
}

// differs checks differences, in any order.
func (r *modelRun) differs(what string, differences []cloudapi.Drift, fields []modelField) {
	r.Helper()
	ok := len(differences) == len(fields)
	for _, f := range fields {
		ok = ok && slices.ContainsFunc(differences, func(d cloudapi.Drift) bool {
			return d.Field == f.name && f.remedy == cmp.Or(d.Method, string(d.Remedy)) && (d.Method != "") == (d.Remedy == cloudapi.RemedyMethod) && !reflect.DeepEqual(d.Wanted, d.Found)
		})
	}
	if !ok {
		r.Errorf("%s: the differences are %+v, want %+v", what, differences, fields)
	}
}

// compare calls Ensure and Compare with requests that differ, and that don't.
func (r *modelRun) compare() {
	r.is("", cloudapi.EnsureUnchanged)
	r.is("equivalent", cloudapi.EnsureUnchanged)
	var fixed, updatable []modelField
	for _, f := range r.fields {
		_, _, err := r.ensure(f.name, false)
		r.drift(f.name, err, f)
		if f.remedy == update {
			updatable = append(updatable, f)
			continue
		}
		fixed = append(fixed, f)
		_, _, err = r.ensure(f.name, true)
		r.drift(f.name, err, f)
	}
	if len(fixed) > 0 && len(updatable) > 0 { // an update changes all or nothing
		_, _, err := r.ensure(fixed[0].name+" "+updatable[0].name, true)
		r.drift("two fields", err, fixed[0], updatable[0])
	}
	if r.m.location != "" {
		if _, outcome, err := r.m.ensureWith(r.Context(), r.client, "nowhere", r.m.request, &cloudapi.EnsureOptions{Update: true}); outcome != "" || err == nil {
			r.Errorf("in no location: %q, %v", outcome, err)
		}
	}
	if r.m.name == "Ensure" {
		return
	}
	record := stub.Must(r.client.Fetch(r.Context(), r.m.resource(r.id)))(r.T)
	if differences, uncompared := compareWith(reflect.Zero(reflect.TypeOf(r.m.request)).Interface(), record); len(differences)+len(uncompared) > 0 {
		r.Errorf("Compare without a request: %v, %q", differences, uncompared)
	}
	bare := reflect.New(reflect.TypeOf(record).Elem())
	bare.Elem().FieldByName("ID").SetString(r.id)
	if differences, _ := compareWith(r.m.request, record); len(differences) > 0 {
		r.Errorf("Compare finds %v", differences)
	}
	for name, field := range requestFields(reflect.TypeOf(r.m.request).Elem()) {
		f, isField := r.m.field(name)
		value := reflect.ValueOf(r.m.request).Elem().FieldByIndex(field.Index)
		switch {
		case isField == slices.Contains(r.m.unshown, name):
			r.Errorf("%s must be either compared by Ensure and in fields, or in unshown", name)
			continue
		case isField && !slices.ContainsFunc(r.fields, func(f modelField) bool { return f.name == name }):
			continue
		case isField:
			value = reflect.ValueOf(f.other)
		case name == "-": // InitScriptText
			f.name, value = "init_script", reflect.ValueOf("#!/bin/sh\n")
		case value.IsZero():
			value = sdktest.Fill(field.Type, "x")
			fallthrough
		default:
			f.name = name
		}
		alone, valid := r.m.only(name, value.Interface())
		_, outcome, err := r.m.ensureWith(r.Context(), r.client, r.m.location, valid, nil)
		if isField {
			r.drift("only "+name, err, f)
		} else if outcome != cloudapi.EnsureUnchanged {
			r.Errorf("only %s: %q, %v", name, outcome, err)
		}
		want := []modelField{f}
		if !isField || f.traits&hidden != 0 {
			want = nil
		}
		differences, uncompared := compareWith(alone, record)
		r.differs("Compare of "+name, differences, want)
		if want := []string{f.name}[len(want):]; !slices.Equal(uncompared, want) {
			r.Errorf("Compare of %s doesn't compare %q, want %q", name, uncompared, want)
		}
		differences, uncompared = compareWith(alone, bare.Interface())
		for _, d := range differences {
			uncompared = append(uncompared, d.Field)
		}
		if !slices.Equal(uncompared, []string{f.name}) {
			r.Errorf("Compare of %s with a record that has only an ID: %v, %q", name, differences, uncompared)
		}
	}
}

// compareWith calls the request's Compare.
func compareWith(request, record any) (differences []cloudapi.Drift, uncompared []string) {
	out := reflect.ValueOf(request).MethodByName("Compare").Call([]reflect.Value{reflect.ValueOf(record)})
	return out[0].Interface().([]cloudapi.Drift), out[1].Interface().([]string)
}

// spoil calls Ensure while the record lacks a field, or has null. That decides
// nothing: Ensure fails, and Compare doesn't compare the field.
func (r *modelRun) spoil() {
	check := func(variant, fields string) {
		r.Helper()
		for _, isNull := range []bool{false, true} {
			client := stub.Must(r.client.With(changed(func(body map[string]any) {
				spoilRecord(body, fields, isNull)
			})))(r.T)
			id, outcome, err := r.m.ensure(r.Context(), client, variant, &cloudapi.EnsureOptions{Update: true})
			if !errors.Is(err, cloudapi.ErrInvalidResponse) {
				r.Errorf("%q without %s (null: %v): %s, %q, %v", variant, fields, isNull, id, outcome, err)
			}
		}
	}
	for _, f := range r.fields {
		if f.shownBy != "" {
			check("", f.shownBy)
			check(f.name, f.shownBy)
		}
	}
	for _, fields := range r.m.needs {
		check("", fields)
	}
	for _, f := range r.fields {
		for _, kept := range r.m.keeps {
			if f.remedy == update {
				check(f.name, kept)
			}
		}
	}
	if r.m.name == "Ensure" {
		return
	}
	record := stub.Must(r.client.Fetch(r.Context(), r.m.resource(r.id)))(r.T)
	for _, f := range r.fields {
		if f.shownBy == "" || f.traits&hidden != 0 {
			continue
		}
		var body map[string]any
		stub.Must(0, json.Unmarshal(stub.JSON(record), &body))(r.T)
		spoilRecord(body, f.shownBy, false)
		lacking := reflect.New(reflect.TypeOf(record).Elem()).Interface()
		stub.Must(0, json.Unmarshal(stub.JSON(body), lacking))(r.T)
		for _, variant := range []string{"", f.name} {
			differences, uncompared := compareWith(r.m.with(variant), lacking)
			if len(differences) > 0 || !slices.Contains(uncompared, f.name) {
				r.Errorf("Compare of %q without %s: %v, %q", variant, f.shownBy, differences, uncompared)
			}
		}
	}
}

// spoilRecord deletes the fields of a record, or of each item of a page, or sets
// them to null. They are separated by commas.
func spoilRecord(body map[string]any, fields string, isNull bool) {
	items, _ := body["items"].([]any)
	for _, item := range items {
		spoilRecord(item.(map[string]any), fields, isNull)
	}
	for field := range strings.SplitSeq(fields, ",") {
		spoil(body, field, isNull)
	}
}

// spoil deletes a field of a record, or sets it to null. "nodepools.node_size" is
// in an object or in each object of a list.
func spoil(record map[string]any, field string, isNull bool) {
	name, inner, isNested := strings.Cut(field, ".")
	switch value := record[name].(type) {
	case map[string]any:
		if isNested {
			spoil(value, inner, isNull)
			return
		}
	case []any:
		if isNested {
			for _, element := range value {
				spoil(element.(map[string]any), inner, isNull)
			}
			return
		}
	}
	if delete(record, name); isNull {
		record[name] = nil
	}
}

// update updates each field, and then back.
func (r *modelRun) update() {
	for _, f := range r.fields {
		if f.remedy != update {
			continue
		}
		before := r.changes()
		r.is(f.name, cloudapi.EnsureUpdated)
		r.is(f.name, cloudapi.EnsureUnchanged)
		want := max(1, r.m.changes[f.name])
		if f.traits&sticky != 0 {
			r.is("", cloudapi.EnsureUnchanged)
		} else {
			r.is("", cloudapi.EnsureUpdated)
			want *= 2
		}
		if n := r.changes() - before; n != want {
			r.Errorf("%s: %d requests that change something, want %d", f.name, n, want)
		}
	}
}

// replace deletes the resource, and creates another, unless lookups still show the
// resource as before.
func (r *modelRun) replace() {
	if r.m.name == "MachineImages" {
		return // its versions must be deleted first
	}
	stub.Must(0, r.client.Delete(r.Context(), r.m.resource(r.id)))(r.T)
	record, err := r.client.Fetch(r.Context(), r.m.resource(r.id))
	if state, ok := record.(interface{ Phase() cloudapi.Phase }); err == nil && (!ok || state.Phase() != cloudapi.PhaseDeleting) {
		return
	}
	if next, outcome, err := r.ensure("", true); outcome != cloudapi.EnsureCreated || next == r.id {
		r.Errorf("after a deletion: %s, %q, %v; before it was %s", next, outcome, err, r.id)
	}
	r.m.wantOne(r.T, r.client)
	last := r.events[len(r.events)-1]
	if last.Done != 1 || last.Total != 1 || last.Record == nil || !r.m.reported(last.Operation, last.Resource) {
		r.Errorf("the last event is %+v", last)
	}
	for _, e := range r.events[:len(r.events)-1] {
		if e.Done != 0 || e.State != "creating" && (e.State != "deleting" || e.Record == nil) {
			r.Errorf("an event before the end is %+v", e)
		}
	}
}

// TestEnsurePlannedRecord: the record of a resource to create has what the
// request sets, and the record of a resource to update has the new values.
func TestEnsurePlannedRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cloudapitest.New(t).Client()
		request := &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64, PGConfig: cloudapi.PostgresSettings{"work_mem": cloudapi.NewPostgresSetting("32MB")}}
		planning := cloudapi.NewPlan(client).Client()
		planned, outcome, err := planning.Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-1", request, nil)
		if err != nil || outcome != cloudapi.EnsureCreated || planned.VMSize != "standard-2" || planned.TargetStorageSizeGiB != 64 || len(planned.FirewallRules) != 4 {
			t.Errorf("it would be %s: %+v, %v", outcome, planned, err)
		}
		planned.FirewallRules[0].CIDR = "mine" // a record belongs to the program
		again, outcome, err := planning.Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-1", request, nil)
		if err != nil || outcome != cloudapi.EnsureUnchanged || again.ID != planned.ID || again.FirewallRules[0].CIDR != "0.0.0.0/0" {
			t.Errorf("again it would be %s: %+v, %v", outcome, again, err)
		}
		key, _, err := planning.SSHPublicKeys.Ensure(t.Context(), "laptop", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: stub.PublicKey}, nil)
		if err != nil || *key != (cloudapi.SSHPublicKey{ID: key.ID, Name: "laptop", PublicKey: stub.PublicKey}) {
			t.Errorf("the key would be %+v, %v", key, err)
		}
		private, _, err := planning.PrivateLocations.Ensure(t.Context(), "own", &cloudapi.PrivateLocationCreateRequest{
			ProviderLocationName: cloudapi.PrivateLocationProviderLocationNameUSEast1, AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret")}, nil)
		if err != nil || *private != (cloudapi.PrivateLocation{ID: private.ID, UIName: "own", Name: "us-east-1", Path: "/private-location/own"}) {
			t.Errorf("the private location would be %+v, %v", private, err)
		}
		stub.Must(client.Postgres.Create(t.Context(), sdktest.Somewhere, "db-1", request))(t)
		stub.Must(client.Postgres.WaitRunning(t.Context(), sdktest.Somewhere, "db-1", nil))(t)
		request.StorageSize = 128
		db, outcome, err := cloudapi.NewPlan(client).Client().Postgres.Ensure(t.Context(), sdktest.Somewhere, "db-1", request, &cloudapi.EnsureOptions{Update: true})
		if err != nil || outcome != cloudapi.EnsureUpdated || db.StorageSizeGiB != 64 || db.TargetStorageSizeGiB != 128 {
			t.Errorf("the update would be %s: %+v, %v", outcome, db, err)
		}
	})
}

func TestEnsureRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		client, ctx := srv.Client(), t.Context()
		id := cloudapitest.NewID(cloudapi.KindVM).String()
		for _, name := range []string{"", id, "a/b", "..", "ä"} {
			vm, created, err := client.VMs.Ensure(ctx, sdktest.Somewhere, name, &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}, nil)
			if vm != nil || created == cloudapi.EnsureCreated || !errors.Is(err, cloudapi.ErrInvalidArgument) {
				t.Errorf("%q: %v, %v, %v", name, vm, created, err)
			}
		}
		_, _, errKey := client.SSHPublicKeys.Ensure(ctx, "laptop", nil, nil)
		_, _, errScript := client.VMInitScripts.Ensure(ctx, "setup", nil, nil)
		_, _, errLocation := client.PrivateLocations.Ensure(ctx, "own", nil, nil)
		_, _, errBalancer := client.LoadBalancers.Ensure(ctx, sdktest.Somewhere, "lb", nil, nil)
		for _, err := range []error{errKey, errScript, errLocation, errBalancer} {
			if !errors.Is(err, cloudapi.ErrInvalidArgument) {
				t.Errorf("without a request: %v", err)
			}
		}
		for _, id := range []string{"net-1", "eu-central-h1/net-1", "pat-secret", id} {
			_, _, errVM := client.VMs.Ensure(ctx, sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, PrivateSubnetID: id}, nil)
			_, _, errSubnet := client.PrivateSubnets.Ensure(ctx, sdktest.Somewhere, "net-1", &cloudapi.PrivateSubnetCreateRequest{FirewallID: id}, nil)
			_, _, errBalancer := client.LoadBalancers.Ensure(ctx, sdktest.Somewhere, "lb", &cloudapi.LoadBalancerCreateRequest{PrivateSubnetID: id}, nil)
			for _, err := range []error{errVM, errSubnet, errBalancer} {
				if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || !strings.HasSuffix(e.Operation, ".Ensure") || !strings.HasSuffix(e.Name, "_id") ||
					strings.Contains(err.Error(), "pat-") {
					t.Errorf("%q for an ID: %v", id, err)
				}
			}
		}
		if n := len(srv.Requests()); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
		if _, _, err := client.VMs.Ensure(ctx, sdktest.Somewhere, "web-1", nil, nil); !errors.Is(err, cloudapi.ErrInvalidRequest) { // the server's error, not the SDK's
			t.Errorf("a VM without a request: %v", err)
		}
		if _, created, err := client.Firewalls.Ensure(ctx, sdktest.Somewhere, "fw", nil, nil); created != cloudapi.EnsureCreated || err != nil {
			t.Errorf("a request that may be nil: %v, %v", created, err)
		}
		if _, created, err := client.Firewalls.Ensure(ctx, sdktest.Somewhere, "fw", nil, nil); created == cloudapi.EnsureCreated || err != nil {
			t.Errorf("a request that may be nil, again: %v, %v", created, err)
		}
	})
}
