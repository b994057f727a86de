package cloudapi

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/attachment"
)

// PostgresCertificateUsers are the database users that log in with a client
// certificate instead of a password.
type PostgresCertificateUsers struct {
	Items []string `json:"items"` // their names
}

func (u *PostgresCertificateUsers) lacks() string {
	if u.Items == nil {
		return "items"
	}
	if i := slices.Index(u.Items, ""); i >= 0 {
		return fmt.Sprintf("items[%d]", i) // it may be null
	}
	return ""
}

// clientKeyPairRequest is the body of CreateClientKeyPair.
type clientKeyPairRequest struct {
	CommonName string `json:"common_name"`
	Duration   int64  `json:"duration"` // in seconds
}

// certificateUserRequest is the body of AddCertificateUser and
// RemoveCertificateUser.
type certificateUserRequest struct {
	Name string `json:"name"`
}

var (
	opPostgresCreateClientKeyPair   = Operation{"Postgres.CreateClientKeyPair", "POST", postgresRoute + "/cert/create-client-keypair", once | serviceOnly}
	opPostgresAddCertificateUser    = Operation{"Postgres.AddCertificateUser", "POST", postgresRoute + "/cert/add-auth-user", idempotent | serviceOnly}
	opPostgresRemoveCertificateUser = Operation{"Postgres.RemoveCertificateUser", "POST", postgresRoute + "/cert/remove-auth-user", idempotent | serviceOnly}

	clientKeyPairFile = fileFormat{name: "client.pem", accept: acceptPEM, pem: []string{attachment.Certificate, attachment.PrivateKey}}
)

// CreateClientKeyPair returns a PEM file with a client certificate, valid for
// up to 366 days in whole seconds, and then its private key. A user's name is 1
// to 64 letters, digits, hyphens and underscores, but not "postgres" or
// "ubi_replication". To log in, the user must exist and be added with
// [PostgresService.AddCertificateUser]. After [ErrOutcomeUnknown], it's safe to
// call again. CreateClientKeyPair returns [ErrServer] until the database has
// certificates, and [ErrInvalidResponse] for an incomplete file.
//
// † Only the service has this.
func (s *PostgresService) CreateClientKeyPair(ctx context.Context, location, postgres, user string, valid time.Duration) (*File, error) {
	request := clientKeyPairRequest{user, int64(valid / time.Second)}
	return download(ctx, s.conn, &opPostgresCreateClientKeyPair, clientKeyPairFile, request, location, postgres)
}

// AddCertificateUser lets a database user, which need not exist yet, log in
// with a client certificate of that name. It returns all such users, before the
// database accepts the new one.
//
// † Only the service has this.
func (s *PostgresService) AddCertificateUser(ctx context.Context, location, postgres, user string) (*PostgresCertificateUsers, error) {
	return send[PostgresCertificateUsers](ctx, s.conn, &opPostgresAddCertificateUser, certificateUserRequest{user}, location, postgres)
}

// RemoveCertificateUser stops a user from logging in with a client certificate.
// It returns the others, before the database refuses this one.
//
// † Only the service has this.
func (s *PostgresService) RemoveCertificateUser(ctx context.Context, location, postgres, user string) (*PostgresCertificateUsers, error) {
	return send[PostgresCertificateUsers](ctx, s.conn, &opPostgresRemoveCertificateUser, certificateUserRequest{user}, location, postgres)
}
