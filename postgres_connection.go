package cloudapi

import "net/url"

// ConnectionOptions are the changes that [ConnectionURL] makes. Zero fields
// change nothing.
type ConnectionOptions struct {
	// User is another role of the database. The password in the record is the
	// superuser's, so it is left out: set Password if the role has one.
	User string

	// Password replaces the password.
	Password Secret

	// Database is the name of another database on the server.
	Database string

	// WithoutPassword leaves the password out. It is for programs that get the
	// password from PGPASSWORD or a password file, for example.
	WithoutPassword bool
}

// ConnectionURL returns the connection URL of a database for another role or
// another database on the same server. The connection is
// [Postgres.ConnectionString] of a record from Get. Host, port and parameters
// such as sslmode stay unchanged. ConnectionURL escapes names and passwords.
//
// If the connection is empty or not a URL, or if the options have a password
// and WithoutPassword, the error is an [*ArgumentError]. The connection is
// empty in records from lists and in replicas that are being made.
func ConnectionURL(connection Secret, opts ConnectionOptions) (Secret, error) {
	fail := func(reason string) (Secret, error) {
		return Secret{}, &ArgumentError{Operation: "ConnectionURL", Name: "connection", Reason: reason}
	}
	if opts.WithoutPassword && !opts.Password.IsZero() {
		return Secret{}, &ArgumentError{Operation: "ConnectionURL", Name: "opts", Reason: "have both a Password and WithoutPassword"}
	}
	if connection.IsZero() {
		return fail("is empty: records of lists have none, and those of new databases none yet")
	}
	u, err := url.Parse(connection.Reveal())
	if err != nil || u.Host == "" || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return fail("must be a postgres:// URL") // the parser's error would contain the URL
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
