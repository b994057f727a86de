package cloudapi

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// planLayer is what a plan knows: the resources that the program has created,
// changed or deleted. It lies over what the server says. This file answers reads
// from it; plan_changes.go changes it.
type planLayer struct {
	doors planDoors

	mu      sync.Mutex // guards the fields below, and all planEntries
	changes []PlannedChange
	entries map[Kind][]*planEntry // in the order in which they became known
	byID    map[string]*planEntry
	byName  map[planName]*planEntry // those that aren't deleted
	leaving map[string]bool         // IDs of what the server is deleting, and the plan takes for gone
	removes bool                    // whether the plan has deleted anything that the server has
	known   map[string]string       // names by ID, of what the server has shown, and by the ranges of planned subnets
	shown   map[string]any          // firewalls and subnets by ID, as the server has shown them
	absent  map[planName]bool       // names that the server has just said not to exist
	lacks   map[planName]error      // see supports
	issued  map[string]string       // the project by planned ID, also of rules and other parts
	lastID  uint64
	subnets int // how many ranges are in use
}

// planEntry is a resource that isn't as the server has it.
type planEntry struct {
	project   string
	isDeleted bool
	record    Record
	config    *PostgresConfig       // of a database; nil if it's as the server has it
	versions  []MachineImageVersion // of a machine image; nil if they're as the server has them
}

// isPlanned reports whether the resource exists only in the plan.
func (e *planEntry) isPlanned() bool { return ubid.IsPlanned(e.record.Resource().ID) }

type planName struct {
	project        string
	kind           Kind
	location, name string
}

func newPlanLayer() *planLayer {
	l := &planLayer{
		entries: map[Kind][]*planEntry{}, byID: map[string]*planEntry{}, byName: map[planName]*planEntry{}, leaving: map[string]bool{}, known: map[string]string{}, shown: map[string]any{},
		absent: map[planName]bool{}, lacks: map[planName]error{}, issued: map[string]string{},
		lastID: rand.Uint64() >> 1, // another plan has other IDs
	}
	l.doors = planDoors{record: l.doRecord, remove: l.remove, list: l.list, check: l.check, owns: l.owns, update: l.updating, gone: l.gone}
	return l
}

// planTarget is the resource that the arguments of an operation name.
type planTarget struct {
	kind                Kind
	location, reference string
	rest                []string // the arguments about what is inside the resource
}

