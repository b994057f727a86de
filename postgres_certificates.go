package cloudapi

import (
	"context"
	"time"
)

// PostgresCertificateUsers are the database users that log in with a client
// certificate in place of a password.
type PostgresCertificateUsers struct {
	Items []string `json:"items"` // their names
}

func (u *PostgresCertificateUsers) missing() string {
	if u.Items == nil {
		return "items"
	}
	return ""
}

// clientKeyPairRequest is the body of making a client certificate.
type clientKeyPairRequest struct {
	CommonName string `json:"common_name"`
	Duration   int64  `json:"duration"` // in seconds
}

// certificateUserRequest is the body of adding and removing a user.
type certificateUserRequest struct {
	Name string `json:"name"`
}

var (
	opPostgresCreateClientKeyPair   = Operation{"Postgres.CreateClientKeyPair", "POST", postgresRoute + "/cert/create-client-keypair", create}
	opPostgresAddCertificateUser    = Operation{"Postgres.AddCertificateUser", "POST", postgresRoute + "/cert/add-auth-user", safe}
	opPostgresRemoveCertificateUser = Operation{"Postgres.RemoveCertificateUser", "POST", postgresRoute + "/cert/remove-auth-user", safe}

	clientKeyPairFile = fileFormat{name: "client.pem", accept: acceptPEM, check: checkPEM}
)

// CreateClientKeyPair returns a client certificate and its private key, in that
// order, as one file in PEM format. The certificate is for a database user of 1
// to 64 letters, digits, hyphens and underscores, but not for the server's own,
// "postgres" and "ubi_replication". It is valid for up to 366 days, of which
// whole seconds count. To log in with it the user has to exist, and to be added
// with [PostgresService.AddCertificateUser].
//
// The server keeps neither the certificate nor the key: each call makes another
// pair, and after [ErrOutcomeUnknown] there is nothing to look for: ask again.
// Values that are not possible are [ErrInvalidRequest]. Until the database has
// certificates of its own, which [Postgres.CACertificates] shows, it is
// [ErrServer].
//
// It is an operation of August 2026; a server of October 2025 answers
// [ErrNotFound].
//
//cloudapi:operation POST /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/cert/create-client-keypair
func (s *PostgresService) CreateClientKeyPair(ctx context.Context, location, postgres, user string, valid time.Duration) (*File, error) {
	request := clientKeyPairRequest{user, int64(valid / time.Second)}
	return download(ctx, s.client, &opPostgresCreateClientKeyPair, clientKeyPairFile, request, location, postgres)
}

// AddCertificateUser lets a database user, which need not exist yet, log in with
// a client certificate of that name, and returns all such users. A user that is
// one of them already is not an error.
//
// It is an operation of August 2026; a server of October 2025 answers
// [ErrNotFound].
//
//cloudapi:operation POST /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/cert/add-auth-user
func (s *PostgresService) AddCertificateUser(ctx context.Context, location, postgres, user string) (*PostgresCertificateUsers, error) {
	return send[PostgresCertificateUsers](ctx, s.client, &opPostgresAddCertificateUser, certificateUserRequest{user}, location, postgres)
}

// RemoveCertificateUser takes from a user the right to connect with a client
// certificate, and returns the users that still have it. It is no error if the
// user does not have it.
//
// It is an operation of August 2026; a server of October 2025 answers
// [ErrNotFound].
//
//cloudapi:operation POST /project/{project_id}/location/{location}/postgres/{postgres_database_reference}/cert/remove-auth-user
func (s *PostgresService) RemoveCertificateUser(ctx context.Context, location, postgres, user string) (*PostgresCertificateUsers, error) {
	return send[PostgresCertificateUsers](ctx, s.client, &opPostgresRemoveCertificateUser, certificateUserRequest{user}, location, postgres)
}
