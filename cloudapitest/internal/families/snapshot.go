package families

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// A snapshot of a project consists of the records of its objects. [copied] has
// a row for each kind of object, which says how to read the records, and which
// type they have:
//
//   - [Read] sends the GETs of the rows. It decodes each record into the row's
//     type and encodes it again, so a snapshot contains only what the type has,
//     and no [invented] text. What a record has besides is a [Gap].
//   - [Snapshot.Load] adds the objects to a server: each type has a method load,
//     next to the method record of the object.
//   - A server writes its snapshot by reading itself, with [Read].
//   - [Snapshot.Changes] compares the records of two snapshots, without what the
//     row leaves out.
//
// So a new family needs a row here, and a load in its own file.

// Snapshot is the content of a project, as GETs have shown it.
type Snapshot struct {
	API      string                              `json:"api"` // a version, or "" for the service with what only the contract has
	Time     time.Time                           `json:"time"`
	Project  projectRecord                       `json:"project"`
	Portless bool                                `json:"portless_balancers,omitempty"` // whether the server couldn't list all load balancers
	Features []string                            `json:"features,omitempty"`           // those without which the server lacks a list that it has
	Objects  map[cloudapi.Kind][]json.RawMessage `json:"objects"`
	Gaps     []Gap                               `json:"gaps"`
}

// Gap is something that a snapshot lacks.
type Gap struct {
	What   string        `json:"what"`
	Reason string        `json:"reason"`
	Kind   cloudapi.Kind `json:"kind,omitzero"` // of the objects that weren't read, if that is what it lacks
	ID     string        `json:"id,omitzero"`   // of the one object of the kind, or "" for all of them
}

// invented is a text in a record that the test server makes up, such as a secret
// or the name of a host. A snapshot doesn't contain it.
type invented string

// reference stands for the record of an object that a snapshot contains
// elsewhere.
type reference struct {
	ID string `json:"id"`
}

// loadable is a record in a snapshot.
type loadable interface {
	load(*loader) error
}

// copiedKind is a row of [copied].
type copiedKind struct {
	kind  cloudapi.Kind
	path  string                                   // of the list, below the project
	only  bool                                     // whether only the contract, or only the service, has the list
	needs string                                   // the feature without which the service lacks the list, or ""
	read  func(*reader) ([]json.RawMessage, error) // reads the list in another way, unless it's nil
	more  []moreReads
	new   func() loadable

	complete string // the state that follows "creating", unless it's "running"

	// derived are the fields that follow from other objects or from time.
	// [Snapshot.Changes] ignores them. serviceDerived are only derived in the
	// service.
	derived, serviceDerived string
	outside                 bool // whether requests can't create objects

	// mayBeSecret is a field whose values no [FieldChange] has.
	mayBeSecret string
}

// moreReads is a GET for each record of a list, at a path below the record's. Its
// response becomes a member of the record, or the record itself if member is "".
type moreReads struct {
	path, member string
	list         listForm // notAList if the response isn't a list
	only         version.Version
	more         []moreReads // of a list
}

type listForm int

const (
	notAList listForm = iota
	paged
	unpaged
)

var whole = []moreReads{{}}

