package families

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// TestRefusedRequestsChangeNothing sends every POST and PATCH to objects of all
// kinds: with a body whose values all differ from the present ones, with this
// body spoilt in one place in many ways, and with a token without permissions.
// The state after an error is the state before.
func TestRefusedRequestsChangeNothing(t *testing.T) {
	t.Parallel()
	for name, offered := range map[string]version.API{
		"contract": {Version: version.Contract},
		"default":  {Version: version.Service, Both: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && !offered.Both {
				t.Skip("the default has nearly the same operations")
			}
			w := newWorld(t, offered)
			for i := range w.service.Operations {
				op := &w.service.Operations[i]
				if op.Method != http.MethodPost && op.Method != http.MethodPatch {
					continue
				}
				accepted, refused := 0, 0
				try := func(token, body string) {
					if w.changed {
						w = newWorld(t, offered)
					}
					if w.accepts(op, token, body) {
						accepted++
					} else {
						refused++
					}
				}
				for _, body := range w.bodies(op) {
					for _, spoilt := range append(spoil(body), encode(body)) {
						try("pat-admin", spoilt)
					}
					try("pat-powerless", encode(body))
				}
				// Some operations without a body need another state.
				if refused == 0 || accepted == 0 && (op.Body.Type != "" || len(op.Body.AnyOf) > 0) {
					t.Errorf("%s: %d requests are accepted and %d refused", op.Name, accepted, refused)
				}
			}
		})
	}
}

// world is a service with a project that has objects of all kinds.
type world struct {
	t       *testing.T
	service *api.Service
	now     time.Time
	project *api.Project
	before  string // the state after the last request that changed it
	changed bool
}

func newWorld(t *testing.T, offered version.API) *world {
	w := &world{t: t, now: time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)}
	w.service = New(api.Config{
		API: offered, Locations: []string{"eu-central-h1", "us-east-a2"}, PageCap: 1000, Now: func() time.Time { return w.now },
		Delays: api.Delays{Create: time.Second, Delete: time.Second},
		Quota:  api.Quota{VM: 1000, Postgres: 1000, Kubernetes: 1000, MachineImageVersions: 10, Projects: 10},
	})
	w.service.Do(func(at *api.Moment) {
		owner := api.NewAccount("own")
		w.project = at.AddProject(api.NewID(cloudapi.KindProject).String(), "main", owner)
		w.project.Permissions[at.State.AddToken("pat-admin", owner)] = api.Permissions{"*"}
		at.State.AddToken("pat-powerless", owner)
		AddGitHub(at, w.project)
	})
	w.create("location/eu-central-h1/private-subnet/net", `{}`)
	w.create("location/eu-central-h1/private-subnet/other", `{}`)
	w.create("location/eu-central-h1/firewall/web", `{"description":"old"}`)
	w.create("location/eu-central-h1/firewall/web/firewall-rule", `{"cidr":"10.0.0.0/8"}`)
	w.create("location/eu-central-h1/vm/web", `{"public_key":"ssh-ed25519 AAAA","enable_ip4":true}`)
	w.create("location/eu-central-h1/vm/more", `{"public_key":"ssh-ed25519 AAAA","enable_ip4":true}`)
	w.create("location/eu-central-h1/load-balancer/lb", fmt.Sprintf(
		`{"algorithm":"hash_based","stack":"dual","src_port":80,"dst_port":8080,"health_check_protocol":"http","private_subnet_id":%q}`, w.id("ps", "net")))
	w.create("location/eu-central-h1/postgres/db", `{"size":"standard-2","storage_size":64}`)
	w.create("location/eu-central-h1/postgres/db/firewall-rule", `{"cidr":"10.0.0.0/8"}`)
	w.create("location/eu-central-h1/kubernetes-cluster/apps", fmt.Sprintf(`{"version":%q,"worker_size":"standard-2","worker_nodes":2}`,
		map[version.Version]string{version.Contract: "v1.33", version.Service: "v1.36"}[offered.Version]))
	w.create("private-location", `{"name":"mine","provider_location_name":"us-west-2","access_key":"a","secret_key":"s"}`)
	w.create("ssh-public-key", `{"name":"laptop","public_key":"ssh-ed25519 AAAA"}`)
	w.create("vm-init-script", `{"name":"setup","script":"date"}`)
	w.now = w.now.Add(time.Hour)
	if offered.Version == version.Service {
		w.create("location/eu-central-h1/vm/more/stop", ``)
		w.project.Features = []string{FeaturePrivateLinkServices}
		w.create("location/mine/postgres/linked", `{"size":"m8gd.large","storage_size":118,"private_subnet_name":"links"}`)
		w.create("location/mine/private-link-service/link", fmt.Sprintf(`{"private_subnet_id":%q,"aws":{"allowed_principals":["*"]}}`, w.id("ps", "links")))
		w.create("location/eu-central-h1/machine-image/image", fmt.Sprintf(`{"vm":%q,"version":"v1"}`, w.id("vm", "more")))
		w.now = w.now.Add(time.Hour)
	}
	w.send("GET", "/project/"+w.project.ID+"/machine-image", "pat-admin", "") // computes which version is the latest
	w.before = snapshot(w.service.State)
	return w
}