func targetOf(op *Operation, args []string) (t planTarget) {
	var names []string
	for part := range strings.SplitSeq(strings.TrimPrefix(op.Route, projectRoute), "/") {
		if name, found := strings.CutPrefix(part, "{"); found {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	if len(names) == 0 && len(args) == 1 { // the project itself
		return planTarget{kind: KindProject, reference: args[0]}
	}
	args = args[max(0, len(args)-len(names)):] // without the project
	for i, arg := range args {
		rule := op.rule(names[i])
		switch {
		case names[i] == "location":
			t.location = arg
		case t.kind == "" && len(rule.kinds) == 1:
			t.kind, t.reference, t.rest = rule.kinds[0], arg, args[i+1:]
		}
	}
	return t
}

func (t planTarget) String() string { return t.kind.String() + " " + qualify(t.location, t.reference) }

// asks tells a wait that a client that plans was asked.
func (l *planLayer) asks(ctx context.Context) {
	if look, _ := ctx.Value(lookKey{}).(*look); look != nil {
		look.plan.Store(&l.doors)
	}
}

// owns implements planDoors.owns.
func (l *planLayer) owns(c *conn, id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	project, isIssued := l.issued[id]
	return isIssued && (project == c.config.project || id == c.config.project)
}

// entry returns the entry of an ID, or nil.
func (l *planLayer) entry(project, id string) *planEntry {
	if e := l.byID[id]; e != nil && (e.project == project || id == project) {
		return e
	}
	return nil
}

// find returns the entry of a resource, or nil.
func (l *planLayer) find(project string, t planTarget) *planEntry {
	if e := l.entry(project, t.reference); e != nil {
		if r := e.record.Resource(); t.kind.includes(r.Kind) && (t.location == r.Location || r.Location == "") {
			return e
		}
		return nil
	}
	return l.byName[planName{project, t.kind, t.location, t.reference}]
}

// name returns the name of an entry.
func (e *planEntry) name() planName {
	r := e.record.Resource()
	return planName{e.project, r.Kind, r.Location, r.Name}
}

// isNew reports whether a project or a location exists only in the plan, so that
// the server has nothing in it.
func (l *planLayer) isNew(c *conn, location string) bool {
	e := l.byName[planName{c.config.project, KindPrivateLocation, "", location}]
	return ubid.IsPlanned(c.config.project) || e != nil && e.isPlanned()
}

// live returns the entry of a resource, or nil. It returns the error of the server
// for a resource that doesn't exist, if the plan has deleted it, or if only the
// plan could have it; and [ErrNotPlanned] for what the server makes with a planned
// resource.
func (l *planLayer) live(in *invocation, t planTarget) (*planEntry, error) {
	project := in.conn.config.project
	r := Resource{Kind: t.kind, Name: t.reference}
	e := l.find(project, t)
	if e != nil {
		r = e.record.Resource()
	}
	owner := l.entry(project, r.MadeFor())
	switch {
	case e != nil && e.isDeleted, owner != nil && owner.isDeleted:
		return nil, planMissing(in)
	case e != nil:
		return e, nil
	case owner != nil && owner.isPlanned():
		return nil, notPlanned(in.op, onlyServerKnows)
	case ubid.IsPlanned(t.reference), l.isNew(in.conn, t.location):
		return nil, planMissing(in)
	}
	return nil, nil
}

// planMissing returns the error of the server for a resource that doesn't exist.
func planMissing(in *invocation) error {
	return plannedGone{&Error{StatusCode: http.StatusNotFound, Code: http.StatusNotFound, Type: "ResourceNotFound", Message: "the plan has deleted it, or never created it",
		Operation: in.op.Name, Method: in.op.Method, Host: in.host(), Path: in.request.Path, traits: in.op.traits &^ (serviceOnly | unproven)}}
}

func notPlanned(op *Operation, reason string) error {
	return fmt.Errorf("cloudapi: %s: %w: %s; leave the call out if the error matches ErrNotPlanned", op.Name, ErrNotPlanned, reason)
}

const onlyServerKnows = "only the server knows its result"

// check implements planDoors.check. It refuses what a plan must not send, and
// reads that only the server could answer if the resource existed.
func (l *planLayer) check(ctx context.Context, in *invocation) error {
	if ctx.Err() != nil {
		return fmt.Errorf("cloudapi: %s: %w", in.op.Name, pace.Err(ctx))
	}
	if in.op.Method != http.MethodGet {
		return notPlanned(in.op, onlyServerKnows)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := targetOf(in.op, in.args)
	e, err := l.live(in, t)
	if err == nil && e != nil && e.isPlanned() {
		err = notPlanned(in.op, fmt.Sprintf("the %v exists only in the plan", t))
	}
	return err
}

// doRecord implements planDoors.record.
func (l *planLayer) doRecord(ctx context.Context, in *invocation, to any, ask func() (any, error)) (any, error) {
	if ctx.Err() != nil {
		return ask() // see check
	}
	l.asks(ctx)
	if in.op.Method != http.MethodGet {
		return l.change(ctx, in, to)
	}
	record, err := l.get(in, to)
	if record != nil || err != nil {
		return record, err
	}
	t := targetOf(in.op, in.args)
	if record, err = ask(); err != nil {
		if IsGone(err) && len(t.rest) == 0 {
			l.mu.Lock()
			l.absent[planName{in.conn.config.project, t.kind, t.location, t.reference}] = true
			l.mu.Unlock()
		}
		return nil, err
	}
	if seen := l.see(in.conn.config.project, record, t.reference); seen != nil {
		return seen, nil
	}
	return nil, planMissing(in)
}

// get returns what the plan says about a resource or a part of it, as a record of
// the type of to, or nil if the server is to be asked.
func (l *planLayer) get(in *invocation, to any) (any, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := targetOf(in.op, in.args)
	if in.op == &opProjectsObjectInfo {
		t.reference = in.args[len(in.args)-1]
		if e := l.entry(in.conn.config.project, t.reference); e != nil {
			r := e.record.Resource()
			t.kind, t.location = r.Kind, r.Location
		}
	}
	e, err := l.live(in, t)
	if e == nil || err != nil {
		return nil, err
	}
	if list := e.parts(lastKind(in.op)); len(t.rest) > 0 && list.IsValid() {
		if i := indexOf(list, t.rest[0]); i >= 0 {
			return clone(list.Index(i).Addr().Interface()), nil
		}
		return nil, planMissing(in)
	}
	switch to.(type) {
	case *ObjectInfo:
		return &ObjectInfo{Type: t.kind.String(), Location: t.location, Name: e.record.Resource().Name}, nil
	case *PostgresConfig:
		if e.config != nil {
			return clone(e.config), nil
		}
	case *promotedPostgres:
		p := clone(e.record).(*Postgres)
		return &promotedPostgres{*p, &p.ReadReplica}, nil
	}
	if reflect.TypeOf(to) == reflect.TypeOf(e.record) && strings.HasSuffix(in.op.Route, "}") {
		return l.refreshed(e.project, clone(e.record)), nil
	}
	return nil, nil
}

// see returns a record that the server has sent as the plan has it, or nil if the
// plan has deleted the resource. reference is how the program referred to it, or
// "" in a list.
func (l *planLayer) see(project string, record any, reference string) any {
	r, ok := record.(Record)
	if !ok {
		return record
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	resource := r.Resource()
	e, with := l.entry(project, resource.ID), l.entry(project, resource.MadeFor())
	switch {
	case l.leaving[resource.ID], with != nil && with.isDeleted:
		return nil
	case e == nil:
		l.learn(record)
		return l.refreshed(project, record)
	case e.isDeleted, reference == resource.Name && reference != "" && e.record.Resource().Name != reference:
		return nil
	case reflect.TypeOf(record) != reflect.TypeOf(e.record):
		return record
	}
	return l.refreshed(project, clone(e.record))
}

// learn remembers names, to be shown in place of IDs.
func (l *planLayer) learn(record any) {
	name := func(r Resource) {
		if r.Name != "" && r.ID != "" {
			l.known[r.ID] = r.Name
		}
	}
	var firewalls []Firewall
	switch r := record.(type) {
	case *Firewall:
		l.shown[r.ID] = clone(r)
	case *PrivateSubnet:
		l.shown[r.ID] = clone(r)
		firewalls = r.Firewalls
		if ubid.IsPlanned(r.ID) {
			l.known[r.Net4], l.known[r.Net6] = "the IPv4 range of "+r.Name, "the IPv6 range of "+r.Name
		}
	case *VM:
		firewalls = r.Firewalls
	}
	for i := range firewalls {
		name(firewalls[i].Resource())
	}
	name(resourceOf(record))
}

// refreshed brings the parts of a record up to date that show other resources.
func (l *planLayer) refreshed(project string, record any) any {
	isDeleted := func(id string) bool { e := l.entry(project, id); return e != nil && e.isDeleted }
	firewalls := func(list []Firewall) []Firewall {
		list = slices.DeleteFunc(list, func(f Firewall) bool { return isDeleted(f.ID) })
		for i := range list {
			if e := l.entry(project, list[i].ID); e != nil {
				changed := clone(e.record).(*Firewall)
				changed.Path, changed.PrivateSubnets = list[i].Path, nil
				list[i] = *changed
			}
		}
		return list
	}
	switch r := record.(type) {
	case *PrivateSubnet:
		r.Firewalls = firewalls(r.Firewalls)
	case *VM:
		if e := l.byName[planName{project, KindPrivateSubnet, r.Location, r.Subnet}]; e != nil {
			r.Firewalls = clone(e.record).(*PrivateSubnet).Firewalls
		}
		r.Firewalls = firewalls(r.Firewalls)
	case *LoadBalancer:
		r.VMs = slices.DeleteFunc(r.VMs, isDeleted)
	case *Firewall:
		for _, e := range l.entries[KindPrivateSubnet] {
			s := e.record.(*PrivateSubnet)
			r.PrivateSubnets = slices.DeleteFunc(r.PrivateSubnets, func(other PrivateSubnet) bool { return other.ID == s.ID })
			if !e.isDeleted && e.project == project && slices.ContainsFunc(s.Firewalls, func(f Firewall) bool { return f.ID == r.ID }) {
				r.PrivateSubnets = append(r.PrivateSubnets, *clone(s).(*PrivateSubnet))
			}
		}
	}
	return record
}

// list implements planDoors.list.
func (l *planLayer) list(ctx context.Context, c *conn, op *Operation, args []string, kind Kind) *plannedList {
	l.asks(ctx)
	t, project := targetOf(op, args), c.config.project
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &plannedList{removes: l.removes, see: func(item any) any { return l.see(project, item, "") }}
	if t.reference != "" { // a list of the parts of a resource
		e := l.find(project, t)
		if e == nil || e.isDeleted {
			return p // check refuses it
		}
		parts := e.parts(kind)
		if p.isWhole = parts.IsValid() || e.isPlanned(); parts.IsValid() {
			for i := range parts.Len() {
				p.added = append(p.added, clone(parts.Index(i).Addr().Interface()))
			}
		}
		return p
	}
	p.isWhole = l.isNew(c, t.location)
	for _, e := range l.entries[kind] {
		if e.isPlanned() && !e.isDeleted && e.project == project && (t.location == "" || t.location == e.record.Resource().Location) {
			p.added = append(p.added, l.refreshed(project, clone(e.record)))
		}
	}
	return p
}

// lastKind returns the kind of what the last argument of an operation names.
func lastKind(op *Operation) Kind {
	if kinds := op.lastRule().kinds; len(kinds) > 0 {
		return kinds[0]
	}
	return ""
}

// parts returns the list of the parts of a resource that have a kind, such as the
// rules of a firewall, or the zero Value if the plan doesn't know any. The list can
// be set.
func (e *planEntry) parts(kind Kind) reflect.Value {
	if e.versions != nil && kind == KindMachineImageVersion {
		return reflect.ValueOf(&e.versions).Elem()
	}
	for _, list := range reflect.ValueOf(e.record).Elem().Fields() {
		if list.Kind() == reflect.Slice {
			if part, ok := reflect.New(list.Type().Elem()).Interface().(Record); ok && part.Resource().Kind.includes(kind) {
				return list
			}
		}
	}
	return reflect.Value{}
}

// indexOf returns the index of the part with an ID or a name, or -1.
func indexOf(list reflect.Value, reference string) int {
	for i := range list.Len() {
		if r := resourceOf(list.Index(i).Addr().Interface()); r.ID == reference || r.Name == reference {
			return i
		}
	}
	return -1
}
