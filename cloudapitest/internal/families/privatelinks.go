package families

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func privateLinkServiceOperations() []api.Operation {
	const (
		all   = api.ProjectRoute + "/private-link-service"
		local = api.LocationRoute + "/private-link-service"
		one   = local + "/{private_link_service_reference}"
		ofOne = postgresDatabase + "/private-link-service"
	)
	var (
		name     = schema.Required("name", schema.Text)
		endpoint = schema.Closed(schema.Required("vpc_endpoint_id", schema.Text), schema.Optional("description", schema.Text))
		accepted = []schema.Field{
			schema.Optional("allowed_vpc_endpoints", schema.ArrayOf(endpoint)),
			schema.Optional("supported_regions", schema.ArrayOf(schema.Text)),
		}
		settings = []schema.Field{
			schema.Required("aws", schema.Closed(append(accepted, schema.Required("allowed_principals", schema.ArrayOf(schema.Text)))...)),
			schema.Optional("ports", schema.ArrayOf(schema.Integer)),
			schema.Optional("target_ports", schema.ArrayOf(schema.Integer)),
			schema.Optional("ip_address_type", schema.OneOf("ipv4", "ipv6", "dual")),
		}
		create    = schema.Closed(append(settings, schema.Required("private_subnet_id", schema.Text), schema.Optional("postgres_resource_id", schema.Text))...)
		createFor = schema.Closed(append(settings, name)...)
		update    = schema.Closed(schema.Optional("aws", schema.Closed(append(accepted, schema.Optional("allowed_principals", schema.ArrayOf(schema.Text)))...)))
	)
	list := ifEnabled(api.List(cloudapi.KindPrivateLinkService, (*privateLinkService).record))
	return api.AllOnly(version.Service, append(
		api.Guard(familyNames[cloudapi.KindPrivateLinkService], []api.Operation{
			api.GET("PrivateLinkServices.List", all, list).Paged(api.PagedDeclared),
			api.GET("PrivateLinkServices.ListInLocation", local, list).Paged(api.PagedDeclared),
			api.GET("PrivateLinkServices.Get", one, ifEnabled(api.Show(findPrivateLinkService, (*privateLinkService).details))),
			api.POST("PrivateLinkServices.Create", one, create, ifEnabled(createPrivateLinkService)),
			api.PATCH("PrivateLinkServices.Update", one, update, ifEnabled(api.On(findPrivateLinkService, (*privateLinkService).update))),
			api.DELETE("PrivateLinkServices.Delete", one, ifEnabled(api.Delete(findPrivateLinkService, (*privateLinkService).delete))),
		}),
		api.GET("Postgres.PrivateLinkService", ofOne, api.On(findPostgres, (*postgres).showPrivateLink)).Needs("Postgres:view"),
		api.POST("Postgres.CreatePrivateLinkService", ofOne, createFor, api.On(findPostgres, (*postgres).createPrivateLink)).Needs("Postgres:edit"),
	)...)
}

// ifEnabled returns a handler for paths that exist only where private link
// services are enabled.
func ifEnabled(h api.Handler) api.Handler {
	return func(c *api.Call) (any, error) {
		if !hasPrivateLinks(c) {
			return nil, reply.NotFound()
		}
		return h(c)
	}
}

// hasPrivateLinks reports whether the call's project can have private link
// services in the call's location, which must be a region of AWS. In this
// server, only private locations are, and those of services in a copy.
func hasPrivateLinks(c *api.Call) bool {
	return hasFeature(c.Moment, c.Project, FeaturePrivateLinkServices) && (c.Location == nil || c.Location.Region != "")
}

type privateLinkService struct {
	api.Object
	subnet     *privateSubnet
	database   *postgres // nil if there is none
	ports      []privateLinkPort
	principals []any
	endpoints  []any
	regions    []any
	addresses  string    // "ipv4", "ipv6" or "dual"
	available  time.Time // end of the creation
}

type privateLinkPort struct {
	Port       int64 `json:"port"`
	TargetPort int64 `json:"target_port"`
}

type privateLinkServiceRecord struct {
	ID                string            `json:"id"`
	Name              string            `json:"name"`
	Location          string            `json:"location"`
	PrivateSubnet     string            `json:"private_subnet"`
	State             string            `json:"state"`
	PostgresResource  *string           `json:"postgres_resource"`
	Ports             []privateLinkPort `json:"ports"`
	AllowedPrincipals []any             `json:"allowed_principals"`
	IPAddressType     string            `json:"ip_address_type"`
	PrivateDNSName    *invented         `json:"private_dns_name"`
	PrivateHostname   *invented         `json:"private_hostname"`
}

type privateLinkServiceDetails struct {
	privateLinkServiceRecord
	AWS privateLinkServiceAWS `json:"aws"`
}

