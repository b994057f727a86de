package families

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestEveryListIsCopied checks that each list of a project is in the table.
func TestEveryListIsCopied(t *testing.T) {
	t.Parallel()
	rows := map[string]bool{"audit-log": true, "inference-endpoint": true, "postgres/capabilities": true} // these list no resources of the project
	for _, k := range copied {
		rows[k.path] = true
	}
	lists := 0
	for _, op := range operations() {
		path, inProject := strings.CutPrefix(op.Route, api.ProjectRoute+"/")
		if path = strings.TrimPrefix(path, "location/{location}/"); op.Method != http.MethodGet || !inProject || strings.Contains(path, "{") {
			continue
		}
		if lists++; !rows[path] {
			t.Errorf("%s has no row", op.Name)
		}
	}
	if lists < len(rows) {
		t.Errorf("there are %d lists, but %d rows", lists, len(rows))
	}
}

// TestCopies fills projects, copies each at several moments, and compares the copy
// with its source. No list is left out, each field of each record and object is set
// somewhere, and:
//
//   - each GET responds alike: by ID, by name, and in pages of all sizes. Only what
//     madeUp lists may differ.
//   - the objects are alike, field by field, except for what neverShown lists.
//   - an hour later, or after the same requests, they're still alike.
func TestCopies(t *testing.T) {
	t.Parallel()
	c := comparison{reads: map[string]int{}, fields: map[string]bool{}, lost: map[string]string{}, set: map[string]bool{}}
	for _, k := range copied {
		markSet(k.kind.String(), reflect.ValueOf(k.new()), c.fields)
	}
	t.Run("apis", func(t *testing.T) {
		for name, create := range apis {
			for _, moment := range []struct {
				busy  time.Duration
				later func(t *testing.T, source, copied *project, s *Snapshot) // or nil
			}{
				{quiet, sameAfterRequests}, {700 * time.Millisecond, sameAfterRequests}, {700 * time.Millisecond, sameAfterAnHour},
				{2500 * time.Millisecond, sameAfterAnHour}, {3300 * time.Millisecond, nil}, {4200 * time.Millisecond, nil},
			} {
				if testing.Short() && moment.busy != quiet {
					continue
				}
				t.Run(fmt.Sprint(name, " ", moment.busy), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						source := create(t)
						fill(t, source, moment.busy)
						s := source.snapshot()
						if moment.busy == quiet { // a client sees the same
							s = stub.Must(Read(t.Context(), source.client, ReadOptions{KeepAddresses: true, AtOnce: 8, Now: time.Now}))(t)
						}
						copied := newProject(t, s.Version(), s, func(cfg *api.Config) { cfg.PageCap = source.service.Config.PageCap })
						c.compare(source, copied, s)
						if moment.later != nil {
							moment.later(t, source, copied, s)
						}
					})
				})
			}
		}
	})
	if !testing.Short() { // else some fields are set nowhere
		c.check(t)
	}
}

// comparison is what the comparisons of all projects with their copies have found.
type comparison struct {
	mu     sync.Mutex
	reads  map[string]int    // how often a value of a GET differs, by its path
	fields map[string]bool   // the paths of the fields of records, and whether a record in a snapshot sets them
	lost   map[string]string // the paths of the fields of objects that differ, with the values
	set    map[string]bool   // those of all fields of objects, and whether an object of a source has a value there
}

