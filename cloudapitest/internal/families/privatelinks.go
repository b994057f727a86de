package families

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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
	principals []string
	endpoints  []privateLinkEndpoint
	regions    []string  // without the location's own
	addresses  string    // "ipv4", "ipv6" or "dual"
	created    time.Time // end of the creation
	available  time.Time // end of the creation, or of the last change of the regions
}

type privateLinkEndpoint struct {
	ID          string `json:"vpc_endpoint_id"`
	Description string `json:"description"`
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
	AllowedPrincipals []string          `json:"allowed_principals"`
	IPAddressType     string            `json:"ip_address_type"`
	PrivateDNSName    *invented         `json:"private_dns_name"`
	PrivateHostname   *invented         `json:"private_hostname"`
}

type privateLinkServiceDetails struct {
	privateLinkServiceRecord
	AWS privateLinkServiceAWS `json:"aws"`
}

type privateLinkServiceAWS struct {
	ServiceName                 *invented             `json:"service_name"`
	ServiceID                   *invented             `json:"service_id"`
	SupportedRegions            []string              `json:"supported_regions"`
	AllowedVPCEndpoints         []privateLinkEndpoint `json:"allowed_vpc_endpoints"`
	RegisteredTargetIPs         []netip.Addr          `json:"registered_target_ips"`
	PrivateDNSVerificationState *invented             `json:"private_dns_verification_state"`
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
	if at.Now.Before(l.available) || l.database != nil && l.database.failingOver(at.Now) {
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
	if !at.Now.Before(l.created) {
		id := "vpce-svc-" + strings.ReplaceAll(cloudapi.ID(l.ID).UUID(), "-", "")[:17]
		aws.ServiceID, aws.ServiceName = new(invented(id)), new(invented("com.amazonaws.vpce."+l.Location.Region+"."+id))
		aws.RegisteredTargetIPs = l.targets(at)
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
		p.created = p.available
	}
	l.Location.Region = cmp.Or(l.Location.Region, l.Location.Name) // a public location with one is a region of AWS
	l.State.Add(p)
	l.show(p, r.State, "creating", "available")
	return nil
}

// targets returns the address of the database's primary. Without a database the
// service reaches nobody.
func (l *privateLinkService) targets(at *api.Moment) []netip.Addr {
	targets := []netip.Addr{}
	if l.database == nil {
		return targets
	}
	for _, s := range l.database.servers(at.Now) {
		if s.Role == primaryRole {
			ip4, _ := l.subnet.addresses(4 + crc32.ChecksumIEEE([]byte(s.ID))%56)
			targets = append(targets, ip4)
		}
	}
	return targets
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
		return nil, reply.InvalidField("private_subnet_id", "Private subnet not found in an AWS location")
	}
	var p *postgres
	if c.Body.Has("postgres_resource_id") {
		id := c.Body.Text("postgres_resource_id")
		if p, ok = api.FindByIDFor[*postgres](c, cloudapi.KindPostgres, id, "edit"); !ok || p.subnet != s || p.Deleting() {
			return nil, reply.InvalidField("postgres_resource_id", "PostgreSQL resource not found in the selected private subnet")
		}
	}
	return addPrivateLinkService(c, name, s, p)
}

// addPrivateLinkService creates a private link service with the settings in the
// body; p may be nil.
func addPrivateLinkService(c *api.Call, name string, s *privateSubnet, p *postgres) (any, error) {
	l := &privateLinkService{
		Object:     c.NewObject(cloudapi.KindPrivateLinkService, name),
		subnet:     s,
		database:   p,
		addresses:  c.Choice("ip_address_type", "ipv4"),
		principals: []string{},
		endpoints:  []privateLinkEndpoint{},
		regions:    []string{},
	}
	l.available = c.Now.Add(c.Delays(&l.Object).Create)
	l.created = l.available
	if err := c.Run(l.setAWS, l.setPorts); err != nil {
		return nil, err
	}
	if _, taken := api.FindByName[*privateLinkService](c, cloudapi.KindPrivateLinkService, name); taken {
		return nil, reply.InvalidField("name", "A private link service named '%s' already exists in location '%s'", name, c.Location.Name)
	}
	if err := reply.InvalidRecord(api.IDLikeNameProblems(cloudapi.KindPrivateLinkService, name)...); err != nil {
		return nil, err
	}
	if p != nil && p.privateLink(c.Moment) != nil {
		return nil, reply.InvalidField("postgres_resource_id", "PostgreSQL resource already has a private link service")
	}
	c.State.Add(l)
	c.Log("create", l.ID)
	return l.details(c.Moment), nil
}

