package cloudapi_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
)

// TestConnectionURL: each option changes its own part of the URL, however its
// parameter is spelled, and no other part.
func TestConnectionURL(t *testing.T) {
	t.Parallel()
	type options = cloudapi.PostgresConnectionOptions
	const record = "postgres://postgres:s3cr%2Fet@orders.example.net:5432/postgres?channel_binding=require&sslmode=require"
	const rest = "@orders.example.net:5432/"
	const parameters = "?channel_binding=require&sslmode=require"
	app := options{User: "app", Password: cloudapi.NewSecret("p@ss:w/rd")}
	for name, test := range map[string]struct {
		url     string // "" means record
		options options
		want    string // without the scheme
	}{
		"nothing":                 {"", options{}, "postgres:s3cr%2Fet" + rest + "postgres" + parameters},
		"the other scheme":        {"postgresql://a@b:6432/c?x=1%2C2&&y=3+4&x=5", options{}, "a@b:6432/c?x=1%2C2&x=5&y=3%2B4"},
		"no user":                 {"postgres://b/c", options{}, "b/c"},
		"database":                {"", options{Database: "orders"}, "postgres:s3cr%2Fet" + rest + "orders" + parameters},
		"odd database":            {"", options{Database: "a/b?c d"}, "postgres:s3cr%2Fet" + rest + "a%2Fb%3Fc%20d" + parameters},
		"database of a parameter": {"postgres://a@b/c?db%6eame=d", options{Database: "e"}, "a@b/e"},
		"user":                    {"", options{User: "app"}, "app" + rest + "postgres" + parameters},
		"user of a parameter":     {"postgres://a:p@b/c?use%72=d&x=1", options{User: "a"}, "a@b/c?x=1"},
		"the same parameter":      {"postgres://b/c?user=a&password=p", options{User: "a"}, "a@b/c?password=p"},
		"another user's password": {"postgres://postgres:s3cret@b/c?user=app", options{User: "app"}, "app@b/c"},
		"their passwords":         {"postgres://postgres:s3cret@b/c?user=app&password=p", options{User: "app"}, "app@b/c?password=p"},
		"the user twice":          {"postgres://app:p@b/c?user=app", options{User: "app"}, "app:p@b/c"},
		"another user, parameter": {"postgres://a:p@b/c?password=q", options{User: "d"}, "d@b/c"},
		"the same user":           {"", options{User: "postgres"}, "postgres:s3cr%2Fet" + rest + "postgres" + parameters},
		"user and password":       {"", app, "app:p%40ss%3Aw%2Frd" + rest + "postgres" + parameters},
		"password":                {"", options{Password: cloudapi.NewSecret("other")}, "postgres:other" + rest + "postgres" + parameters},
		"password of a parameter": {"postgres://a@b/c?p%61ssword=q", options{Password: cloudapi.NewSecret("p")}, "a:p@b/c"},
		"kept apart":              {"", options{WithoutPassword: true}, "postgres" + rest + "postgres" + parameters},
		"kept apart, parameter":   {"postgres://a:p@b/c?x=1&pass%77ord=q&password=r", options{WithoutPassword: true}, "a@b/c?x=1"},
		"verified": {
			"", options{SSLMode: "verify-full", SSLRootCert: "/etc/my app/ca+1.pem"},
			"postgres:s3cr%2Fet" + rest + "postgres?channel_binding=require&sslmode=verify-full&sslrootcert=%2Fetc%2Fmy%20app%2Fca%2B1.pem",
		},
		"verified, escaped": {"postgres://a@b/c?sslmod%65=disable&sslmode=prefer", options{SSLMode: "verify-full"}, "a@b/c?sslmode=verify-full"},
		"parameters": {
			"", options{Parameters: map[string]string{"application_name": "a b&c=é", "channel_binding": "disable", "TimeZone": "UTC", "sslcert": "c.pem"}},
			"postgres:s3cr%2Fet" + rest + "postgres?TimeZone=UTC&application_name=a%20b%26c%3D%C3%A9&channel_binding=disable&sslcert=c.pem&sslmode=require",
		},
	} {
		got, err := cloudapi.PostgresConnectionURL(cloudapi.NewSecret(cmp.Or(test.url, record)), &test.options)
		if _, rest, _ := strings.Cut(got.Reveal(), "://"); err != nil || rest != test.want {
			t.Errorf("%s: it is %s, %v, want %s", name, got.Reveal(), err, test.want)
		}
		if printed := fmt.Sprint(got); strings.Contains(printed, "example") {
			t.Errorf("%s: it prints as %s", name, printed)
		}
		if u, err := url.Parse(got.Reveal()); test.options.Database != "" && (err != nil || u.Path != "/"+test.options.Database) {
			t.Errorf("%s: a driver reads the database %q, %v", name, u.Path, err)
		}
	}
	contradiction := options{Password: cloudapi.NewSecret("other"), WithoutPassword: true}
	if _, err := cloudapi.PostgresConnectionURL(cloudapi.NewSecret(record), &contradiction); !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("with and without a password: %v", err)
	}
	for _, connection := range []string{
		"", "hunter2", "host=orders password=hunter2", "https://u:hunter2@example.net/", "postgres:///db?password=hunter2", "postgres://u:hunter2@%zz/",
		"postgres://u:hunter2@b/c?x=%zz", "postgres://u@b/c?x=1;password=hunter2", "postgres://u:hunter2@b/c%00", "postgres://u@b/c#?password=hunter2",
	} {
		got, err := cloudapi.PostgresConnectionURL(cloudapi.NewSecret(connection), nil)
		if !errors.Is(err, cloudapi.ErrInvalidArgument) || !strings.Contains(fmt.Sprint(err), "PostgresConnectionURL: connection ") || strings.Contains(fmt.Sprint(err), "hunter2") || !got.IsZero() {
			t.Errorf("%q: the error is %v", connection, err)
		}
	}
}

