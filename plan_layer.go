package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// planLayer is what a plan knows: the resources that the program has created,
// changed or deleted. It lies over what the server says.
type planLayer struct {
	plan planDoors

	mu      sync.Mutex // guards the fields below, and all planEntries
	changes []PlannedChange
	entries map[Kind][]*planEntry // in the order in which they became known
	byID    map[string]*planEntry
	byName  map[planName]*planEntry // those that aren't deleted
	leaving map[string]bool         // IDs of what the server is deleting, and the plan takes for gone
	known   map[string]string       // names by ID, of what the server has shown, and by the ranges of planned subnets
	shown   map[string]any          // firewalls and subnets by ID, as the server has shown them
	absent  map[planName]bool       // names that the server has just said not to exist
	lacks   map[planLack]error
	lastID  uint64
	subnets int // how many ranges are in use
}

// planEntry is a resource that isn't as the server has it.
type planEntry struct {
	project   string
	isPlanned bool // it exists only in the plan
	isDeleted bool
	record    Record
	config    *PostgresConfig       // of a database, if it's known
	versions  []MachineImageVersion // of a machine image
}

type (
	planName struct {
		project        string
		kind           Kind
		location, name string
	}
	planLack struct {
		project string
		traits  traits
	}
)

func newPlanLayer() *planLayer {
	// Another plan has other IDs, and so doesn't know those of this one.
	return &planLayer{
		entries: map[Kind][]*planEntry{}, byID: map[string]*planEntry{}, byName: map[planName]*planEntry{}, leaving: map[string]bool{},
		known: map[string]string{}, shown: map[string]any{}, absent: map[planName]bool{}, lacks: map[planLack]error{}, lastID: rand.Uint64() >> 1,
	}
}

func (l *planLayer) doors() *planDoors {
	l.plan = planDoors{record: l.doRecord, remove: l.remove, list: l.list, check: l.check, update: l.updating, gone: l.gone, set: l.set}
	return &l.plan
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
		look.plan.Store(&l.plan)
	}
}

// entry returns the entry of an ID, or nil.
func (l *planLayer) entry(project, id string) *planEntry {
	if e := l.byID[id]; e != nil && e.project == project {
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

// nameOf returns the name of an entry.
func (e *planEntry) nameOf() planName {
	r := e.record.Resource()
	return planName{e.project, r.Kind, r.Location, r.Name}
}

// live is find for an entry that isn't deleted. It returns the error of the
// server for a resource that doesn't exist, if the plan has deleted it.
func (l *planLayer) live(in *invocation, t planTarget) (*planEntry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.find(in.conn.config.project, t)
	if e != nil && e.isDeleted {
		return nil, planMissing(in)
	}
	return e, nil
}

// planMissing returns the error of the server for a resource that doesn't exist.
func planMissing(in *invocation) error {
	return plannedGone{&Error{StatusCode: http.StatusNotFound, Code: http.StatusNotFound, Type: "ResourceNotFound", Message: "the plan has deleted it, or never created it",
		Operation: in.op.Name, Method: in.op.Method, Host: in.host(), Path: in.request.Path, traits: in.op.traits &^ (serviceOnly | unproven)}}
}

func notPlanned(op *Operation, reason string) error {
	return fmt.Errorf("cloudapi: %s: %w: %s", op.Name, ErrNotPlanned, reason)
}

// check refuses what a plan must not send, and reads that only the server could
// answer if the resource existed.
func (l *planLayer) check(in *invocation) error {
	if !in.op.isRead() {
		return notPlanned(in.op, "only the server knows its result; leave the call out if the error matches ErrNotPlanned")
	}
	t := targetOf(in.op, in.args)
	e, err := l.live(in, t)
	switch {
	case err != nil:
		return err
	case e != nil && e.isPlanned, ubid.IsPlanned(t.reference) && !l.has(in, t):
		return notPlanned(in.op, fmt.Sprintf("the %v exists only in a plan; leave the call out if the error matches ErrNotPlanned", t))
	}
	return nil
}

// has reports whether the plan knows the ID to which a reference refers, in any
// location.
func (l *planLayer) has(in *invocation, t planTarget) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entry(in.conn.config.project, t.reference) != nil
}

// doRecord answers a read, or plans a change.
func (l *planLayer) doRecord(ctx context.Context, in *invocation, to any, ask func() (any, error)) (any, error) {
	switch {
	case ctx == nil:
		return nil, noContext(in.op.Name)
	case ctx.Err() != nil:
		return ask() // the error of any other client
	}
	l.asks(ctx)
	if err := l.checkIDs(in); err != nil {
		return nil, err
	}
	if in.op.isRead() {
		return l.get(in, to, ask)
	}
	return l.change(ctx, in, to)
}

// checkIDs refuses IDs of another plan, or of another project.
func (l *planLayer) checkIDs(in *invocation) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	refuse := func(name, id string) error {
		return argumentError(in.op.Name, name, id, "is the ID of a resource that exists only in another plan or project")
	}
	isOther := func(id string) bool {
		return ubid.IsPlanned(id) && l.entry(in.conn.config.project, id) == nil && !l.isInside(id)
	}
	for _, arg := range in.args {
		if isOther(arg) {
			return refuse("id", arg)
		}
	}
	for field, text := range textsOf(reflect.ValueOf(in.sent)) {
		if name, _ := jsonName(field); field.Tag.Get("id") != "" && isOther(text) {
			return refuse(name, text)
		}
	}
	return nil
}