// compare compares a project with its copy, and adds what differs.
func (c *comparison) compare(source, copied *project, s *Snapshot) {
	if changes := s.Changes(copied.snapshot()); len(changes) > 0 {
		copied.Errorf("changes: %v", changes)
	}
	reads := map[string]map[string]string{}
	for _, path := range source.paths() {
		if strings.Contains(path, "/load-balancer?") && source.service.Config.PortlessBalancers {
			continue // the ID of the load balancer that can't be listed determines which pages fail
		}
		status, want := source.read(path)
		gotStatus, got := copied.read(path)
		if status != gotStatus {
			copied.Errorf("%s: %d, want %d: %v, want %v", path, gotStatus, status, got, want)
		}
		if !slices.Equal(want, got) {
			reads[path] = compareReads(path, decodePages(want), decodePages(got), map[string]string{})
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.compareRecords(s)
	c.compareObjects(source, copied)
	for path, found := range reads {
		for field, what := range found {
			field = strings.TrimPrefix(field, path)
			c.reads[field]++
			leaving := field == ".hostname" && strings.Contains(path, "/load-balancer") // of a deleted cluster
			if !leaving && !slices.ContainsFunc(madeUp, func(m string) bool { return strings.HasSuffix(field, m) }) {
				copied.Errorf("%s: %s: %s", path, field, what)
			}
			if strings.HasPrefix(what, ",") {
				copied.Errorf("%s: %s is empty%s", path, field, what)
			}
		}
	}
}

// compareRecords marks the fields that the records of a snapshot set.
func (c *comparison) compareRecords(s *Snapshot) {
	for i := range copied {
		for _, raw := range s.Objects[copied[i].kind] {
			record, _ := copied[i].decode(raw, nil) // it was encoded by Read
			markSet(copied[i].kind.String(), reflect.ValueOf(record), c.fields)
		}
	}
}

// compareObjects compares the objects of a project that isn't paid with those of
// its copy.
func (c *comparison) compareObjects(source, copied *project) {
	p := source.service.State.Project(source.id)
	p.Unpaid = true
	defer func() { p.Unpaid = false }()
	for id, o := range source.service.State.ByID {
		in := copied.service.State.ByID[id]
		if l, ok := o.(*loadBalancer); ok && l.portless() {
			continue // the server doesn't show its ID
		}
		if in == nil || reflect.TypeOf(in) != reflect.TypeOf(o) {
			if _, isProject := o.(*api.Project); !isProject {
				copied.Errorf("the copy lacks the %T %s", o, o.Core().Name)
			}
			continue
		}
		c.compareFields(reflect.TypeOf(o).Elem().Name(), reflect.ValueOf(o).Elem(), reflect.ValueOf(in).Elem())
	}
}

// check compares what was found with what may differ, and checks that each field
// was set.
func (c *comparison) check(t *testing.T) {
	for _, m := range madeUp {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(c.reads)), func(field string) bool { return strings.HasSuffix(field, m) }) {
			t.Errorf("%s is nowhere different", m)
		}
	}
	neverSet := []string{ // by a test server
		"Kubernetes cluster.cp_vms.maintenance_window_start_at", "Kubernetes cluster.nodepools.vms.maintenance_window_start_at",
		"Postgres database.fallback_active", "Postgres database.servers.fallback_active", "firewall.path",
	}
	for path, isSet := range c.fields {
		if isSet == slices.Contains(neverSet, path) {
			t.Errorf("%s is set: %t", path, isSet)
		}
	}
	listed := map[string]bool{}
	for _, n := range neverShown {
		for _, f := range strings.Fields(n.fields) {
			if listed[f] = true; c.lost[f] == "" {
				t.Errorf("%s, in %q, is in the copy", f, n.what)
			}
		}
	}
	for _, f := range slices.Sorted(maps.Keys(c.lost)) {
		if !listed[f] {
			t.Errorf("%s isn't in the copy, or differs: %s", f, c.lost[f])
		}
	}
	for _, f := range slices.Sorted(maps.Keys(c.set)) {
		_, name, _ := strings.Cut(f, ".")
		if _, common := reflect.TypeFor[api.Object]().FieldByName(name); !c.set[f] && !common {
			t.Errorf("no object has a value in the field %s", f)
		}
	}
}

// sameAfterRequests sends the same requests to a project and to its copy, in random
// order. Both respond with the same statuses, and have as many objects in the end.
func sameAfterRequests(t *testing.T, source, target *project, _ *Snapshot) {
	random := rand.New(rand.NewPCG(1, 2))
	requests := source.changing()
	random.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
	for i, r := range requests[:min(len(requests), manyRequests())] {
		want, wanted := source.send(r)
		got, text := target.send(r)
		if got != want && r.operation != "Postgres.CreateBackupCredentials" { // a copy allows them
			t.Errorf("%d. %s: %d %.200s, want %d %s", i, r, got, text, want, wanted)
		}
	}
	stub.Elapse(100 * 24 * time.Hour)
	sameNumbers(t, source.snapshot(), target.snapshot())
}

// sameNumbers checks that two snapshots have as many objects of each kind.
func sameNumbers(t *testing.T, want, got *Snapshot) {
	for i := range copied {
		if k := copied[i].kind; len(want.Objects[k]) != len(got.Objects[k]) {
			t.Errorf("%d objects of kind %v, want %d", len(got.Objects[k]), k, len(want.Objects[k]))
		}
	}
}

