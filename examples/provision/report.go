package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/cloudapi-sdk/cloudapi"
)

// report contains what was done or is planned, and the differences between the
// project and the file. The zero value is empty.
type report struct {
	mu     sync.Mutex // guards the fields below
	rows   map[subject]*row
	drifts map[subject]error
}

// subject names a resource in the file.
type subject struct {
	kind cloudapi.Kind
	name string
}

func (s subject) String() string { return s.kind.String() + " " + s.name }

type row struct {
	result, state, details string
	changes                []string // the changes of a plan
}

const (
	resultDiffers = "differs"
	resultHeld    = "held back"
	resultUnknown = "unknown" // there was no response, so the resource may or may not exist
)

// done and planned are the results that the table shows for the outcomes of
// Ensure.
var (
	done = map[cloudapi.EnsureOutcome]string{
		cloudapi.EnsureCreated: "created", cloudapi.EnsureFound: "created", cloudapi.EnsureUpdated: "changed", cloudapi.EnsureUnchanged: "was there",
	}
	planned = map[cloudapi.EnsureOutcome]string{
		cloudapi.EnsureCreated: "create", cloudapi.EnsureUpdated: "change", cloudapi.EnsureUnchanged: "keep",
	}
)

func (r *report) result(of subject, result string) {
	r.change(of, func(row *row) { row.result = result })
}

// show records the state of a resource. Empty texts change nothing.
func (r *report) show(of subject, state, details string) {
	r.change(of, func(row *row) {
		row.state, row.details = cmp.Or(state, row.state), cmp.Or(details, row.details)
	})
}

// changes adds the details of a change of a plan.
func (r *report) changes(of subject, text string) {
	r.change(of, func(row *row) {
		if row.result == planned[cloudapi.EnsureUnchanged] {
			row.result = planned[cloudapi.EnsureUpdated] // only its rules change
		}
		row.changes = append(row.changes, text)
	})
}

func (r *report) change(of subject, change func(*row)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows == nil {
		r.rows = map[subject]*row{}
	}
	if r.rows[of] == nil {
		r.rows[of] = &row{}
	}
	change(r.rows[of])
}

func (r *report) differs(of subject, how error) {
	r.result(of, resultDiffers)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.drifts == nil {
		r.drifts = map[subject]error{}
	}
	r.drifts[of] = errors.Join(r.drifts[of], how)
}

func (r *report) drift() error {
	var errs []error
	for _, of := range inOrder(r.drifts) {
		errs = append(errs, r.drifts[of])
	}
	return errors.Join(errs...)
}

// inOrder returns the keys in the order in which resources are created, each
// after the resources it needs.
func inOrder[V any](of map[subject]V) []subject {
	order := []cloudapi.Kind{cloudapi.KindSSHPublicKey, cloudapi.KindFirewall, cloudapi.KindPrivateSubnet, cloudapi.KindVM, cloudapi.KindPostgres}
	return slices.SortedFunc(maps.Keys(of), func(a, b subject) int {
		return cmp.Or(slices.Index(order, a.kind)-slices.Index(order, b.kind), cmp.Compare(a.name, b.name))
	})
}

func (r *report) write(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KIND\tNAME\tRESULT\tSTATE\tDETAILS")
	for _, of := range inOrder(r.rows) {
		row := r.rows[of]
		result := row.result
		if r.drifts[of] != nil {
			result = resultDiffers // even if some of its fields or rules were changed
		}
		fmt.Fprintf(table, "%v\t%s\t%s\t%s\t%s\n", of.kind, of.name, result, row.state, cmp.Or(strings.Join(row.changes, "; "), row.details))
	}
	return table.Flush()
}

// driftText lists differences, such as `size standard-2, wanted standard-4`.
func driftText(drift []cloudapi.Drift) string {
	var texts []string
	for _, d := range drift {
		texts = append(texts, fmt.Sprintf("%s %v, wanted %v", d.Field, d.Found, d.Wanted))
	}
	return strings.Join(texts, "; ")
}

// ruleText describes differences of rules, such as "lacks 443 from ::/0".
func ruleText[R any](changes *cloudapi.SetChanges[R], text func(*R) string) string {
	list := func(verb string, rules []*R) string {
		var texts []string
		for _, rule := range rules {
			texts = append(texts, text(rule))
		}
		slices.Sort(texts)
		if texts == nil {
			return ""
		}
		return verb + " " + strings.Join(texts, ", ")
	}
	both := []string{list("lacks", changes.Added), list("has unwanted", changes.Removed)}
	return strings.Join(slices.DeleteFunc(both, func(s string) bool { return s == "" }), " and ")
}

func (p *provisioner) advice(drift []cloudapi.Drift) string {
	switch {
	case slices.ContainsFunc(drift, func(d cloudapi.Drift) bool { return d.Remedy != cloudapi.RemedyUpdate }):
		return ": change the file" // Ensure changes nothing unless it can remove all differences
	case p.update:
		return ": --update has not changed that"
	}
	return ": --update changes that"
}
