package cloudapi

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/attachment"
	"github.com/cloudapi-sdk/cloudapi/internal/cidr"
	"github.com/cloudapi-sdk/cloudapi/internal/mask"
)

// PostgresConnectionOptions change a connection URL. Zero fields have no
// effect.
type PostgresConnectionOptions struct {
	User            string // another role of the database; the superuser's password is then left out
	Password        Secret // the password of User
	WithoutPassword bool   // leaves the password out, for programs that get it from PGPASSWORD, for example
	Database        string // another database on the server
	Port            int    // another port, such as 6432, of the connection pooler; 1 to 65535

	// SSLMode is how far the client verifies the server. The API's URLs have
	// "require", which encrypts but verifies nothing. "verify-full" and "verify-ca"
	// need SSLRootCert, the path of the file of [PostgresService.CACertificates].
	SSLMode     string
	SSLRootCert string
	Parameters  map[string]string // others to add or replace, such as "connect_timeout"; "" removes one
}

// PostgresConnectionURL returns [Postgres.ConnectionString] of a record from
// Get, changed as the options say. It escapes names, passwords and values, and
// adds parameters at the end. It returns an [*ArgumentError] if the connection is
// empty, as in records from lists and in replicas that are being created, if it
// isn't a postgres:// URL or has its user, password or database as a parameter,
// or if a text contains a NUL or a printed Secret, "[redacted]": use
// [Secret.Reveal].
func PostgresConnectionURL(connection Secret, opts *PostgresConnectionOptions) (Secret, error) {
	o := orZero(opts)
	refuse := func(name, reason string) (Secret, error) {
		return Secret{}, argumentError("PostgresConnectionURL", name, "", reason)
	}
	text, password := connection.Reveal(), o.Password.Reveal()
	unescaped, _ := url.PathUnescape(text) // as a driver decodes it
	parameters := map[string]string{}
	for name, value := range map[string]string{"sslmode": o.SSLMode, "sslrootcert": o.SSLRootCert} {
		if _, again := o.Parameters[name]; again && value != "" {
			return refuse("opts", "have "+name+" as a field and as a parameter")
		}
		if value != "" {
			parameters[name] = value
		}
	}
	maps.Copy(parameters, o.Parameters)
	for _, texts := range []map[string]string{{"connection": unescaped, "User": o.User, "Password": password, "Database": o.Database}, parameters} {
		for name, value := range texts {
			if reason := unusable(name); reason != "" {
				return refuse("opts", "have a parameter whose name "+reason)
			}
			if reason := unusable(value); reason != "" {
				return refuse(name, reason)
			}
		}
	}
	switch {
	case text == "":
		return refuse("connection", "is empty: records from lists and records that were stored as JSON have none, and records of new databases none yet")
	case o.Port < 0 || o.Port > 65535:
		return refuse("Port", "must be 1 to 65535")
	case o.WithoutPassword && password != "":
		return refuse("opts", "have both a Password and WithoutPassword")
	}
	u, err := url.Parse(text) // its error would contain the URL
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" || strings.Contains(text, "#") {
		return refuse("connection", "must be a postgres:// URL")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || query.Has("user") || query.Has("password") || query.Has("dbname") {
		return refuse("connection", "must be a postgres:// URL with the user, password and database in front of the parameters")
	}
	user := cmp.Or(o.User, u.User.Username())
	switch {
	case password != "":
		u.User = url.UserPassword(user, password)
	case user != u.User.Username() || o.WithoutPassword:
		u.User = url.User(user)
	}
	if o.Database != "" {
		u.Path, u.RawPath = "/"+o.Database, "/"+url.PathEscape(o.Database)
	}
	if o.Port != 0 {
		u.Host = net.JoinHostPort(u.Hostname(), strconv.Itoa(o.Port))
	}
	// Others stay as they are: of contradictory ones, a driver may take the last.
	pairs := slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		name, _ = url.QueryUnescape(name)
		_, replaced := parameters[name]
		return replaced || name == ""
	})
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if value := parameters[name]; value != "" {
			pair := url.QueryEscape(name) + "=" + url.QueryEscape(value)
			pairs = append(pairs, strings.ReplaceAll(pair, "+", "%20")) // libpq doesn't read a plus sign as a space
		}
	}
	u.RawQuery = strings.Join(pairs, "&")
	return NewSecret(u.String()), nil
}