// isInside reports whether an ID is of what has no entry, such as a rule.
func (l *planLayer) isInside(id string) bool {
	_, child := familyOf(ID(id).Kind())
	return child != nil
}

// get answers a GET.
func (l *planLayer) get(in *invocation, to any, ask func() (any, error)) (any, error) {
	project := in.conn.config.project
	if in.op == &opProjectsObjectInfo {
		l.mu.Lock()
		e := l.entry(project, in.args[len(in.args)-1])
		l.mu.Unlock()
		switch {
		case e == nil:
			return ask()
		case e.isDeleted:
			return nil, planMissing(in)
		}
		r := e.record.Resource()
		return &ObjectInfo{Type: r.Kind.String(), Location: r.Location, Name: r.Name}, nil
	}
	t := targetOf(in.op, in.args)
	e, err := l.live(in, t)
	if err != nil {
		return nil, err
	}
	if e != nil {
		l.mu.Lock()
		record := l.inside(e, in, t, to)
		l.mu.Unlock()
		if record != nil {
			return record, nil
		}
		if len(t.rest) > 0 && e.children(childKind(in.op)).IsValid() {
			return nil, planMissing(in)
		}
	}
	record, err := ask()
	if err != nil {
		if IsGone(err) && len(t.rest) == 0 {
			l.mu.Lock()
			l.absent[planName{project, t.kind, t.location, t.reference}] = true
			l.mu.Unlock()
		}
		return nil, err
	}
	if seen := l.see(project, record, t.reference); seen != nil {
		return seen, nil
	}
	return nil, planMissing(in)
}

// inside returns what an entry says about itself or a part of it, as a record of
// the type of to, or nil.
func (l *planLayer) inside(e *planEntry, in *invocation, t planTarget, to any) any {
	switch {
	case in.op == &opPostgresGetConfig && e.config != nil:
		return clone(e.config)
	case len(t.rest) > 0:
		if list := e.children(childKind(in.op)); list.IsValid() {
			if i := indexOf(list, t.rest[0]); i >= 0 {
				return clone(list.Index(i).Addr().Interface())
			}
		}
		return nil
	case reflect.TypeOf(to) == reflect.TypeFor[*promotedPostgres]():
		p := clone(e.record).(*Postgres)
		return &promotedPostgres{*p, &p.ReadReplica}
	case reflect.TypeOf(to) == reflect.TypeOf(e.record) && strings.HasSuffix(in.op.Route, "}"):
		return l.refreshed(e.project, clone(e.record))
	}
	return nil
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
	e := l.entry(project, resource.ID)
	switch {
	case l.leaving[resource.ID]:
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
	name := func(r Record) {
		if resource := r.Resource(); resource.Name != "" && resource.ID != "" {
			l.known[resource.ID] = resource.Name
		}
	}
	switch r := record.(type) {
	case *Firewall:
		l.shown[r.ID] = clone(r)
	case *PrivateSubnet:
		l.shown[r.ID] = clone(r)
		for i := range r.Firewalls {
			name(&r.Firewalls[i])
		}
	case *VM:
		for i := range r.Firewalls {
			name(&r.Firewalls[i])
		}
	}
	if r, ok := record.(Record); ok {
		name(r)
	}
}

// refreshed brings the parts of a record up to date that show other resources.
func (l *planLayer) refreshed(project string, record any) any {
	entry := func(id string) *planEntry { return l.entry(project, id) }
	firewalls := func(list []Firewall) []Firewall {
		var fresh []Firewall
		for _, f := range list {
			switch e := entry(f.ID); {
			case e == nil:
			case e.isDeleted:
				continue
			default:
				changed := *clone(e.record).(*Firewall)
				changed.Path, changed.PrivateSubnets = f.Path, nil
				f = changed
			}
			fresh = append(fresh, f)
		}
		if fresh == nil && list != nil {
			fresh = []Firewall{}
		}
		return fresh
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
		r.VMs = slices.DeleteFunc(r.VMs, func(id string) bool { e := entry(id); return e != nil && e.isDeleted })
	case *Firewall:
		for _, e := range l.entries[KindPrivateSubnet] {
			if e.project != project {
				continue
			}
			s := e.record.(*PrivateSubnet)
			has := !e.isDeleted && slices.ContainsFunc(s.Firewalls, func(f Firewall) bool { return f.ID == r.ID })
			r.PrivateSubnets = slices.DeleteFunc(r.PrivateSubnets, func(other PrivateSubnet) bool { return other.ID == s.ID })
			if has {
				r.PrivateSubnets = append(r.PrivateSubnets, *clone(s).(*PrivateSubnet))
			}
		}
	}
	return record
}

// list implements planDoors.list.
func (l *planLayer) list(ctx context.Context, c *conn, op *Operation, args []string) (*plannedList, error) {
	l.asks(ctx)
	t, project := targetOf(op, args), c.config.project
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &plannedList{see: func(item any) any { return l.see(project, item, "") }}
	if t.kind != "" && t.reference != "" { // a list inside a resource
		e := l.find(project, t)
		if e == nil || e.isDeleted {
			return p, nil // the server is asked, or refuses it
		}
		list := e.listed(op)
		if list.IsValid() {
			p.isWhole = true
			for i := range list.Len() {
				p.added = append(p.added, clone(list.Index(i).Addr().Interface()))
			}
		}
		return p, nil
	}
	for _, e := range l.entries[listedKind(op)] {
		if e.project != project || t.location != "" && t.location != e.record.Resource().Location {
			continue
		}
		switch {
		case e.isPlanned && !e.isDeleted:
			p.added = append(p.added, l.refreshed(project, clone(e.record)))
		case e.isDeleted && !e.isPlanned:
			p.removed++
		}
	}
	return p, nil
}

// listedKind returns the kind of the items of a list, or "" for other lists than
// those of families.
func listedKind(op *Operation) Kind {
	for _, f := range families() {
		if routes := f.routes(); routes.project == op || routes.location == op {
			return f.kind()
		}
	}
	return ""
}

// touch returns the entry of a resource. It reads the resource if there's no
// entry. The caller must hold no lock, and get it before it changes the entry.
func (l *planLayer) touch(ctx context.Context, c *conn, op *Operation, t planTarget) (*planEntry, error) {
	l.mu.Lock()
	e := l.find(c.config.project, t)
	l.mu.Unlock()
	if e != nil && !e.isDeleted {
		return e, nil
	}
	f, child := familyOf(t.kind)
	if f == nil || child != nil {
		return nil, notPlanned(op, "a plan doesn't know this kind of resource; leave the call out if the error matches ErrNotPlanned")
	}
	record, err := f.readOnce(ctx, c, t.location, t.reference)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id := resourceOf(record).ID
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
		l.byName[e.nameOf()] = e
	}
	l.learn(e.record)
}