type privateLinkServiceAWS struct {
	ServiceName                 *invented    `json:"service_name"`
	ServiceID                   *invented    `json:"service_id"`
	SupportedRegions            []any        `json:"supported_regions"`
	AllowedVPCEndpoints         []any        `json:"allowed_vpc_endpoints"`
	RegisteredTargetIPs         []netip.Addr `json:"registered_target_ips"`
	PrivateDNSVerificationState *invented    `json:"private_dns_verification_state"`
}

func (l *privateLinkService) record(at *api.Moment) privateLinkServiceRecord {
	r := privateLinkServiceRecord{
		ID:                l.ID,
		Name:              l.Name,
		Location:          l.Location.Name,
		PrivateSubnet:     l.subnet.Name,
		State:             l.Shown("available"),
		Ports:             l.ports,
		AllowedPrincipals: l.principals,
		IPAddressType:     l.addresses,
	}
	if at.Now.Before(l.available) {
		r.State = l.Shown("creating")
	}
	if l.database != nil {
		r.PostgresResource = &l.database.ID
	}
	return r
}

// details returns the record with what AWS knows once the service is created.
func (l *privateLinkService) details(at *api.Moment) privateLinkServiceDetails {
	aws := privateLinkServiceAWS{SupportedRegions: l.regions, AllowedVPCEndpoints: l.endpoints, RegisteredTargetIPs: []netip.Addr{}}
	if !at.Now.Before(l.available) {
		id := "vpce-svc-" + strings.ReplaceAll(cloudapi.ID(l.ID).UUID(), "-", "")[:17]
		aws.ServiceID, aws.ServiceName = new(invented(id)), new(invented("com.amazonaws.vpce."+l.Location.Region+"."+id))
		aws.RegisteredTargetIPs = l.targets()
	}
	return privateLinkServiceDetails{l.record(at), aws}
}

func (r *privateLinkServiceDetails) load(l *loader) error {
	o, err := l.objectIn(r.Location, r.ID, r.Name)
	if err != nil {
		return err
	}
	s, err := l.subnetNamed(r.PrivateSubnet)
	if err != nil {
		return err
	}
	p := &privateLinkService{
		Object: o, subnet: s, ports: orEmpty(r.Ports), principals: orEmpty(r.AllowedPrincipals), addresses: r.IPAddressType,
		endpoints: orEmpty(r.AWS.AllowedVPCEndpoints), regions: orEmpty(r.AWS.SupportedRegions),
	}
	if r.PostgresResource != nil {
		var ok bool
		if p.database, ok = l.State.ByID[*r.PostgresResource].(*postgres); !ok {
			return fmt.Errorf("there is no database %q", *r.PostgresResource)
		}
		p.database.subnet = s
	}
	if r.State == "creating" {
		p.available = l.Now.Add(l.Delays(&p.Object).Create)
	}
	l.Location.Region = cmp.Or(l.Location.Region, l.Location.Name) // a public location with one is a region of AWS
	l.State.Add(p)
	l.show(p, r.State, "creating", "available")
	return nil
}

// targets returns an address for each server of the database, or the addresses
// of the subnet's VMs.
func (l *privateLinkService) targets() []netip.Addr {
	if l.database == nil {
		return api.Records(l.subnet.vms, func(v *vm) netip.Addr { return v.nic.ip4 })
	}
	host := uint32(3)
	return api.Records(l.database.fleet, func(string) netip.Addr {
		host++
		ip4, _ := l.subnet.addresses(host)
		return ip4
	})
}

func findPrivateLinkService(c *api.Call) (*privateLinkService, error) {
	return api.Find[*privateLinkService](c, cloudapi.KindPrivateLinkService, "private_link_service_reference")
}

func createPrivateLinkService(c *api.Call) (any, error) {
	name, err := c.NewReference(cloudapi.KindPrivateLinkService, "private_link_service_reference")
	if err != nil {
		return nil, err
	}
	id := c.Body.Text("private_subnet_id")
	s, ok := api.FindByID[*privateSubnet](c, cloudapi.KindPrivateSubnet, id)
	if !ok || s.Location != c.Location || s.Deleting() {
		return nil, reply.InvalidField("private_subnet_id", "Private subnet with the given id \"%s\" is not found in the location \"%s\"", id, c.Location.Name)
	}
	var p *postgres
	if c.Body.Has("postgres_resource_id") {
		id := c.Body.Text("postgres_resource_id")
		if p, ok = api.FindByIDFor[*postgres](c, cloudapi.KindPostgres, id, "edit"); !ok || p.subnet != s || p.Deleting() {
			return nil, reply.InvalidField("postgres_resource_id", "PostgreSQL resource with the given id \"%s\" is not found in the private subnet", id)
		}
	}
	return addPrivateLinkService(c, name, s, p)
}