// copied has the kinds of a snapshot. An object that another one refers to comes
// first.
var copied = []copiedKind{
	{kind: cloudapi.KindSSHPublicKey, path: "ssh-public-key", more: whole, new: makes[sshPublicKeyCopy]},
	{kind: cloudapi.KindVMInitScript, path: "vm-init-script", only: true, more: whole, new: makes[vmInitScriptCopy], mayBeSecret: "script"},
	{kind: cloudapi.KindInferenceAPIKey, path: "inference-api-key", new: makes[inferenceAPIKeyRecord]},
	{kind: cloudapi.KindPrivateLocation, path: "private-location", new: makes[privateLocationRecord]},
	{kind: cloudapi.KindFirewall, path: "firewall", new: makes[firewallRecord]},
	{kind: cloudapi.KindPrivateSubnet, path: "private-subnet", new: makes[privateSubnetCopy], derived: "nics"},
	{kind: cloudapi.KindVM, path: "vm", new: makes[vmRecord], derived: "ip4 ip6 storage_size_gib"},
	{kind: cloudapi.KindMachineImage, path: "machine-image", only: true, more: []moreReads{{path: "version", member: "versions", list: paged}},
		new: makes[machineImageCopy], complete: "ready", derived: "versions.actual_size_mib versions.archive_size_mib versions.latest"},
	{kind: cloudapi.KindPostgres, path: "postgres", more: []moreReads{
		{}, {path: "config", member: "config"}, {path: "servers", member: "servers", list: unpaged, only: version.Service},
	}, new: makes[postgresCopy], derived: "vm_size storage_size_gib primary parent read_replicas earliest_restore_time servers target_server_count",
		serviceDerived: "version firewall_rules"},
	{kind: cloudapi.KindKubernetesCluster, path: "kubernetes-cluster", more: whole, new: makes[kubernetesClusterDetails], derived: "cp_vms nodepools.vms"},
	{kind: cloudapi.KindLoadBalancer, path: "load-balancer", read: listPortBalancers, more: whole, new: makes[loadBalancerDetails]},
	{kind: cloudapi.KindPrivateLinkService, path: "private-link-service", needs: FeaturePrivateLinkServices, more: whole,
		new: makes[privateLinkServiceDetails], complete: "available", derived: "aws.registered_target_ips"},
	{kind: cloudapi.KindGitHubInstallation, path: "github", only: true, more: []moreReads{
		{path: "repository", member: "repositories", list: paged, more: []moreReads{{path: "cache", member: "entries", list: paged}}},
	}, new: makes[githubInstallationCopy], derived: "repositories.entries.last_accessed_at repositories.entries.size", outside: true},
}

func makes[T any, P interface {
	*T
	loadable
}]() loadable {
	return P(new(T))
}

// decode returns a record without what its type lacks, and without invented
// texts. Unless cleaner is nil, it also cleans the record.
func (k *copiedKind) decode(raw json.RawMessage, c *cleaner) (loadable, error) {
	r := k.new()
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, err
	}
	forget(reflect.ValueOf(r).Elem())
	if cleaned, ok := r.(interface{ clean(*cleaner) }); ok && c != nil {
		cleaned.clean(c)
	}
	return r, nil
}

// forget removes the invented texts from a value.
func forget(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		switch {
		case v.Type() == reflect.TypeFor[*invented]():
			v.SetZero()
		case !v.IsNil():
			forget(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			forget(v.Index(i))
		}
	case reflect.Struct:
		if v.Type().Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return
		}
		for i := range v.NumField() {
			forget(v.Field(i))
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[invented]() {
			v.SetString("")
		}
	}
}

// unknownFields adds the paths of the members of a JSON value that a type lacks,
// and that aren't null.
func unknownFields(path string, value any, t reflect.Type, found map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if items, ok := value.([]any); ok && t.Kind() == reflect.Slice {
			for _, item := range items {
				unknownFields(path, item, t.Elem(), found)
			}
			return
		}
		t = t.Elem()
	}
	members, ok := value.(map[string]any)
	if !ok || t.Kind() != reflect.Struct || t == reflect.TypeFor[reference]() {
		return
	}
	known := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			known[name] = f.Type
		}
	}
	for name, member := range members {
		switch field := known[name]; {
		case field != nil:
			unknownFields(path+"."+name, member, field, found)
		case member != nil:
			found[path+"."+name] = true
		}
	}
}

// cleaner replaces what a snapshot must not contain.
type cleaner struct {
	addresses uint32 // the number of VMs and nodes that have got other addresses
	keep      bool   // whether public addresses stay
	found     map[string]bool
}

// mask replaces the public addresses of a VM: a program that is tried with a
// copy of a project must not reach the real VM.
func (c *cleaner) mask(ip4, ip6 **netip.Addr) {
	if c.keep {
		return
	}
	c.addresses++
	new4, new6 := addressesOf(c.addresses)
	if *ip4 != nil {
		*ip4 = &new4
	}
	if *ip6 != nil {
		*ip6 = &new6
	}
}

// url removes the user information and the query of a URL.
func (c *cleaner) url(text *string) {
	u, err := url.Parse(*text)
	if err != nil || u.Opaque != "" {
		*text = ""
		return
	}
	u.User, u.RawQuery = nil, ""
	*text = u.String()
}

// loader adds the objects of a snapshot to a server. The location of the call is
// the last object's.
type loader struct {
	*api.Call
	nics  map[string]nicPlace // by the location and the name of the VM
	later []func()            // called after all objects have been added
}

