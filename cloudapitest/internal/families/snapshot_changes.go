package families

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
	"github.com/cloudapi-sdk/cloudapi/internal/plain"
)

// Change is a difference between two snapshots of a project.
type Change struct {
	Action   string
	Resource cloudapi.Resource
	Fields   []FieldChange
}

// FieldChange is a difference between two records. The values are JSON, or the
// lengths of two lists. Both are nil if they may contain secrets.
type FieldChange struct {
	Field         string
	Before, After any
}

// The actions of a [Change].
const (
	Created  = "created"
	Modified = "modified"
	Deleted  = "deleted"
)

// finalStates maps the states that time alone changes to the states that follow. An
// object with the state "" is as good as gone. What follows "creating" depends on
// the kind.
var finalStates = map[string]string{
	"restoring_backup": "running", "replaying_wal": "running", "finalizing_restore": "running",
	"starting": "running", "restarting": "running", "upgrading": "running",
	"stopping": "stopped", "deleting": "", "destroying": "",
}

// Changes returns the differences of a later snapshot, sorted by kind and name. It
// leaves out the objects that either snapshot lacks for another reason: its gaps.
func (s *Snapshot) Changes(later *Snapshot) []Change {
	var changes []Change
	var befores, afters []map[string]map[string]any // of each kind, by ID
	remaining := map[string]bool{}                  // whether an object in either snapshot remains in the end, by ID
	for i := range copied {
		before, after := s.objects(&copied[i]), later.objects(&copied[i])
		for _, raw := range slices.Concat(s.Objects[copied[i].kind], later.Objects[copied[i].kind]) {
			id := headOf(raw).ID
			remaining[id] = after[id] != nil
		}
		befores, afters = append(befores, before), append(afters, after)
	}
	for i, k := range copied {
		before, after := befores[i], afters[i]
		report := func(action string, record map[string]any, fields []FieldChange) {
			text := func(name string) string { t, _ := record[name].(string); return t }
			r := head{text("id"), text("name"), text("ui_name"), text("location")}.resource(k.kind)
			noPorts := k.kind == cloudapi.KindLoadBalancer && ownerOf(record) != "" && (s.Portless || later.Portless)
			if action != Modified && (noPorts || s.lacks(r) || later.lacks(r)) {
				return
			}
			changes = append(changes, Change{action, r, fields})
		}
		for id, record := range after {
			if before[id] == nil {
				if !k.outside && ownerOf(record) == "" {
					report(Created, record, nil)
				}
				continue
			}
			forgetGone(before[id], remaining)
			forgetGone(record, remaining)
			fields := difference("", before[id], record)
			for i, f := range fields {
				if f.Field == k.mayBeSecret {
					fields[i] = FieldChange{Field: f.Field}
				}
			}
			if fields != nil {
				report(Modified, record, fields)
			}
		}
		for id, record := range before {
			if owner := ownerOf(record); after[id] == nil && (owner == "" || remaining[owner]) {
				report(Deleted, record, nil)
			}
		}
	}
	key := func(c Change) string {
		return c.Resource.Kind.String() + "\n" + c.Resource.Location + "\n" + c.Resource.Name + "\n" + c.Resource.ID
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(key(a), key(b)) })
	return changes
}

// lacks reports whether a gap says why the snapshot may lack an object.
func (s *Snapshot) lacks(r cloudapi.Resource) bool {
	return slices.ContainsFunc(s.Gaps, func(g Gap) bool { return g.Kind == r.Kind && (g.ID == "" || g.ID == r.ID) })
}

// forgetGone removes the references to objects that don't remain from the lists
// of a record.
func forgetGone(record map[string]any, remaining map[string]bool) {
	for name, value := range record {
		if items, ok := value.([]any); ok {
			record[name] = slices.DeleteFunc(items, func(item any) bool {
				id, _ := item.(string)
				if member, ok := item.(map[string]any); ok {
					id, _ = member["id"].(string)
				}
				remains, known := remaining[id]
				return known && !remains
			})
		}
	}
}

// ownerOf returns the ID of the cluster or database that a subnet, firewall or
// load balancer was created for, as its name shows, or "".
func ownerOf(record map[string]any) string {
	name, _ := record["name"].(string)
	id, _, _ := strings.Cut(name, "-")
	if !cloudapi.IsID(id, cloudapi.KindKubernetesCluster, cloudapi.KindPostgres) {
		return ""
	}
	return id
}

