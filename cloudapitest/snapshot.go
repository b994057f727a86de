package cloudapitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/families"
	"github.com/cloudapi-sdk/cloudapi/internal/plain"
)

// Snapshot is a copy of a project, for [WithSnapshot]: what GETs have shown of
// it, without what the API treats as a secret. Init scripts, settings of
// databases and the paths of URLs are as in the project, and may contain secrets
// too. A snapshot can be encoded as JSON and decoded from it.
//
// A refusal by a server with the copy is a refusal by the server of the project,
// as far as the test server knows it. A success is no promise: quotas,
// permissions, billing and capacity aren't copied, and the copy allows
// everything that depends on them. [Snapshot.Gaps] lists what is missing.
//
// Experimental: the format may change, and a new version may refuse old files.
type Snapshot struct {
	ProjectID string
	Time      time.Time // the end of the reading

	content *families.Snapshot
}

// SnapshotOptions are options of [TakeSnapshot].
//
// Experimental: see [Snapshot].
type SnapshotOptions struct {
	// KeepAddresses keeps the public addresses of VMs and nodes. By default each
	// of them gets another address, from ranges that are reserved for
	// documentation and benchmarks, so that a program that is tried with the copy
	// doesn't reach the real VM.
	KeepAddresses bool
}

// Gap is something that a snapshot lacks.
//
// Experimental: see [Snapshot].
type Gap struct {
	What   string `json:"what"`   // such as "connections of subnets", or "VM.gpu" for a field of records
	Reason string `json:"reason"` // such as "no GET shows it"
}

func (g Gap) String() string { return g.What + ": " + g.Reason }

// Change is a difference between two snapshots of a project.
//
// Experimental: see [Snapshot].
type Change struct {
	Action   string            `json:"action"` // "created", "modified" or "deleted"
	Resource cloudapi.Resource `json:"resource"`
	Fields   []FieldChange     `json:"fields,omitzero"` // of a modified resource
}

// FieldChange is a difference between two records of a resource. Before and After
// are both nil for the text of an init script, which may contain secrets.
//
// Experimental: see [Snapshot].
type FieldChange struct {
	Field  string `json:"field"`  // such as "tags", or "nodepools[workers].node_count" of a record in a list
	Before any    `json:"before"` // as decoded from JSON, or the number of records in a list
	After  any    `json:"after"`
}

// String describes the change in one line, such as "+ VM eu-central-h1/job" or
// "~ firewall eu-central-h1/edge: firewall_rules 3 -> 4". It quotes unusual names.
func (c Change) String() string {
	sign := map[string]string{families.Created: "+", families.Modified: "~", families.Deleted: "-"}[c.Action]
	resource := c.Resource
	if resource.Name != "" {
		resource.ID = ""
	}
	var fields []string
	for _, f := range c.Fields {
		text := fmt.Sprintf("%s %s -> %s", f.Field, mustMarshal(f.Before), mustMarshal(f.After))
		if f.Before == nil && f.After == nil {
			text = f.Field + " differs"
		}
		fields = append(fields, plain.OneLine(text))
	}
	line := sign + " " + resource.String()
	if fields != nil {
		line += ": " + strings.Join(fields, ", ")
	}
	return line
}

// TakeSnapshot reads the client's project, with up to 8 requests at a time. It
// sends only GETs: one for each list, and for each 1000 items of it; one for
// each load balancer, cluster, machine image, private link service, SSH public
// key and init script; two or three for each database. At the end it reads those lists again that
// have complete records, such as the VMs and firewalls. If they have changed, it
// reads the project again, up to three times in all.
//
// It returns an error if the token can't see the project. What else the token
// can't see is missing from the snapshot, and is only a [Gap] if the server says
// so: most lists just leave it out.
//
// Experimental: see [Snapshot].
func TakeSnapshot(ctx context.Context, client *cloudapi.Client, opts *SnapshotOptions) (*Snapshot, error) {
	if opts == nil {
		opts = &SnapshotOptions{}
	}
	if client.Project() == "" {
		return nil, fmt.Errorf("cloudapitest: TakeSnapshot: %w", cloudapi.ErrNoProject)
	}
	content, err := families.Read(ctx, client, families.ReadOptions{KeepAddresses: opts.KeepAddresses, AtOnce: 8, Now: time.Now})
	if err != nil {
		return nil, fmt.Errorf("cloudapitest: TakeSnapshot: %w", err)
	}
	return newSnapshot(content), nil
}

func newSnapshot(content *families.Snapshot) *Snapshot {
	return &Snapshot{content.Project.ID, content.Time, content}
}

