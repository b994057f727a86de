package cloudapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// How operations that aren't GETs change what a plan knows. What is special about
// the records of a family is in plan_records.go.

// change plans an operation that returns a record.
func (l *planLayer) change(ctx context.Context, in *invocation, to any) (any, error) {
	if err := l.supports(ctx, in.conn, in.op); err != nil {
		return nil, err
	}
	t := targetOf(in.op, in.args)
	_, method, _ := strings.Cut(in.op.Name, ".")
	if method == "Create" {
		return l.create(ctx, in, t, to.(Record), nil)
	}
	e, err := l.touch(ctx, in.conn, in.op, t)
	if err != nil {
		return nil, err
	}
	switch in.op {
	case &opPostgresRestore, &opPostgresCreateReadReplica, &opPostgresCreatePrivateLinkService:
		return l.create(ctx, in, t, to.(Record), e)
	case &opPostgresCreateMetricDestination: // it returns the database
		if _, err := l.createPart(ctx, in, t, e, &PostgresMetricDestination{}); err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		return clone(e.record), nil
	case &opFirewallsAttachSubnet, &opFirewallsDetachSubnet:
		return l.changeSubnet(ctx, in, t, e)
	case &opLoadBalancersAttachVM, &opLoadBalancersDetachVM:
		return l.changeVMs(ctx, in, t, e)
	}
	switch to.(type) {
	case *PostgresConfig:
		return l.configure(ctx, in, e)
	case *createdRule, *PostgresFirewallRule, *FirewallRule, *KubernetesNodePool, *MachineImageVersion, *PostgresLogDestination:
		if strings.HasPrefix(method, "Create") {
			return l.createPart(ctx, in, t, e, to)
		}
		return l.changePart(ctx, in, t, e)
	}
	if reflect.TypeOf(to) != reflect.TypeOf(e.record) {
		return nil, notPlanned(in.op, onlyServerKnows)
	}
	return l.call(ctx, in, t, e), nil
}

