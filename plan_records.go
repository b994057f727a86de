package cloudapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
)

// What changes do to records.

// change plans an operation that isn't a GET, and returns its record.
func (l *planLayer) change(ctx context.Context, in *invocation, to any) (any, error) {
	if err := l.supports(ctx, in.conn, in.op); err != nil {
		return nil, err
	}
	t := targetOf(in.op, in.args)
	switch in.op {
	case &opVMsCreate, &opFirewallsCreate, &opFirewallsCreateInProject, &opPrivateSubnetsCreate, &opLoadBalancersCreate, &opPostgresCreate,
		&opKubernetesCreate, &opMachineImagesCreate, &opPrivateLinkServicesCreate, &opPrivateLocationsCreate, &opSSHPublicKeysCreate,
		&opVMInitScriptsCreate, &opInferenceAPIKeysCreate, &opProjectsCreate:
		return l.create(ctx, in, to.(Record), cmp.Or(newNameOf(in.sent), t.reference), nil)
	case &opPostgresRestore, &opPostgresCreateReadReplica, &opPostgresCreatePrivateLinkService:
		source, err := l.touch(ctx, in.conn, in.op, t)
		if err != nil {
			return nil, err
		}
		return l.create(ctx, in, to.(Record), newNameOf(in.sent), source)
	}
	e, err := l.touch(ctx, in.conn, in.op, t)
	if err != nil {
		return nil, err
	}
	switch to := to.(type) {
	case *createdRule:
		return l.createRule(ctx, in, e)
	case *PostgresConfig:
		return l.configure(ctx, in, e)
	case *PostgresFirewallRule, *FirewallRule, *KubernetesNodePool, *MachineImageVersion, *PostgresLogDestination:
		return l.changeInside(ctx, in, t, e, to)
	}
	if reflect.TypeOf(to) != reflect.TypeOf(e.record) {
		return nil, notPlanned(in.op, "only the server knows its result; leave the call out if the error matches ErrNotPlanned")
	}
	return l.call(ctx, in, e)
}