// setPorts takes target ports only with ports. Responses have the ports in order.
func (l *privateLinkService) setPorts(c *api.Call) error {
	l.ports = []privateLinkPort{{5432, 5432}, {6432, 6432}}
	if !c.Body.Has("ports") {
		return nil
	}
	from, to := c.Body.List("ports"), c.Body.List("target_ports")
	if len(from) != len(to) || len(from) == 0 {
		return reply.InvalidField("ports", "Each port needs a target port and at least one port is required")
	}
	l.ports = make([]privateLinkPort, len(from))
	for i := range from {
		l.ports[i] = privateLinkPort{from[i].(int64), to[i].(int64)}
		if min(l.ports[i].Port, l.ports[i].TargetPort) < 1 || max(l.ports[i].Port, l.ports[i].TargetPort) > maxPort {
			return reply.InvalidField("ports", "Port must be between 1 and 65535")
		}
	}
	slices.SortFunc(l.ports, func(a, b privateLinkPort) int { return cmp.Compare(a.Port, b.Port) })
	for i, p := range l.ports[1:] {
		if p.Port == l.ports[i].Port {
			return reply.InvalidField("ports", "Ports must be unique")
		}
	}
	return nil
}

var (
	principalForm   = regexp.MustCompile(`^(\*|arn:[a-z-]+:iam::[0-9]{12}:(root|(user|role)/\S+))$`)
	vpcEndpointForm = regexp.MustCompile(`^vpce-[0-9a-f]{17}$`)
	awsRegions      = strings.Fields("af-south-1 ap-east-1 ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-south-1 ap-south-2 ap-southeast-1 " +
		"ap-southeast-2 ap-southeast-3 ap-southeast-4 ap-southeast-5 ap-southeast-7 ca-central-1 ca-west-1 eu-central-1 eu-central-2 eu-north-1 " +
		"eu-south-1 eu-south-2 eu-west-1 eu-west-2 eu-west-3 il-central-1 me-central-1 me-south-1 mx-central-1 sa-east-1 us-east-1 us-east-2 us-west-1 us-west-2")
)

// setAWS replaces the lists that the body has, in the forms of responses: without
// blanks, each element once, and regions and endpoints in order.
func (l *privateLinkService) setAWS(c *api.Call) error {
	aws := c.Body.Object("aws")
	if aws.Has("allowed_principals") {
		l.principals = []string{}
		for _, one := range aws.List("allowed_principals") {
			principal := strings.TrimSpace(one.(string))
			if !principalForm.MatchString(principal) {
				return reply.InvalidField("allowed_principals", "Principals must be * or ARNs of accounts, users, or roles; invalid: %s", principal)
			}
			if !slices.Contains(l.principals, principal) {
				l.principals = append(l.principals, principal)
			}
		}
	}
	if aws.Has("supported_regions") {
		regions := []string{}
		for _, one := range aws.List("supported_regions") {
			if !slices.Contains(awsRegions, one.(string)) {
				return reply.InvalidField("supported_regions", "Unknown AWS region selected")
			}
			if one != l.Location.Region {
				regions = append(regions, one.(string))
			}
		}
		slices.Sort(regions)
		l.regions = slices.Compact(regions)
	}
	if aws.Has("allowed_vpc_endpoints") {
		l.endpoints = []privateLinkEndpoint{}
		for _, one := range aws.List("allowed_vpc_endpoints") {
			fields := schema.Fields(one.(map[string]any))
			e := privateLinkEndpoint{strings.TrimSpace(fields.Text("vpc_endpoint_id")), strings.TrimSpace(fields.Text("description"))}
			isOther := func(r rune) bool { return !unicode.IsPrint(r) }
			switch {
			case e.ID == "":
				continue
			case !vpcEndpointForm.MatchString(e.ID) || slices.ContainsFunc(l.endpoints, func(other privateLinkEndpoint) bool { return other.ID == e.ID }):
				return reply.InvalidField("allowed_vpc_endpoints", "VPC endpoints must be vpce- and 17 hexadecimal digits, each once")
			case utf8.RuneCountInString(e.Description) > 255 || strings.ContainsFunc(e.Description, isOther):
				return reply.InvalidField("allowed_vpc_endpoints", "Descriptions must be one line of at most 255 printable characters")
			}
			l.endpoints = append(l.endpoints, e)
		}
		slices.SortFunc(l.endpoints, func(a, b privateLinkEndpoint) int { return strings.Compare(a.ID, b.ID) })
	}
	return nil
}

// update makes AWS create the service again if the regions change, which the
// response doesn't show yet.
func (l *privateLinkService) update(c *api.Call) (any, error) {
	changed := *l
	if err := changed.setAWS(c); err != nil {
		return nil, err
	}
	isOther := !slices.Equal(changed.regions, l.regions)
	l.principals, l.endpoints, l.regions = changed.principals, changed.endpoints, changed.regions
	c.Log("update", l.ID)
	details := l.details(c.Moment)
	if isOther {
		l.available = latest(l.available, c.Now.Add(c.Delays(&l.Object).Create))
	}
	return details, nil
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