// create plans a new resource. source is the database from which it's created, or
// nil.
func (l *planLayer) create(ctx context.Context, in *invocation, t planTarget, record Record, source *planEntry) (any, error) {
	key := planName{in.conn.config.project, record.Resource().Kind, t.location, newNameOf(in.sent)}
	if key.name == "" {
		key.name = t.reference
	}
	if b, ok := record.(*LoadBalancer); ok { // its location is that of its subnet
		subnet, err := resolveID(ctx, in.conn, KindPrivateSubnet, bodyOf[LoadBalancerCreateRequest](in).PrivateSubnetID)
		if err != nil {
			return nil, err
		}
		b.Subnet, key.location = subnet.Name, subnet.Location
	}
	if err := l.checkFree(ctx, in, key); err != nil {
		return nil, err
	}
	isService := false
	if key.kind == KindPrivateSubnet || key.kind == KindPostgres {
		var err error
		if isService, err = l.isService(ctx, in.conn); err != nil {
			return nil, err
		}
	}
	if source != nil && key.kind == KindPostgres {
		if err := l.loadConfig(ctx, in.conn, source); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, _ := familyOf(key.kind); key.name != "" && l.byName[key] != nil && !f.hasHomonyms() && f.takesNames() {
		return nil, planTaken(in, key.name) // a goroutine has just created it
	}
	delete(l.absent, key)
	address := map[string]string{"id": l.newID(key.project, key.kind), "location": key.location, "name": key.name}
	if key.kind == KindPrivateLocation {
		address["ui_name"], address["name"] = key.name, bodyOf[PrivateLocationCreateRequest](in).ProviderLocationName
	}
	text, _ := json.Marshal(address)
	_ = json.Unmarshal(text, record)
	e := &planEntry{project: key.project, record: record}
	e.merge(in)
	details := append(l.details(in.sent, "name", nil), l.complete(in, e, source, isService)...)
	l.add(e)
	l.note(ctx, PlannedCreate, e.record, strings.Join(details, ", "))
	return clone(record), nil
}

// checkFree returns an error if the server has a resource with the name.
func (l *planLayer) checkFree(ctx context.Context, in *invocation, key planName) error {
	f, _ := familyOf(key.kind)
	l.mu.Lock()
	isKnown := l.absent[key] || l.byName[key] != nil
	l.mu.Unlock()
	if isKnown || key.name == "" || f.hasHomonyms() || !f.takesNames() {
		return nil
	}
	switch _, err := f.readOnce(ctx, in.conn, key.location, key.name); {
	case err == nil:
		return planTaken(in, key.name)
	case errors.Is(err, ErrForbidden), isMissing(err):
		return nil
	default:
		return err
	}
}

func planTaken(in *invocation, name string) error {
	return fmt.Errorf("cloudapi: %s: %s: %w", in.op.Name, name, ErrAlreadyExists)
}

// bodyOf returns the body of a request.
func bodyOf[T any](in *invocation) (body T) {
	_ = json.Unmarshal(in.request.Body, &body)
	return body
}

// touch returns the entry of a resource. It reads the resource if there's no
// entry. The caller must hold no lock, and get it before it uses the entry.
func (l *planLayer) touch(ctx context.Context, c *conn, op *Operation, t planTarget) (*planEntry, error) {
	l.mu.Lock()
	e := l.find(c.config.project, t)
	l.mu.Unlock()
	if e != nil && !e.isDeleted {
		return e, nil
	}
	f, child := familyOf(t.kind)
	if f == nil || child != nil {
		return nil, notPlanned(op, onlyServerKnows)
	}
	record, err := f.readOnce(ctx, c, t.location, t.reference)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id := record.Resource().ID
	if l.entry(c.config.project, id) == nil {
		l.add(&planEntry{project: c.config.project, record: clone(record).(Record)})
	}
	return l.byID[id], nil
}

// add adds an entry, whose record has an ID.
func (l *planLayer) add(e *planEntry) {
	r := e.record.Resource()
	l.entries[r.Kind] = append(l.entries[r.Kind], e)
	l.byID[r.ID] = e
	if r.Name != "" {
		l.byName[e.name()] = e
	}
	l.learn(e.record)
}

// newID returns an ID that no server creates.
func (l *planLayer) newID(project string, kind Kind) string {
	l.lastID++
	id := ubid.Planned(string(kind), l.lastID)
	l.issued[id] = project
	return id
}

type quietKey struct{}

// note adds a change, unless it's part of the update of an Ensure, or the same as
// the last one: the service has two rules of a database for a range.
func (l *planLayer) note(ctx context.Context, action PlannedAction, record Record, details string) {
	if ctx.Value(quietKey{}) != nil {
		return
	}
	r := record.Resource()
	if ubid.IsPlanned(r.ID) {
		r.ID = ""
	}
	change := PlannedChange{action, r, details}
	if n := len(l.changes); n == 0 || action != PlannedUpdate || l.changes[n-1] != change {
		l.changes = append(l.changes, change)
	}
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
		l.note(ctx, PlannedUpdate, record.(Record), details)
	}
}

// call plans a call of a method that returns the record of its resource.
func (l *planLayer) call(ctx context.Context, in *invocation, t planTarget, e *planEntry) any {
	l.mu.Lock()
	defer l.mu.Unlock()
	var details []string
	for _, arg := range t.rest {
		details = append(details, l.text("", arg))
	}
	details = append(details, l.details(in.sent, "", e.record)...)
	l.note(ctx, PlannedCall, e.record, strings.TrimSpace(in.op.Name+" "+strings.Join(details, ", ")))
	before := e.name()
	e.merge(in)
	if after := e.name(); after != before {
		if l.byName[before] == e {
			delete(l.byName, before)
		}
		l.byName[after] = e
		l.learn(e.record)
	}
	return l.refreshed(e.project, clone(e.record))
}

// changeSubnet plans that a firewall is attached to a subnet, or detached from it.
func (l *planLayer) changeSubnet(ctx context.Context, in *invocation, t planTarget, firewall *planEntry) (any, error) {
	subnet, err := l.touch(ctx, in.conn, in.op, planTarget{kind: KindPrivateSubnet, location: t.location, reference: bodyOf[subnetRequest](in).PrivateSubnetID})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f, s := firewall.record.(*Firewall), subnet.record.(*PrivateSubnet)
	n := len(s.Firewalls)
	s.Firewalls = slices.DeleteFunc(s.Firewalls, func(other Firewall) bool { return other.ID == f.ID })
	if in.op == &opFirewallsAttachSubnet {
		s.Firewalls = append(s.Firewalls, *clone(f).(*Firewall))
		l.note(ctx, PlannedUpdate, s, "+ "+l.partText(f))
	} else if len(s.Firewalls) < n {
		l.note(ctx, PlannedUpdate, s, "- "+l.partText(f))
	}
	return l.refreshed(firewall.project, clone(f)), nil
}