// sameAfterAnHour checks that what is in progress is complete an hour later, in a
// project and in its copy. In the project, time alone changes only what no record
// shows to be about to change.
func sameAfterAnHour(t *testing.T, source, target *project, s *Snapshot) {
	stub.Elapse(time.Hour)
	want, got := source.snapshot(), target.snapshot()
	sameNumbers(t, want, got)
	isPromoted := func(c Change) bool { // the contract shows nothing of it before
		return strings.HasPrefix(c.Resource.Name, "promoted") && s.API == string(version.Contract)
	}
	for _, c := range s.Changes(want) {
		if c.Resource.Name != "lb" && c.Resource.Name != "golden" && !isPromoted(c) {
			t.Errorf("time alone: %s %v: %v", c.Action, c.Resource, c.Fields)
		}
	}
	for _, c := range want.Changes(got) {
		lasting := c.Resource.Name == "lb" // it shows that a VM was detached
		if !isPromoted(c) && (c.Resource.Kind != cloudapi.KindLoadBalancer || c.Action == Modified && !lasting) {
			t.Errorf("%s %v: %v", c.Action, c.Resource, c.Fields)
		}
	}
	stub.Must(target.client.VMs.Create(t.Context(), there, "later", &cloudapi.VMCreateRequest{PublicKey: "laptop", EnableIPv4: new(true)}))(t)
	stub.Elapse(time.Hour)
	addresses := map[netip.Addr]string{}
	for _, o := range target.service.State.ByID {
		if v, ok := o.(*vm); ok {
			for _, address := range []netip.Addr{v.ip4, v.ip6} {
				if other, taken := addresses[address]; taken {
					t.Errorf("the VMs %s and %s have the address %v", v.Name, other, address)
				}
				addresses[address] = v.Name
			}
		}
	}
	for _, name := range []string{"young", "grown", "apps"} {
		want := stub.Must(source.client.Kubernetes.Get(t.Context(), there, name))(t)
		got := stub.Must(target.client.Kubernetes.Get(t.Context(), there, name))(t)
		nodes := func(k *cloudapi.KubernetesCluster) string {
			return fmt.Sprint(len(k.CPVMs), len(k.NodePools[0].VMs), k.DisplayState)
		}
		if nodes(got) != nodes(want) {
			t.Errorf("cluster %s has %s, want %s", name, nodes(got), nodes(want))
		}
	}
}

// madeUp are the ends of the fields that a copy makes up.
var madeUp = []string{
	".key", ".password", "connection_string", ".ca_certificates", ".file", // secrets
	"_destinations.url",                       // without credentials
	".last_modified",                          // of the backups of a replica's parent that is gone
	".option_tree.flavor", ".metadata.flavor", // a copy allows the flavor lantern
}

// timeOf returns the seconds and nanoseconds of a time in an unexported field.
func timeOf(v reflect.Value) string { return fmt.Sprint(v.Field(0), v.Field(1)) }

// compareFields compares two values at a path. A pointer to another object is compared by
// the object's ID.
func (c *comparison) compareFields(path string, a, b reflect.Value) {
	differs := func(differs bool) {
		if differs && c.lost[path] == "" {
			c.lost[path] = fmt.Sprintf("%v, want %v", b, a)
		}
	}
	c.set[path] = c.set[path] || !a.IsZero()
	switch t := a.Type(); a.Kind() {
	case reflect.Pointer:
		switch object := t.Elem(); {
		case a.IsNil() || b.IsNil():
			differs(a.IsNil() != b.IsNil())
		case object == reflect.TypeFor[api.Location]():
			c.compareFields("Location.InUse", a.Elem().FieldByName("InUse"), b.Elem().FieldByName("InUse")) // its name is in each record
		case object.Kind() == reflect.Struct && object.NumField() > 0 && object.Field(0).Type == reflect.TypeFor[api.Object]():
			differs(a.Elem().Field(0).FieldByName("ID").String() != b.Elem().Field(0).FieldByName("ID").String())
		default:
			c.compareFields(path, a.Elem(), b.Elem())
		}
	case reflect.Struct:
		switch {
		case t == reflect.TypeFor[time.Time]():
			differs(timeOf(a) != timeOf(b))
		case strings.HasPrefix(t.PkgPath(), "net/"):
			differs(fmt.Sprint(a) != fmt.Sprint(b))
		default:
			for i := range a.NumField() {
				name := path + "." + t.Field(i).Name
				if t.Field(i).Anonymous {
					name = path
				}
				c.compareFields(name, a.Field(i), b.Field(i))
			}
		}
	case reflect.Slice:
		if differs(a.Len() != b.Len()); a.Len() == b.Len() {
			for i := range a.Len() {
				c.compareFields(path, a.Index(i), b.Index(i))
			}
		}
	case reflect.Map:
		differs(a.Len() != b.Len() || t.Elem().Kind() != reflect.Bool && fmt.Sprint(a) != fmt.Sprint(b))
	case reflect.Interface:
		differs(fmt.Sprint(a) != fmt.Sprint(b))
	case reflect.Func:
	default:
		differs(!a.Equal(b))
	}
}

