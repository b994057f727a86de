package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/plain"
)

// SetChanges are the changes made by a method that makes a set exactly what the
// caller wants, such as [FirewallsService.SetRules], or that it would make, with
// the client of a [Plan]. Of a database's two rules for a range of addresses,
// they include only the first.
type SetChanges[T any] struct {
	Kept     []*T // were in the set, and are wanted; a VM may be leaving its load balancer, see [LoadBalancersService.SetVMs]
	Added    []*T
	Modified []*T // were in the set with another description; these have the new one
	Removed  []*T // were in the set, and aren't wanted
}

// Changed reports whether the set changed.
func (c *SetChanges[T]) Changed() bool { return len(c.Added)+len(c.Modified)+len(c.Removed) > 0 }

// String returns a line for each change, such as "+ 443 from 0.0.0.0/0". The
// lines of added elements begin with "+", of modified ones with "~", and of
// removed ones with "-". The text is empty if nothing changed.
func (c *SetChanges[T]) String() string {
	var lines []string
	for _, change := range []struct {
		sign     string
		elements []*T
	}{{"+ ", c.Added}, {"~ ", c.Modified}, {"- ", c.Removed}} {
		for _, element := range change.elements {
			lines = append(lines, change.sign+elementText(element))
		}
	}
	return strings.Join(lines, "\n")
}

func elementText(element any) string {
	if rule, ok := element.(interface{ ruleText() string }); ok {
		return rule.ruleText()
	}
	return resourceOf(element).String()
}

// describe adds a rule's description to its text.
func describe(text, description string) string {
	if description == "" {
		return text
	}
	return text + " " + strconv.Quote(plain.OneLine(description))
}

// exactSet tells a Set method how to handle the elements of one set, such as
// the rules of a firewall. T is the record of an element, and W is what the
// caller passes for it.
type exactSet[T, W any] struct {
	conn      *conn
	operation string
	argument  string       // the name of the argument with the wanted elements
	field     string       // of the record that has the set
	location  string       // of the resource
	reference string       // to it
	pauses    *WaitOptions // between attempts to add an element; nil means waitQuick

	list func(context.Context) ([]T, error)     // returns nil if the record lacks the set
	read func(context.Context, W) ([]*T, error) // returns the elements that a W asks for
	key  func(*T) string                        // identifies an element in the set

	// add adds an element, and returns ErrAlreadyExists or ErrOutcomeUnknown if
	// the element may be in the set already.
	add    func(context.Context, W, *T) (*T, error)
	remove func(context.Context, *T) error

	// settle waits until the set shows that elements are removed. It's nil if it
	// does so immediately.
	settle func(context.Context) error

	latest map[string]*T // the first element of the last list, by key

	// look returns an element that is to be added, or why it can't be added. It's
	// called before the first change. It's nil if adding creates the element.
	look func(context.Context, *T) (*T, error)

	// For elements with descriptions: description returns an element's, and modify
	// changes it.
	description func(*T) *string
	modify      func(ctx context.Context, element *T, description string) (*T, error)

	// isHalf reports whether some of the elements that one add adds are missing.
	// It's nil if add adds only one.
	isHalf func([]*T) bool
}

// attachedSet completes a set of resources that are attached by their IDs.
// element returns the record for an ID, and field is what errors call the ID.
func attachedSet[T any](c *conn, f *family[T], field string, element func(id string) *T, set exactSet[T, string]) exactSet[T, string] {
	set.conn = c
	set.key = func(record *T) string { return resourceOf(record).ID }
	set.read = func(_ context.Context, id string) ([]*T, error) {
		if err := idOf(f.kind()).check("", field, id); err != nil {
			return nil, err
		}
		return []*T{element(id)}, nil
	}
	set.look = func(ctx context.Context, record *T) (*T, error) {
		found, err := getReferred(ctx, c, f, set.operation, set.location, field, resourceOf(record).ID)
		if err != nil {
			return nil, err
		}
		return any(found).(*T), nil
	}
	return set
}

// wantedElement is an element that the caller wants, and the request for it.
type wantedElement[T, W any] struct {
	record  *T
	request W
}

// setPlan says what to do with which elements. Each element of a [][]*T
// contains all elements of the set with the same key.
type setPlan[T, W any] struct {
	kept, unwanted [][]*T
	halves         [][]*T // to be removed and added again; see exactSet.isHalf
	missing        []wantedElement[T, W]
	outdated       []outdatedElements[T]
}

// outdatedElements are elements with the same key, of which at least one has
// another description than wanted.
type outdatedElements[T any] struct {
	elements    []*T
	description string
}