// create plans a new resource. source is the database from which it's created, or
// nil.
func (l *planLayer) create(ctx context.Context, in *invocation, record Record, name string, source *planEntry) (any, error) {
	kind, project, location := record.Resource().Kind, in.conn.config.project, targetOf(in.op, in.args).location
	if b, ok := record.(*LoadBalancer); ok {
		subnet, err := l.subnetOf(ctx, in)
		if err != nil {
			return nil, err
		}
		b.Subnet, location = subnet.Name, subnet.Location
	}
	if err := l.isFree(ctx, in, kind, location, name); err != nil {
		return nil, err
	}
	isService := true
	if kind == KindPrivateSubnet || kind == KindPostgres {
		isService = l.supports(ctx, in.conn, &opMachineImagesList) == nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := planName{project, kind, location, name}
	if name != "" && l.byName[key] != nil && kind != KindLoadBalancer && kind != KindProject {
		return nil, planTaken(in, key.name)
	}
	delete(l.absent, key)
	if source != nil && kind == KindPostgres {
		*record.(*Postgres) = *clone(source.record).(*Postgres)
	}
	merge(in.request.Body, record)
	address := map[string]string{"id": l.newID(kind), "location": location, "name": name}
	if kind == KindPrivateLocation {
		address = map[string]string{"id": address["id"], "ui_name": name} // "name" is the region
	}
	text, _ := json.Marshal(address)
	merge(text, record)
	e := &planEntry{project: project, isPlanned: true, record: record}
	l.add(e)
	details := l.complete(in, e, source, isService)
	l.note(ctx, PlannedCreate, e, details)
	return clone(record), nil
}

// isFree returns the error of the server if a resource has the name.
func (l *planLayer) isFree(ctx context.Context, in *invocation, kind Kind, location, name string) error {
	f, _ := familyOf(kind)
	l.mu.Lock()
	isKnown := l.absent[planName{in.conn.config.project, kind, location, name}] || l.byName[planName{in.conn.config.project, kind, location, name}] != nil
	l.mu.Unlock()
	if isKnown || name == "" || f.hasHomonyms() || !f.takesNames() || location == "" && f.hasLocations() {
		return nil
	}
	switch _, err := f.readOnce(ctx, in.conn, location, name); {
	case err == nil:
		return planTaken(in, name)
	case errors.Is(err, ErrForbidden), isMissing(err):
		return nil
	default:
		return err
	}
}

func planTaken(in *invocation, name string) error {
	return fmt.Errorf("cloudapi: %s: %s: %w", in.op.Name, name, ErrAlreadyExists)
}

// subnetOf returns the subnet of a request.
func (l *planLayer) subnetOf(ctx context.Context, in *invocation) (Resource, error) {
	var r struct {
		PrivateSubnetID string `json:"private_subnet_id"`
	}
	json.Unmarshal(in.request.Body, &r)
	subnet, err := resolveID(ctx, in.conn, KindPrivateSubnet, r.PrivateSubnetID)
	if err != nil {
		return Resource{}, err
	}
	return *subnet, nil
}

func bodyOf[T any](in *invocation) (body T) {
	json.Unmarshal(in.request.Body, &body)
	return body
}

// complete sets the fields of a planned record that have other names than those
// of the request, or that the server always fills in alike. It returns the
// details of the change.
func (l *planLayer) complete(in *invocation, e, source *planEntry, isService bool) (details string) {
	details = l.details(in.sent)
	add := func(text string) { details = strings.TrimPrefix(details+", "+text, ", ") }
	switch r := e.record.(type) {
	case *VM:
		b := bodyOf[VMCreateRequest](in)
		r.State, r.StorageSizeGiB, r.IPv4Enabled, r.GPU = VMStateRunning, max(b.StorageSize, 0), orZero(b.EnableIPv4), ""
		r.Subnet, r.Firewalls = "default-"+r.Location, []Firewall{}
		if b.PrivateSubnetID != "" {
			r.Subnet = l.known[b.PrivateSubnetID]
		}
		if subnet, ok := l.shown[b.PrivateSubnetID].(*PrivateSubnet); ok {
			r.Firewalls = clone(subnet).(*PrivateSubnet).Firewalls
		}
		l.refreshed(e.project, r)
	case *Firewall:
		r.FirewallRules, r.PrivateSubnets = []FirewallRule{}, []PrivateSubnet{}
	case *PrivateSubnet:
		r.State, r.NICs = PrivateSubnetStateAvailable, []NIC{}
		r.Net4, r.Net6 = l.ranges(r.Name)
		if id := bodyOf[PrivateSubnetCreateRequest](in).FirewallID; id != "" {
			firewall := Firewall{ID: id, Location: r.Location}
			if shown, ok := l.shown[id].(*Firewall); ok {
				firewall = *shown
				firewall.PrivateSubnets = nil
			}
			r.Firewalls = []Firewall{firewall}
			l.refreshed(e.project, r)
			break
		}
		firewall := &Firewall{ID: l.newID(KindFirewall), Name: r.Name[:min(len(r.Name), 55)] + "-default", Location: r.Location, Description: "Default firewall"}
		protocols := []string{""}
		if isService {
			protocols = []string{FirewallRuleProtocolTCP, FirewallRuleProtocolUDP}
		}
		for _, protocol := range protocols {
			for _, cidr := range []string{"0.0.0.0/0", "::/0"} {
				firewall.FirewallRules = append(firewall.FirewallRules, FirewallRule{ID: l.newID(KindFirewallRule), CIDR: cidr, PortRange: "0..65535", Protocol: protocol})
			}
		}
		l.add(&planEntry{project: e.project, isPlanned: true, record: firewall})
		r.Firewalls = []Firewall{*firewall}
		add("new firewall " + firewall.Name + " that allows all traffic")
	case *LoadBalancer:
		r.VMs, r.HealthCheckEndpoint = []string{}, cmp.Or(r.HealthCheckEndpoint, "/up")
		if b := bodyOf[LoadBalancerCreateRequest](in); b.CertEnabled == nil {
			r.CertEnabled = b.HealthCheckProtocol == LoadBalancerHealthCheckProtocolHTTPS
		}
	case *Postgres:
		r.State, r.Primary, r.ReadReplicas = PostgresStateRunning, true, []Postgres{}
		r.Tags = append([]PostgresTag{}, r.Tags...)
		r.FirewallRules = []PostgresFirewallRule{}
		b := bodyOf[PostgresCreateRequest](in)
		if source != nil {
			add("from " + source.record.Resource().Name)
			r.ConnectionString, r.PrivateConnectionString, r.Hostname, r.CACertificates = Secret{}, Secret{}, "", ""
			r.MetricDestinations, r.LogDestinations = []PostgresMetricDestination{}, []PostgresLogDestination{}
			r.HAType, r.TargetServerCount = PostgresHATypeNone, min(r.TargetServerCount, 1)
			if in.op == &opPostgresCreateReadReplica {
				r.ReadReplica, r.Primary, r.Parent = true, false, "/location/"+r.Location+"/postgres/"+source.record.Resource().Name
			}
		} else {
			r.VMSize, r.TargetVMSize, r.StorageSizeGiB, r.TargetStorageSizeGiB = b.Size, b.Size, b.StorageSize, b.StorageSize
			r.HAType, r.Flavor = cmp.Or(r.HAType, PostgresHATypeNone), cmp.Or(r.Flavor, PostgresFlavorStandard)
		}
		if !orZero(b.RestrictByDefault) {
			for _, cidr := range []string{"0.0.0.0/0", "::/0"} {
				r.FirewallRules = append(r.FirewallRules, l.databaseRules(PostgresFirewallRule{CIDR: cidr}, isService)...)
			}
			add("open to all addresses")
		}
		e.config = &PostgresConfig{PGConfig: PostgresSettings{}, PgBouncerConfig: PostgresSettings{}}
		e.configure(b.PGConfig, b.PgBouncerConfig)
	case *KubernetesCluster:
		b := bodyOf[KubernetesClusterCreateRequest](in)
		r.DisplayState, r.CPNodeCount, r.CPVMs = KubernetesClusterDisplayStateRunning, cmp.Or(b.CPNodeCount, 1), []VM{}
		r.NodePools = []KubernetesNodePool{{ID: l.newID(KindKubernetesNodePool), KubernetesClusterID: r.ID, Name: r.Name + "-np",
			NodeCount: cmp.Or(b.WorkerNodeCount, 1), NodeSize: b.WorkerSize, Version: r.Version, VMs: []VM{}}}
	case *MachineImage:
		r.LatestVersion = bodyOf[MachineImageCreateRequest](in).Version
		e.versions = []MachineImageVersion{{ID: l.newID(KindMachineImageVersion), Version: r.LatestVersion, State: MachineImageVersionStateReady, Latest: true}}
	case *PrivateLinkService:
		b := bodyOf[PrivateLinkServiceCreateRequest](in)
		r.State, r.PostgresResourceID, r.AllowedPrincipals, r.Ports = PrivateLinkServiceStateAvailable, b.PostgresResourceID, b.AWS.AllowedPrincipals, portPairs(b.Ports, b.TargetPorts)
		r.Ports, r.AllowedPrincipals = append([]PrivateLinkServicePort{}, r.Ports...), append([]string{}, r.AllowedPrincipals...)
		r.AWS = cmp.Or(r.AWS, &PrivateLinkServiceAWS{})
		r.AWS.AllowedVPCEndpoints = append([]PrivateLinkServiceVPCEndpoint{}, r.AWS.AllowedVPCEndpoints...)
		r.AWS.SupportedRegions = append([]string{}, r.AWS.SupportedRegions...)
		r.PrivateSubnet, r.IPAddressType = l.known[b.PrivateSubnetID], cmp.Or(r.IPAddressType, PrivateLinkServiceIPAddressTypeIPv4)
		if source != nil {
			r.PostgresResourceID = source.record.Resource().ID
			add("of " + source.record.Resource().Name)
		}
	case *PrivateLocation:
		r.Name, r.Path = bodyOf[PrivateLocationCreateRequest](in).ProviderLocationName, "/private-location/"+r.UIName
	}
	return details
}

// databaseRules returns what the server creates for a rule of a database: with the
// service, a rule for each port.
func (l *planLayer) databaseRules(r PostgresFirewallRule, isService bool) []PostgresFirewallRule {
	ports := []int{0}
	if isService {
		ports = []int{5432, 6432}
	}
	var rules []PostgresFirewallRule
	for _, port := range ports {
		r.ID, r.Port = l.newID(KindPostgresFirewallRule), port
		rules = append(rules, r)
	}
	return rules
}

// ranges returns ranges of addresses that no server assigns: of 240.0.0.0/4 and
// of 2001:db8::/32.
func (l *planLayer) ranges(subnet string) (net4, net6 string) {
	n := uint32(l.subnets)
	l.subnets++
	n4 := 240<<24 | n<<6&(1<<28-1)
	net4 = netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(n4 >> 24), byte(n4 >> 16), byte(n4 >> 8), byte(n4)}), 26).String()
	net6 = netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), 64).String()
	l.known[net4], l.known[net6] = "the IPv4 range of "+subnet, "the IPv6 range of "+subnet
	return net4, net6
}

