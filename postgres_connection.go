package cloudapi

import "github.com/cloudapi-sdk/cloudapi/internal/pgurl"

// ConnectionOptions are changes to a connection. Zero fields change nothing.
type ConnectionOptions struct {
	// User is another role of the database. ConnectionURL then leaves out the
	// superuser's password: set Password if the role has one.
	User     string
	Password Secret

	Database        string // another database on the server
	WithoutPassword bool   // leaves the password out, for programs that get it from PGPASSWORD, for example

	// SSLMode is how far the client verifies the server: "disable", "allow",
	// "prefer", "require", "verify-ca" or "verify-full". The server's URLs have
	// "require", which encrypts but verifies nothing. "verify-ca" and "verify-full"
	// need SSLRootCert, the path of a file with the result of
	// [PostgresService.CACertificates].
	SSLMode     string
	SSLRootCert string

	// Parameters are others, such as "application_name" or "connect_timeout",
	// without escaping. They replace parameters of the URL. User, password,
	// server, database, sslmode and sslrootcert can't be among them.
	Parameters map[string]string
}

// ConnectionURL returns [Postgres.ConnectionString] of a record from Get,
// changed as the options say. It escapes names, passwords and values.
//
// It returns an [*ArgumentError] if the connection is empty, as in records from
// lists and in replicas that are being created, or isn't a URL. It also returns
// one for an invalid mode or name of a parameter, for a password with
// WithoutPassword, for a value in the masked form of a Secret, "[redacted]"
// (pass the result of [Secret.Reveal]), and for a value with a NUL.
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
