package cloudapi

import "context"

// PostgresPrivateLinkServiceCreateRequest is the body of
// [PostgresService.CreatePrivateLinkService]. The fields are as in
// [PrivateLinkServiceCreateRequest]; the subnet is the database's.
type PostgresPrivateLinkServiceCreateRequest struct {
	AWS           PrivateLinkServiceAWSCreateRequest `json:"aws"`
	Ports         []int                              `json:"ports,omitzero"`
	TargetPorts   []int                              `json:"target_ports,omitzero"`
	IPAddressType string                             `json:"ip_address_type,omitzero"`
}

// postgresPrivateLinkServiceBody is the body of CreatePrivateLinkService.
type postgresPrivateLinkServiceBody struct {
	named
	PostgresPrivateLinkServiceCreateRequest
}

var (
	opPostgresPrivateLinkService       = Operation{"Postgres.PrivateLinkService", "GET", postgresRoute + "/private-link-service", idempotent | serviceOnly | switchable}
	opPostgresCreatePrivateLinkService = Operation{"Postgres.CreatePrivateLinkService", "POST", postgresRoute + "/private-link-service", once | serviceOnly | switchable}
)

// PrivateLinkService returns the private link service of a database, or
// [ErrMaybeUnsupported] if it has none, or the project can't have any.
// † Only the service has this.
func (s *PostgresService) PrivateLinkService(ctx context.Context, location, postgres string) (*PrivateLinkService, error) {
	return perform[PrivateLinkService](ctx, s.conn, &opPostgresPrivateLinkService, location, postgres)
}

// CreatePrivateLinkService creates a private link service for a database, as
// [PrivateLinkServicesService.Create] does. † Only the service has this.
func (s *PostgresService) CreatePrivateLinkService(ctx context.Context, location, postgres, name string, request *PostgresPrivateLinkServiceCreateRequest) (*PrivateLinkService, error) {
	body := orZero(request)
	body.AWS = body.AWS.complete()
	return send[PrivateLinkService](ctx, s.conn, &opPostgresCreatePrivateLinkService, postgresPrivateLinkServiceBody{named{name}, body}, location, postgres)
}
