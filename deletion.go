package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
)

// waitDeleted waits until the resource that ref names is gone. It returns an
// error if no resource of the family can have ref as its name or ID.
func (f *family[T]) waitDeleted(ctx context.Context, c *conn, location, ref string, opts *WaitOptions) error {
	operation := strings.TrimSuffix(f.del.Name, "Delete") + "WaitDeleted"
	rule := f.get.lastRule()
	rule.nameOnly = false // of a family that takes only names, the list has the ID
	if err := rule.checkCertain(operation, "reference", ref); err != nil {
		return err
	}
	d := f.deletion(c, operation, location, ref)
	w := f.waiter(c, operation, location, ref)
	w.gone, w.get = true, d.get
	w.done = func(record *T) (bool, error) { return resourceOf(record).ID != d.id, nil } // another may have taken the name
	w.isNotYet = func(record *T) bool {
		isIt := resourceOf(record).ID == d.id
		d.seen = d.seen || isIt
		return isIt
	}
	_, err := w.run(ctx, opts)
	return err
}

// deletion is what a wait for a deletion knows of the resource.
type deletion[T any] struct {
	family    *family[T]
	conn      *conn
	operation string
	location  string
	ref       string // the name or ID
	id        string // "" as long as only the name is known
	seen      bool   // whether a poll has found the resource
}

func (f *family[T]) deletion(c *conn, operation, location, ref string) *deletion[T] {
	d := &deletion[T]{family: f, conn: c, operation: operation, location: location, ref: ref}
	if IsID(ref, f.kind()) {
		d.id = ref
	}
	return d
}

// get returns the record of the resource that ref means now.
func (d *deletion[T]) get(ctx context.Context) (*T, error) {
	record, err := d.read(ctx)
	if err != nil {
		return d.prove(ctx, err)
	}
	d.seen, d.id = true, cmp.Or(d.id, resourceOf(record).ID)
	return record, nil
}

func (d *deletion[T]) read(ctx context.Context) (*T, error) {
	if d.ref != d.id || d.family.takesIDs() {
		return d.family.read(ctx, d.conn, d.location, d.ref)
	}
	record, err := d.family.search(ctx, d.conn, d.id)
	if errors.Is(err, errNotShown) {
		return nil, ErrNotFound
	}
	return record, err
}

// listedID returns the ID of the resource that has the name in the location's
// list, or "" if none has.
func (d *deletion[T]) listedID(ctx context.Context) (id string, err error) {
	for record, err := range d.family.items(ctx, d.conn, &ListOptions{Location: d.location}) {
		if err != nil {
			return "", err
		}
		if r := resourceOf(record); r.Name == d.ref {
			return r.ID, nil
		}
	}
	return "", nil
}

// prove returns an error for which IsGone is true if missing, the error of a
// read, or [Fetch] proves that the resource is gone. A 404 is no proof if no poll
// has found the resource: the location can be wrong, the project can be another,
// or the token may not see it. Nor is it if the service may lack the operation,
// or the location was renamed.
func (d *deletion[T]) prove(ctx context.Context, missing error) (*T, error) {
	if d.family.kind() == KindProject {
		return nil, missing // one that is gone looks like another account's
	}
	if _, ok := errors.AsType[plannedGone](missing); ok {
		return nil, missing
	}
	isGone, isElsewhere := IsGone(missing), errors.Is(missing, ErrLocationNotFound) && d.id != ""
	if !isGone && !isElsewhere || isGone && d.seen && d.family.get.traits&unproven == 0 {
		return nil, missing
	}
	if d.id == "" && isGone && d.family.get.traits&unproven != 0 { // the 404 is a proof only together with the list
		var err error
		if d.id, err = d.listedID(ctx); err != nil {
			return nil, err
		}
	}
	scope := d.conn.scope(ctx)
	defer scope.Use()()
	r := Resource{Kind: d.family.kind(), ID: d.id, Location: d.location}
	if d.id == "" {
		r.Name = d.ref
	}
	f := d.conn.fetcher(d.operation, scope, d.family, r)
	if d.id == "" || d.family.hidden { // no other has the name; or nothing else can be proven
		if err := f.seesProject(ctx); err != nil {
			return nil, f.failed(err)
		}
		return nil, missing
	}
	found, err := f.fetch(ctx)
	if err != nil {
		return nil, err
	}
	record := any(found).(*T)
	if at := resourceOf(record).Location; at != d.location {
		return nil, fmt.Errorf("%w: it is in %s", ErrWaitFailed, at)
	}
	d.seen = true
	return record, nil
}