// markSet adds the paths of the fields of a record, and whether they're set.
func markSet(path string, v reflect.Value, set map[string]bool) {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		markSet(path, v.Elem(), set)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		set[path] = set[path] || v.Len() > 0
		for i := range v.Len() {
			markSet(path, v.Index(i), set)
		}
	case v.Kind() == reflect.Struct && !v.Type().Implements(reflect.TypeFor[fmt.Stringer]()) && v.Type() != reflect.TypeFor[timestamp]():
		for _, f := range reflect.VisibleFields(v.Type()) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			field, err := v.FieldByIndexErr(f.Index)
			if name == "" || err != nil || strings.Contains(f.Type.String(), "invented") {
				continue
			}
			markSet(path+"."+name, field, set)
		}
	default:
		set[path] = set[path] || !v.IsZero()
	}
}

// read returns the status and the texts of a GET, of all pages if it's a list.
func (p *project) read(path string) (status int, texts []string) {
	for start := ""; ; {
		target := "http://api.localhost/project/" + p.id + path
		if start != "" {
			target += "&start_after=" + start
		}
		request := stub.Must(http.NewRequestWithContext(p.Context(), http.MethodGet, target, nil))(p.T)
		request.Header = http.Header{"Authorization": {"Bearer pat-own"}, "Accept": {"application/json"}}
		response := stub.Must(p.RoundTrip(request))(p.T)
		text := stub.Must(io.ReadAll(response.Body))(p.T)
		texts = append(texts, string(text))
		if !strings.Contains(path, "page_size") {
			return response.StatusCode, texts
		}
		var page struct {
			Count *int
			Items []struct{ ID string }
		}
		if json.Unmarshal(text, &page) != nil || len(page.Items) == 0 || page.Count == nil {
			return response.StatusCode, texts
		}
		start = page.Items[len(page.Items)-1].ID
	}
}

// decodePages returns the JSON of a response, or the items of all pages of a list.
func decodePages(texts []string) (value any) {
	var items []any
	for _, text := range texts {
		value = nil
		if json.Unmarshal([]byte(text), &value) != nil {
			return map[string]any{"file": text}
		}
		if object, ok := value.(map[string]any); ok {
			page, _ := object["items"].([]any)
			items = append(items, page...)
		}
	}
	if items != nil {
		return items
	}
	return value
}

func sortedByID(records []any) []any {
	id := func(record any) string { return record.(map[string]any)["id"].(string) }
	return slices.SortedFunc(slices.Values(records), func(a, b any) int { return strings.Compare(id(a), id(b)) })
}

// compareReads returns the paths of the values that differ.
func compareReads(path string, want, got any, found map[string]string) map[string]string {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok && len(g) == len(w) {
			for name := range w {
				compareReads(path+"."+name, w[name], g[name], found)
			}
			return found
		}
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			if strings.HasSuffix(path, ".read_replicas") || strings.HasSuffix(path, "/servers") { // their order doesn't mean anything
				w, g = sortedByID(w), sortedByID(g)
			}
			for i := range w {
				compareReads(path, w[i], g[i], found)
			}
			return found
		}
	}
	if !reflect.DeepEqual(want, got) {
		found[path] = fmt.Sprintf("%.70v, want %.70v", fmt.Sprint(got), fmt.Sprint(want))
	}
	return found
}

func TestSnapshotHasNoSecrets(t *testing.T) {
	t.Parallel()
	for _, create := range apis {
		synctest.Test(t, func(t *testing.T) {
			p := create(t)
			fill(t, p, 700*time.Millisecond)
			secrets := []string{"url-secret", "query-secret", "log-secret", "metric-secret", "access-secret", "secret-secret", "pat-own"}
			if p.service.Config.Version == version.Service {
				stub.Must(p.client.Postgres.UpdateConfig(t.Context(), there, "orders", &cloudapi.PostgresConfigUpdateRequest{
					PGConfig: cloudapi.PostgresSettings{"app.jwt_secret": cloudapi.NewPostgresSetting("setting-secret")},
				}))(t)
				secrets = append(secrets, "setting-secret")
			}
			for _, o := range p.service.State.ByID {
				switch o := o.(type) {
				case *postgres:
					secrets = append(secrets, o.password, string(o.certificates)[:min(100, len(o.certificates))])
				case *inferenceAPIKey:
					secrets = append(secrets, o.key)
				case *kubernetesCluster:
					secrets = append(secrets, strings.SplitAfter(o.kubeconfig, "token: ")[1:]...)
				}
			}
			text := string(stub.Must(json.Marshal(p.snapshot()))(t))
			for _, secret := range secrets {
				if secret = strings.TrimSpace(secret); secret != "" && strings.Contains(text, secret) {
					t.Errorf("the snapshot contains %q", secret)
				}
			}
			if len(secrets) < 15 || p.service.Config.Version == version.Service && !strings.Contains(text, "app.jwt_secret") {
				t.Errorf("%d secrets; want at least 15, and a gap for the setting", len(secrets))
			}
		})
	}
}