// changeVMs plans that a VM is attached to a load balancer, or detached from it.
func (l *planLayer) changeVMs(ctx context.Context, in *invocation, t planTarget, e *planEntry) (any, error) {
	id := bodyOf[vmRequest](in).VMID
	l.mu.Lock()
	isKnown := l.known[id] != ""
	l.mu.Unlock()
	if !isKnown { // for its name
		if _, err := vmFamily.readOnce(ctx, in.conn, t.location, id); err != nil && !isMissing(err) {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := e.record.(*LoadBalancer)
	n, text := len(b.VMs), l.partText(&VM{ID: id, Location: b.Location})
	b.VMs = slices.DeleteFunc(b.VMs, func(vm string) bool { return vm == id })
	if in.op == &opLoadBalancersAttachVM {
		b.VMs = append(b.VMs, id)
		l.note(ctx, PlannedUpdate, b, "+ "+text)
	} else if len(b.VMs) < n {
		l.note(ctx, PlannedUpdate, b, "- "+text)
	}
	return l.refreshed(e.project, clone(b)), nil
}

// createPart plans a new part of a resource, such as a rule. to has the type of
// the response.
func (l *planLayer) createPart(ctx context.Context, in *invocation, t planTarget, e *planEntry, to any) (any, error) {
	parts, err := l.newParts(ctx, in, t, to)
	if err != nil {
		return nil, err
	}
	list, err := l.loaded(ctx, in.conn, t, e, parts[0].Resource().Kind)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, part := range parts {
		key := partKey(part)
		for i := range list.Len() {
			if key != "" && partKey(list.Index(i).Addr().Interface()) == key {
				return nil, planTaken(in, l.partText(part))
			}
		}
	}
	for _, part := range parts {
		v := reflect.ValueOf(part).Elem()
		v.FieldByName("ID").SetString(l.newID(e.project, part.Resource().Kind))
		text := "+ " + l.partText(part)
		if _, isRule := part.(interface{ ruleText() string }); !isRule {
			text = strings.TrimSuffix(text+": "+strings.Join(l.details(in.sent, "name", nil), ", "), ": ")
		}
		l.note(ctx, PlannedUpdate, e.record, text)
		list.Set(reflect.Append(list, reflect.ValueOf(clone(part)).Elem()))
	}
	if created, ok := to.(*createdRule); ok {
		created.FirewallRule = *parts[0].(*FirewallRule)
		if len(parts) > 1 {
			created.IPv6Rule = parts[1].(*FirewallRule)
		}
		return created, nil
	}
	return parts[0], nil
}

// changePart plans a change of a part of a resource.
func (l *planLayer) changePart(ctx context.Context, in *invocation, t planTarget, e *planEntry) (any, error) {
	list, err := l.loaded(ctx, in.conn, t, e, lastKind(in.op))
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !list.IsValid() { // the node to retire is in any node pool
		return nil, notPlanned(in.op, onlyServerKnows)
	}
	i := indexOf(list, t.rest[0])
	if i < 0 {
		return nil, planMissing(in)
	}
	part := list.Index(i).Addr().Interface()
	old, details := l.partText(part), l.details(in.sent, "", part)
	_ = json.Unmarshal(in.request.Body, part)
	if text := l.partText(part); text != old {
		l.note(ctx, PlannedUpdate, e.record, "~ "+old+" -> "+text)
	} else {
		l.note(ctx, PlannedCall, e.record, strings.TrimSpace(in.op.Name+" "+old+" "+strings.Join(details, ", ")))
	}
	return clone(part), nil
}

// loaded is planEntry.parts for a change. It lists the versions of a machine
// image.
func (l *planLayer) loaded(ctx context.Context, c *conn, t planTarget, e *planEntry, kind Kind) (reflect.Value, error) {
	l.mu.Lock()
	list := e.parts(kind)
	l.mu.Unlock()
	if list.IsValid() || kind != KindMachineImageVersion {
		return list, nil
	}
	versions := []MachineImageVersion{}
	for v, err := range (&MachineImagesService{c}).AllVersions(ctx, t.location, t.reference, nil) {
		if err != nil {
			return list, err
		}
		versions = append(versions, *v)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.versions == nil {
		e.versions = versions
	}
	return e.parts(kind), nil
}

// loadConfig reads the settings of a database that the plan doesn't have yet. It
// uses the ID, since the plan may have renamed the database.
func (l *planLayer) loadConfig(ctx context.Context, c *conn, e *planEntry) error {
	l.mu.Lock()
	r := e.record.Resource()
	l.mu.Unlock()
	config, err := (&PostgresService{c}).GetConfig(ctx, r.Location, r.ID)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.config == nil {
		e.config = config
	}
	return nil
}

// configure plans a change of the settings of a database.
func (l *planLayer) configure(ctx context.Context, in *invocation, e *planEntry) (any, error) {
	if err := l.loadConfig(ctx, in.conn, e); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(ctx, PlannedCall, e.record, in.op.Name+" "+strings.Join(l.details(in.sent, "", nil), ", "))
	if in.op == &opPostgresReplaceConfig {
		e.config = &PostgresConfig{}
	}
	e.configure(in)
	return clone(e.config), nil
}

// remove implements planDoors.remove.
func (l *planLayer) remove(ctx context.Context, in *invocation) error {
	if ctx.Err() != nil {
		return in.do(ctx, nil) // see check
	}
	l.asks(ctx)
	t := targetOf(in.op, in.args)
	e, err := l.touch(ctx, in.conn, in.op, t)
	if err != nil {
		if isMissing(err) && len(t.rest) == 0 {
			return l.supports(ctx, in.conn, in.op) // if it does, its response is the same
		}
		return err
	}
	if len(t.rest) == 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.note(ctx, PlannedDelete, e.record, "")
		l.forget(e)
		return nil
	}
	list, err := l.loaded(ctx, in.conn, t, e, lastKind(in.op))
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !list.IsValid() {
		return notPlanned(in.op, onlyServerKnows)
	}
	i := indexOf(list, t.rest[0])
	switch {
	case i >= 0:
		l.note(ctx, PlannedUpdate, e.record, "- "+l.partText(list.Index(i).Addr().Interface()))
		list.Set(reflect.AppendSlice(list.Slice(0, i), list.Slice(i+1, list.Len())))
	case in.op == &opMachineImagesDeleteVersion:
		return planMissing(in)
	}
	return nil
}

// forget marks an entry as deleted, with the load balancers of a subnet.
func (l *planLayer) forget(e *planEntry) {
	e.isDeleted, l.removes = true, l.removes || !e.isPlanned()
	if l.byName[e.name()] == e {
		delete(l.byName, e.name())
	}
	if subnet, ok := e.record.(*PrivateSubnet); ok {
		for _, other := range l.entries[KindLoadBalancer] {
			if b := other.record.(*LoadBalancer); b.Location == subnet.Location && b.Subnet == subnet.Name && other.project == e.project {
				l.forget(other)
			}
		}
	}
}

// gone implements planDoors.gone.
func (l *planLayer) gone(record any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaving[resourceOf(record).ID], l.removes = true, true
}

// isService reports whether the server is Ubicloud's service.
func (l *planLayer) isService(ctx context.Context, c *conn) (bool, error) {
	err := l.supports(ctx, c, &opMachineImagesList)
	if errors.Is(err, ErrMaybeUnsupported) {
		return false, nil
	}
	return err == nil, err
}

// supports returns an error if the server lacks an operation that not every
// server has. It asks once for a list that the server has if it has the operation.
func (l *planLayer) supports(ctx context.Context, c *conn, op *Operation) error {
	var f anyFamily
	switch {
	case op.traits&switchable != 0:
		f = &privateLinkServiceFamily
	case op.traits&serviceOnly != 0:
		f = &machineImageFamily
	case op.traits&contractOnly != 0:
		f = &vmInitScriptFamily
	default:
		return nil
	}
	key := planName{project: c.config.project, kind: f.kind()}
	l.mu.Lock()
	err, isKnown := l.lacks[key]
	l.mu.Unlock()
	if !isKnown {
		switch err = f.hasList(ctx, c); {
		case errors.Is(err, ErrForbidden):
			err = nil
		case err != nil && !errors.Is(err, ErrMaybeUnsupported):
			return err
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