// unusable returns why a value can't be in a connection URL, or "" if it can.
// In the protocol of PostgreSQL, a NUL ends a value and begins the next one.
func unusable(value string) (reason string) {
	switch {
	case mask.In(value):
		return mask.IsMasked
	case strings.Contains(value, "\x00"):
		return "contains a NUL"
	}
	return ""
}

// PostgresCertificateUsers are the users that can log in with a certificate.
type PostgresCertificateUsers struct {
	Items []string `json:"items"` // their names
}

func (u *PostgresCertificateUsers) lacks() string {
	if u.Items == nil {
		return "items"
	}
	if i := slices.Index(u.Items, ""); i >= 0 {
		return fmt.Sprintf("items[%d]", i) // it's null or ""
	}
	return ""
}

// clientKeyPairRequest is the body of CreateClientKeyPair.
type clientKeyPairRequest struct {
	CommonName string `json:"common_name"`
	Duration   int64  `json:"duration"` // in seconds
}

// certificateUserRequest is the body that adds or removes a certificate user.
type certificateUserRequest struct {
	Name string `json:"name"`
}

var (
	opPostgresCreateClientKeyPair   = Operation{"Postgres.CreateClientKeyPair", "POST", postgresRoute + "/cert/create-client-keypair", once | serviceOnly}
	opPostgresAddCertificateUser    = Operation{"Postgres.AddCertificateUser", "POST", postgresRoute + "/cert/add-auth-user", idempotent | serviceOnly}
	opPostgresRemoveCertificateUser = Operation{"Postgres.RemoveCertificateUser", "POST", postgresRoute + "/cert/remove-auth-user", idempotent | serviceOnly}

	clientKeyPairFile = fileFormat{name: "client.pem", accept: acceptPEM, pem: []string{attachment.Certificate, attachment.PrivateKey}}
)

// CreateClientKeyPair returns a PEM file: a client certificate, and then its
// private key. The certificate is valid for up to 366 days, in whole seconds. A
// user's name is 1 to 64 letters, digits, hyphens and underscores, but not
// "postgres" or "ubi_replication". To log in, the user must exist and be added
// with [PostgresService.AddCertificateUser]. CreateClientKeyPair returns
// [ErrServer] until the database has certificates. After [ErrOutcomeUnknown],
// call it again. † Only the service has this.
func (s *PostgresService) CreateClientKeyPair(ctx context.Context, location, postgres, user string, valid time.Duration) (*File, error) {
	request := clientKeyPairRequest{user, int64(valid / time.Second)}
	return download(ctx, s.conn, &opPostgresCreateClientKeyPair, clientKeyPairFile, request, location, postgres)
}

// AddCertificateUser lets a database user, who need not exist yet, log in with
// a client certificate. It returns the names of all certificate users. A new
// user can't log in immediately. AddCertificateUser returns [ErrInvalidRequest]
// unless the name is as for CreateClientKeyPair, and isn't "all". † Only the
// service has this.
func (s *PostgresService) AddCertificateUser(ctx context.Context, location, postgres, user string) (*PostgresCertificateUsers, error) {
	return send[PostgresCertificateUsers](ctx, s.conn, &opPostgresAddCertificateUser, certificateUserRequest{user}, location, postgres)
}

// RemoveCertificateUser stops a user from logging in with a client certificate,
// though not immediately. It returns the names of the other certificate users.
// † Only the service has this.
func (s *PostgresService) RemoveCertificateUser(ctx context.Context, location, postgres, user string) (*PostgresCertificateUsers, error) {
	return send[PostgresCertificateUsers](ctx, s.conn, &opPostgresRemoveCertificateUser, certificateUserRequest{user}, location, postgres)
}

