// Package pgurl changes connection URLs of PostgreSQL databases.
package pgurl

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/mask"
)

// Changes are the changes to a URL. Zero fields change nothing.
type Changes struct {
	User            string // another user, who doesn't have the URL's password
	Password        string
	WithoutPassword bool // leaves the password out
	Database        string
	SSLMode         string
	SSLRootCert     string            // a path
	Parameters      map[string]string // others, by name, without escaping
}

// Invalid says what is wrong with the URL or a change.
type Invalid struct {
	Name   string // "connection", or the field of the changes
	Value  string // never a secret; may be ""
	Reason string
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

// Change returns the URL with the changes. Everything else in it stays as it is
// written.
func Change(connection string, c Changes) (string, *Invalid) {
	unescaped, _ := url.PathUnescape(connection) // as a driver reads the values in it
	for _, field := range []struct{ name, value string }{
		{"connection", connection}, {"connection", unescaped}, {"Password", c.Password}, {"User", c.User}, {"Database", c.Database}, {"SSLRootCert", c.SSLRootCert},
	} {
		if reason := unusable(field.value); reason != "" {
			return "", &Invalid{Name: field.name, Reason: reason}
		}
	}
	set, invalid := c.parameters()
	if invalid != nil {
		return "", invalid
	}
	u, err := url.Parse(connection)
	if err != nil || u.Host == "" || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return "", &Invalid{Name: "connection", Reason: "must be a postgres:// URL"} // the parser's error would contain the URL
	}
	user := u.User.Username()
	password, hasPassword := u.User.Password()
	if c.User != "" && c.User != user {
		user, hasPassword = c.User, false
	}
	if c.Password != "" {
		password, hasPassword = c.Password, true
	}
	u.User = url.User(user)
	if hasPassword && !c.WithoutPassword {
		u.User = url.UserPassword(user, password)
	}
	if c.Database != "" {
		u.Path, u.RawPath = "/"+c.Database, "/"+url.PathEscape(c.Database)
	}
	u.RawQuery = withParameters(u.RawQuery, set, c.WithoutPassword)
	return u.String(), nil
}

// parameters returns all parameters that the changes set.
func (c *Changes) parameters() (map[string]string, *Invalid) {
	if c.SSLMode != "" && !slices.Contains(sslModes, c.SSLMode) {
		return nil, &Invalid{"SSLMode", c.SSLMode, "must be one of " + strings.Join(sslModes, ", ")}
	}
	set := map[string]string{}
	for name, value := range c.Parameters {
		if reason := checkParameter(name, value); reason != "" {
			return nil, &Invalid{"Parameters", name, reason}
		}
		set[name] = value
	}
	if c.SSLMode != "" {
		set["sslmode"] = c.SSLMode
	}
	if c.SSLRootCert != "" {
		set["sslrootcert"] = c.SSLRootCert
	}
	return set, nil
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

// withParameters returns a query with parameters replaced in their places, and
// new ones at the end. Others stay as they are written, except a password that
// isn't wanted. A space is %20, since libpq doesn't read a plus sign as one.
func withParameters(query string, set map[string]string, withoutPassword bool) string {
	escaped := func(name string) string {
		return name + "=" + strings.ReplaceAll(url.QueryEscape(set[name]), "+", "%20")
	}
	var pairs []string
	written := map[string]bool{}
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		switch _, replaced := set[name]; {
		case pair == "" || written[name] || withoutPassword && name == "password":
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
