package cloudapi

import (
	"net/url"
)

// ConnectionOptions say in what a connection URL differs from the one that a
// database's record has. Zero fields change nothing.
type ConnectionOptions struct {
	// User is another role of the database. The password of the record is that
	// of the superuser, so it is left out: give the role's own, if it has one.
	User string

	// Password takes the place of the password.
	Password Secret

	// Database is the name of another database on the server.
	Database string

	// WithoutPassword leaves the password out. It is for programs that take it
	// from elsewhere, such as PGPASSWORD or a password file.
	WithoutPassword bool
}

// ConnectionURL returns the connection URL of a database for another role or
// another database on the same server. The connection is
// [Postgres.ConnectionString], of a record that Get returned. Host, port and
// parameters, such as sslmode, stay as they are; what needs escaping is escaped.
//
// A connection that is empty or no URL is an [*ArgumentError]: records in lists
// and replicas that are being made have none yet.
func ConnectionURL(connection Secret, opts ConnectionOptions) (Secret, error) {
	fail := func(reason string) (Secret, error) {
		return Secret{}, &ArgumentError{Operation: "ConnectionURL", Name: "connection", Reason: reason}
	}
	if connection.IsZero() {
		return fail("is empty: records of lists have none, and those of new databases none yet")
	}
	u, err := url.Parse(connection.Reveal())
	if err != nil || u.Host == "" || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return fail("must be a postgres:// URL") // the parser's error would show it
	}
	user := u.User.Username()
	password, hasPassword := u.User.Password()
	if opts.User != "" && opts.User != user {
		user, hasPassword = opts.User, false
	}
	if !opts.Password.IsZero() {
		password, hasPassword = opts.Password.Reveal(), true
	}
	u.User = url.User(user)
	if hasPassword && !opts.WithoutPassword {
		u.User = url.UserPassword(user, password)
	}
	if opts.Database != "" {
		u.Path, u.RawPath = "/"+opts.Database, "/"+url.PathEscape(opts.Database)
	}
	return NewSecret(u.String()), nil
}