// TestPrivateLinkServiceInAPublicLocation: a copy has one in a location of AWS that the test
// server takes for another one.
func TestPrivateLinkServiceInAPublicLocation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := apis["service"](t)
		fill(t, source, quiet)
		s := source.snapshot()
		delete(s.Objects, cloudapi.KindPrivateLocation)
		for kind, records := range s.Objects {
			for i, raw := range records {
				s.Objects[kind][i] = json.RawMessage(strings.ReplaceAll(string(raw), `"own-aws"`, `"us-west-2"`))
			}
		}
		p := newProject(t, s.Version(), s)
		link := stub.Must(p.client.PrivateLinkServices.Get(t.Context(), "us-west-2", "to-linked"))(t)
		if !strings.HasPrefix(link.AWS.ServiceName, "com.amazonaws.vpce.us-west-2.") {
			t.Errorf("its name at AWS is %q", link.AWS.ServiceName)
		}
		if err := p.client.Postgres.Delete(t.Context(), "us-west-2", "linked"); err != nil {
			t.Errorf("deleting its database: %v", err)
		}
		if link := stub.Must(p.client.PrivateLinkServices.Get(t.Context(), "us-west-2", "to-linked"))(t); link.State != "deleting" {
			t.Errorf("then it is %s", link.State)
		}
	})
}

// TestUnknownValuesInASnapshot sends requests to a copy with sizes, versions and locations that
// the test server doesn't know. None may fail with a 500.
func TestUnknownValuesInASnapshot(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"service", "contract"} {
		synctest.Test(t, func(t *testing.T) {
			source := apis[name](t)
			fill(t, source, 700*time.Millisecond)
			s := source.snapshot()
			unknown := strings.NewReplacer(`"standard-2"`, `"exotic-2"`, `"standard-4"`, `"exotic-4"`, `"v1.36"`, `"v1.34"`, `"v1.34"`, `"v1.30"`,
				`"17"`, `"15"`, `"16"`, `"14"`, `"async"`, `"triple"`, `"standard"`, `"baroque"`, `"updating"`, `"pondering"`, `"tcp"`, `"sctp"`,
				`"round_robin"`, `"by_weight"`, `"running"`, `"walking"`, there, "far-away-9")
			for kind, records := range s.Objects {
				for i, raw := range records {
					s.Objects[kind][i] = json.RawMessage(unknown.Replace(string(raw)))
				}
			}
			p := newProject(t, s.Version(), s)
			for _, path := range p.paths() {
				if status, got := p.read(strings.ReplaceAll(path, there, "far-away-9")); status >= 500 && !strings.HasSuffix(path, "/kubeconfig") { // which is a 500 while a cluster is being created
					t.Errorf("GET %s: %d %v", path, status, got)
				}
			}
			for _, r := range p.changing() {
				status, text := p.send(r)
				if status >= 500 {
					t.Errorf("%s: %d %s", r, status, text)
				}
				if isTagged := strings.HasPrefix(r.body, `{"tags"`); r.operation == "Postgres.Update" && isTagged && status != 200 && !strings.Contains(text, "Read replicas") {
					t.Errorf("%s: %d %s", r, status, text)
				}
			}
			stub.Elapse(time.Hour)
			p.snapshot()
		})
	}
}

// TestURLsOfSnapshots: a URL loses its credentials, and altogether if they can't be
// told from the rest.
func TestURLsOfSnapshots(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://me:hunter2@logs.example.com/write?key=hunter2": "https://logs.example.com/write",
		"https://me:hunter2@logs.example.com:port/":             "",
		"https://me:hunter%2@logs.example.com/":                 "",
		"https:me:hunter2@logs.example.com":                     "",
	} {
		got := text
		if new(cleaner).url(&got); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}
