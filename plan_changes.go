package cloudapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// How Ensure and the Set methods of a client that plans change records.

// set implements planDoors.set.
func (l *planLayer) set(ctx context.Context, c *conn, op *Operation, location, reference string, changes []plannedElement, all any) error {
	t := planTarget{kind: op.lastRule().kinds[0], location: location, reference: reference}
	e, err := l.touch(ctx, c, op, t)
	if err != nil {
		return err
	}
	for _, change := range changes { // a member may be known only by its ID
		r, _ := change.element.(Record)
		f, child := familyOf(r.Resource().Kind)
		l.mu.Lock()
		isUnknown := child == nil && r.Resource().Name == "" && l.known[r.Resource().ID] == ""
		l.mu.Unlock()
		if isUnknown {
			if _, err := f.readOnce(ctx, c, location, r.Resource().ID); err != nil && !isMissing(err) {
				return err
			}
		}
	}
	isService := false
	if t.kind == KindPostgres {
		isService = l.supports(ctx, c, &opMachineImagesList) == nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, change := range changes {
		l.note(ctx, PlannedUpdate, e, string(change.sign)+" "+l.elementText(change.element))
	}
	switch list := all.(type) {
	case []*FirewallRule:
		e.record.(*Firewall).FirewallRules = valuesOf(list, func(r *FirewallRule) { r.ID = orID(r.ID, l, KindFirewallRule) })
	case []*PostgresFirewallRule:
		rules := []PostgresFirewallRule{}
		for _, r := range list {
			if r.ID != "" {
				rules = append(rules, *r)
			} else {
				rules = append(rules, l.databaseRules(*r, isService)...)
			}
		}
		e.record.(*Postgres).FirewallRules = rules
	case []*Firewall:
		e.record.(*PrivateSubnet).Firewalls = valuesOf(list, func(f *Firewall) { f.PrivateSubnets = nil })
	case []*VM:
		balancer := e.record.(*LoadBalancer)
		balancer.VMs = []string{}
		for _, vm := range list {
			balancer.VMs = append(balancer.VMs, vm.ID)
		}
	}
	return nil
}

func orID(id string, l *planLayer, kind Kind) string {
	if id == "" {
		return l.newID(kind)
	}
	return id
}

func valuesOf[T any](list []*T, change func(*T)) []T {
	values := []T{}
	for _, element := range list {
		value := *clone(element).(*T)
		change(&value)
		values = append(values, value)
	}
	return values
}

// updating implements planDoors.update. The requests with the inner context add
// no changes of their own.
func (l *planLayer) updating(ctx context.Context, record any, differences drift) (inner context.Context, done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	details := l.driftDetails(differences)
	return context.WithValue(ctx, quietKey{}, true), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		r := record.(Record)
		l.note(ctx, PlannedUpdate, &planEntry{record: r, isPlanned: ubid.IsPlanned(r.Resource().ID)}, details)
	}
}

// supports returns an error if the server lacks an operation that not every
// server has. It asks once for a list that the server has if it has the operation.
func (l *planLayer) supports(ctx context.Context, c *conn, op *Operation) error {
	key := planLack{c.config.project, op.traits & (serviceOnly | contractOnly | switchable)}
	if key.traits == 0 {
		return nil
	}
	l.mu.Lock()
	err, isKnown := l.lacks[key]
	l.mu.Unlock()
	if !isKnown {
		f := anyFamily(&machineImageFamily)
		switch {
		case key.traits&switchable != 0:
			f = &privateLinkServiceFamily
		case key.traits&contractOnly != 0:
			f = &vmInitScriptFamily
		}
		if err = f.hasList(ctx, c); err != nil && !errors.Is(err, ErrMaybeUnsupported) {
			if !errors.Is(err, ErrForbidden) {
				return err
			}
			err = nil
		}
		l.mu.Lock()
		l.lacks[key] = err
		l.mu.Unlock()
	}
	if err != nil {
		return fmt.Errorf("cloudapi: %s: %w", op.Name, unprefixed{err})
	}
	return nil
}

// clone returns a deep copy of a record, which the program may write into.
func clone(record any) any {
	v := reflect.ValueOf(record)
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	copyInto(c.Elem())
	return c.Interface()
}

func copyInto(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				copyInto(v.Field(i))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			c := reflect.New(v.Type().Elem())
			c.Elem().Set(v.Elem())
			copyInto(c.Elem())
			v.Set(c)
		}
	case reflect.Slice:
		if !v.IsNil() {
			c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(c, v)
			for i := range c.Len() {
				copyInto(c.Index(i))
			}
			v.Set(c)
		}
	case reflect.Map:
		if !v.IsNil() {
			c := reflect.MakeMapWithSize(v.Type(), v.Len())
			for key, value := range v.Seq2() {
				c.SetMapIndex(key, value)
			}
			v.Set(c)
		}
	}
}

// merge sets the fields of a record that have the same JSON names as fields of a
// request's body.
func merge(body []byte, record any) { json.Unmarshal(body, record) }