// PostgresMetricDestinationCreateRequest is the body of
// [PostgresService.CreateMetricDestination].
type PostgresMetricDestinationCreateRequest struct {
	URL      string                            `json:"url"`              // required; must begin with https://
	Username string                            `json:"username"`         // for basic authentication; required without Options
	Password Secret                            `json:"password"`         // required without Options
	Options  *PostgresMetricDestinationOptions `json:"options,omitzero"` // other ways to authenticate; † only the service
}

// PostgresMetricDestinationOptions are headers of the requests that send the
// metrics. At least one is required if there's no username and password.
type PostgresMetricDestinationOptions struct {
	Authorization *PostgresMetricAuthorization `json:"authorization,omitzero"` // can't be combined with a username and password
	Headers       map[string]Secret            `json:"headers,omitzero"`       // must not have Host or other headers that the server sets
}

// PostgresMetricAuthorization is an Authorization header.
type PostgresMetricAuthorization struct {
	Type        string `json:"type,omitzero"` // "Bearer" by default; not "Basic"
	Credentials Secret `json:"credentials"`   // required
}

// otherDestinationBody is the body of a PostgresMetricDestinationCreateRequest
// without a username and password.
type otherDestinationBody struct {
	URL     string                            `json:"url"`
	Options *PostgresMetricDestinationOptions `json:"options"`
}

// PostgresLogDestinationCreateRequest is the body of
// [PostgresService.CreateLogDestination].
type PostgresLogDestinationCreateRequest struct {
	Type    string                         `json:"type"`             // a constant such as [PostgresLogDestinationTypeOTLP]; required
	URL     string                         `json:"url"`              // https://… for "otlp", tcp://host:port for "syslog"; required
	Options *PostgresLogDestinationOptions `json:"options,omitzero"` // no operation returns them
}

// PostgresLogDestinationOptions are headers or data to send with the logs.
type PostgresLogDestinationOptions struct {
	Headers        map[string]Secret            `json:"headers,omitzero"`         // of the requests; for "otlp" only
	StructuredData map[string]map[string]Secret `json:"structured_data,omitzero"` // by element ID and name; for "syslog" only
}

// logDestinationBody is the body of a PostgresLogDestinationCreateRequest.
type logDestinationBody struct {
	Name string `json:"name"`
	PostgresLogDestinationCreateRequest
}

var (
	opPostgresCreateMetricDestination = Operation{"Postgres.CreateMetricDestination", "POST", postgresRoute + "/metric-destination", once}
	opPostgresDeleteMetricDestination = Operation{"Postgres.DeleteMetricDestination", "DELETE", postgresRoute + "/metric-destination/{metric_destination_id}", idempotent}
	opPostgresCreateLogDestination    = Operation{"Postgres.CreateLogDestination", "POST", postgresRoute + "/log-destination", once | serviceOnly}
	opPostgresDeleteLogDestination    = Operation{"Postgres.DeleteLogDestination", "DELETE", postgresRoute + "/log-destination/{log_destination_id}", idempotent | serviceOnly}
)

// CreateMetricDestination adds a server to which a database sends its metrics,
// and returns the database with its MetricDestinations. Each call adds another
// destination: after [ErrOutcomeUnknown], look for it with Get.
func (s *PostgresService) CreateMetricDestination(ctx context.Context, location, postgres string, request *PostgresMetricDestinationCreateRequest) (*Postgres, error) {
	if r := orZero(request); r.Options != nil && r.Username == "" && r.Password.IsZero() {
		return send[Postgres](ctx, s.conn, &opPostgresCreateMetricDestination, otherDestinationBody{r.URL, r.Options}, location, postgres)
	}
	return send[Postgres](ctx, s.conn, &opPostgresCreateMetricDestination, request, location, postgres)
}

// DeleteMetricDestination removes a destination. It returns [ErrNotFound] if
// the database doesn't exist.
func (s *PostgresService) DeleteMetricDestination(ctx context.Context, location, postgres, destinationID string) error {
	return remove(ctx, s.conn, &opPostgresDeleteMetricDestination, location, postgres, destinationID)
}

