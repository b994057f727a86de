package cloudapi

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/mask"
)

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

// Names of parameters. Those that begin with "ssl" are known, since a driver may
// ignore a mistyped one; all others may be settings of the server.
var (
	sslModes      = []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}
	sslParameters = []string{"ssl_max_protocol_version", "ssl_min_protocol_version", "sslcert", "sslcertmode", "sslcompression", "sslcrl", "sslcrldir",
		"sslkey", "sslkeylogfile", "sslnegotiation", "sslpassword", "sslsni"}
	parameterForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)
)

// ConnectionURL returns [Postgres.ConnectionString] of a record from Get,
// changed as the options say. It escapes names, passwords and values, and sorts
// the parameters.
//
// It returns an [*ArgumentError] if the connection is empty, as in records from
// lists and in replicas that are being created, or isn't a URL. It also returns
// one for an invalid mode or name of a parameter, for a password with
// WithoutPassword, for a value in the masked form of a Secret, "[redacted]"
// (pass the result of [Secret.Reveal]), and for a value with a NUL.
func ConnectionURL(connection Secret, opts ConnectionOptions) (Secret, error) {
	invalid := func(name, value, reason string) (Secret, error) {
		return Secret{}, argumentError("ConnectionURL", name, value, reason)
	}
	text, password := connection.Reveal(), opts.Password.Reveal()
	unescaped, _ := url.PathUnescape(text) // as a driver reads the values in it
	for _, field := range []struct{ name, value string }{
		{"connection", text}, {"connection", unescaped}, {"Password", password}, {"User", opts.User}, {"Database", opts.Database}, {"SSLRootCert", opts.SSLRootCert},
	} {
		if reason := unusable(field.value); reason != "" {
			return invalid(field.name, "", reason)
		}
	}
	switch {
	case opts.WithoutPassword && password != "":
		return invalid("opts", "", "have both a Password and WithoutPassword")
	case text == "":
		return invalid("connection", "", "is empty: records from lists have none, and records of new databases none yet")
	case opts.SSLMode != "" && !slices.Contains(sslModes, opts.SSLMode):
		return invalid("SSLMode", opts.SSLMode, "must be one of "+strings.Join(sslModes, ", "))
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return invalid("connection", "", "must be a postgres:// URL") // the parser's error would contain the URL
	}
	const plus, space = "%2B", "%20" // libpq reads a plus sign as one, and not as a space
	query, err := url.ParseQuery(strings.ReplaceAll(u.RawQuery, "+", plus))
	if err != nil {
		return invalid("connection", "", "must be a postgres:// URL")
	}

	// A parameter has precedence over the same value before the host.
	user, effective := u.User.Username(), u.User.Username()
	if query.Has("user") {
		effective = query.Get("user")
	}
	old, hasPassword := u.User.Password()
	if opts.User != "" && opts.User != effective || password != "" || opts.WithoutPassword {
		query.Del("password")
		old, hasPassword = password, password != ""
	}
	if opts.User != "" {
		query.Del("user")
		user = opts.User
	}
	switch {
	case hasPassword:
		u.User = url.UserPassword(user, old)
	case u.User != nil || user != "":
		u.User = url.User(user)
	}
	if opts.Database != "" {
		query.Del("dbname")
		u.Path, u.RawPath = "/"+opts.Database, "/"+url.PathEscape(opts.Database)
	}
	for name, value := range opts.Parameters {
		if reason := checkParameter(name, value); reason != "" {
			return invalid("Parameters", name, reason)
		}
		query.Set(name, value)
	}
	if opts.SSLMode != "" {
		query.Set("sslmode", opts.SSLMode)
	}
	if opts.SSLRootCert != "" {
		query.Set("sslrootcert", opts.SSLRootCert)
	}
	u.RawQuery = strings.ReplaceAll(query.Encode(), "+", space)
	return NewSecret(u.String()), nil
}

// checkParameter returns what is wrong with a parameter, or "".
func checkParameter(name, value string) string {
	switch lower := strings.ToLower(name); {
	case slices.Contains([]string{"user", "password", "dbname", "sslmode", "sslrootcert"}, lower):
		return "has a field of its own"
	case slices.Contains([]string{"host", "hostaddr", "port"}, lower):
		return "would connect to another server"
	case !parameterForm.MatchString(name):
		return "can't be the name of a parameter"
	case strings.HasPrefix(lower, "ssl") && !slices.Contains(sslParameters, name):
		return "is not one of the parameters that begin with ssl: " + strings.Join(sslParameters, ", ")
	}
	if reason := unusable(value); reason != "" {
		return "has a value that " + reason
	}
	return ""
}

// unusable returns why a value can't be in a connection URL, or "" if it can.
// In the protocol of PostgreSQL, a NUL ends a value and begins the next one.
func unusable(value string) (reason string) {
	switch {
	case strings.Contains(value, mask.Redacted):
		return "is the masked form of a Secret, \"" + mask.Redacted + "\", which was stored in place of its content: " +
			"get the database again, and store the result of Reveal"
	case strings.Contains(value, "\x00"):
		return "contains a NUL"
	}
	return ""
}