// TestConnectionURLWithBadParameters: an error names the parameter, and
// suggests what was meant.
func TestConnectionURLWithBadParameters(t *testing.T) {
	t.Parallel()
	connection := cloudapi.NewSecret("postgres://postgres:hunter2@orders.example.net:5432/postgres?sslmode=require")
	of := func(name, value string) cloudapi.PostgresConnectionOptions {
		return cloudapi.PostgresConnectionOptions{Parameters: map[string]string{name: value}}
	}
	for want, options := range map[string]cloudapi.PostgresConnectionOptions{
		`SSLMode "verify_full"`:        {SSLMode: "verify_full"},
		`SSLRootCert`:                  {SSLRootCert: "ca\x00.pem"},
		`Parameters "sslmode" has`:     of("sslmode", "disable"),
		`Parameters "SSLMode" has`:     of("SSLMode", "disable"),
		`Parameters "sslrotcert" is`:   of("sslrotcert", "ca.pem"),
		`Parameters "host" would`:      of("host", "example.com"),
		`Parameters "password" has`:    of("password", "hunter2"),
		`Parameters "a b" can't`:       of("a b", "c"),
		`Parameters can't`:             of("", "c"),
		`Parameters "a&sslmode" can't`: of("a&sslmode", "disable"),
		`Parameters "options" has a`:   of("options", "\x00"),
		`Parameters "dbname" has`:      of("dbname", "d"),
		`Parameters "Host" would`:      of("Host", "h"),
		`Parameters "sslpassword" has a value that is the masked form`: of("sslpassword", cloudapi.NewSecret("hunter2").String()),
		`User contains a NUL`:     {User: "app\x00database\x00other"},
		`Password contains a NUL`: {Password: cloudapi.NewSecret("hunter2\x00")},
		`Database contains a NUL`: {Database: "orders\x00"},
	} {
		got, err := cloudapi.PostgresConnectionURL(connection, &options)
		if !errors.Is(err, cloudapi.ErrInvalidArgument) || !got.IsZero() || !strings.Contains(fmt.Sprint(err), want) || strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%s: %v, %v", want, got, err)
		}
	}
}

// TestConnectionURLOfAMaskedValue: a URL that was stored in its masked form
// gives an error that says so.
func TestConnectionURLOfAMaskedValue(t *testing.T) {
	t.Parallel()
	stored := cloudapi.NewSecret(cloudapi.NewSecret("postgres://postgres:hunter2@orders.example.net/postgres").String())
	const want = `was stored in place of its content: get the database again, and store the result of Reveal`
	for _, connection := range []cloudapi.Secret{stored, cloudapi.NewSecret("postgres://postgres:" + stored.Reveal() + "@orders.example.net/postgres"),
		cloudapi.NewSecret("postgres://a@b/c?password=%5bredacted%5d")} {
		if _, err := cloudapi.PostgresConnectionURL(connection, nil); !errors.Is(err, cloudapi.ErrInvalidArgument) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: %v", connection.Reveal(), err)
		}
	}
	connection := cloudapi.NewSecret("postgres://postgres@orders.example.net/postgres")
	if _, err := cloudapi.PostgresConnectionURL(connection, &cloudapi.PostgresConnectionOptions{Password: stored}); !strings.Contains(fmt.Sprint(err), "Password is the masked form") || !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("a masked password: %v", err)
	}
}