// CreateLogDestination adds a server to which a database sends its logs, and
// returns the destination before the database uses it. The name is any text, and
// need not be unique. Each call adds another destination: after
// [ErrOutcomeUnknown], look for it with Get. If the URL or the options don't fit
// the type, CreateLogDestination returns [ErrInvalidRequest]. † Only the service
// has this.
func (s *PostgresService) CreateLogDestination(ctx context.Context, location, postgres, name string, request *PostgresLogDestinationCreateRequest) (*PostgresLogDestination, error) {
	return send[PostgresLogDestination](ctx, s.conn, &opPostgresCreateLogDestination, logDestinationBody{name, orZero(request)}, location, postgres)
}

// DeleteLogDestination removes a destination, and returns before the database
// stops sending logs to it. It returns [ErrNotFound] if the database doesn't
// exist. † Only the service has this.
func (s *PostgresService) DeleteLogDestination(ctx context.Context, location, postgres, destinationID string) error {
	return remove(ctx, s.conn, &opPostgresDeleteLogDestination, location, postgres, destinationID)
}

// PostgresFirewallRuleCreateRequest is the body of
// [PostgresService.CreateFirewallRule].
type PostgresFirewallRuleCreateRequest struct {
	CIDR        string `json:"cidr"`                 // in a form that ParseCIDR accepts; required
	Description string `json:"description,omitzero"` // any text; the server removes spaces around it
}

// FirewallRuleRequests returns the rules with which
// [PostgresService.SetFirewallRules] gives another database, such as a copy, the
// FirewallRules of this one: each range once. It returns nil, which
// SetFirewallRules refuses, if the record lacks them, as an item of a list does.
func (p *Postgres) FirewallRuleRequests() []PostgresFirewallRuleCreateRequest {
	var requests []PostgresFirewallRuleCreateRequest
	if p.FirewallRules != nil {
		requests = []PostgresFirewallRuleCreateRequest{}
	}
	for _, rule := range p.FirewallRules {
		if !slices.ContainsFunc(requests, func(r PostgresFirewallRuleCreateRequest) bool { return r.CIDR == rule.CIDR }) {
			requests = append(requests, PostgresFirewallRuleCreateRequest{CIDR: rule.CIDR, Description: rule.Description})
		}
	}
	return requests
}

// PostgresFirewallRuleUpdateRequest is the body of
// [PostgresService.UpdateFirewallRule], which keeps fields that aren't set.
type PostgresFirewallRuleUpdateRequest struct {
	CIDR        string  `json:"cidr,omitzero"`
	Description *string `json:"description,omitzero"` // new("") clears it
}

const postgresFirewallRuleRoute = postgresRoute + "/firewall-rule/{firewall_rule_id}"

var (
	opPostgresListFirewallRules  = Operation{"Postgres.ListFirewallRules", "GET", postgresRoute + "/firewall-rule", idempotent}
	opPostgresCreateFirewallRule = Operation{"Postgres.CreateFirewallRule", "POST", postgresRoute + "/firewall-rule", once}
	opPostgresUpdateFirewallRule = Operation{"Postgres.UpdateFirewallRule", "PATCH", postgresFirewallRuleRoute, idempotent}
	opPostgresDeleteFirewallRule = Operation{"Postgres.DeleteFirewallRule", "DELETE", postgresFirewallRuleRoute, idempotent}

	listPostgresFirewallRules = listRoutes{project: &opPostgresListFirewallRules, unpaged: true}
)

// ListFirewallRules returns the firewall rules of a database, all in one page.
func (s *PostgresService) ListFirewallRules(ctx context.Context, location, postgres string, opts *ListOptions) (*Page[PostgresFirewallRule], error) {
	return list[PostgresFirewallRule](ctx, s.conn, &listPostgresFirewallRules, opts, location, postgres)
}

// AllFirewallRules iterates over the firewall rules of a database.
func (s *PostgresService) AllFirewallRules(ctx context.Context, location, postgres string, opts *ListOptions) iter.Seq2[*PostgresFirewallRule, error] {
	return all[PostgresFirewallRule](ctx, s.conn, &listPostgresFirewallRules, opts, location, postgres)
}