// changes returns the changes of a plan. describe returns a copy of an element
// with another description.
func (p *setPlan[T, W]) changes(describe func(*T, string) *T) *SetChanges[T] {
	c := &SetChanges[T]{}
	for _, elements := range p.kept {
		c.Kept = append(c.Kept, elements[0])
	}
	for _, w := range p.missing {
		c.Added = append(c.Added, w.record)
	}
	for _, o := range p.outdated {
		c.Modified = append(c.Modified, describe(o.elements[0], o.description))
	}
	for _, elements := range slices.Concat(p.halves, p.unwanted) {
		c.Removed = append(c.Removed, elements[0])
	}
	return c
}

func (s *exactSet[T, W]) resource() string { return qualify(s.location, s.reference) }

// described returns a copy of an element with another description.
func (s *exactSet[T, W]) described(element *T, description string) *T {
	changed := *element
	*s.description(&changed) = description
	return &changed
}

// apply makes the set exactly what is wanted.
func (s *exactSet[T, W]) apply(ctx context.Context, wanted []W) (*SetChanges[T], error) {
	if ctx == nil {
		return nil, noContext(s.operation)
	}
	if wanted == nil {
		return nil, &ArgumentError{Operation: s.operation, Name: s.argument, Reason: "must not be nil: an empty slice removes all"}
	}
	elements, err := s.parse(ctx, wanted)
	if err != nil {
		return nil, err
	}
	plan, err := s.plan(ctx, elements)
	if err != nil {
		return nil, err
	}
	planned, err := s.lookAt(ctx, plan.changes(s.described))
	if err != nil || !planned.Changed() {
		return planned, err
	}
	done := &SetChanges[T]{Kept: planned.Kept}
	if err := s.carryOut(ctx, plan, elements, done); err != nil {
		return nil, fmt.Errorf("cloudapi: %s of %s ended with %d of %d added and %d of %d removed: %w",
			s.operation, s.resource(), len(done.Added), len(planned.Added), len(done.Removed), len(planned.Removed), unprefixed{err})
	}
	return done, nil
}

// lookAt replaces the elements that are to be added by their records.
func (s *exactSet[T, W]) lookAt(ctx context.Context, planned *SetChanges[T]) (*SetChanges[T], error) {
	if s.look == nil {
		return planned, nil
	}
	for i, element := range planned.Added {
		record, err := s.look(ctx, element)
		if err != nil {
			return nil, err
		}
		planned.Added[i] = record
	}
	return planned, nil
}

// parse returns the wanted elements, each once. It returns an error if one is
// wanted with two descriptions.
func (s *exactSet[T, W]) parse(ctx context.Context, wanted []W) ([]wantedElement[T, W], error) {
	var elements []wantedElement[T, W]
	first := map[string]int{} // the index in elements, by key
	for i, request := range wanted {
		records, err := s.read(ctx, request)
		if errors.Is(err, ErrInvalidArgument) {
			return nil, &ArgumentError{Operation: s.operation, Name: fmt.Sprintf("%s[%d]", s.argument, i),
				Reason: "is wrong: " + unprefixed{err}.Error()}
		}
		if err != nil {
			return nil, err
		}
		for _, record := range records {
			element, key := wantedElement[T, W]{record, request}, s.key(record)
			j, again := first[key]
			switch {
			case !again:
				first[key] = len(elements)
				elements = append(elements, element)
			case s.description == nil || *s.description(record) == "":
			case *s.description(elements[j].record) == "":
				elements[j] = element
			case *s.description(elements[j].record) != *s.description(record):
				return nil, &ArgumentError{Operation: s.operation, Name: fmt.Sprintf("%s[%d]", s.argument, i),
					Reason: "is there twice, with different descriptions"}
			}
		}
	}
	return elements, nil
}

// elements lists the set.
func (s *exactSet[T, W]) elements(ctx context.Context) ([]T, error) {
	list, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	if list == nil {
		return nil, lacksField(s.operation, s.field)
	}
	s.latest = map[string]*T{}
	for i := range list {
		if key := s.key(&list[i]); s.latest[key] == nil {
			s.latest[key] = &list[i]
		}
	}
	return list, nil
}

func (s *exactSet[T, W]) plan(ctx context.Context, wanted []wantedElement[T, W]) (*setPlan[T, W], error) {
	list, err := s.elements(ctx)
	if err != nil {
		return nil, err
	}
	var keys []string // in the order of the list
	found := map[string][]*T{}
	for i := range list {
		key := s.key(&list[i])
		if found[key] == nil {
			keys = append(keys, key)
		}
		found[key] = append(found[key], &list[i])
	}
	isHalf := func(elements []*T) bool { return s.isHalf != nil && s.isHalf(elements) }
	plan, byKey := &setPlan[T, W]{}, map[string]*T{} // the wanted elements
	for _, w := range wanted {
		key := s.key(w.record)
		byKey[key] = w.record
		if elements := found[key]; elements == nil || isHalf(elements) {
			if elements != nil && *s.description(w.record) == "" {
				w.record = s.described(w.record, *s.description(elements[0]))
			}
			plan.missing = append(plan.missing, w)
		}
	}
	for _, key := range keys {
		elements := found[key]
		description, hasOther := s.newDescription(elements, byKey[key])
		switch {
		case byKey[key] == nil:
			plan.unwanted = append(plan.unwanted, elements)
		case isHalf(elements):
			plan.halves = append(plan.halves, elements)
		case hasOther:
			plan.outdated = append(plan.outdated, outdatedElements[T]{elements, description})
		default:
			plan.kept = append(plan.kept, elements)
		}
	}
	return plan, nil
}

