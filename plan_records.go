package cloudapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
)

// What is special about the records of a family: the fields that have other names
// than those of a request, and what the server always fills in alike.

// merge sets the fields of a record that a request sets.
func (e *planEntry) merge(in *invocation) {
	if r, ok := e.record.(*PrivateLocation); ok {
		r.UIName = cmp.Or(newNameOf(in.sent), r.UIName) // "name" is the region
		return
	}
	_ = json.Unmarshal(in.request.Body, e.record)
	switch r := e.record.(type) {
	case *VM:
		switch in.op {
		case &opVMsStop:
			r.State = VMStateStopped
		case &opVMsStart, &opVMsRestart:
			r.State = VMStateRunning
		case &opVMsSetMaintenanceWindow: // without a time, it removes the window
			r.MaintenanceWindowStartAt = bodyOf[VMMaintenanceWindowRequest](in).StartAt
		}
	case *Postgres:
		switch b := bodyOf[PostgresUpdateRequest](in); in.op {
		case &opPostgresCreate, &opPostgresUpdate:
			r.TargetVMSize, r.TargetStorageSizeGiB = cmp.Or(b.Size, r.TargetVMSize), cmp.Or(b.StorageSize, r.TargetStorageSizeGiB)
			if e.isPlanned() {
				r.VMSize, r.StorageSizeGiB = r.TargetVMSize, r.TargetStorageSizeGiB
			}
		case &opPostgresCreateReadReplica:
			r.ReadReplica = true
		case &opPostgresPromote, &opPostgresPromoteReadReplica:
			r.ReadReplica, r.Primary = false, true
		case &opPostgresSetMaintenanceWindow:
			w := bodyOf[PostgresMaintenanceWindowRequest](in)
			r.MaintenanceWindowStartAt, r.MaintenanceWindowDays = w.StartAt, w.Days
		}
	case *PrivateLinkService:
		if principals := bodyOf[PrivateLinkServiceUpdateRequest](in).AWS.AllowedPrincipals; principals != nil {
			r.AllowedPrincipals = principals
		}
	}
}