// newID returns an ID that no server creates.
func (l *planLayer) newID(kind Kind) string {
	l.lastID++
	return ubid.Planned(string(kind), l.lastID)
}

type quietKey struct{}

// note adds a change, unless it's part of the update of an Ensure.
func (l *planLayer) note(ctx context.Context, action PlannedAction, e *planEntry, details string) {
	if ctx.Value(quietKey{}) != nil {
		return
	}
	r := e.record.Resource()
	if e.isPlanned {
		r.ID = ""
	}
	l.changes = append(l.changes, PlannedChange{action, r, details})
}

// remove plans a deletion.
func (l *planLayer) remove(ctx context.Context, in *invocation) error {
	switch {
	case ctx == nil:
		return noContext(in.op.Name)
	case ctx.Err() != nil:
		return in.do(ctx, nil)
	}
	l.asks(ctx)
	if err := l.checkIDs(in); err != nil {
		return err
	}
	t := targetOf(in.op, in.args)
	e, err := l.touch(ctx, in.conn, in.op, t)
	if err != nil {
		if isMissing(err) && !errors.Is(err, ErrMaybeUnsupported) && len(t.rest) == 0 {
			return nil // the server's response is the same
		}
		return err
	}
	var list reflect.Value
	if len(t.rest) > 0 {
		if list, err = l.loaded(ctx, in.conn, e, childKind(in.op)); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(t.rest) == 0:
		l.note(ctx, PlannedDelete, e, "")
		l.forget(e)
		return nil
	case !list.IsValid():
		return notPlanned(in.op, "leave the call out if the error matches ErrNotPlanned")
	}
	i := indexOf(list, t.rest[0])
	switch {
	case i >= 0:
		l.note(ctx, PlannedUpdate, e, "- "+l.elementText(list.Index(i).Addr().Interface()))
		list.Set(reflect.AppendSlice(list.Slice(0, i), list.Slice(i+1, list.Len())))
	case in.op == &opMachineImagesDeleteVersion:
		return planMissing(in)
	}
	return nil
}

// forget marks an entry as deleted, with what the server deletes with it.
func (l *planLayer) forget(e *planEntry) {
	e.isDeleted = true
	if l.byName[e.nameOf()] == e {
		delete(l.byName, e.nameOf())
	}
	subnet, ok := e.record.(*PrivateSubnet)
	if !ok {
		return
	}
	for _, other := range l.entries[KindLoadBalancer] {
		if b := other.record.(*LoadBalancer); b.Location == subnet.Location && b.Subnet == subnet.Name && other.project == e.project {
			l.forget(other)
		}
	}
}

// gone implements planDoors.gone.
func (l *planLayer) gone(record any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaving[resourceOf(record).ID] = true
}