// call plans a call of a method that returns the record of its resource.
func (l *planLayer) call(ctx context.Context, in *invocation, e *planEntry) (any, error) {
	var subnet *planEntry
	if in.op == &opFirewallsAttachSubnet || in.op == &opFirewallsDetachSubnet {
		var err error
		t := planTarget{kind: KindPrivateSubnet, location: targetOf(in.op, in.args).location, reference: bodyOf[subnetRequest](in).PrivateSubnetID}
		if subnet, err = l.touch(ctx, in.conn, in.op, t); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(ctx, PlannedCall, e, strings.TrimSpace(in.op.Name+" "+l.details(in.sent)))
	name := e.nameOf()
	if location, ok := e.record.(*PrivateLocation); ok {
		location.UIName = cmp.Or(newNameOf(in.sent), location.UIName)
	} else {
		merge(in.request.Body, e.record)
	}
	if e.nameOf() != name {
		if l.byName[name] == e {
			delete(l.byName, name)
		}
		l.byName[e.nameOf()] = e
		l.learn(e.record)
	}
	switch r := e.record.(type) {
	case *VM:
		switch in.op {
		case &opVMsStop:
			r.State = VMStateStopped
		case &opVMsStart, &opVMsRestart:
			r.State = VMStateRunning
		}
	case *Firewall:
		if subnet == nil {
			break
		}
		s := subnet.record.(*PrivateSubnet)
		s.Firewalls = slices.DeleteFunc(s.Firewalls, func(f Firewall) bool { return f.ID == r.ID })
		if in.op == &opFirewallsAttachSubnet {
			s.Firewalls = append(s.Firewalls, *clone(r).(*Firewall))
		}
	case *LoadBalancer:
		id := bodyOf[vmRequest](in).VMID
		r.VMs = slices.DeleteFunc(r.VMs, func(vm string) bool { return vm == id })
		if in.op == &opLoadBalancersAttachVM {
			r.VMs = append(r.VMs, id)
		}
	case *Postgres:
		switch b := bodyOf[PostgresUpdateRequest](in); in.op {
		case &opPostgresUpdate:
			r.TargetVMSize, r.TargetStorageSizeGiB = cmp.Or(b.Size, r.TargetVMSize), cmp.Or(b.StorageSize, r.TargetStorageSizeGiB)
			if e.isPlanned {
				r.VMSize, r.StorageSizeGiB = r.TargetVMSize, r.TargetStorageSizeGiB
			}
		case &opPostgresPromote, &opPostgresPromoteReadReplica:
			r.ReadReplica, r.Primary, r.Parent = false, true, ""
		case &opPostgresCreateMetricDestination:
			d := PostgresMetricDestination{ID: l.newID(KindPostgresMetricDestination)}
			merge(in.request.Body, &d)
			r.MetricDestinations = append(r.MetricDestinations, d)
		}
	case *PrivateLinkService:
		if principals := bodyOf[PrivateLinkServiceUpdateRequest](in).AWS.AllowedPrincipals; principals != nil {
			r.AllowedPrincipals = principals
		}
	}
	return l.refreshed(e.project, clone(e.record)), nil
}

// createRule plans the rules of a firewall that one request creates.
func (l *planLayer) createRule(ctx context.Context, in *invocation, e *planEntry) (any, error) {
	b := bodyOf[FirewallRuleCreateRequest](in)
	ports, err := ParsePortRange(b.PortRange)
	if err != nil {
		return nil, err
	}
	ranges, err := (&FirewallsService{in.conn}).ranges(ctx, e.record.Resource().Location, b.CIDR)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var rules []FirewallRule
	firewall := e.record.(*Firewall)
	for _, r := range ranges {
		rule := FirewallRule{ID: l.newID(KindFirewallRule), CIDR: r, PortRange: ports.String(), Protocol: strings.ToLower(b.Protocol), Description: strings.TrimSpace(b.Description)}
		if slices.ContainsFunc(firewall.FirewallRules, func(other FirewallRule) bool { return ruleKey(&other) == ruleKey(&rule) }) {
			return nil, planTaken(in, "the rule")
		}
		rules = append(rules, rule)
	}
	for _, rule := range rules {
		l.note(ctx, PlannedUpdate, e, "+ "+l.elementText(&rule))
	}
	firewall.FirewallRules = append(firewall.FirewallRules, rules...)
	created := &createdRule{rules[0]}
	if len(rules) > 1 {
		created.IPv6Rule = &rules[1]
	}
	return created, nil
}

// configure plans a change of the settings of a database.
func (l *planLayer) configure(ctx context.Context, in *invocation, e *planEntry) (any, error) {
	l.mu.Lock()
	config := e.config
	l.mu.Unlock()
	if config == nil {
		r := e.record.Resource()
		var err error
		if config, err = (&PostgresService{in.conn}).GetConfig(ctx, r.Location, r.ID); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(ctx, PlannedCall, e, in.op.Name+" "+l.details(in.sent))
	e.config = config
	if in.op == &opPostgresReplaceConfig {
		body := bodyOf[PostgresConfig](in)
		e.config = &body
		return clone(e.config), nil
	}
	b := bodyOf[PostgresConfigUpdateRequest](in)
	e.configure(b.PGConfig, b.PgBouncerConfig)
	return clone(config), nil
}

// configure changes settings. A zero setting resets one.
func (e *planEntry) configure(pg, pgBouncer PostgresSettings) {
	for _, change := range []struct{ to, values PostgresSettings }{{e.config.PGConfig, pg}, {e.config.PgBouncerConfig, pgBouncer}} {
		for name, value := range change.values {
			if change.to[name] = value; value == (PostgresSetting{}) {
				delete(change.to, name)
			}
		}
	}
}

// changeInside plans a change of a part of a resource, such as a node pool.
func (l *planLayer) changeInside(ctx context.Context, in *invocation, t planTarget, e *planEntry, to any) (any, error) {
	list, err := l.loaded(ctx, in.conn, e, resourceOf(to).Kind)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	merge(in.request.Body, to)
	switch in.op {
	case &opPostgresCreateFirewallRule, &opPostgresCreateLogDestination, &opKubernetesCreateNodePool, &opMachineImagesCreateVersion:
		switch child := to.(type) {
		case *PostgresFirewallRule:
			prefix, err := ParseCIDR(child.CIDR)
			if err != nil {
				return nil, err
			}
			child.ID, child.CIDR = l.newID(KindPostgresFirewallRule), normalCIDR(prefix.String())
			if slices.ContainsFunc(e.record.(*Postgres).FirewallRules, func(r PostgresFirewallRule) bool { return normalCIDR(r.CIDR) == child.CIDR }) {
				return nil, planTaken(in, child.CIDR)
			}
		case *PostgresLogDestination:
			child.ID = l.newID(KindPostgresLogDestination)
		case *KubernetesNodePool:
			child.ID, child.VMs, child.Version = l.newID(KindKubernetesNodePool), []VM{}, e.record.(*KubernetesCluster).Version
			child.KubernetesClusterID = e.record.Resource().ID
		case *MachineImageVersion:
			child.ID, child.Version, child.State = l.newID(KindMachineImageVersion), t.rest[0], MachineImageVersionStateReady
		}
		if name := resourceOf(to).Name; name != "" && resourceOf(to).Kind != KindPostgresLogDestination && indexOf(list, name) >= 0 {
			return nil, planTaken(in, name)
		}
		l.note(ctx, PlannedUpdate, e, "+ "+l.elementText(to)+l.detailsOfPart(to, in.sent))
		list.Set(reflect.Append(list, reflect.ValueOf(clone(to)).Elem()))
		return to, nil
	case &opKubernetesRetireNode:
		return nil, notPlanned(in.op, "only the server knows which node pool has the node; leave the call out if the error matches ErrNotPlanned")
	}
	i := indexOf(list, t.rest[0])
	if i < 0 {
		return nil, planMissing(in)
	}
	child := list.Index(i).Addr().Interface()
	l.note(ctx, PlannedCall, e, strings.TrimSpace(in.op.Name+" "+l.elementText(child)+" "+l.details(in.sent)))
	merge(in.request.Body, child)
	return clone(child), nil
}

// childKind returns the kind of what is inside a resource, and that the last
// argument of an operation names.
func childKind(op *Operation) Kind {
	if kinds := op.lastRule().kinds; len(kinds) > 0 {
		return kinds[0]
	}
	return ""
}

// children returns the list of what is inside a resource, which can be set, or
// the zero Value if the entry has none.
func (e *planEntry) children(kind Kind) reflect.Value {
	var list any
	switch r := e.record.(type) {
	case *Firewall:
		if kind == KindFirewallRule {
			list = &r.FirewallRules
		}
	case *KubernetesCluster:
		if kind == KindKubernetesNodePool {
			list = &r.NodePools
		}
	case *MachineImage:
		if kind == KindMachineImageVersion && e.versions != nil {
			list = &e.versions
		}
	case *Postgres:
		switch kind {
		case KindPostgresFirewallRule:
			list = &r.FirewallRules
		case KindPostgresMetricDestination:
			list = &r.MetricDestinations
		case KindPostgresLogDestination:
			list = &r.LogDestinations
		}
	}
	if list == nil {
		return reflect.Value{}
	}
	return reflect.ValueOf(list).Elem()
}

// loaded is children for a change. It lists the versions of a machine image.
func (l *planLayer) loaded(ctx context.Context, c *conn, e *planEntry, kind Kind) (reflect.Value, error) {
	l.mu.Lock()
	r, isImage := e.record.(*MachineImage)
	isLoaded := e.versions != nil
	l.mu.Unlock()
	if isImage && !isLoaded {
		versions := []MachineImageVersion{}
		for v, err := range (&MachineImagesService{c}).AllVersions(ctx, r.Location, r.ID, nil) {
			if err != nil {
				return reflect.Value{}, err
			}
			versions = append(versions, *v)
		}
		l.mu.Lock()
		e.versions = versions
		l.mu.Unlock()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return e.children(kind), nil
}

// listed returns what a list of parts of a resource contains, or the zero Value
// if only the server knows.
func (e *planEntry) listed(op *Operation) reflect.Value {
	switch op {
	case &opPostgresListFirewallRules:
		return e.children(KindPostgresFirewallRule)
	case &opMachineImagesListVersions:
		return e.children(KindMachineImageVersion)
	case &opPostgresListServers:
		if e.isPlanned {
			return reflect.ValueOf([]PostgresServer{})
		}
	case &opPostgresListBackups:
		if e.isPlanned {
			return reflect.ValueOf([]PostgresBackup{})
		}
	}
	return reflect.Value{}
}

// indexOf returns the index of the part with an ID or a name, or -1.
func indexOf(list reflect.Value, reference string) int {
	for i := range list.Len() {
		if r := resourceOf(list.Index(i).Addr().Interface()); r.ID == reference || r.Name == reference {
			return i
		}
	}
	return -1
}