// complete fills in a new record, and returns what the details of the change say
// besides the request.
func (l *planLayer) complete(in *invocation, e, source *planEntry, isService bool) (details []string) {
	for _, list := range reflect.ValueOf(e.record).Elem().Fields() {
		if list.Kind() == reflect.Slice && list.IsNil() {
			list.Set(reflect.MakeSlice(list.Type(), 0, 0))
		}
	}
	if source != nil {
		details = append(details, "from "+source.record.Resource().Name)
	}
	switch r := e.record.(type) {
	case *VM:
		b := bodyOf[VMCreateRequest](in)
		r.State, r.StorageSizeGiB, r.IPv4Enabled, r.GPU, r.Subnet = VMStateRunning, b.StorageSize, orZero(b.EnableIPv4), "", "default-"+r.Location
		if b.PrivateSubnetID != "" {
			r.Subnet = l.known[b.PrivateSubnetID]
		}
		if subnet, ok := l.shown[b.PrivateSubnetID].(*PrivateSubnet); ok {
			r.Firewalls = clone(subnet).(*PrivateSubnet).Firewalls
		}
	case *PrivateSubnet:
		r.State = PrivateSubnetStateAvailable
		r.Net4, r.Net6 = l.ranges()
		if id := bodyOf[PrivateSubnetCreateRequest](in).FirewallID; id != "" {
			firewall := &Firewall{ID: id, Location: r.Location}
			if shown, ok := l.shown[id].(*Firewall); ok {
				firewall = clone(shown).(*Firewall)
				firewall.PrivateSubnets = nil
			}
			r.Firewalls = []Firewall{*firewall}
			break
		}
		firewall := l.defaultFirewall(e.project, r, isService)
		r.Firewalls = []Firewall{*firewall}
		details = append(details, "new firewall "+firewall.Name+" that allows all traffic")
	case *LoadBalancer:
		r.HealthCheckEndpoint = cmp.Or(r.HealthCheckEndpoint, "/up")
		if bodyOf[LoadBalancerCreateRequest](in).CertEnabled == nil {
			r.CertEnabled = r.HealthCheckProtocol == LoadBalancerHealthCheckProtocolHTTPS
		}
	case *Postgres:
		b := bodyOf[PostgresCreateRequest](in)
		e.config = &PostgresConfig{}
		if source != nil {
			from := clone(source.record).(*Postgres)
			r.Version, r.Flavor, r.Parent = from.Version, from.Flavor, "/location/"+from.Location+"/postgres/"+from.Name
			r.TargetVMSize, r.TargetStorageSizeGiB = cmp.Or(from.TargetVMSize, from.VMSize), cmp.Or(from.TargetStorageSizeGiB, from.StorageSizeGiB)
			r.VMSize, r.StorageSizeGiB = r.TargetVMSize, r.TargetStorageSizeGiB
			if in.op == &opPostgresRestore && b.Tags == nil {
				r.Tags = from.Tags
			}
			e.config = clone(source.config).(*PostgresConfig)
		}
		r.State, r.Primary = PostgresStateRunning, !r.ReadReplica
		r.HAType, r.Flavor = cmp.Or(r.HAType, PostgresHATypeNone), cmp.Or(r.Flavor, PostgresFlavorStandard)
		if !orZero(b.RestrictByDefault) {
			for _, cidr := range []string{"0.0.0.0/0", "::/0"} {
				for _, rule := range databaseRules(PostgresFirewallRule{CIDR: cidr}, isService) {
					rule.ID = l.newID(e.project, KindPostgresFirewallRule)
					r.FirewallRules = append(r.FirewallRules, rule)
				}
			}
			details = append(details, "open to all addresses")
		}
		e.configure(in)
	case *KubernetesCluster:
		b := bodyOf[KubernetesClusterCreateRequest](in)
		r.DisplayState, r.CPNodeCount = KubernetesClusterDisplayStateRunning, cmp.Or(b.CPNodeCount, 1)
		r.NodePools = []KubernetesNodePool{{ID: l.newID(e.project, KindKubernetesNodePool), KubernetesClusterID: r.ID, Name: r.Name + "-np",
			NodeCount: cmp.Or(b.WorkerNodeCount, 1), NodeSize: b.WorkerSize, Version: r.Version, VMs: []VM{}}}
	case *PrivateLocation:
		r.Path = "/private-location/" + r.UIName
	case *MachineImage:
		r.LatestVersion = bodyOf[MachineImageCreateRequest](in).Version
		e.versions = []MachineImageVersion{{ID: l.newID(e.project, KindMachineImageVersion), Version: r.LatestVersion, State: MachineImageVersionStateReady, Latest: true}}
	case *PrivateLinkService:
		b := bodyOf[PrivateLinkServiceCreateRequest](in)
		r.State, r.PostgresResourceID, r.Ports = PrivateLinkServiceStateAvailable, b.PostgresResourceID, portPairs(b.Ports, b.TargetPorts)
	}
	return details
}

// defaultFirewall adds the firewall that the server creates with a subnet.
func (l *planLayer) defaultFirewall(project string, subnet *PrivateSubnet, isService bool) *Firewall {
	firewall := &Firewall{ID: l.newID(project, KindFirewall), Name: subnet.Name[:min(len(subnet.Name), 55)] + "-default", Location: subnet.Location,
		Description: "Default firewall", PrivateSubnets: []PrivateSubnet{}}
	protocols := []string{""}
	if isService {
		protocols = []string{FirewallRuleProtocolTCP, FirewallRuleProtocolUDP}
	}
	for _, protocol := range protocols {
		for _, cidr := range []string{"0.0.0.0/0", "::/0"} {
			firewall.FirewallRules = append(firewall.FirewallRules, FirewallRule{ID: l.newID(project, KindFirewallRule), CIDR: cidr, PortRange: "0..65535", Protocol: protocol})
		}
	}
	l.add(&planEntry{project: project, record: clone(firewall).(Record)})
	return firewall
}