// objects returns the records of the objects by ID, without what is derived, and
// without the objects that are being deleted.
func (s *Snapshot) objects(k *copiedKind) map[string]map[string]any {
	derived := strings.Fields(k.derived)
	if s.API != string(version.Contract) {
		derived = append(derived, strings.Fields(k.serviceDerived)...)
	}
	objects := map[string]map[string]any{}
	for _, raw := range s.Objects[k.kind] {
		var record map[string]any
		json.Unmarshal(raw, &record) // a snapshot contains only records
		for _, path := range derived {
			prune(record, strings.Split(path, "."))
		}
		if ownerOf(record) != "" {
			delete(record, "vms") // of a load balancer: the nodes
		}
		if settle(record, cmp.Or(k.complete, "running")) {
			objects[fmt.Sprint(record["id"])] = record
		}
	}
	return objects
}

// prune removes a member at a path that can lead through records and through all
// records in lists.
func prune(record map[string]any, path []string) {
	if len(path) == 1 {
		delete(record, path[0])
		return
	}
	items, ok := record[path[0]].([]any)
	if !ok {
		items = []any{record[path[0]]}
	}
	for _, item := range items {
		if member, ok := item.(map[string]any); ok {
			prune(member, path[1:])
		}
	}
}

// settle replaces the states of a record, and of the records in its lists, by the
// settled ones, where complete follows "creating". It reports whether the object
// will exist then.
func settle(record map[string]any, complete string) bool {
	for name, value := range record {
		if state, ok := value.(string); ok && (name == "state" || name == "display_state") {
			if next, ok := finalStates[state]; ok {
				record[name] = next
			} else if state == "creating" {
				record[name] = complete
			}
		}
		if items, ok := value.([]any); ok {
			record[name] = slices.DeleteFunc(items, func(item any) bool {
				member, _ := item.(map[string]any) // other values stay
				return !settle(member, complete)
			})
		}
	}
	return record["state"] != "" && record["display_state"] != ""
}

// difference returns the differences of two values at a path. The records in two
// lists are compared by their IDs; a list with other records counts as changed.
func difference(path string, before, after any) []FieldChange {
	switch b := before.(type) {
	case map[string]any:
		a, ok := after.(map[string]any)
		if !ok {
			break
		}
		var fields []FieldChange
		names := slices.Sorted(maps.Keys(b))
		for name := range a {
			if _, both := b[name]; !both {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			fields = append(fields, difference(strings.TrimPrefix(path+"."+name, "."), b[name], a[name])...)
		}
		return fields
	case []any:
		a, ok := after.([]any)
		if !ok {
			break
		}
		was, is := byID(b), byID(a)
		if was == nil || is == nil {
			break // not all are records, or there are none
		}
		var fields []FieldChange
		if ids := maps.Keys(was); !slices.Equal(slices.Sorted(ids), slices.Sorted(maps.Keys(is))) {
			fields = append(fields, FieldChange{path, len(was), len(is)})
		}
		for _, id := range slices.Sorted(maps.Keys(was)) {
			if is[id] != nil {
				fields = append(fields, difference(path+"["+plain.Name(nameIn(is[id]))+"]", was[id], is[id])...)
			}
		}
		return fields
	}
	if string(encoded(before)) == string(encoded(after)) {
		return nil
	}
	return []FieldChange{{path, before, after}}
}

// byID returns the records of a list by their IDs, or nil if an element isn't a
// record with an ID.
func byID(items []any) map[string]any {
	records := map[string]any{}
	for _, item := range items {
		record, _ := item.(map[string]any)
		id, ok := record["id"].(string)
		if !ok {
			return nil
		}
		records[id] = item
	}
	return records
}

// nameIn returns the name, version or ID of a record.
func nameIn(record any) string {
	members := record.(map[string]any)
	for _, member := range []string{"name", "version"} {
		if name, _ := members[member].(string); name != "" {
			return name
		}
	}
	return fmt.Sprint(members["id"])
}

func encoded(value any) []byte {
	text, _ := json.Marshal(value) // value comes from JSON
	return text
}