func (w *world) create(path, body string) {
	w.t.Helper()
	if status, text := w.send("POST", "/project/"+w.project.ID+"/"+path, "pat-admin", body); status != http.StatusOK {
		w.t.Fatalf("%s %s: %d %s", path, body, status, text)
	}
}

func (w *world) send(method, path, token, body string) (int, string) {
	r := httptest.NewRequest(method, path, nil)
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {"application/json"}}
	op, params := w.service.Match(method, r.URL.EscapedPath())
	out, _ := w.service.Execute(api.Request{Request: r, Operation: op, Params: params, Body: []byte(body)})
	return out.Status, string(out.Body)
}

// accepts sends a request, and reports whether the server accepts it.
func (w *world) accepts(op *api.Operation, token, body string) bool {
	path := op.Route
	for segment := range strings.SplitSeq(op.Route, "/") {
		if name, ok := api.ParamName(segment); ok {
			path = strings.Replace(path, segment, w.param(op, name), 1)
		}
	}
	status, text := w.send(op.Method, path, token, body)
	if status < 300 {
		w.changed = true
		return true
	}
	if strings.Contains(text, `"BadRequest"`) {
		return false // no handler has run; a change would be found after the next error
	}
	if after := snapshot(w.service.State); after != w.before {
		w.t.Errorf("%s with %.300s is refused, and yet changes the state: %s\n%s", op.Name, body, text, firstDifference(w.before, after))
		w.changed = true
	}
	return false
}

func (w *world) id(kind cloudapi.Kind, name string) string {
	for _, o := range w.service.State.Index.All(api.Scope{Kind: kind, Project: w.project}) {
		if o.Core().Name == name {
			return o.Core().ID
		}
	}
	return ""
}

// param returns a value for a path parameter. An operation that creates an
// object gets a new name, and others get objects that exist.
func (w *world) param(op *api.Operation, name string) string {
	if strings.HasSuffix(op.Name, ".Create") && strings.HasSuffix(op.Route, "/{"+name+"}") {
		return "new"
	}
	ofLinks := strings.Contains(op.Route, "/private-link-service")
	switch name {
	case "project_id":
		return w.project.ID
	case "location":
		if ofLinks {
			return "mine"
		}
		return "eu-central-h1"
	case "postgres_database_reference":
		if ofLinks {
			return "linked"
		}
		return "db"
	case "private_subnet_reference":
		return w.id("ps", "net")
	case "private_subnet_id":
		return w.id("ps", "other")
	case "kubernetes_nodepool_reference":
		return "apps-np"
	case "kubernetes_node_name":
		return w.service.State.ByID[w.id("kc", "apps")].(*kubernetesCluster).pools[0].nodes[0].Name
	case "version":
		return "v2"
	case "firewall_rule_id":
		if strings.Contains(op.Route, "/postgres/") {
			return w.service.State.ByID[w.id("pg", "db")].(*postgres).rules(&api.Moment{Config: &w.service.Config})[0].id
		}
		return w.service.State.ByID[w.id("fw", "web")].(*firewall).rules[0].id
	}
	return map[string]string{
		"firewall_reference": "web", "vm_reference": "web", "load_balancer_reference": "lb", "private_link_service_reference": "link",
		"kubernetes_cluster_reference": "apps", "machine_image_reference": "image", "private_location_name": "mine",
		"ssh_public_key_reference": "laptop", "vm_init_script_reference": "setup",
	}[name]
}

// bodies returns valid bodies of an operation, one for each form that it
// accepts.
func (w *world) bodies(op *api.Operation) []map[string]any {
	var bodies []map[string]any
	for _, form := range append(op.Body.AnyOf, op.Body) {
		if len(op.Body.AnyOf) > 0 && form.Type == "" {
			continue
		}
		body := map[string]any{}
		for _, f := range form.Fields {
			body[f.Name] = w.value(op, f)
		}
		bodies = append(bodies, body)
	}
	return bodies
}