// databaseRules returns what the server creates for a rule of a database: with the
// service, a rule for each port.
func databaseRules(r PostgresFirewallRule, isService bool) []PostgresFirewallRule {
	if !isService {
		return []PostgresFirewallRule{r}
	}
	pooler := r
	r.Port, pooler.Port = 5432, 6432
	return []PostgresFirewallRule{r, pooler}
}

// ranges returns ranges of addresses that no server assigns: of 240.0.0.0/4 and
// of 2001:db8::/32.
func (l *planLayer) ranges() (net4, net6 string) {
	n := uint32(l.subnets)
	l.subnets++
	n4 := 240<<24 | n<<6&(1<<28-1)
	net4 = netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(n4 >> 24), byte(n4 >> 16), byte(n4 >> 8), byte(n4)}), 26).String()
	net6 = netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), 64).String()
	return net4, net6
}

// configure changes the settings of a database. A zero setting resets one.
func (e *planEntry) configure(in *invocation) {
	body := bodyOf[PostgresConfig](in)
	for _, change := range []struct {
		to     *PostgresSettings
		values PostgresSettings
	}{{&e.config.PGConfig, body.PGConfig}, {&e.config.PgBouncerConfig, body.PgBouncerConfig}} {
		if *change.to == nil {
			*change.to = PostgresSettings{}
		}
		for name, value := range change.values {
			if (*change.to)[name] = value; value == (PostgresSetting{}) {
				delete(*change.to, name)
			}
		}
	}
}

// newParts returns the parts that an operation creates: the rules of a request can
// be two. to has the type of the response.
func (l *planLayer) newParts(ctx context.Context, in *invocation, t planTarget, to any) (parts []Record, err error) {
	switch to := to.(type) {
	case *createdRule:
		b := bodyOf[FirewallRuleCreateRequest](in)
		ports, err := ParsePortRange(b.PortRange)
		if err != nil {
			return nil, err
		}
		ranges, err := (&FirewallsService{in.conn}).ranges(ctx, t.location, b.CIDR)
		if err != nil {
			return nil, err
		}
		for _, cidr := range ranges {
			parts = append(parts, &FirewallRule{CIDR: cidr, PortRange: ports.String(), Protocol: strings.ToLower(b.Protocol), Description: strings.TrimSpace(b.Description)})
		}
		return parts, nil
	case *PostgresFirewallRule:
		b := bodyOf[PostgresFirewallRuleCreateRequest](in)
		if _, err := ParseCIDR(b.CIDR); err != nil {
			return nil, err
		}
		isService, err := l.isService(ctx, in.conn)
		for _, rule := range databaseRules(PostgresFirewallRule{CIDR: normalCIDR(b.CIDR), Description: strings.TrimSpace(b.Description)}, isService) {
			parts = append(parts, &rule)
		}
		return parts, err
	case *MachineImageVersion:
		to.Version, to.State = t.rest[0], MachineImageVersionStateReady
		return []Record{to}, nil
	}
	_ = json.Unmarshal(in.request.Body, to)
	return []Record{to.(Record)}, nil
}

// partKey returns what only one part of a resource can have, or "".
func partKey(part any) string {
	switch r := part.(type) {
	case *FirewallRule:
		return ruleKey(r)
	case *PostgresFirewallRule:
		return normalCIDR(r.CIDR)
	case *KubernetesNodePool, *MachineImageVersion:
		return resourceOf(part).Name
	}
	return ""
}

// clone returns a deep copy of a record, which the program may write into.
func clone(record any) any {
	v := reflect.ValueOf(record)
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	copyInto(c.Elem())
	return c.Interface()
}

func copyInto(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				copyInto(v.Field(i))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			c := reflect.New(v.Type().Elem())
			c.Elem().Set(v.Elem())
			copyInto(c.Elem())
			v.Set(c)
		}
	case reflect.Slice:
		if !v.IsNil() {
			c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(c, v)
			for i := range c.Len() {
				copyInto(c.Index(i))
			}
			v.Set(c)
		}
	case reflect.Map:
		if !v.IsNil() {
			c := reflect.MakeMapWithSize(v.Type(), v.Len())
			for key, value := range v.Seq2() {
				c.SetMapIndex(key, value)
			}
			v.Set(c)
		}
	}
}