type nicPlace struct {
	subnet *privateSubnet
	index  int // in the VMs of the subnet
	nic    *nic
}

// failure is the error of a record that can't be loaded.
type failure struct {
	kind  cloudapi.Kind
	index int
	error
}

// Load adds the objects to an empty project. It leaves out the records that it
// can't load, and returns their errors.
func (s *Snapshot) Load(at *api.Moment, p *api.Project) []failure {
	l := &loader{Call: &api.Call{Moment: at, Access: api.Access{Project: p}}, nics: map[string]nicPlace{}}
	p.Features = append([]string{FeatureBackupDownloads, FeatureLantern}, s.Features...) // no GET shows whether the project has the first two
	at.Config.PortlessBalancers = at.Config.PortlessBalancers || s.Portless
	var failures []failure
	for i := range copied {
		k := &copied[i]
		for n, raw := range s.Objects[k.kind] {
			if err := l.loadRecord(k, raw); err != nil {
				failures = append(failures, failure{k.kind, n, err})
			}
		}
	}
	for _, f := range l.later {
		f()
	}
	return failures
}

// Check returns an error if a server can't have all of the snapshot.
func (s *Snapshot) Check() error {
	if cloudapi.ID(s.Project.ID).Kind() != cloudapi.KindProject || !isCanonical(s.Project.ID) || !IsProjectName(s.Project.Name) {
		return fmt.Errorf("%q, called %q, can't be a project", s.Project.ID, s.Project.Name)
	}
	if v := version.Version(s.API); v != "" && v != version.Service && v != version.Contract {
		return fmt.Errorf("there is no API %q", s.API)
	}
	for kind := range s.Objects {
		if !slices.ContainsFunc(copied, func(k copiedKind) bool { return k.kind == kind }) {
			return fmt.Errorf("there is no kind %q", string(kind))
		}
	}
	for _, f := range s.check() {
		return f
	}
	return nil
}

// check loads the snapshot into a server of its own.
func (s *Snapshot) check() (failures []failure) {
	api.New(api.Config{API: s.Version(), Locations: []string{"eu-central-h1"}}).Do(func(at *api.Moment) {
		failures = s.Load(at, at.AddProject(s.Project.ID, s.Project.Name, api.NewAccount("own")))
	})
	return failures
}

// checkName returns an error if the API accepts no such name, or has given it to
// another object. GitHub has names of its own.
func (l *loader) checkName(kind cloudapi.Kind, h head) error {
	name := cmp.Or(h.UIName, h.Name)
	switch o := l.State.ByID[h.ID]; {
	case kind == cloudapi.KindGitHubInstallation || kind == cloudapi.KindInferenceAPIKey:
		return nil
	case !api.NameForm.MatchString(name) || api.IDLikeNameProblems(kind, name) != nil:
		return errors.New("the API accepts no such name")
	case len(l.State.Index.Named(api.Scope{Kind: kind, Project: l.Project, Location: o.Core().Location}, name)) > 1:
		return errors.New("another one has this name")
	}
	return nil
}

// Version returns the API of the snapshot.
func (s *Snapshot) Version() version.API {
	if s.API == "" {
		return version.API{Version: version.Service, Both: true}
	}
	return version.API{Version: version.Version(s.API)}
}

func (l *loader) loadRecord(k *copiedKind, raw json.RawMessage) error {
	head := headOf(raw)
	r, err := k.decode(raw, nil)
	if err == nil && cloudapi.ID(head.ID).Kind() != k.kind {
		err = fmt.Errorf("%q is not the ID of one", head.ID)
	}
	if err == nil {
		err = r.load(l)
	}
	if err == nil {
		err = l.checkName(k.kind, head)
	}
	if err != nil {
		return fmt.Errorf("%v: %w", head.resource(k.kind), err)
	}
	return nil
}

var locationName = regexp.MustCompile(`^[A-Za-z0-9_~][A-Za-z0-9._~-]*$`)

// objectIn returns the object of a record in a location. A location that the
// server doesn't know becomes a public one.
func (l *loader) objectIn(location, id, name string) (api.Object, error) {
	if !locationName.MatchString(location) {
		return api.Object{}, fmt.Errorf("%q can't be a location", location)
	}
	if l.EnterLocation(location) != nil {
		l.Location = &api.Location{Name: location}
		l.State.Locations = append(l.State.Locations, l.Location)
	}
	o, err := l.object(id, name)
	o.Location = l.Location
	return o, err
}