// newDescription returns the description that the caller wants for elements of
// the set, and whether one of them has another.
func (s *exactSet[T, W]) newDescription(elements []*T, wanted *T) (description string, hasOther bool) {
	if s.description == nil || wanted == nil || *s.description(wanted) == "" {
		return "", false
	}
	description = *s.description(wanted)
	return description, slices.ContainsFunc(elements, func(e *T) bool { return *s.description(e) != description })
}

// carryOut carries out a plan, and adds each change to done. Then it checks
// that the set has exactly the wanted elements.
func (s *exactSet[T, W]) carryOut(ctx context.Context, plan *setPlan[T, W], wanted []wantedElement[T, W], done *SetChanges[T]) error {
	if err := s.removeAll(ctx, plan.halves, done); err != nil {
		return err
	}
	for _, w := range plan.missing {
		if record := s.latest[s.key(w.record)]; record != nil && s.isHalf == nil { // another program has just added it
			done.Kept = append(done.Kept, record)
			continue
		}
		record, outcome, err := s.ensure(ctx, w)
		switch {
		case err != nil:
			return err
		case outcome == EnsureCreated, outcome == EnsureFound:
			done.Added = append(done.Added, record)
		default: // another program has just added it
			done.Kept = append(done.Kept, record)
		}
	}
	for _, o := range plan.outdated {
		var changed *T
		for _, element := range o.elements {
			record, err := s.modify(ctx, element, o.description)
			if err != nil {
				return err
			}
			if changed == nil {
				changed = record
			}
		}
		done.Modified = append(done.Modified, changed)
	}
	if err := s.removeAll(ctx, plan.unwanted, done); err != nil {
		return err
	}
	if s.settle != nil {
		if err := s.settle(ctx); err != nil {
			return err
		}
	}
	left, err := s.plan(ctx, wanted)
	if err != nil {
		return err
	}
	if c := left.changes(s.described); len(c.Added)+len(c.Removed) > 0 {
		return fmt.Errorf("%w: %d wanted are missing, and there are %d others", errOtherChanges, len(c.Added), len(c.Removed))
	}
	return nil
}

// errOtherChanges says that a set isn't as wanted although all changes succeeded.
var errOtherChanges = errors.New("another program made changes")

// notInSetError says that a set lacks an element. It proves nothing about
// whether what the element stands for exists.
type notInSetError struct{ resource string }

func (e notInSetError) Error() string        { return "not in " + plain.OneLine(e.resource) }
func (e notInSetError) Is(target error) bool { return target == ErrNotFound || target == errNotShown }

// removeAll removes groups of elements with the same key. It adds the first of
// a group to done when the whole group is removed.
func (s *exactSet[T, W]) removeAll(ctx context.Context, unwanted [][]*T, done *SetChanges[T]) error {
	for _, elements := range unwanted {
		for _, element := range elements {
			if err := s.remove(ctx, element); err != nil {
				return err
			}
		}
		done.Removed = append(done.Removed, elements[0])
	}
	return nil
}

// ensure adds an element, or returns it if another program has just added it.
func (s *exactSet[T, W]) ensure(ctx context.Context, wanted wantedElement[T, W]) (*T, EnsureOutcome, error) {
	listed := true
	e := ensureSpec[T]{
		operation: s.operation,
		name:      s.resource(),
		pauses:    cmp.Or(s.pauses, &waitQuick),
		find: func(ctx context.Context) (*T, error) {
			if listed {
				listed = false
				return nil, ErrNotFound
			}
			if _, err := s.elements(ctx); err != nil {
				return nil, err
			}
			if found := s.latest[s.key(wanted.record)]; found != nil {
				return found, nil
			}
			return nil, notInSetError{s.resource()}
		},
		create:  func(ctx context.Context) (*T, error) { return s.add(ctx, wanted.request, wanted.record) },
		compare: func(context.Context, *T) (comparison, error) { return comparison{}, nil },
		// The server may compare elements otherwise, and never show this one.
		limitTaken: true,
	}
	return e.run(ctx, EnsureOptions{})
}
