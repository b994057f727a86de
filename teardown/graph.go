package teardown

import (
	"cmp"
	"slices"

	"github.com/cloudapi-sdk/cloudapi"
)

// graph says what to delete, and after what, and what to keep.
type graph struct {
	steps     []step                         // each after the steps it waits for
	kept      []keptResource                 // in the order of the steps
	unlisted  map[string][]cloudapi.Resource // resources that the server can't list, by the ID of their cluster
	subnets   map[string]string              // as in lists
	locations map[string]string              // IDs of the private locations, by name
}

// step is a resource to delete.
type step struct {
	resource cloudapi.Resource
	neededBy []int // indexes of the steps whose resources need this one
	before   []int // indexes of the steps that must end first: neededBy, and what [step.finish] adds
	stage    int   // counted from 0; higher than the stages of all steps in before
}

// keptResource is a resource that stays: because Keep returns true for it,
// because another resource that stays needs it, or because no list shows it.
type keptResource struct{ resource, neededBy cloudapi.Resource }

// arrange divides the resources of the project into those to delete, as steps
// in the order of deletion, and those to keep. A nil keep keeps nothing.
func arrange(all []item, project string, keep func(cloudapi.Resource) bool) graph {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b item) int { return cmp.Compare(a.rank(), b.rank()) })
	g := graph{unlisted: map[string][]cloudapi.Resource{}, subnets: map[string]string{}, locations: map[string]string{}}
	needed := needs(all, project)
	neededBy := findKept(all, keep, needed)
	index := map[string]int{}
	for _, item := range all {
		owner := item.MadeFor()
		keeper := slices.IndexFunc(g.kept, func(k keptResource) bool { return k.resource.ID == owner })
		by, stays := neededBy[item.ID]
		switch {
		case item.ID == "" && keeper >= 0:
			g.kept = append(g.kept, keptResource{item.Resource, g.kept[keeper].resource})
		case item.ID == "":
			g.unlisted[owner] = append(g.unlisted[owner], item.Resource)
		case stays:
			g.kept = append(g.kept, keptResource{item.Resource, by})
		default:
			index[item.ID] = len(g.steps)
			g.steps = append(g.steps, step{resource: item.Resource})
		}
		switch item.Kind {
		case cloudapi.KindPrivateLocation:
			g.locations[item.Name] = item.ID
		case cloudapi.KindLoadBalancer:
			isNoSubnet := func(id string) bool { return !cloudapi.IsID(id, cloudapi.KindPrivateSubnet) }
			if in := slices.DeleteFunc(slices.Clone(needed[item.ID]), isNoSubnet); len(in) == 1 {
				g.subnets[item.ID] = in[0]
			}
		}
	}
	for i, s := range g.steps {
		for _, id := range needed[s.resource.ID] {
			// A needed resource that stays has the index 0, and isn't a step. If two
			// resources seem to need each other, only the earlier step's need is kept.
			if n := index[id]; i < n {
				g.steps[n].neededBy = append(g.steps[n].neededBy, i)
			}
		}
	}
	for i := range g.steps {
		g.steps[i].finish(g.steps[:i])
	}
	return g
}

// rank is lower for what is deleted earlier.
func (i item) rank() int {
	switch {
	case i.Kind == cloudapi.KindProject:
		return len(order)
	case i.Kind == cloudapi.KindLoadBalancer && i.MadeFor() != "": // comes after its cluster
		return slices.Index(order, cloudapi.KindPostgres)
	}
	return slices.Index(order, i.Kind)
}

// findKept maps the ID of each resource that stays to a resource that needs it.
// The value is zero if keep chose the resource, or if no list shows the
// resource.
func findKept(all []item, keep func(cloudapi.Resource) bool, needed map[string][]string) map[string]cloudapi.Resource {
	ownerOf := owners(all)
	kept := map[string]cloudapi.Resource{}
	for _, item := range all {
		if item.hidden || keep != nil && keep(item.Resource) {
			kept[item.ID] = cloudapi.Resource{}
		}
	}
	for n := -1; n < len(kept); { // until a pass adds nothing
		n = len(kept)
		for _, item := range all {
			if _, stays := kept[item.ID]; !stays {
				continue
			}
			ids := needed[item.ID]
			if owner, owned := ownerOf[item.ID]; owned { // the deletion of the owner would delete the item
				ids = append(slices.Clone(ids), owner.ID)
			}
			for _, id := range ids {
				if _, ok := kept[id]; !ok {
					kept[id] = item.Resource
				}
			}
		}
	}
	return kept
}

// finish sets s.before and s.stage from the preceding steps.
//
// Clusters and databases may be in subnets of the project, but no record says
// in which, so a subnet comes after all clusters and databases in its location.
func (s *step) finish(preceding []step) {
	s.before = slices.Clone(s.neededBy)
	for i, other := range preceding {
		mayBeInside := hasServers(other.resource) && s.resource.Kind == cloudapi.KindPrivateSubnet
		if mayBeInside && other.resource.Location == s.resource.Location {
			s.before = append(s.before, i)
		}
	}
	for _, i := range s.before {
		s.stage = max(s.stage, preceding[i].stage+1)
	}
}

// hasServers reports whether the resource is a cluster or a database. Their
// servers are in a subnet, and no list shows them.
func hasServers(r cloudapi.Resource) bool {
	return r.Kind == cloudapi.KindKubernetesCluster || r.Kind == cloudapi.KindPostgres
}