// isCanonical reports whether an ID is spelled as a server spells it.
func isCanonical(id string) bool {
	parsed, err := cloudapi.ParseID(id)
	return err == nil && parsed.String() == id
}

// object returns the object of a record without a location.
func (l *loader) object(id, name string) (api.Object, error) {
	switch {
	case !isCanonical(id):
		return api.Object{}, fmt.Errorf("%q is not an ID", id)
	case l.State.ByID[id] != nil:
		return api.Object{}, fmt.Errorf("there are two objects with the ID %s", id)
	}
	return api.Object{ID: id, Name: name, Project: l.Project}, nil
}

// subnetNamed returns the subnet in the present location that a record names.
func (l *loader) subnetNamed(name string) (*privateSubnet, error) {
	s, ok := api.FindByName[*privateSubnet](l.Call, cloudapi.KindPrivateSubnet, name)
	if !ok {
		return nil, fmt.Errorf("there is no subnet %q", name)
	}
	return s, nil
}

// neverShown lists what no GET shows, with the fields of objects that a copy
// therefore lacks. only is the only API that doesn't show it.
var neverShown = []struct {
	what   string
	only   version.Version
	fields string
}{
	{"quotas, permissions, billing, features, the audit log", "", "Project.Account.ID Project.Features Project.Permissions Project.Unpaid Project.log Project.logged"},
	{"secrets, hosts, and the user information and queries of URLs", "",
		"inferenceAPIKey.key postgres.password postgres.certificates postgres.destinations.URL postgres.logs.URL kubernetesCluster.kubeconfig"},
	{"connections of subnets", "", "privateSubnet.connected"},
	{"certificate users and log lines of databases", "", "postgres.users postgres.lines"},
	{"serial logs", "", "vm.serialText vm.serialFails vm.log.begun vm.log.done vm.log.output"},
	{"which VM is being captured", "", "vm.capture machineImageVersion.storage"},
	{"which load balancer is being deleted, and which VM detached from one", "", "loadBalancer.members.until loadBalancer.gone loadBalancer.cluster loadBalancer.purpose"},
	{"load balancers without ports", "", "kubernetesCluster.services"},
	{"servers and backups of deleted databases, which keep subnets and private locations", "", "privateSubnet.vacated Location.InUse"},
	{"boot images of VMs, the servers and the age of databases, promotions, and which subnets are being deleted", version.Contract,
		"vm.image postgres.fleet postgres.created privateSubnet.gone"},
	{"future addresses, when a database gets its first backup, and how far a change has come", "", "vm.ip4 vm.ip6 " +
		"kubernetesCluster.gone kubernetesCluster.running kubernetesCluster.upgraded machineImageVersion.gone machineImageVersion.stored nodePool.settled " +
		"kubernetesCluster.controlPlane.nodes privateLinkService.available privateLinkService.created privateLinkService.gone postgres.backup postgres.begun postgres.built.standbys postgres.built.storage postgres.built.vm postgres.due postgres.former postgres.gone postgres.ordered postgres.parent postgres.promoted " +
		"postgres.ready postgres.released postgres.step privateSubnet.cluster postgres.restarted postgres.restored postgres.running vm.gone vm.ordered vm.placed vm.power.done vm.power.during"},
}

// NeverShown returns the gaps of every snapshot of the API.
func NeverShown(a version.API) []Gap {
	var gaps []Gap
	for _, n := range neverShown {
		if n.only == "" || n.only == a.Version {
			gaps = append(gaps, Gap{What: n.what, Reason: "no GET shows it"})
		}
	}
	return gaps
}

// orEmpty returns a slice that is encoded as [] instead of null.
func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// show makes an object show a state. An object that is being deleted will be
// gone after its delay. A state other than known, which the caller sets, stays.
func (l *loader) show(o api.Stored, state string, known ...string) {
	switch {
	case state == "deleting" || state == "destroying":
		l.later = append(l.later, func() { l.Remove(o, l.Delays(o.Core()).Delete) })
	case !slices.Contains(known, state):
		o.Core().Forced = state
	}
}
