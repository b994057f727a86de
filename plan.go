package cloudapi

import (
	"errors"
	"slices"
	"strings"
)

// Plan records what a program would change. A function that is written for a
// client runs unchanged with the plan's client, which only reads:
//
//	plan := cloudapi.NewPlan(client)
//	_, _, err := plan.Client().VMs.Ensure(ctx, location, "web-1", request, nil) // or any function that takes a client
//	fmt.Println(plan)                                                           // + VM eu-central-h1/web-1: public_key laptop
//
// The plan's client sends the GETs that the function asks for, and their errors
// are the plan's errors. It answers what it knows better than the server: what
// the function has created, changed and deleted so far is in its records and
// lists, by ID and by name. A wait ends after its first poll: no time passes in a
// plan. The result of such a wait may not be what the wait is for.
//
// The record of a resource that exists only in the plan has what the request
// sets, and defaults that don't depend on the server. Its ID is an ID that no
// server creates, and other clients refuse it. The ranges of its subnet are ones
// that no server assigns. What only the server knows, such as addresses and
// passwords, is empty. Don't wait for it with a condition of your own, except in
// [Wait].
//
// A plan doesn't know what only the server checks, such as sizes, ports, quotas
// and dependencies: a rehearsal with a copy of the project does; see
// docs/plan.md. It doesn't know what the server creates with a VM or a database,
// such as the default subnet, or chooses, such as the size of a VM whose request
// sets none. After a [PlannedCall], records have what its request sets, and the
// states of VMs that the program stops and starts.
//
// A Plan is safe for concurrent use.
type Plan struct {
	layer  *planLayer
	client *Client
}

// PlannedAction is the sign of a [PlannedChange].
type PlannedAction string

// Values of [PlannedAction].
const (
	PlannedCreate PlannedAction = "+" // the resource is created
	PlannedUpdate PlannedAction = "~" // the resource changes, or gains, loses or changes a rule, a member or another part
	PlannedDelete PlannedAction = "-" // the resource is deleted
	PlannedCall   PlannedAction = "!" // the program calls a method of the resource, whatever its state is, such as VMs.Restart
)

// PlannedChange is a change that a program would make.
type PlannedChange struct {
	Action   PlannedAction `json:"action"`
	Resource Resource      `json:"resource"`         // without an ID if it exists only in the plan
	Details  string        `json:"details,omitzero"` // for people, such as "size standard-2 -> standard-4"; no secrets, settings or scripts
}

// String returns the change in a line, such as
// "~ firewall eu-central-h1/web: + 443 from 0.0.0.0/0".
func (c PlannedChange) String() string {
	text := string(c.Action) + " " + planText(c.Resource)
	if c.Details != "" {
		text += ": " + c.Details
	}
	return text
}

// ErrNotPlanned is the error of a plan's client for a call that can't be planned:
// one whose result only the server knows, such as new credentials, or a GET about
// a resource that exists only in the plan, such as its metrics. Nothing was sent.
// Leave such a call out where the error matches ErrNotPlanned.
var ErrNotPlanned = errors.New("not planned")

// NewPlan returns an empty plan of changes to what the client can change. It
// panics if client is nil.
func NewPlan(client *Client) *Plan {
	if client == nil {
		panic("cloudapi: NewPlan: client must not be nil")
	}
	layer := newPlanLayer()
	planning := *client
	planning.config.plan = &layer.doors
	planning.bindServices()
	return &Plan{layer, &planning}
}

// Client returns the client that plans. Its copies by [Client.With] and
// [Client.InProject] add to the same plan.
func (p *Plan) Client() *Client { return p.client }

// Changes returns the changes so far, in the order of the calls. If goroutines
// call the client, sort the changes before you compare two plans.
func (p *Plan) Changes() []PlannedChange {
	if p == nil {
		return nil
	}
	p.layer.mu.Lock()
	defer p.layer.mu.Unlock()
	return slices.Clone(p.layer.changes)
}

// String returns a line for each change, or "" if nothing changes.
func (p *Plan) String() string {
	var lines []string
	for _, change := range p.Changes() {
		lines = append(lines, change.String())
	}
	return strings.Join(lines, "\n")
}
