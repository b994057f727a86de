package cloudapi

import "context"

// PostgresMetricDestination is a server to which a database sends its metrics.
// † Only the service has AuthMethods.
type PostgresMetricDestination struct {
	ID          string   `json:"id"`                    // prefix md; et for old ones
	Username    string   `json:"username"`              // for basic authentication; "" if there is none
	URL         string   `json:"url"`                   // of a server that accepts Prometheus remote writes
	AuthMethods []string `json:"auth_methods,omitzero"` // "basic_auth", "authorization" or "headers"
}

func (d *PostgresMetricDestination) identity() Resource {
	return Resource{Kind: KindPostgresMetricDestination, ID: d.ID}
}

// PostgresMetricDestinationCreateRequest is the body of
// [PostgresService.CreateMetricDestination]. Username and Password, or Options,
// are required. † Only the service has Options.
type PostgresMetricDestinationCreateRequest struct {
	URL      string                            `json:"url"`      // must begin with https://; required
	Username string                            `json:"username"` // for basic authentication
	Password Secret                            `json:"password"`
	Options  *PostgresMetricDestinationOptions `json:"options,omitzero"` // other ways to authenticate
}

// PostgresMetricDestinationOptions are headers of the requests that send the
// metrics. At least one is required if there's no username and password.
type PostgresMetricDestinationOptions struct {
	Authorization *PostgresMetricAuthorization `json:"authorization,omitzero"` // not with a username and password
	Headers       map[string]Secret            `json:"headers,omitzero"`       // not Host or others the server sets
}

// PostgresMetricAuthorization is an Authorization header.
type PostgresMetricAuthorization struct {
	Type        string `json:"type,omitzero"` // "Bearer" by default; not "Basic"
	Credentials Secret `json:"credentials"`   // required
}

func (r *PostgresMetricDestinationCreateRequest) prune(body map[string]any) {
	if r.Options != nil && r.Username == "" && r.Password.IsZero() {
		delete(body, "username")
		delete(body, "password")
	}
}

// PostgresLogDestination is a server to which a database sends its logs.
type PostgresLogDestination struct {
	ID   string `json:"id"` // prefix 1d
	Name string `json:"name"`
	Type string `json:"type"` // one of the PostgresLogDestination constants
	URL  string `json:"url"`
}

func (d *PostgresLogDestination) lacks() string { return lacksID(d.ID) }

func (d *PostgresLogDestination) identity() Resource {
	return Resource{Kind: KindPostgresLogDestination, ID: d.ID, Name: d.Name}
}

// Values of [PostgresLogDestination.Type].
const (
	PostgresLogDestinationOTLP   = "otlp"
	PostgresLogDestinationSyslog = "syslog"
)

// PostgresLogDestinationCreateRequest is the body of
// [PostgresService.CreateLogDestination].
type PostgresLogDestinationCreateRequest struct {
	Name string `json:"name"` // any text, need not be unique; required
	Type string `json:"type"` // one of the PostgresLogDestination constants; required
	URL  string `json:"url"`  // https://… for "otlp", tcp://host:port for "syslog"; required

	// Options may be nil. No operation returns them.
	Options *PostgresLogDestinationOptions `json:"options,omitzero"`
}

// PostgresLogDestinationOptions are headers or data to send with the logs.
type PostgresLogDestinationOptions struct {
	Headers        map[string]Secret            `json:"headers,omitzero"`         // of the requests; for "otlp" only
	StructuredData map[string]map[string]Secret `json:"structured_data,omitzero"` // by element ID and name; for "syslog" only
}

func (r *PostgresLogDestinationCreateRequest) prune(map[string]any) {}

var (
	opPostgresCreateMetricDestination = Operation{"Postgres.CreateMetricDestination", "POST", postgresRoute + "/metric-destination", once}
	opPostgresDeleteMetricDestination = Operation{"Postgres.DeleteMetricDestination", "DELETE", postgresRoute + "/metric-destination/{metric_destination_id}", idempotent}
	opPostgresCreateLogDestination    = Operation{"Postgres.CreateLogDestination", "POST", postgresRoute + "/log-destination", once | serviceOnly}
	opPostgresDeleteLogDestination    = Operation{"Postgres.DeleteLogDestination", "DELETE", postgresRoute + "/log-destination/{log_destination_id}", idempotent | serviceOnly}
)

// CreateMetricDestination adds a server to which a database sends its metrics,
// and returns the database. Look for the new ID in
// [Postgres.MetricDestinations]. Each call adds another destination: after
// [ErrOutcomeUnknown], look for it with Get.
func (s *PostgresService) CreateMetricDestination(ctx context.Context, location, postgres string, request *PostgresMetricDestinationCreateRequest) (*Postgres, error) {
	return send[Postgres](ctx, s.conn, &opPostgresCreateMetricDestination, request, location, postgres)
}

// DeleteMetricDestination removes a destination, and the database stops sending
// metrics to it. It returns [ErrNotFound] if the database doesn't exist.
func (s *PostgresService) DeleteMetricDestination(ctx context.Context, location, postgres, destinationID string) error {
	return remove(ctx, s.conn, &opPostgresDeleteMetricDestination, location, postgres, destinationID)
}

// CreateLogDestination adds a server to which a database sends its logs, and
// returns the destination before the database uses it. Each call adds another
// destination: after [ErrOutcomeUnknown], look for it with Get. It returns
// [ErrInvalidRequest] if the URL or the options don't fit the type.
//
// † Only the service has this.
func (s *PostgresService) CreateLogDestination(ctx context.Context, location, postgres string, request *PostgresLogDestinationCreateRequest) (*PostgresLogDestination, error) {
	return send[PostgresLogDestination](ctx, s.conn, &opPostgresCreateLogDestination, request, location, postgres)
}

// DeleteLogDestination removes a destination. It returns before the database
// stops sending logs to it, or [ErrNotFound] if the database doesn't exist.
//
// † Only the service has this.
func (s *PostgresService) DeleteLogDestination(ctx context.Context, location, postgres, destinationID string) error {
	return remove(ctx, s.conn, &opPostgresDeleteLogDestination, location, postgres, destinationID)
}