// Gaps returns what the snapshot lacks: what the token couldn't see, what the
// test server doesn't know, and what no GET shows of any project.
func (s *Snapshot) Gaps() []Gap {
	var gaps []Gap
	for _, g := range slices.Concat(s.content.Gaps, families.NeverShown(s.content.Version())) {
		gaps = append(gaps, Gap{plain.OneLine(g.What), plain.OneLine(g.Reason)})
	}
	return gaps
}

// Len returns the number of resources, without those inside of others.
func (s *Snapshot) Len() (n int) {
	for _, records := range s.content.Objects {
		n += len(records)
	}
	return n
}

// Changes returns what is different in a later snapshot of the project, sorted
// by kind and name. It leaves out what follows from other changes, such as the
// nodes of a new cluster, and what time alone changes, such as the state of a VM
// that was "creating" and is "running". A resource with the state "deleting" is
// deleted. It also leaves out public addresses, and the resources that a [Gap] of
// either snapshot names: they may be there, but couldn't be read.
func (s *Snapshot) Changes(later *Snapshot) []Change {
	changes := []Change{}
	for _, c := range s.content.Changes(later.content) {
		var fields []FieldChange
		for _, f := range c.Fields {
			fields = append(fields, FieldChange(f))
		}
		changes = append(changes, Change{c.Action, c.Resource, fields})
	}
	return changes
}

// snapshotFormat is the version of the format of snapshots.
const snapshotFormat = 1

type snapshotFile struct {
	Format int `json:"cloudapi_snapshot"`
	*families.Snapshot
}

func (s *Snapshot) MarshalJSON() ([]byte, error) {
	return json.Marshal(snapshotFile{snapshotFormat, s.content})
}

// UnmarshalJSON returns an error for a snapshot with a resource that a server
// can't have.
func (s *Snapshot) UnmarshalJSON(data []byte) error {
	file := snapshotFile{Snapshot: new(families.Snapshot)}
	err := json.Unmarshal(data, &file)
	if err == nil && file.Format != snapshotFormat {
		err = fmt.Errorf("its format is %d instead of %d", file.Format, snapshotFormat)
	}
	if err == nil {
		err = file.Snapshot.Check()
	}
	if err != nil {
		return fmt.Errorf("cloudapitest: Snapshot: %w", err)
	}
	*s = *newSnapshot(file.Snapshot)
	return nil
}

// WithSnapshot makes the server begin with a copy of a project: it has the
// project's ID, name and resources, and implements the API that the snapshot was
// read from. Passwords, keys, certificates and the names of hosts are made up,
// and so is the token: the server accepts no token of the project. Quotas are
// unlimited unless [WithQuota] follows. [Server.Reset] restores the copy.
//
// Experimental: see [Snapshot].
func WithSnapshot(s *Snapshot) Option {
	return func(c *config) error {
		if s == nil || s.content == nil {
			return errors.New("WithSnapshot: there is no snapshot")
		}
		c.snapshot = s.content
		c.projectID, c.projectName = s.content.Project.ID, s.content.Project.Name
		c.api = API(s.content.API)
		const unlimited = math.MaxInt
		c.quota = Quota{unlimited, unlimited, unlimited, unlimited, unlimited}
		return nil
	}
}

// Snapshot returns a snapshot of the project at a single moment. It keeps the
// addresses, and adds nothing to [Server.Requests].
//
// Experimental: see [Snapshot].
func (s *Server) Snapshot() *Snapshot {
	var content *families.Snapshot
	s.service.Do(func(at *api.Moment) { content = s.readItself(at) })
	return newSnapshot(content)
}

// Changes returns what has changed in the project since the server began or was
// reset, as if everything that is in progress were complete. So a resource is
// deleted as soon as a deletion was accepted, although it can still be read. See
// [Snapshot.Changes].
//
// Experimental: see [Snapshot].
func (s *Server) Changes() []Change {
	var content *families.Snapshot
	s.service.Do(func(at *api.Moment) { content = s.readItself(at.Settled()) })
	s.lifecycle.Lock()
	initial := s.initial
	s.lifecycle.Unlock()
	return newSnapshot(initial).Changes(newSnapshot(content))
}

// begin fills the service, and remembers how it was in the beginning.
func (s *Server) begin(at *api.Moment) {
	s.config.seed(at)
	initial := new(families.Snapshot)
	if s.config.snapshot != nil {
		initial = s.readItself(at.Settled()) // a copy may differ from its snapshot, such as in states
	}
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	s.initial = initial
}

// readItself returns an empty snapshot of a project that a request has deleted.
func (s *Server) readItself(at *api.Moment) *families.Snapshot {
	project := at.State.Project(s.config.projectID)
	if project == nil {
		return &families.Snapshot{API: string(s.config.api), Time: at.Now.UTC()}
	}
	return families.ReadItself(s.service, at, project)
}