// addPrivateLinkService creates a private link service with the settings in the
// body; p may be nil.
func addPrivateLinkService(c *api.Call, name string, s *privateSubnet, p *postgres) (any, error) {
	if _, taken := api.FindByName[*privateLinkService](c, cloudapi.KindPrivateLinkService, name); taken {
		return nil, reply.InvalidField("name", "A private link service named '%s' already exists in location '%s'", name, c.Location.Name)
	}
	if err := reply.InvalidRecord(api.IDLikeNameProblems(cloudapi.KindPrivateLinkService, name)...); err != nil {
		return nil, err
	}
	if p != nil && p.privateLink(c.Moment) != nil {
		return nil, reply.InvalidField("postgres_resource_id", "PostgreSQL resource already has a private link service")
	}
	l := &privateLinkService{
		Object:    c.NewObject(cloudapi.KindPrivateLinkService, name),
		subnet:    s,
		database:  p,
		addresses: c.Choice("ip_address_type", "ipv4"),
		endpoints: []any{},
		regions:   []any{},
	}
	l.available = c.Now.Add(c.Delays(&l.Object).Create)
	if err := c.Run(l.setPorts, l.setAWS); err != nil {
		return nil, err
	}
	c.State.Add(l)
	c.Log("create", l.ID)
	return l.details(c.Moment), nil
}

func (l *privateLinkService) setPorts(c *api.Call) error {
	ports := func(field string) []any {
		if c.Body.Has(field) {
			return c.Body.List(field)
		}
		return []any{int64(5432), int64(6432)}
	}
	from, to := ports("ports"), ports("target_ports")
	if len(from) != len(to) {
		return reply.InvalidField("target_ports", "There must be as many target ports as ports")
	}
	l.ports = make([]privateLinkPort, len(from))
	for i := range from {
		l.ports[i] = privateLinkPort{from[i].(int64), to[i].(int64)}
		if min(l.ports[i].Port, l.ports[i].TargetPort) < 1 || max(l.ports[i].Port, l.ports[i].TargetPort) > maxPort {
			return reply.InvalidField("ports", "Port must be between 1 and 65535")
		}
	}
	return nil
}

// setAWS replaces the lists that the body has.
func (l *privateLinkService) setAWS(c *api.Call) error {
	aws := c.Body.Object("aws")
	for field, list := range map[string]*[]any{"allowed_principals": &l.principals, "allowed_vpc_endpoints": &l.endpoints, "supported_regions": &l.regions} {
		if aws.Has(field) {
			*list = aws.List(field)
		}
	}
	return nil
}

func (l *privateLinkService) update(c *api.Call) (any, error) {
	if err := l.setAWS(c); err != nil {
		return nil, err
	}
	c.Log("update", l.ID)
	return l.details(c.Moment), nil
}

func (l *privateLinkService) delete(c *api.Call) error {
	c.Remove(l, c.Delays(&l.Object).Delete)
	c.Log("destroy", l.ID)
	return nil
}

// privateLinks returns the private link services in a subnet.
func (s *privateSubnet) privateLinks(at *api.Moment) []*privateLinkService {
	return api.Where(at.State, cloudapi.KindPrivateLinkService, s.Project, func(l *privateLinkService) bool { return l.subnet == s })
}

// privateLink returns the private link service of a database, or nil.
func (p *postgres) privateLink(at *api.Moment) *privateLinkService {
	for _, l := range p.subnet.privateLinks(at) {
		if l.database == p {
			return l
		}
	}
	return nil
}

// privateLinksDisabled is the error below a database if private link services
// aren't enabled.
var privateLinksDisabled = &reply.Error{Code: http.StatusNotFound, Type: "NotFound", Message: "private link services are not enabled for this project", Details: []byte("null")}

func (p *postgres) showPrivateLink(c *api.Call) (any, error) {
	if !hasPrivateLinks(c) {
		return nil, privateLinksDisabled
	}
	l := p.privateLink(c.Moment)
	switch {
	case l == nil:
		return nil, reply.NotFound()
	case !c.AllowedOn(l, "PrivateLinkService:view"):
		return nil, reply.Forbidden()
	}
	return l.details(c.Moment), nil
}

func (p *postgres) createPrivateLink(c *api.Call) (any, error) {
	switch {
	case !hasPrivateLinks(c):
		return nil, privateLinksDisabled
	case !c.Allowed("PrivateLinkService:create"):
		return nil, reply.Forbidden()
	}
	name, err := c.NewName()
	if err != nil {
		return nil, err
	}
	return addPrivateLinkService(c, name, p.subnet, p)
}