// CreateFirewallRule adds a rule, which takes effect seconds later. It returns
// [ErrAlreadyExists] if the range already has a rule. The service creates two
// rules, for the ports of the database and the connection pooler, and returns
// the first; update and delete each separately. The rules belong to a firewall
// of the project: if the firewall was deleted or detached, methods that change
// rules return [ErrInvalidRequest].
func (s *PostgresService) CreateFirewallRule(ctx context.Context, location, postgres string, request *PostgresFirewallRuleCreateRequest) (*PostgresFirewallRule, error) {
	return send[PostgresFirewallRule](ctx, s.conn, &opPostgresCreateFirewallRule, request, location, postgres)
}

// UpdateFirewallRule changes a rule. The change takes effect seconds later. It
// returns [ErrAlreadyExists] if another rule has the same range.
func (s *PostgresService) UpdateFirewallRule(ctx context.Context, location, postgres, ruleID string, request *PostgresFirewallRuleUpdateRequest) (*PostgresFirewallRule, error) {
	return send[PostgresFirewallRule](ctx, s.conn, &opPostgresUpdateFirewallRule, request, location, postgres, ruleID)
}

// DeleteFirewallRule deletes a rule. It returns [ErrNotFound] if the database
// doesn't exist.
func (s *PostgresService) DeleteFirewallRule(ctx context.Context, location, postgres, ruleID string) error {
	return remove(ctx, s.conn, &opPostgresDeleteFirewallRule, location, postgres, ruleID)
}

// SetFirewallRules makes the firewall rules of a database exactly those that are
// passed, as [FirewallsService.SetRules] does for a firewall. Rules are compared
// by CIDR, which can't be a subnet. The service has two rules for a range. If only one of them exists,
// SetFirewallRules removes it and adds both, which may interrupt traffic.
func (s *PostgresService) SetFirewallRules(ctx context.Context, location, postgres string, rules []PostgresFirewallRuleCreateRequest) (*SetChanges[PostgresFirewallRule], error) {
	set := exactSet[PostgresFirewallRule, PostgresFirewallRuleCreateRequest]{
		conn:      s.conn,
		operation: "Postgres.SetFirewallRules",
		argument:  "rules",
		field:     "firewall_rules",
		location:  location,
		reference: postgres,
		list: func(ctx context.Context) ([]PostgresFirewallRule, error) {
			record, err := s.Get(ctx, location, postgres)
			if err != nil {
				return nil, err
			}
			postgres = record.ID
			return record.FirewallRules, nil
		},
		read: func(_ context.Context, request PostgresFirewallRuleCreateRequest) ([]*PostgresFirewallRule, error) {
			prefix, err := ParseCIDR(request.CIDR)
			if err != nil {
				return nil, err
			}
			return []*PostgresFirewallRule{{CIDR: cidr.Format(prefix), Description: strings.TrimSpace(request.Description)}}, nil
		},
		key: func(rule *PostgresFirewallRule) string { return normalCIDR(rule.CIDR) },
		add: func(ctx context.Context, request PostgresFirewallRuleCreateRequest, rule *PostgresFirewallRule) (*PostgresFirewallRule, error) {
			request.Description = cmp.Or(request.Description, rule.Description) // of half a pair
			return s.CreateFirewallRule(ctx, location, postgres, &request)
		},
		remove: func(ctx context.Context, rule *PostgresFirewallRule) error {
			return s.DeleteFirewallRule(ctx, location, postgres, rule.ID)
		},
		description: func(rule *PostgresFirewallRule) *string { return &rule.Description },
		modify: func(ctx context.Context, rule *PostgresFirewallRule, description string) (*PostgresFirewallRule, error) {
			return s.UpdateFirewallRule(ctx, location, postgres, rule.ID, &PostgresFirewallRuleUpdateRequest{Description: &description})
		},
		isHalf: func(rules []*PostgresFirewallRule) bool {
			first := rules[0].Port
			return first != 0 && !slices.ContainsFunc(rules, func(rule *PostgresFirewallRule) bool { return rule.Port != first })
		},
	}
	return set.apply(ctx, rules)
}
