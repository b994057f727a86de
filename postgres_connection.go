package cloudapi

import "github.com/cloudapi-sdk/cloudapi/internal/pgurl"

// ConnectionOptions are the changes that [ConnectionURL] applies. Zero fields
// change nothing.
type ConnectionOptions struct {
	// User is another role of the database. ConnectionURL then leaves out the
	// password, which is the superuser's: set Password if the role has one.
	User string

	// Password replaces the password.
	Password Secret

	// Database is the name of another database on the server.
	Database string

	// WithoutPassword leaves the password out, for programs that get it from
	// PGPASSWORD or a password file, for example.
	WithoutPassword bool

	// SSLMode is how far the client verifies the server: "disable", "allow",
	// "prefer", "require", "verify-ca" or "verify-full". The server's URLs have
	// "require", which encrypts but verifies nothing.
	SSLMode string

	// SSLRootCert is the path of the file with the certificates that the server's
	// certificate must be signed by, for "verify-ca" and "verify-full". Save the
	// result of [PostgresService.CACertificates] there.
	SSLRootCert string

	// Parameters are further parameters of the connection, such as
	// "application_name" or "connect_timeout", without escaping. They replace
	// parameters of the URL. User, password, server, database, sslmode and
	// sslrootcert can't be among them.
	Parameters map[string]string
}

// ConnectionURL returns the connection URL of a database for another role,
// another database on the same server, or with other parameters. The connection
// is [Postgres.ConnectionString] of a record from Get. ConnectionURL changes
// neither host and port, nor parameters that the options don't set. It escapes
// names, passwords and values.
//
// It returns an [*ArgumentError] if the connection is empty, as in records from
// lists and in replicas that are being created, or isn't a URL. It also returns
// one if a mode or a parameter's name is invalid, if the options have a
// password and WithoutPassword, if the connection or another value is the
// masked form of a Secret, "[redacted]", in place of the result of
// [Secret.Reveal], or if a value contains a NUL.
func ConnectionURL(connection Secret, opts ConnectionOptions) (Secret, error) {
	const operation = "ConnectionURL"
	switch {
	case opts.WithoutPassword && !opts.Password.IsZero():
		return Secret{}, argumentError(operation, "opts", "", "have both a Password and WithoutPassword")
	case connection.IsZero():
		return Secret{}, argumentError(operation, "connection", "", "is empty: records from lists have none, and records of new databases none yet")
	}
	changed, invalid := pgurl.Change(connection.Reveal(), pgurl.Changes{
		User:            opts.User,
		Password:        opts.Password.Reveal(),
		WithoutPassword: opts.WithoutPassword,
		Database:        opts.Database,
		SSLMode:         opts.SSLMode,
		SSLRootCert:     opts.SSLRootCert,
		Parameters:      opts.Parameters,
	})
	if invalid != nil {
		return Secret{}, argumentError(operation, invalid.Name, invalid.Value, invalid.Reason)
	}
	return NewSecret(changed), nil
}