func (w *world) value(op *api.Operation, f schema.Field) any {
	size, storage, subnet := "standard-4", 160, w.id("ps", "other")
	if strings.HasPrefix(op.Name, "Postgres.") {
		storage = 256
	}
	if op.Name == "PrivateLinkServices.Create" {
		subnet = w.id("ps", "links")
	}
	if v, ok := map[string]any{
		"name": "new", "description": "new", "cidr": "10.9.0.0/16", "port_range": "80..90", "protocol": "udp", "stack": "ipv4",
		"private_subnet_id": subnet, "connected-subnet-id": w.id("ps", "other"), "firewall_id": w.id("fw", "web"),
		"algorithm": "round_robin", "health_check_protocol": "tcp", "health_check_endpoint": "/new", "src_port": 81, "dst_port": 81,
		"vms": []any{w.id("vm", "web")}, "vm_id": w.id("vm", "web"), "vm": w.id("vm", "more"), "latest_version": "v1",
		"public_key": "ssh-ed25519 BBBB", "script": "uptime", "size": size, "storage_size": storage, "ha_type": "sync", "boot_image": "debian-12",
		"init_script": "setup", "unix_user": "new", "gpu": "0:", "worker_size": size, "node_size": size, "flavor": "standard",
		"tags":      []any{map[string]any{"key": "new", "value": "new"}},
		"pg_config": map[string]any{"work_mem": "9MB"}, "pgbouncer_config": map[string]any{"max_client_conn": "9"},
		"default_pg_config": map[string]any{}, "private_subnet_name": "new", "restore_target": w.now.Add(-time.Minute).Format(time.RFC3339),
		"password": "New-Passw0rd-1", "username": "new", "url": "https://example.com/new", "options": map[string]any{}, "common_name": "new",
		"duration": 60, "maintenance_window_days": []any{"mon"}, "provider_location_name": "us-east-1",
		"aws":   map[string]any{"allowed_principals": []any{"*"}, "supported_regions": []any{"us-west-2"}},
		"ports": []any{5433}, "target_ports": []any{6433}, "postgres_resource_id": w.id("pg", "linked"),
	}[f.Name]; ok {
		return v
	}
	switch {
	case f.Name == "version" && strings.HasPrefix(op.Name, "Kubernetes."):
		return kubernetesVersions(&api.Moment{Config: &w.service.Config})[0]
	case f.Schema.Enum != nil:
		return f.Schema.Enum[0]
	case f.Schema.Type == "integer":
		return 3
	case f.Schema.Type == "boolean":
		return true
	}
	return "17"
}

// spoil returns the body with one field left out or replaced, in many ways.
func spoil(body map[string]any) []string {
	spoilt := []string{``, `{`, `[]`, `null`}
	with := func(name string, value any) {
		changed := maps.Clone(body)
		changed[name] = value
		spoilt = append(spoilt, encode(changed))
	}
	with("unknown", 1)
	for _, name := range slices.Sorted(maps.Keys(body)) {
		rest := maps.Clone(body)
		delete(rest, name)
		spoilt = append(spoilt, encode(rest))
		for _, value := range []any{
			nil, "", " ", "\x00", "-", "X y", "x", strings.Repeat("x", 3000), api.NewID(cloudapi.KindVM), api.NewID(cloudapi.KindPrivateSubnet),
			0, -1, 99999, json.Number("1e30"), true, false, []any{}, []any{nil}, []any{"x"}, map[string]any{}, map[string]any{"x": nil},
			map[string]any{"x": "y"}, map[string]any{"work_mem": "9MB", "x": "y"}, map[string]any{"headers": []any{}},
		} {
			with(name, value)
		}
	}
	return spoilt
}

func encode(body map[string]any) string { return string(reply.Encode(body)) }

// firstDifference returns the lines around the first difference of two
// snapshots.
func firstDifference(before, after string) string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return strings.Join(a[max(0, i-10):i+1], "\n") + "\nis now\n" + b[i]
		}
	}
	return fmt.Sprintf("%d lines are now %d", len(a), len(b))
}

// snapshot returns everything that a state contains as text, one value a line.
// Two equal states have equal texts, since pointers are numbered in the order in
// which they are met, and maps are sorted.
func snapshot(s *api.State) string {
	d := dump{met: map[uintptr]int{}}
	d.Grow(64 << 10)
	d.value("state", reflect.ValueOf(s))
	return d.String()
}

type dump struct {
	bytes.Buffer
	met map[uintptr]int // the numbers of pointers
}

func (d *dump) value(name string, v reflect.Value) {
	line := func(text string) {
		for _, s := range []string{name, ": ", text, "\n"} {
			d.WriteString(s)
		}
	}
	switch v.Kind() {
	case reflect.Func:
	case reflect.Interface:
		if !v.IsNil() {
			d.value(name, v.Elem())
		}
	case reflect.Pointer:
		n, ok := d.met[v.Pointer()]
		switch {
		case v.IsNil():
			line("nil")
		case v.Type() == reflect.TypeFor[*api.Moment]() || v.Type() == reflect.TypeFor[*time.Location]():
		case ok:
			line("#" + strconv.Itoa(n))
		default:
			d.met[v.Pointer()] = len(d.met)
			d.value(name, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			d.value(v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		line(strconv.Itoa(v.Len()) + " elements")
		for i := range v.Len() {
			d.value(name, v.Index(i))
		}
	case reflect.Map:
		values := map[string]reflect.Value{}
		for _, key := range v.MapKeys() {
			values[keyText(key)] = v.MapIndex(key)
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			d.value(name+" "+key, values[key])
		}
	case reflect.String:
		line(v.String())
	default:
		line(fmt.Sprint(v))
	}
}

// keyText returns the texts in a map's key, of which the first is the ID or the
// name of an object that is a key.
func keyText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return keyText(v.Elem())
	case reflect.Struct:
		if v.NumField() > 0 && v.Type() != reflect.TypeFor[api.Scope]() {
			return keyText(v.Field(0))
		}
		var texts []string
		for i := range v.NumField() {
			texts = append(texts, keyText(v.Field(i)))
		}
		return strings.Join(texts, " ")
	}
	return fmt.Sprint(v)
}
