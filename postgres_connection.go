package cloudapi

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

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

// sslModes are the values of sslmode.
var sslModes = []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}

// sslParameters are the other parameters whose names begin with "ssl". A driver
// may ignore a mistyped one.
var sslParameters = []string{"ssl_max_protocol_version", "ssl_min_protocol_version", "sslcert", "sslcertmode", "sslcompression", "sslcrl", "sslcrldir",
	"sslkey", "sslkeylogfile", "sslnegotiation", "sslpassword", "sslsni"}

// parameterForm is the form of a parameter's name. Names of the server's
// settings are among them.
var parameterForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// parameters returns the parameters that the options set.
func (o *ConnectionOptions) parameters() (map[string]string, error) {
	fail := func(name, value, reason string) (map[string]string, error) {
		return nil, argumentError(connectionURL, name, value, reason)
	}
	if o.SSLMode != "" && !slices.Contains(sslModes, o.SSLMode) {
		return fail("SSLMode", o.SSLMode, "must be one of "+strings.Join(sslModes, ", "))
	}
	set := map[string]string{}
	for name, value := range o.Parameters {
		lower := strings.ToLower(name)
		switch {
		case slices.Contains([]string{"user", "password", "dbname", "sslmode", "sslrootcert"}, lower):
			return fail("Parameters", name, "has a field of its own in ConnectionOptions")
		case slices.Contains([]string{"host", "hostaddr", "port"}, lower):
			return fail("Parameters", name, "would connect to another server")
		case !parameterForm.MatchString(name):
			return fail("Parameters", name, "can't be the name of a parameter")
		case strings.HasPrefix(lower, "ssl") && !slices.Contains(sslParameters, name):
			return fail("Parameters", name, "is not one of the parameters that begin with ssl: "+strings.Join(sslParameters, ", "))
		}
		if reason := unusable(value); reason != "" {
			return fail("Parameters", name, "has a value that "+reason)
		}
		set[name] = value
	}
	if o.SSLMode != "" {
		set["sslmode"] = o.SSLMode
	}
	if o.SSLRootCert != "" {
		set["sslrootcert"] = o.SSLRootCert
	}
	return set, nil
}

// withParameters returns a query with parameters replaced in their places, and
// new ones at the end. Others stay as they are written. A space is %20, since
// libpq doesn't read a plus sign as one.
func withParameters(query string, set map[string]string) string {
	escaped := func(name string) string {
		return name + "=" + strings.ReplaceAll(url.QueryEscape(set[name]), "+", "%20")
	}
	var pairs []string
	written := map[string]bool{}
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		switch _, replaced := set[name]; {
		case pair == "" || written[name]:
		case replaced:
			pairs = append(pairs, escaped(name))
			written[name] = true
		default:
			pairs = append(pairs, pair)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if !written[name] {
			pairs = append(pairs, escaped(name))
		}
	}
	return strings.Join(pairs, "&")
}

// unusable returns why a value can't be in a connection URL, or "" if it can.
// In the protocol of PostgreSQL, a NUL ends a value and begins the next one.
func unusable(value string) (reason string) {
	switch {
	case strings.Contains(value, redacted):
		return "is the masked form of a Secret, \"" + redacted + "\", which was stored in place of its content: " +
			"get the database again, and store the result of Reveal"
	case strings.Contains(value, "\x00"):
		return "contains a NUL"
	}
	return ""
}

const connectionURL = "ConnectionURL" // the operation of its errors

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
	fail := func(name, reason string) (Secret, error) {
		return Secret{}, &ArgumentError{Operation: connectionURL, Name: name, Reason: reason}
	}
	switch {
	case opts.WithoutPassword && !opts.Password.IsZero():
		return fail("opts", "have both a Password and WithoutPassword")
	case connection.IsZero():
		return fail("connection", "is empty: records from lists have none, and records of new databases none yet")
	}
	for _, field := range []struct{ name, value string }{
		{"connection", connection.Reveal()}, {"Password", opts.Password.Reveal()}, {"User", opts.User}, {"Database", opts.Database}, {"SSLRootCert", opts.SSLRootCert},
	} {
		if reason := unusable(field.value); reason != "" {
			return fail(field.name, reason)
		}
	}
	set, err := opts.parameters()
	if err != nil {
		return Secret{}, err
	}
	u, err := url.Parse(connection.Reveal())
	if err != nil || u.Host == "" || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return fail("connection", "must be a postgres:// URL") // the parser's error would contain the URL
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
	u.RawQuery = withParameters(u.RawQuery, set)
	return NewSecret(u.String()), nil
}
